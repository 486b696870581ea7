"""Every algorithm by the command line against independent libraries, over thirty graphs: odd, degenerate and ordinary."""

import csv
import json
import os

import pytest

import algorithms
from conftest import run_cli

CASES = algorithms.cases()
# The gate takes a part; GRAPHLUME_ALL_GRAPHS=1 takes all, as scripts/long.sh does.
SAMPLE = CASES if os.environ.get("GRAPHLUME_ALL_GRAPHS") else [
    c for c in CASES if c.name in ("one loop", "directed path", "loops and parallels", "the same, directed", "two parts",
                                   "karate", "directed, weighted", "multigraph")]
NAMES = [("cugraph", n) for n in algorithms.CUGRAPH] + [("igraph", n) for n in algorithms.IGRAPH]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Edges and nodes of each graph. Nodes are called by their number."""
    folder = tmp_path_factory.mktemp("graphs")
    made = {}
    for i, case in enumerate(CASES):
        edges, nodes = folder / f"{i}.csv", folder / f"{i}-nodes.csv"
        with edges.open("w") as out:
            out.write("src,dst,w,row\n")
            for row, (a, b) in enumerate(case.edges):
                out.write(f"{a},{b},{1.0 if case.weights is None else case.weights[row]},{row}\n")
        nodes.write_text("id\n" + "".join(f"{v}\n" for v in range(case.n)))
        made[case.name] = edges, nodes
    return made


def computed(files, case, library, name, params, out):
    """The rows that `graphlume compute` writes."""
    edges, nodes = files[case.name]
    args = ["compute", name, edges, "--nodes", nodes, "--library", library, "--out", out]
    if case.directed:
        args.append("--directed")
    if case.weights is not None and library == "cugraph":
        args += ["--weight", "w"]
    for param in params:
        args += ["-p", param]
    run_cli(*args)
    with out.open() as f:
        rows = list(csv.reader(f))
    return rows[0], rows[1:]


def number(text):
    return None if text == "" else float(text)


def same_partition(found, expected):
    return len(set(zip(found, expected))) == len(set(found)) == len(set(expected))


def check(case, what, head, rows):
    kind, expected, tol = what
    about = f"{case}"
    if kind == "node":
        assert [int(r[0]) for r in rows] == list(range(case.n)), about
        for v, (row, want) in enumerate(zip(rows, expected)):
            got = number(row[1])
            if want is None or got is None:
                assert got == want, f"{about}: node {v} is {got}, not {want}"
            else:
                assert abs(got - want) <= tol * max(1.0, abs(want)), f"{about}: node {v} is {got}, not {want}"
    elif kind == "partition":
        assert same_partition([r[1] for r in rows], expected), about
    elif kind == "edge":
        assert [(int(r[0]), int(r[1])) for r in rows] == case.edges, about
        for i, (row, want) in enumerate(zip(rows, expected)):
            got = number(row[-1])
            assert got is not None and abs(got - want) <= tol, f"{about}: edge {i} {case.edges[i]} is {got}, not {want}"
    elif kind == "rows":
        assert [int(r[head.index("row")]) for r in rows] == expected, about
    elif kind == "forest":
        many, weight = expected
        assert len(rows) == many, about
        if weight is not None:
            # Edges that are one have a weight of their own, see `Case.simple`.
            g = algorithms.Case(case.name, case.n, case.edges, False, case.weights).simple()
            total = sum(g[int(r[0])][int(r[1])]["weight"] for r in rows)
            assert abs(total - weight) < 1e-6, about
    elif kind == "modularity":
        g, weights, least = expected
        labels = [int(r[1]) for r in rows]
        reached = g.modularity(labels, weights=weights)
        assert reached >= least - 1e-9, f"{about}: modularity {reached}, not {least}"
    elif kind == "codelength":
        g, least = expected
        reached = algorithms.codelength(g, [int(r[1]) for r in rows])
        assert reached <= least * (1 + tol), f"{about}: {reached} bits, not {least}"
    elif kind == "lists":
        assert [json.loads(r[1]) if r[1] else [] for r in rows] == expected, about
    elif kind == "flows":
        import networkx as nx
        made = nx.Graph()
        made.add_nodes_from(range(case.n))
        made.add_weighted_edges_from((int(r[0]), int(r[1]), float(r[2])) for r in rows)
        tree = nx.Graph()
        tree.add_nodes_from(range(case.n))
        tree.add_weighted_edges_from((e.source, e.target, e["flow"]) for e in expected.es)

        def cut(g, a, b):
            way = nx.shortest_path(g, a, b)
            return min(g[x][y]["weight"] for x, y in zip(way, way[1:]))
        for a in range(min(case.n, 40)):
            for b in range(a):
                assert abs(cut(made, a, b) - cut(tree, a, b)) < 1e-9, f"{about}: {a} {b}"
    else:
        raise AssertionError(kind)


@pytest.mark.parametrize("library,name", NAMES, ids=lambda x: x)
def test_values_are_those_of_independent_libraries(files, library, name, tmp_path):
    params, reference = (algorithms.CUGRAPH if library == "cugraph" else algorithms.IGRAPH)[name]
    compared = 0
    for case in SAMPLE:
        what = reference(case)
        if what is None:
            continue
        head, rows = computed(files, case, library, name, params, tmp_path / "out.csv")
        check(case, what, head, rows)
        compared += 1
    assert compared >= min(3, len(SAMPLE)), "the references define hardly any answer"

