"""Every algorithm of the interface from every caller: a dataset's `compute`, a GFQL call of the unchanged client, Cypher, the
command line, and on the GPU, which is the emulated driver here. The table that comes of it stands in
engine/doc/ALGORITHM_CALLERS.md."""

import csv
import io
import json
import os
import pathlib

import graphistry
import pandas as pd
import pytest
import requests
from graphistry.compute.ast import call

from conftest import PASSWORD, Server, counted, run_cli
from test_gpu import driver

PAGE = pathlib.Path(__file__).parents[2] / "engine/doc/ALGORITHM_CALLERS.md"
CLUB = [(a, b) for a, row in {
    0: [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31], 1: [2, 3, 7, 13, 17, 19, 21, 30],
    2: [3, 7, 8, 9, 13, 27, 28, 32], 3: [7, 12, 13], 4: [6, 10], 5: [6, 10, 16], 6: [16], 8: [30, 32, 33], 9: [33],
    13: [33], 14: [32, 33], 15: [32, 33], 18: [32, 33], 19: [33], 20: [32, 33], 22: [32, 33], 23: [25, 27, 29, 32, 33],
    24: [25, 27, 31], 25: [31], 26: [29, 33], 27: [33], 28: [31, 33], 29: [32, 33], 30: [32, 33], 31: [32, 33],
    32: [33]}.items() for b in row]
EDGES = pd.DataFrame({"s": [f"m{a}" for a, _ in CLUB], "d": [f"m{b}" for _, b in CLUB],
                      "w": [1.0 + (a * 7 + b) % 5 for a, b in CLUB]})
# A ring of rings: 100 groups of 60 nodes.
LARGE = pd.DataFrame([(60 * group + k, 60 * group + (k + step) % 60) for group in range(100) for k in range(60)
                      for step in (1, 2)] + [(60 * group, 60 * ((group + 1) % 100)) for group in range(100)],
                     columns=["s", "d"])
# What a name gives: columns of the nodes unless it stands here.
EDGE_RESULTS = {"edge_betweenness_centrality", "jaccard", "jaccard_w", "overlap", "overlap_coefficient", "overlap_w",
                "sorensen", "sorensen_coefficient", "sorensen_w"}
GRAPHS = {("cugraph", n) for n in ("ego_graph", "batched_ego_graphs", "k_core", "minimum_spanning_tree")} | {
    ("igraph", n) for n in ("gomory_hu_tree", "spanning_tree")}
EXTRAS = [("igraph", n) for n in ("articulation_points", "coreness", "personalized_pagerank")] + [
    ("cugraph", n) for n in ("triangle_count", "lcc", "k_truss", "truss_number", "cdlp")]


@pytest.fixture(scope="module")
def names(server):
    schema = requests.get(f"{server.url}/api/v1/datasets/", headers={"Authorization": f"Bearer {server.token()}"}).json()
    schema = schema.get("data", schema)
    found = [(library, name) for library in ("cugraph", "igraph") for name in schema["compute"][library]]
    assert len(found) == 55
    return found


@pytest.fixture(scope="module")
def club(server):
    """The club as the unchanged client uploads it."""
    client = graphistry.register(api=3, protocol="http", server=server.url.removeprefix("http://"), username="alice",
                                 password=PASSWORD)
    g = graphistry.edges(EDGES, "s", "d").bind(edge_weight="w")
    return g.upload()


def post(api, graph, text, output):
    """The answer to a Cypher text as other clients send it: PyGraphistry loses a CALL on its way."""
    return api("POST", f"/api/v2/etl/datasets/{graph._dataset_id}/gfql{output}", json={"gfql_query": text, "format": "json"})


