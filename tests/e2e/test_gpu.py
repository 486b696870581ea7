"""The server with a GPU: the emulated driver library in place of the real one, everything else as shipped."""

import os
from pathlib import Path

import pytest
import requests

from conftest import HANG_S, Server, binary, run_cli, until
from live import Viewer
from test_supervise import Knocking, child_of

GRID = 24
# From here on texts that repeat are numbered.
ROWS = 70_000
# Everything goes to the GPU, however small.
ALL = ("--gpu-edges-min", "0")


def driver(**settings):
    """An environment in which the CUDA driver is the emulator; settings such as fail_launch=100."""
    libraries = sorted(Path(binary()).parent.glob("build/graphlume-emu-*/out/plain/**/libcuda.so"),
                       key=lambda p: p.stat().st_mtime)
    assert libraries, "the emulator was not built: cargo build -p graphlume-emu"
    env = {f"GRAPHLUME_EMU_{name.upper()}": str(value) for name, value in settings.items()}
    return {"LD_LIBRARY_PATH": str(libraries[-1].parent), **env}


def plot(server):
    """A grid as a dataset of its own, and a viewer on it that plays for long."""
    rows = [(y * GRID + x, v) for y in range(GRID) for x in range(GRID)
            for v in ([y * GRID + x + 1] if x + 1 < GRID else []) + ([(y + 1) * GRID + x] if y + 1 < GRID else [])]
    api = server.api()
    record = api.file(("s,d\n" + "".join(f"{s},{d}\n" for s, d in rows)).encode(), "csv")
    return api.dataset([record["file_id"]])


def watch(server, dataset, session):
    viewer = Viewer(server, dataset, session, headers={"Authorization": f"Bearer {server.token()}"})
    viewer.ws.send('{"t": "play", "on": true, "ms": 600000}')
    return viewer


def said(viewer, key="backend"):
    """What the last state message says, or None before the first."""
    return (viewer.state or {}).get(key)


def gpu_worker(server):
    workers = requests.get(server.internal_url + "/check-workers", timeout=HANG_S).json()["workers"]
    return next(w for w in workers if w["kind"] == "gpu")


def test_a_session_is_laid_out_on_the_gpu_and_the_health_routes_know_it(tmp_path):
    server = Server(tmp_path / "data", *ALL, env=driver()).start()
    try:
        health = server.url + "/streamgl-gpu/secondary/gpu/health"
        until(lambda: requests.get(health, timeout=HANG_S).status_code == 200, "a checked GPU")
        worker = gpu_worker(server)
        assert worker["clContextHealthy"] and worker["ready"], worker
        viewer = watch(server, plot(server), "on-the-gpu")
        viewer.until(lambda: said(viewer) == "cuda" and viewer.frames > 5)
        first = viewer.positions
        frames = viewer.frames
        viewer.until(lambda: viewer.frames > frames + 3)
        assert abs(viewer.positions - first).max() > 0, "nodes move"
        assert server.metric("device_memory_bytes") > 0 and server.metric("device_uploads_total") == 1
        assert server.metric("device_iterations_total") > 0
        assert "computing large graphs on the GPU" in (tmp_path / "data.log").read_text()
        viewer.close()
    finally:
        assert server.stop() == 0, server.output()


@pytest.mark.parametrize("extra, side", [((), "on the GPU"), (("--device-memory", "131072"), "bytes and the GPU may hold 131072")])
def test_aggregates_are_answered_by_the_gpu_and_by_the_cpu_when_they_do_not_fit(tmp_path, extra, side):
    """The unchanged route; amounts are uploaded, their counts and sums come from the card."""
    server = Server(tmp_path / "data", *ALL, *extra, env=driver()).start()
    try:
        api = server.api()
        lines = "".join(f"{i},{i * 7 % 500},{i * 31 % 1000},{'kind %d' % (i % 5)}\n" for i in range(ROWS))
        dataset = api.dataset([api.file(f"s,d,amount,kind\n{lines}".encode(), "csv")["file_id"]])
        query = "MATCH ()-[e]->() WHERE e.amount >= 250 AND e.kind <> 'kind 3' RETURN count(*) AS n, sum(e.amount) AS total, max(e.amount) AS most"
        rows = [i * 31 % 1000 for i in range(ROWS) if i % 5 != 3 and i * 31 % 1000 >= 250]

        def ask(**more):
            return api("POST", f"/api/v2/etl/datasets/{dataset}/gfql/nodes", json={"gfql_query": query, "format": "json", **more})

        profile = ask(profile=True)
        assert profile.status_code == 200 and side in profile.text, profile.text
        assert ask().json() == [{"n": len(rows), "total": sum(rows), "most": max(rows)}]
    finally:
        assert server.stop() == 0, server.output()


