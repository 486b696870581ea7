"""Every exact layout of igraph through the unchanged client's call, against python-igraph on 20 graphs: equal up to turns and
mirrors where the drawing is defined up to these, and by what defines it where it is not."""

import json
import math
import random

import graphistry
import igraph
import numpy as np
import pandas as pd
import pytest
from graphistry.compute.ast import call

from conftest import PASSWORD

PLAIN = {"circle": {}, "circle_3d": {}, "star": {}, "grid": {}, "grid_3d": {}, "sphere": {}}


def graphs():
    r = random.Random(11)
    famous = [igraph.Graph.Famous(name) for name in ("Zachary", "Krackhardt_Kite", "Petersen", "Frucht", "Meredith")]
    made = famous + [igraph.Graph.Ring(11), igraph.Graph.Star(9, mode="undirected"), igraph.Graph.Lattice([5, 4], circular=False),
                     igraph.Graph(6, [(0, 1), (1, 2), (3, 4)]), igraph.Graph(4, [(0, 0), (0, 1), (0, 1), (2, 3)])]
    for _ in range(5):
        n = r.randrange(15, 40)
        made.append(igraph.Graph(n, [(r.randrange(max(0, v - 9), v), v) for v in range(1, n)], directed=True))
    for _ in range(5):
        n = r.randrange(15, 40)
        pairs = {tuple(sorted(r.sample(range(n), 2))) for _ in range(2 * n)}
        made.append(igraph.Graph(n, sorted(pairs), directed=True))
    assert len(made) == 20
    return made


GRAPHS = graphs()
CONNECTED = [g for g in GRAPHS if g.is_connected(mode="weak") and g.vcount() > 2]
DAGS = [g for g in GRAPHS if g.is_directed()]
SIDES = [g for g in GRAPHS if g.is_bipartite()]


@pytest.fixture(scope="module")
def at(server):
    """Coordinates by node of a graph: those of the client's call."""
    graphistry.register(api=3, protocol="http", server=server.server, username="alice", password=PASSWORD)
    uploaded = {}

    def run(g, layout, params=None, **more):
        if id(g) not in uploaded:
            nodes = pd.DataFrame({"id": range(g.vcount()), "kind": [v % 2 for v in range(g.vcount())]})
            if g.is_bipartite():
                nodes["kind"] = [int(t) for t in g.is_bipartite(return_types=True)[1]]
            edges = pd.DataFrame(g.get_edgelist(), columns=["s", "d"])
            # With the graph itself, so that no other one gets its id.
            uploaded[id(g)] = g, graphistry.nodes(nodes, "id").edges(edges, "s", "d").upload(validate=False)
        given = {"layout": layout, "params": params or {}, "directed": g.is_directed(), **more}
        out = uploaded[id(g)][1].gfql_remote([call("layout_igraph", given)])._nodes.set_index("id")
        return out.loc[range(g.vcount()), [c for c in ("x", "y", "z") if c in out]].to_numpy(dtype=float)

    return run


def same(got, want, tol=1e-6):
    want = np.array([list(p) for p in want])
    assert got.shape == want.shape
    assert np.abs(got - want).max() < tol, np.abs(got - want).max()


@pytest.mark.parametrize("layout", PLAIN)
def test_places_that_a_formula_gives_are_those_of_igraph(at, layout):
    for g in GRAPHS:
        same(at(g, layout), g.layout(layout))


def test_their_parameters_mean_what_they_mean_in_igraph(at):
    g = GRAPHS[0]
    back = list(range(g.vcount()))[::-1]
    for layout, params in [("circle", {"order": [5, 3, 8]}), ("circle", {"dim": 3}), ("star", {"center": 4, "order": back}),
                           ("grid", {"width": 5}), ("grid", {"dim": 3, "width": 2, "height": 4}), ("grid_3d", {"height": 3})]:
        same(at(g, layout, params), g.layout(layout, **params))
    for layout, size in [("random", 2), ("random_3d", 3)]:
        places = at(g, layout)
        assert places.shape == (g.vcount(), size) and np.abs(places).max() <= 1 and places.std() > 0.3
        assert (places == at(g, layout)).all() and not (places == at(g, layout, {"random_state": 1})).all()


