"""The six algorithms of LDBC Graphalytics on its validation graphs, against the outputs that it expects, to a millionth."""

import csv
import json
from pathlib import Path

import pytest

from conftest import run_cli

CASES = json.loads((Path(__file__).parents[1] / "data/graphalytics.json").read_text())["cases"]
# By its name in Graphalytics: the name here and the parameters.
NAMES = {
    "bfs": ("bfs", lambda c: [f"start={c['source']}"]),
    "cdlp": ("cdlp", lambda c: [f"iterations={c['iterations']}"]),
    "lcc": ("lcc", lambda c: []),
    "pr": ("pagerank", lambda c: [f"iterations={c['iterations']}", f"alpha={c['damping']}"]),
    "sssp": ("sssp", lambda c: [f"source={c['source']}"]),
    "wcc": ("weakly_connected_components", lambda c: []),
}


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['name']} {c['algorithm']}")
def test_a_validation_graph_gives_what_is_expected(case, tmp_path):
    edges, nodes, out = tmp_path / "edges.csv", tmp_path / "nodes.csv", tmp_path / "out.csv"
    weighted = len(case["edges"][0]) == 3
    edges.write_text("\n".join(["src,dst" + ",w" * weighted] + [",".join(map(str, e)) for e in case["edges"]]) + "\n")
    nodes.write_text("\n".join(["id", *map(str, case["nodes"])]) + "\n")
    name, params = NAMES[case["algorithm"]]
    args = ["compute", name, edges, "--nodes", nodes, "--out", out]
    args += ["--directed"] if case["directed"] else []
    # Only shortest paths have weights; the graph of the examples carries them for all.
    args += ["--weight", "w"] if weighted and case["algorithm"] == "sssp" else []
    run_cli(*args, *[x for p in params(case) for x in ("-p", p)])
    with out.open() as f:
        head, *rows = list(csv.reader(f))
    found = {row[0]: row[head.index(name)] for row in rows}
    expected = case["expected"]
    assert set(found) == set(expected)
    if case["algorithm"] == "wcc":
        # Labels up to their names.
        pairs = {(found[v], expected[v]) for v in expected}
        assert len(pairs) == len(set(found.values())) == len(set(expected.values())), (found, expected)
        return
    for v, value in expected.items():
        if value is None:
            assert found[v] == "", (v, found[v])
        else:
            assert abs(float(found[v]) - value) <= 1e-6 * max(1.0, abs(value)), (v, found[v], value)