def test_a_lost_gpu_restarts_the_server_and_the_viewer_goes_on(tmp_path):
    # The first sticky error comes in the middle of the layout, in every process anew.
    server = Server(tmp_path / "data", "--supervise", *ALL, env=driver(fail_launch=400)).start()
    try:
        dataset = plot(server)
        first = child_of(server.process.pid)
        with Knocking(server.port) as knocking:
            viewer = watch(server, dataset, "survives")
            viewer.until(lambda: said(viewer) == "cuda" and viewer.positions is not None)
            with pytest.raises(Exception):
                viewer.until(lambda: False)  # The socket is closed under us.
            until(lambda: child_of(server.process.pid) not in (None, first), "another process")
            again = Viewer(server, dataset, "survives")
            again.until(lambda: again.positions is not None)
        assert knocking.refused == 0, knocking.answers
        assert again.graph["node_count"] == GRID * GRID
        again.close()
        log = (tmp_path / "data.log").read_text()
        assert "the GPU was lost" in log and "status 75" in log, log[-3000:]
    finally:
        server.stop()


def test_without_a_supervisor_sessions_go_on_with_the_cpu(tmp_path):
    server = Server(tmp_path / "data", *ALL, env=driver(fail_launch=400)).start()
    try:
        viewer = watch(server, plot(server), "goes-on")
        viewer.until(lambda: said(viewer) == "cuda")
        viewer.until(lambda: said(viewer) == "cpu")
        assert "lost" in viewer.state["backend_reason"], viewer.state
        frames = viewer.frames
        viewer.until(lambda: viewer.frames > frames + 3)
        viewer.close()
        assert requests.get(server.url + "/healthz", timeout=HANG_S).status_code == 200
        assert requests.get(server.url + "/streamgl-gpu/secondary/gpu/health", timeout=HANG_S).status_code == 503
        worker = gpu_worker(server)
        assert not worker["clContextHealthy"] and not worker["ready"], worker
        assert server.metric("device_losses_total") == 1
    finally:
        assert server.stop() == 0, server.output()


def test_a_graph_larger_than_the_card_is_served_by_the_cpu_and_says_so(tmp_path):
    server = Server(tmp_path / "data", *ALL, "--device-memory", "64KiB", env=driver()).start()
    try:
        viewer = watch(server, plot(server), "too-large")
        viewer.until(lambda: said(viewer, "backend_reason"))
        assert viewer.state["backend"] == "cpu" and "device memory" in viewer.state["backend_reason"], viewer.state
        frames = viewer.frames
        viewer.until(lambda: viewer.frames > frames + 3)
        viewer.close()
        assert gpu_worker(server)["ready"], "the card itself is well"
    finally:
        assert server.stop() == 0, server.output()


def test_the_gpu_is_refused_when_it_is_not_there_or_cannot_count(tmp_path):
    def serve(env, *args):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHLUME_")}
        return run_cli("serve", "--data", tmp_path / "data", *args, check=False, timeout=HANG_S, env={**clean, **env})

    nothing = {"LD_LIBRARY_PATH": str(tmp_path)}
    for args in (("--backend", "cuda"), ("--backend", "cuda", "--supervise")):
        r = serve(nothing, *args)
        assert r.returncode == 78 and "--backend cuda" in r.stderr, (args, r.stderr)
    r = serve(driver(fail_launch=1), "--backend", "cuda")
    assert r.returncode == 78, r.stderr
    # All kernels are loaded at the start: the last family as well as the first.
    for family in (1, 20):
        r = serve(driver(refuse_module=family), "--backend", "cuda")
        assert r.returncode == 78 and "do not load on this GPU" in r.stderr and "update the GPU driver" in r.stderr, r.stderr
    assert "cuda" in run_cli("--version").stdout


def test_a_driver_that_is_too_old_for_the_kernels_leaves_the_server_on_the_cpu(tmp_path):
    server = Server(tmp_path / "data", *ALL, env=driver(refuse_module=5)).start()
    try:
        log = (tmp_path / "data.log").read_text()
        assert "computing on the CPU: kernels" in log and "update the GPU driver" in log, log
        viewer = watch(server, plot(server), "too-old")
        viewer.until(lambda: viewer.frames > 3)
        assert said(viewer) == "cpu", viewer.state
        viewer.close()
    finally:
        assert server.stop() == 0, server.output()


def test_without_a_driver_the_server_says_so_and_serves(tmp_path):
    server = Server(tmp_path / "data", env={"LD_LIBRARY_PATH": str(tmp_path)}).start()
    try:
        r = requests.get(server.url + "/streamgl-gpu/secondary/gpu/health", timeout=HANG_S)
        log = (tmp_path / "data.log").read_text()
        worker = gpu_worker(server)
        if r.status_code == 200:
            assert worker["ready"] and "computing large graphs on the GPU" in log  # A machine with a card.
        else:
            assert not worker["ready"] and worker["device"].startswith("none: "), worker
            assert "computing on the CPU" in log
        assert requests.get(server.url + "/healthz", timeout=HANG_S).status_code == 200
    finally:
        assert server.stop() == 0, server.output()
