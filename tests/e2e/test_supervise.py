"""The supervising parent: it holds the addresses, restarts the server, and says why when that fails."""

import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
import requests

from conftest import HANG_S, PASSWORD, Server, binary, free_port, run_cli, unique, until
from live import Viewer

KILLS = 5


def child_of(pid):
    """The only child of a process, or None."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else None


class Knocking:
    """Connects every few milliseconds and remembers what became of it."""

    def __init__(self, port):
        self.port, self.refused, self.connects, self.answers = port, 0, 0, {}
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(16)]

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for t in self.threads:
            t.join()

    def run(self):
        while not self.stopping.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=HANG_S) as s:
                    self.connects += 1
                    s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    status = s.recv(64)[9:12].decode()
            except ConnectionRefusedError:
                self.refused += 1
                continue
            except OSError:
                status = "cut"  # The server died while it had this connection.
            self.answers[status] = self.answers.get(status, 0) + 1
            time.sleep(0.02)


@pytest.fixture
def supervised(tmp_path):
    s = Server(tmp_path / "data", "--supervise").start()
    yield s
    s.stop()


def test_a_killed_server_comes_back_and_nobody_is_refused(supervised, club):
    edges, _ = club
    api = supervised.api()
    record = api.file(edges.to_csv(index=False).encode(), "csv")
    dataset = api.dataset([record["file_id"]])
    session = unique("kept")
    cookie = {"Authorization": f"Bearer {supervised.token()}"}
    viewer = Viewer(supervised, dataset, session, headers=cookie)
    viewer.until(lambda: viewer.positions is not None)
    parent, times = supervised.process.pid, []
    with Knocking(supervised.port) as knocking:
        for _ in range(KILLS):
            first = until(lambda: child_of(parent), "a server runs")
            assert requests.get(supervised.url + "/healthz", timeout=HANG_S).status_code == 200
            served = knocking.answers.get("200", 0)
            until(lambda: knocking.answers.get("200", 0) >= served + 16, "under load before it dies")
            os.kill(first, signal.SIGKILL)
            # Until the next server exists; how long that takes after the pause is what counts.
            until(lambda: child_of(parent) not in (None, first), "another server")
            began = time.monotonic()
            # After more than three seconds the parent answers 503 with the reason; then the client asks again.
            until(lambda: requests.get(supervised.url + "/healthz", timeout=HANG_S).status_code == 200, "it serves")
            times.append(time.monotonic() - began)
    print(f"{KILLS} kills, {knocking.connects} connects: {knocking.answers}; ready after {times}")
    assert knocking.refused == 0, knocking.answers
    assert knocking.answers.get("200", 0) >= 16 * KILLS, knocking.answers
    # The dataset and the session are still there, and the page that comes back moves on.
    assert api("GET", f"/api/v2/upload/datasets/{dataset}").json()["data"]["edge_files"] == [record["file_id"]]
    assert session in [s["session_id"] for s in api("GET", "/api/experimental/viz/sessions/").json()["results"]]
    viewer.close()
    viewer = Viewer(supervised, dataset, session, headers=cookie)
    viewer.until(lambda: viewer.positions is not None)
    assert viewer.graph["edge_count"] == len(edges)
    viewer.close()


def test_a_crash_loop_is_answered_with_the_reason_and_ends_by_itself(tmp_path):
    data = tmp_path / "data"
    data.symlink_to(data)  # A loop: no folder until it is taken away, and no fault that a restart cannot heal.
    port = free_port()
    with open(tmp_path / "log", "wb") as log:
        env = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHLUME_")}
        process = subprocess.Popen(
            [binary(), "serve", "--supervise", "--listen", f"127.0.0.1:{port}", "--internal-listen",
             f"127.0.0.1:{free_port()}", "--data", str(data)],
            env={**env, "GRAPHLUME_ADMIN_PASSWORD": PASSWORD}, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"

        def answer():
            try:
                return [requests.get(url + "/healthz", timeout=HANG_S)]  # A 503 alone would count as false.
            except requests.ConnectionError:
                return None  # Before the parent has opened its sockets.

        r = until(answer, "an answer")[0]
        body = r.json()
        assert r.status_code == 503 and int(r.headers["Retry-After"]) >= 1, (r.status_code, body)
        assert body["status"] == "unavailable" and "exit status 1" in body["detail"], body
        assert requests.post(url + "/api-token-auth/", json={}, timeout=HANG_S).status_code == 503
        assert process.poll() is None
        data.unlink()
        until(lambda: requests.get(url + "/healthz", timeout=HANG_S).status_code == 200, "the cure helps")
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANG_S) == 0, (tmp_path / "log").read_text()
    finally:
        process.kill()


def test_a_refused_configuration_ends_the_parent_too(tmp_path):
    for args in (["--memory", "lots"], ["--cookie-samesite", "sometimes"]):
        r = run_cli("serve", "--supervise", "--data", tmp_path / "data", *args, check=False, timeout=HANG_S)
        assert r.returncode == 78, r.stderr


def test_a_taken_address_is_said_at_once(tmp_path):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        r = run_cli("serve", "--supervise", "--data", tmp_path / "data", "--listen",
                    f"127.0.0.1:{s.getsockname()[1]}", "--internal-listen", f"127.0.0.1:{free_port()}", check=False, timeout=HANG_S)
    assert r.returncode == 1 and "is another server running there" in r.stderr, r.stderr


def test_the_signal_reaches_the_server_and_a_dead_parent_takes_it_along(tmp_path):
    s = Server(tmp_path / "data", "--supervise").start()
    child = child_of(s.process.pid)
    assert s.stop() == 0, s.output()
    assert not Path(f"/proc/{child}").exists()
    s.start()
    child = child_of(s.process.pid)
    s.kill()
    until(lambda: not Path(f"/proc/{child}").exists(), "the orphan ends")
    # Nothing holds the address or the data folder any more.
    s.start()
    assert s.stop() == 0, s.output()


def test_the_server_has_its_programs_name_in_lists_of_processes(supervised):
    child = child_of(supervised.process.pid)
    assert Path(f"/proc/{child}/comm").read_text() == "graphlume\n"
