"""The force and stress layouts of igraph: every one by the command line against the bands of tests/data/layout_bands.json, and
by the unchanged client's `layout_igraph` with its parameters."""

import csv
import json
import pathlib

import graphistry
import numpy as np
import pandas as pd
import pytest
from graphistry.compute.ast import call

from conftest import PASSWORD, run_cli

DATA = pathlib.Path(__file__).parents[1] / "data"
GRAPHS = json.loads((DATA / "oracles.json").read_text())["graphs"]
BANDS = json.loads((DATA / "layout_bands.json").read_text())["bands"]
LAYOUTS = sorted({band["layout"] for band in BANDS})


def adjacent(name):
    near = [set() for _ in range(GRAPHS[name]["n"])]
    for a, b in GRAPHS[name]["edges"]:
        if a != b:
            near[a].add(b)
            near[b].add(a)
    return near


def hops(near):
    distance = np.full((len(near), len(near)), np.inf)
    for source in range(len(near)):
        distance[source, source] = 0
        queue = [source]
        for v in queue:
            for u in near[v]:
                if distance[source, u] == np.inf:
                    distance[source, u] = distance[source, v] + 1
                    queue.append(u)
    return distance


def figures(name, points):
    """Stress, and the share of neighbours that are kept, as the bands define them."""
    near = adjacent(name)
    i, j = np.triu_indices(len(near), 1)
    d = hops(near)[i, j]
    r = np.linalg.norm(points[i] - points[j], axis=1)[np.isfinite(d)] / d[np.isfinite(d)]
    stress = float(((r.sum() / (r * r).sum() * r - 1) ** 2).mean()) if len(r) else 0.0
    shares = []
    for v, own in enumerate(near):
        if own:
            far = np.linalg.norm(points - points[v], axis=1)
            far[v] = np.inf
            found = set(np.argsort(far, kind="stable")[:len(own)])
            shares.append(len(found & own) / len(found | own))
    return stress, float(np.mean(shares))


def holds(layout, band, points):
    stress, kept = figures(band["graph"], points)
    most = band["stress_most"] * (1.05 if layout.startswith("kk") else 1.35) + 0.005
    return [f"{band['graph']}: stress {stress:.4f} above {most:.4f}"] * (stress > most) + [
        f"{band['graph']}: kept {kept:.3f} below {band['kept_least'] - 0.1:.3f}"] * (kept < band["kept_least"] - 0.1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_are_in_igraphs_bands(layout, tmp_path):
    wrong = []
    for band in (b for b in BANDS if b["layout"] == layout):
        graph = GRAPHS[band["graph"]]
        edges, nodes, out = (tmp_path / name for name in ("edges.csv", "nodes.csv", "out.csv"))
        edges.write_text("src,dst\n" + "".join(f"{a},{b}\n" for a, b in graph["edges"]))
        nodes.write_text("id\n" + "".join(f"{v}\n" for v in range(graph["n"])))
        run_cli("layout", layout, edges, "--nodes", nodes, "--out", out)
        with out.open() as file:
            rows = sorted((int(row[0]), [float(x) for x in row[1:]]) for row in list(csv.reader(file))[1:])
        wrong += holds(layout, band, np.array([row for _, row in rows]))
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def uploaded(server):
    graphistry.register(api=3, protocol="http", server=server.url.removeprefix("http://"), username="alice", password=PASSWORD)
    made = {}
    for name in ("karate", "lesmis", "disconnected"):
        graph = GRAPHS[name]
        edges = pd.DataFrame(graph["edges"], columns=["s", "d"])
        edges["w"] = [1.0 + row % 3 for row in range(len(edges))]
        nodes = pd.DataFrame({"id": range(graph["n"]), "low": -1.0, "high": 1.0})
        made[name] = graphistry.edges(edges, "s", "d").nodes(nodes, "id").upload()
    return made


def laid_out(graph, layout, params=None):
    made = graph.gfql_remote([call("layout_igraph", {"layout": layout, "params": params or {}})])
    nodes = made._nodes.sort_values("id")
    return nodes[[c for c in ("x", "y", "z") if c in nodes.columns]].to_numpy(float)


PARAMS = {
    "kk": {"maxiter": 3000, "epsilon": 0.0, "kkconst": 20.0},
    "fr": {"niter": 300, "start_temp": 1.5, "grid": "nogrid"},
    "drl": {"options": {"edge_cut": 0.5, "simmer_iterations": 60}},
    "lgl": {"maxiter": 200, "coolexp": 1.2, "cellsize": 5},
    "graphopt": {"niter": 400, "node_charge": 0.002, "spring_length": 1, "max_sa_movement": 4},
    "dh": {"maxiter": 8, "fineiter": 8, "cool_fact": 0.8, "weight_node_dist": 1.0},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["karate", "lesmis", "disconnected"])
def test_the_client_gets_layouts_in_the_bands_with_their_parameters(uploaded, name, layout):
    band = next(b for b in BANDS if b["layout"] == layout and b["graph"] == name)
    points = laid_out(uploaded[name], layout, PARAMS.get(layout))
    assert points.shape[1] == (3 if layout.endswith("_3d") else 2)
    wrong = holds(layout, band, points)
    assert not wrong, wrong


@pytest.mark.parametrize("alias,layout", [
    ("kamada_kawai", "kk"), ("kk3d", "kk_3d"), ("kamada_kawai_3d", "kk_3d"), ("fruchterman_reingold", "fr"),
    ("fr3d", "fr_3d"), ("fruchterman_reingold_3d", "fr_3d"), ("large", "lgl"), ("large_graph", "lgl"), ("davidson_harel", "dh")])
def test_other_names_give_the_same(uploaded, alias, layout):
    own, other = (laid_out(uploaded["karate"], name) for name in (layout, alias))
    assert (own == other).all()


def test_starts_bounds_and_weights_are_taken(uploaded):
    karate = uploaded["karate"]
    start = [[float(v), float(v * v % 7)] for v in range(34)]
    assert np.allclose(laid_out(karate, "fr", {"seed": start, "niter": 0}), start, atol=1e-5)
    for layout in ("fr", "kk"):
        points = laid_out(karate, layout, {"minx": "low", "maxx": "high"})
        assert abs(points[:, 0]).max() <= 1.0
        assert (laid_out(karate, layout, {"weights": "w"}) != laid_out(karate, layout)).any()


@pytest.mark.parametrize("layout,params,says", [
    ("fr", {"niter": -5}, "niter"),
    ("fr", {"weights": "nothing"}, "weights"),
    ("fr", {"seed": [[0, 0]]}, "34 nodes"),
    ("kk", {"epsilon": -1.0}, "from 0"),
    ("drl", {"options": {"edge_cut": 3}}, "from 0 to 1"),
    ("drl", {"options": "melting"}, "coarsest"),
    ("lgl", {"root": "nobody"}, "root"),
    ("dh", {"cool_fact": 2}, "cool_fact"),
    ("graphopt", {"mass": 3}, "node_mass"),
])
def test_wrong_parameters_are_refused_by_name(uploaded, layout, params, says):
    with pytest.raises(Exception) as refused:
        laid_out(uploaded["karate"], layout, params)
    assert says in str(refused.value) or says in getattr(getattr(refused.value, "response", None), "text", "")
