"""Algorithms and layouts that a dataset names run as jobs of its account: pictures and other graphs wait for none of them, those
who need the columns do, and a job is listed, cancelled and stopped by its limit."""

import io

import numpy as np
import pandas as pd
import pytest
import requests
from conftest import HANG_S, PASSWORD, Server, run_cli, unique, until
from live import SIZE, Frame, Viewer

TRIANGLE = pd.DataFrame({"s": ["a", "b", "c", "c"], "d": ["b", "c", "a", "x"]})
CORES = {"a": 2, "b": 2, "c": 2, "x": 1}
CORE = {"libraries": ["cugraph"], "alg": "core_number"}
# On this graph it takes minutes.
SLOW = {"libraries": ["igraph"], "alg": "betweenness"}


def long_graph(nodes=40_000, edges=150_000):
    rng = np.random.default_rng(1)
    ends = rng.integers(0, nodes, (edges, 2))
    return pd.DataFrame({"s": ends[:, 0], "d": ends[:, 1]})


def parquet(table):
    data = io.BytesIO()
    table.to_parquet(data)
    return data.getvalue()


def create(api, file, compute=None, **fields):
    body = {"name": "jobs", "metadata": {}, "edge_files": [file] if file else [], "node_encodings": {"bindings": {}},
            "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}, "compute": compute, **fields}
    r = api("POST", "/api/v1/datasets/", json=body)
    assert r.status_code == 201, r.text
    return r.json()["data"]["dataset_id"]


def jobs(api, dataset):
    r = api("GET", f"/api/v2/datasets/{dataset}/jobs")
    assert r.status_code == 200, r.text
    return r.json()["results"]


def states(api, dataset):
    return [job["state"] for job in jobs(api, dataset)]


def rows(api, dataset, text):
    r = api("POST", f"/api/v2/etl/datasets/{dataset}/gfql/nodes", json={"gfql_query": text, "format": "json"}, timeout=HANG_S)
    assert r.status_code == 200, r.text
    return r.json()


def opened(server, dataset):
    viewer = Viewer(server, dataset, unique("jobs"))
    viewer.until(lambda: viewer.graph is not None and viewer.frames)
    return viewer


@pytest.fixture(scope="module")
def slow_file(server):
    return server.api("alice").file(parquet(long_graph()), "parquet")["file_id"]


@pytest.fixture
def cancelled_after(alice):
    """Datasets that are deleted at the end, so that their jobs keep nothing busy."""
    made = []
    yield made
    for api, dataset in made:
        api("DELETE", f"/api/v2/datasets/{dataset}")


def test_who_creates_uploads_and_asks_at_once_gets_the_column(alice):
    dataset = create(alice, None, {"core": CORE, "rank": {"libraries": ["igraph"], "alg": "pagerank"}})
    assert states(alice, dataset) == ["pending", "pending"], "before there are data"
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/edges/parquet", data=parquet(TRIANGLE))
    assert r.status_code == 200, r.text
    got = rows(alice, dataset, "MATCH (n) RETURN n.id AS node, n.core AS core, n.rank AS rank")
    assert {row["node"]: row["core"] for row in got} == CORES
    assert sum(row["rank"] for row in got) == pytest.approx(1)
    listed = jobs(alice, dataset)
    assert [(job["id"], job["field"], job["algorithm"], job["state"]) for job in listed] == [
        ("1", "compute.core", "cugraph.core_number", "done"), ("2", "compute.rank", "igraph.pagerank", "done")]
    assert all(job["seconds"] >= 0 and job["begun_at"] and job["limit_seconds"] == 60 and job["message"] is None
               for job in listed), listed
    assert alice("DELETE", f"/api/v2/datasets/{dataset}/jobs/1").json()["state"] == "done", "too late to cancel"
    for unknown in ("0", "3", "x"):
        assert alice("DELETE", f"/api/v2/datasets/{dataset}/jobs/{unknown}").status_code == 404


def test_two_datasets_that_compute_keep_nobody_waiting(server, alice, bob, slow_file, cancelled_after):
    many = {f"c{i}": SLOW for i in range(8)}
    busy = [create(alice, slow_file, many) for _ in range(2)]
    cancelled_after += [(alice, dataset) for dataset in busy]
    # Both are shown, and one of them computes: an account has one turn at a time.
    for dataset in busy:
        opened(server, dataset).close()
    first = until(lambda: next((d for d in busy if states(alice, d)[0] == "running"), None), "one runs")
    second = next(d for d in busy if d != first)
    assert states(alice, second) == ["pending"] * 8
    # Another graph opens, and another account's column comes, while they do.
    miserables = opened(server, "Miserables")
    assert requests.get(f"{server.url}/viz/{unique('card')}/node/0?dataset=Miserables", timeout=HANG_S).status_code == 200
    file = bob.file(parquet(TRIANGLE), "parquet")["file_id"]
    got = rows(bob, create(bob, file, {"core": CORE}), "MATCH (n) RETURN n.id AS node, n.core AS core")
    assert {row["node"]: row["core"] for row in got} == CORES
    assert states(alice, second) == ["pending"] * 8
    # A deleted dataset's jobs end: the next one of the account runs.
    assert alice("DELETE", f"/api/v2/datasets/{first}").status_code == 204
    until(lambda: states(alice, second)[0] == "running", "the second one runs")
    miserables.close()


def test_a_cancelled_job_is_a_notice_of_the_page_and_of_the_record(server, alice, bob, slow_file, cancelled_after):
    dataset = create(alice, slow_file, {"between": SLOW, "core": CORE}, node_encodings={"bindings": {"node_size": "core"}})
    cancelled_after.append((alice, dataset))
    viewer = opened(server, dataset)
    epoch, before = viewer.graph["epoch"], {c["name"] for c in viewer.graph["node_columns"]}
    assert "core" not in before and not viewer.graph["notices"], viewer.graph
    until(lambda: states(alice, dataset) == ["running", "pending"], "it runs")
    # Who may look at a dataset may not cancel; who may not even look hears nothing.
    assert requests.delete(f"{server.url}/api/v2/datasets/{dataset}/jobs/1").status_code == 401
    assert bob("DELETE", f"/api/v2/datasets/{dataset}/jobs/1").status_code == 403
    r = alice("DELETE", f"/api/v2/datasets/{dataset}/jobs/1")
    assert r.status_code == 200 and (r.json()["state"], r.json()["message"]) == ("cancelled", "cancelled"), r.text
    told = []
    while not told:
        message = viewer.step()
        if isinstance(message, dict) and message["t"] == "columns":
            told = message["notices"]
            assert message["epoch"] == epoch and {c["name"] for c in message["node_columns"]} == before | {"id", "core"}
    assert [n["text"] for n in told] == ["compute.between: cancelled: no such column"]
    # Sizes follow the column that came.
    def has_sizes():
        message = viewer.step()
        return isinstance(message, Frame) and message.kind == SIZE and message.epoch == epoch
    until(has_sizes, "sizes of the column")
    viewer.close()
    assert states(alice, dataset) == ["cancelled", "done"]
    record = alice("GET", f"/api/v2/datasets/{dataset}").json()["data"]
    assert [n["slug"] for n in record["notices"]] == ["compute-failed"], record["notices"]
    assert rows(alice, dataset, "MATCH (n) WHERE n.core > 0 RETURN count(n) AS n")[0]["n"] > 0
    later = opened(server, dataset)
    assert [n["slug"] for n in later.graph["notices"]] == ["compute-failed"]
    later.close()


def test_a_job_ends_with_its_limit_and_says_what_to_do(tmp_path):
    run_cli("user", "add", "alice", "--password-stdin", "--data", tmp_path / "data", input=PASSWORD + "\n")
    server = Server(tmp_path / "data", "--job-seconds", "1").start()
    alice = server.api("alice")
    file = alice.file(parquet(long_graph()), "parquet")["file_id"]
    dataset = create(alice, file, {"between": SLOW, "core": CORE}, layout={"at": {"libraries": ["igraph"], "alg": "circle"}})
    got = rows(alice, dataset, "MATCH (n) RETURN count(n.core) AS n, max(n.x) AS x")
    assert got[0]["n"] > 30_000 and got[0]["x"] is not None, "it costs its own column alone"
    listed = jobs(alice, dataset)
    assert [job["state"] for job in listed] == ["failed", "done", "done"], listed
    assert listed[0]["seconds"] >= 1 and listed[0]["limit_seconds"] == 1
    record = alice("GET", f"/api/v2/datasets/{dataset}").json()["data"]
    text = next(n["text"] for n in record["notices"] if n["slug"] == "compute-failed")
    assert text.startswith("compute.between: stopped after 1 seconds") and "raise --job-seconds" in text, text
    viewer = opened(server, dataset)
    assert viewer.graph["has_positions"] and text in [n["text"] for n in viewer.graph["notices"]]
    viewer.close()
    assert server.stop() == 0, server.output()


def test_a_query_has_its_own_time_while_it_waits_for_columns(tmp_path):
    run_cli("user", "add", "alice", "--password-stdin", "--data", tmp_path / "data", input=PASSWORD + "\n")
    server = Server(tmp_path / "data", "--query-seconds", "1").start()
    alice = server.api("alice")
    file = alice.file(parquet(long_graph()), "parquet")["file_id"]
    dataset = create(alice, file, {"between": SLOW})
    r = alice("POST", f"/api/v2/etl/datasets/{dataset}/gfql/nodes", json={"gfql_query": [{"type": "Node"}], "format": "json"})
    assert r.status_code == 504 and r.json()["slug"] == "columns-pending" and "jobs" in r.json()["message"], r.text
    viewer = opened(server, dataset)
    viewer.close()
    assert server.stop() == 0, server.output()


def test_an_open_page_gets_the_layout_as_another_element_set(server, alice):
    file = alice.file(parquet(TRIANGLE), "parquet")["file_id"]
    dataset = create(alice, file, None, layout={"at": {"libraries": ["igraph"], "alg": "circle"}})
    viewer = Viewer(server, dataset, unique("jobs"))
    viewer.until(lambda: viewer.graph is not None and viewer.graph["has_positions"])
    epoch = viewer.graph["epoch"]
    at = viewer.frames
    viewer.until(lambda: viewer.frames > at)
    assert viewer.graph["epoch"] == epoch
    off = viewer.positions - viewer.positions.mean(axis=0)
    assert np.hypot(*off.T) == pytest.approx(1, abs=0.01)
    viewer.close()


def test_an_algorithm_of_a_dataset_takes_a_query_s_share_of_memory_and_no_more(tmp_path):
    server = Server(tmp_path / "data", "--memory", "512MiB").start()
    try:
        api = server.api()
        # A square of the nodes, 800 MB of it.
        ends = pd.DataFrame({"s": range(10_000), "d": [(7 * k + 1) % 10_000 for k in range(10_000)]})
        file = api.file(parquet(ends), "parquet")["file_id"]
        compute = {"square": {"libraries": ["igraph"], "alg": "cocitation"}, "core": CORE}
        dataset = create(api, file, compute)
        until(lambda: not {"pending", "running"} & set(states(api, dataset)), "the end of the jobs")
        ended = {job["field"]: job for job in jobs(api, dataset)}
        assert ended["compute.core"]["state"] == "done", ended
        failed = ended["compute.square"]
        assert failed["state"] == "failed" and "memory" in failed["message"], failed
        status = open(f"/proc/{server.process.pid}/status").read()
        peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) >> 10
        assert peak < 512 + 200, f"{peak} MiB"
    finally:
        server.stop()