def by_dataset(alice, library, name):
    body = {"name": name, "description": "", "agent_name": "test", "metadata": {}, "node_encodings": {"bindings": {}},
            "edge_encodings": {"bindings": {"source": "s", "destination": "d"}},
            "compute": {"made": {"libraries": [library], "alg": name}}}
    r = alice("POST", "/api/v1/datasets/", json=body)
    assert r.status_code == 201, r.text
    dataset = r.json()["data"]["dataset_id"]
    data = io.BytesIO()
    EDGES.to_parquet(data)
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/edges/parquet", data=data.getvalue())
    assert r.status_code == 200, r.text
    return graphistry.bind(dataset_id=dataset, source="s", destination="d", node="id").gfql_remote([])


def gives(library, name):
    if name in EDGE_RESULTS or name == "truss_number":
        return "edges"
    return "graph" if (library, name) in GRAPHS or name == "k_truss" else "nodes"


def through_dataset(alice, club, library, name):
    out = by_dataset(alice, library, name)
    where = {"nodes": [out._nodes], "edges": [out._edges], "graph": [out._nodes]}[gives(library, name)]
    for table in where:
        assert "made" in table.columns, list(table.columns)
        assert table["made"].notna().any()
    assert len(out._edges) == len(EDGES)


def through_gfql(alice, club, library, name):
    # The member with most edges has none that leave it: the graph around it is looked for without directions.
    more = {"directed": False} if "ego" in name else {}
    out = club.gfql_remote([call(f"compute_{library}", {"alg": name, **more})])
    kind = gives(library, name)
    if kind == "nodes":
        assert name in out._nodes.columns and out._nodes[name].notna().any(), list(out._nodes.columns)
    elif kind == "edges":
        new = [c for c in out._edges.columns if c not in EDGES.columns]
        assert len(new) == 1 and out._edges[new[0]].notna().all(), new
    else:
        assert 0 < len(out._edges) <= len(EDGES)


def through_cypher(alice, club, library, name):
    kind = gives(library, name)
    procedure = f"graphistry.{library}.{name}"
    if kind == "graph":
        # GRAPH { CALL ... } as the client sends it.
        text = [{"type": "Call", "function": f"{procedure}.write", "params": {"directed": False}}]
    else:
        text = f"CALL {procedure}()"
    r = post(alice, club, text, "/edges" if kind == "graph" else "/nodes")
    assert r.status_code == 200, r.text[:300]
    rows = r.json()
    if kind == "graph":
        assert 0 < len(rows) <= len(EDGES)
        return
    assert len(rows) == (34 if kind == "nodes" else len(EDGES))
    assert set(rows[0]) >= {"nodeId" if kind == "nodes" else "source", name}, rows[0]


def through_command_line(alice, club, library, name, folder):
    edges, out = folder / "edges.csv", folder / "out.csv"
    EDGES.to_csv(edges, index=False)
    run_cli("compute", name, edges, "--library", library, "--source", "s", "--destination", "d", "--out", out)
    with out.open() as f:
        rows = list(csv.reader(f))
    kind = gives(library, name)
    assert len(rows) > 1 and rows[0][0] == ("node" if kind == "nodes" else "s"), rows[0]
    if kind != "graph":
        assert len(rows) == 1 + (34 if kind == "nodes" else len(EDGES))


def on_the_gpu(library, name, folder):
    """The cell of the GPU: that it answers as the CPU does, or why the CPU does instead."""
    edges, out = folder / "edges.csv", [folder / "cpu.csv", folder / "gpu.csv"]
    # Small graphs are searched for communities several times, on the CPU.
    frame = LARGE if name in ("louvain", "community_multilevel") else EDGES
    frame.to_csv(edges, index=False)
    said = ""
    for backend, path in zip(("cpu", "cuda"), out):
        env = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHLUME_")} | driver()
        said = run_cli("compute", name, edges, "--library", library, "--source", "s", "--destination", "d", "--out", path,
                       "--backend", backend, env=env).stderr
    on_cpu, on_gpu = (pd.read_csv(path) for path in out)
    told = next(line for line in said.splitlines() if line.startswith(f"{name} was computed on"))
    if told.startswith(f"{name} was computed on the CPU: "):
        assert on_gpu.equals(on_cpu)
        return told.split(": ", 1)[1]
    assert list(on_gpu.columns) == list(on_cpu.columns) and len(on_gpu) == len(on_cpu)
    if frame is LARGE:
        # Another search, which finds communities as good: tests/emu compares the modularity.
        assert 2 <= on_gpu[name].nunique() <= 200
    else:
        pd.testing.assert_frame_equal(on_gpu, on_cpu, check_exact=False, rtol=0, atol=1e-5)
    return "answers"