@pytest.mark.parametrize("layout", ["rt", "rt_circular"])
def test_tidy_trees_are_those_of_igraph(at, layout):
    for i, g in enumerate(GRAPHS):
        roots = [0] if i % 2 else [0, g.vcount() // 2]
        mode = ["out", "all"][i % 3 == 0]
        params = {"root": roots, "mode": mode}
        if len(roots) > 1 and i % 4 == 0:
            params["rootlevel"] = [2, 0]
        same(at(g, layout, params), g.layout(layout, **params))
    # The root that is chosen: the node of most edges, where there is one alone.
    for g in GRAPHS:
        degrees = sorted(g.degree(loops=False))
        if not g.is_directed() and g.is_connected() and degrees[-1] > degrees[-2]:
            same(at(g, layout), g.layout(layout))


def crossings(edges, places):
    ends = [(places[a][0], places[b][0]) if places[a][1] > places[b][1] else (places[b][0], places[a][0]) for a, b in edges]
    return sum((p[0] - q[0]) * (p[1] - q[1]) < 0 for i, p in enumerate(ends) for q in ends[:i])


def test_bipartite_rows_hold_the_kinds_with_few_crossings(at):
    r = random.Random(5)
    made = [igraph.Graph(12 + n, [(r.randrange(12), 12 + r.randrange(n)) for _ in range(30)]) for n in range(8, 20)]
    for g in SIDES + made:
        types = g.is_bipartite(return_types=True)[1]
        want = [list(p) for p in g.layout_bipartite(types=types)]
        for params in [{"types": "kind"}, {"types": [int(t) for t in types]}]:
            got = at(g, "bipartite", params)
            assert [p[1] for p in got] == [p[1] for p in want]
            for row in (0, 1):
                xs = sorted(p[0] for p in got if p[1] == row)
                assert all(b - a > 1 - 1e-9 for a, b in zip(xs, xs[1:]))
            assert crossings(g.get_edgelist(), got) <= 1.1 * crossings(g.get_edgelist(), want)
    wide = at(SIDES[0], "bipartite", {"types": "kind", "hgap": 2, "vgap": 5})
    assert set(wide[:, 1]) == {0.0, 5.0} and min(np.diff(np.unique(wide[wide[:, 1] == 0, 0]))) >= 2


def test_sugiyama_leads_down_over_no_more_layers_than_igraph(at):
    for g in DAGS:
        got, want = at(g, "sugiyama"), g.layout_sugiyama()
        spans = [got[b][1] - got[a][1] for a, b in g.get_edgelist()]
        assert min(spans) >= 1
        assert sum(spans) <= sum(want[b][1] - want[a][1] for a, b in g.get_edgelist())
        for y in set(got[:, 1]):
            xs = sorted(got[got[:, 1] == y, 0])
            assert all(b - a > 1 - 1e-9 for a, b in zip(xs, xs[1:]))


def test_sugiyama_has_no_more_crossings_than_igraph_in_the_same_layers(at):
    r = random.Random(2)
    for _ in range(10):
        layers = sorted(r.randrange(4) for _ in range(30))
        pairs = {tuple(sorted(r.sample(range(30), 2))) for _ in range(250)}
        g = igraph.Graph(30, sorted((a, b) for a, b in pairs if layers[b] - layers[a] == 1)[:60], directed=True)
        got, want = at(g, "sugiyama", {"layers": layers}), g.layout_sugiyama(layers=layers)
        assert [p[1] for p in got] == layers == [p[1] for p in want]

        def between(places):
            rows = [[e for e in g.get_edgelist() if layers[e[0]] == row] for row in range(3)]
            return sum(crossings(edges, places) for edges in rows)
        assert between(got) <= 1.1 * between(want)


def test_mds_has_the_distances_of_igraph(at):
    compared = 0
    for g in CONNECTED:
        hops = np.array(g.as_undirected().distances(), dtype=float) ** 2
        centre = np.eye(g.vcount()) - 1 / g.vcount()
        values = np.sort(np.linalg.eigvalsh(-0.5 * centre @ hops @ centre))[::-1]
        for dim in (2, 3):
            # Equal eigenvalues leave the axes open.
            if g.vcount() <= dim or values[dim - 1] - values[dim] < 1e-3 or values[dim - 1] < 1e-3:
                continue
            got, want = at(g, "mds", {"dim": dim}), np.array([list(p) for p in g.layout_mds(dim=dim)])
            apart = [np.linalg.norm(p[:, None] - p[None], axis=2) for p in (got, want)]
            assert np.abs(apart[0] - apart[1]).max() < 1e-5
            compared += 1
    assert compared >= 15
    three = [[0, 3, 5], [3, 0, 4], [5, 4, 0]]
    got = at(igraph.Graph(3, [(0, 1), (1, 2)]), "mds", {"dist": three})
    assert np.abs(np.linalg.norm(got[:, None] - got[None], axis=2) - three).max() < 1e-6


@pytest.mark.parametrize("layout,params,says", [
    ("circle", {"ordr": [1]}, ["ordr", 'did you mean "order"?']),
    ("circle", {"dim": 4}, ["dim", "from 2 to 3"]),
    ("circle", {"dim": 3, "order": [1]}, ["order", "dim is 3"]),
    ("circle", {"order": ["nobody"]}, ["order", "nobody"]),
    ("star", {"order": [1, 2]}, ["order", "each of the 34 nodes once"]),
    ("grid", {"height": 3}, ["height", "dim is 2"]),
    ("grid", {"width": -1}, ["width", "from 0 to 4000000000"]),
    ("rt", {"root": 0, "mode": "up"}, ["mode", "out, in, all"]),
    ("rt", {"root": [0, 1], "rootlevel": [1]}, ["rootlevel", "each of the 2 roots"]),
    ("bipartite", {}, ["odd length", "types"]),
    ("bipartite", {"types": "nothing"}, ["types", "nothing"]),
    ("sugiyama", {"layers": [1, 2]}, ["layers", "each of the 34 nodes"]),
    ("sugiyama", {"hgap": -1}, ["hgap", "from 0 to 1000000"]),
    ("sugiyama", {"maxiter": 0}, ["maxiter", "from 1 to 1000000"]),
    ("mds", {"dist": [[0]]}, ["dist", "34 rows of 34 numbers"]),
    ("random", {"random_state": -1}, ["random_state", "from 0"]),
], ids=lambda v: json.dumps(v)[:40])
def test_what_a_layout_does_not_take_is_refused_by_name(at, layout, params, says):
    with pytest.raises(Exception) as refused:
        at(GRAPHS[0], layout, params)
    for text in says:
        assert text in str(refused.value).replace('\\"', '"'), str(refused.value)


def test_all_names_of_a_layout_give_the_same(at):
    g = CONNECTED[0]
    for names in [("circle", "circular"), ("sphere", "spherical", "circle_3d", "circular_3d"),
                  ("rt", "tree", "reingold_tilford"), ("rt_circular", "reingold_tilford_circular")]:
        first = at(g, names[0])
        assert not math.isnan(first.sum())
        for name in names[1:]:
            assert (at(g, name) == first).all()