CALLERS = {"dataset compute": through_dataset, "GFQL call": through_gfql, "Cypher": through_cypher}


def test_every_name_answers_every_caller(names, alice, club, tmp_path):
    lines, failed = [], []
    for library, name in names + EXTRAS:
        cells = []
        for caller, run in [*CALLERS.items(), ("command line", None)]:
            try:
                if run is None:
                    through_command_line(alice, club, library, name, tmp_path)
                else:
                    run(alice, club, library, name)
                cells.append("answers")
            except Exception as e:  # noqa: BLE001 every cell is filled before the test fails
                cells.append("fails")
                failed.append(f"{library}.{name} by {caller}: {type(e).__name__}: {str(e)[:300]}")
        try:
            cells.append(on_the_gpu(library, name, tmp_path))
        except Exception as e:  # noqa: BLE001 as above
            cells.append("fails")
            failed.append(f"{library}.{name} on the GPU: {type(e).__name__}: {str(e)[:300]}")
        lines.append(f"| {library}.{name} | {' | '.join(cells)} |")
    head = ("# Algorithms and callers\n\nWritten by tests/e2e/test_algorithm_callers.py: what each caller gets on the CPU, on the "
            "club of Zachary, and whether the GPU answers or why the CPU does in its place. The last names are ours beyond the "
            "interface.\n\n"
            "| name | dataset compute | GFQL call | Cypher | command line | GPU |\n|---|---|---|---|---|---|\n")
    page = head + "\n".join(lines) + "\n"
    if os.environ.get("GRAPHLUME_WRITE_TABLES"):
        PAGE.write_text(page)
    assert not failed, "\n".join(failed)
    assert PAGE.read_text() == page, "run with GRAPHLUME_WRITE_TABLES=1 to write the table"


def test_an_answer_says_that_the_gpu_gave_it(tmp_path):
    server = Server(tmp_path / "data", "--gpu-edges-min", "0", env=driver()).start()
    try:
        api = server.api()
        file = api.file(EDGES.to_csv(index=False).encode(), "csv")["file_id"]
        dataset = api.dataset([file])

        def told(query):
            r = api("POST", f"/api/v2/datasets/{dataset}/gfql", json={"gfql_query": query, "format": "json"})
            assert r.status_code == 200, r.text
            return [n for n in json.loads(r.headers["x-graphlume-notices"]) if n["slug"] == "computed-on"]

        ranks = [{"type": "Call", "function": "compute_cugraph", "params": {"alg": "pagerank"}}]
        for query in (ranks, "CALL graphistry.cugraph.pagerank() YIELD nodeId, pagerank RETURN count(*) AS n"):
            (notice,) = told(query)
            assert notice["text"].startswith("pagerank was computed on the GPU ("), notice
        cores = [{"type": "Call", "function": "compute_cugraph", "params": {"alg": "core_number"}}]
        (notice,) = told(cores)
        assert notice["text"] == "core_number was computed on the CPU: it has no form for the GPU", notice
        made = api("POST", "/api/v1/datasets/", json={
            "name": "a", "description": "", "agent_name": "test", "metadata": {}, "node_encodings": {"bindings": {}},
            "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}, "node_files": [], "edge_files": [file],
            "compute": {"rank": {"libraries": ["cugraph"], "alg": "pagerank"}}})
        assert made.status_code == 201, made.text
        record = counted(api, made.json()["data"]["dataset_id"])
        texts = [n["text"] for n in record["notices"] if n["slug"] == "computed-on"]
        assert len(texts) == 1 and texts[0].startswith("compute.rank was computed on the GPU ("), record["notices"]
    finally:
        assert server.stop() == 0, server.output()
