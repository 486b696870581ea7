"""A dataset's `layout`: where its nodes are drawn, in columns of its nodes; and `graphlume layout`, which obeys its parameters."""

import csv
import io
import math

import igraph
import numpy as np
import pandas as pd
import pytest

from conftest import counted, run_cli
from live import Viewer, until_at_rest
from test_live import session_of

N = 12
EDGES = pd.DataFrame({"s": [f"n{v}" for v in range(N)], "d": [f"n{(v + 1) % N}" for v in range(N)]})
NODES = pd.DataFrame({"id": [f"n{v}" for v in range(N)], "px": range(N), "py": [0.0] * N})


def body(api, layout, nodes=None, **bindings):
    def file(table):
        data = io.BytesIO()
        table.to_parquet(data)
        return api.file(data.getvalue(), "parquet")["file_id"]

    return {"name": "laid out", "metadata": {}, "edge_files": [file(EDGES)],
            "node_files": [] if nodes is None else [file(nodes)],
            "node_encodings": {"bindings": {**({} if nodes is None else {"node": "id"}), **bindings}},
            "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}, "layout": layout}


def made(api, layout, nodes=None, **bindings):
    """The record of a dataset, once its graph is built."""
    r = api("POST", "/api/v1/datasets/", json=body(api, layout, nodes, **bindings))
    assert r.status_code == 201, r.text
    return counted(api, r.json()["data"]["dataset_id"])


def shown(server, dataset, query=""):
    """What a page shows once the nodes rest."""
    viewer = Viewer(server, dataset, session_of(server, dataset, query))
    until_at_rest(viewer)
    return viewer


def columns(client, dataset):
    out = client.bind(dataset_id=dataset, source="s", destination="d", node="id").gfql_remote([])
    return out._nodes


RING = igraph.Graph([(v, (v + 1) % N) for v in range(N)], directed=True)
CASES = {
    "circle": ({"libraries": ["igraph"], "alg": "circle"}, RING.layout("circle")),
    "grid in space": ({"libraries": ["cugraph", "igraph"], "alg": "grid", "params": {"dim": 3, "width": 2, "height": 3}},
                      RING.layout("grid", dim=3, width=2, height=3)),
    "tree of a root": ({"libraries": ["igraph"], "alg": "rt", "params": {"root": "n5"}}, RING.layout("rt", root=[5])),
}


@pytest.mark.parametrize("case", CASES)
def test_the_layout_of_a_dataset_places_the_nodes_and_the_page_leaves_them_there(server, alice, client, case):
    asked, want = CASES[case]
    want = np.array(list(want))
    # Positions that are bound otherwise give way.
    record = made(alice, {"places": asked}, NODES, node_x="px", node_y="py")
    assert not [n for n in record["notices"] if n["slug"].startswith("layout")], record["notices"]
    assert record["layout"] == {"places": asked}
    table = columns(client, record["dataset_id"]).set_index("id").loc[NODES["id"]]
    got = table[["x", "y", "z"][:want.shape[1]]].to_numpy()
    assert np.allclose(got, want, atol=1e-9), got
    assert ("z" in table) == (want.shape[1] == 3) and list(table["px"]) == list(NODES["px"])
    viewer = shown(server, record["dataset_id"])
    assert viewer.state["iterations"] == 0 and not viewer.state["playing"], viewer.state
    off = viewer.positions - viewer.positions.mean(axis=0) - (want[:, :2] - want[:, :2].mean(axis=0))
    assert np.abs(off).max() < 0.01 * max(1.0, np.abs(want).max()), off
    viewer.close()


def test_an_address_that_says_how_long_to_play_plays(server, alice):
    record = made(alice, {"at": {"libraries": ["igraph"], "alg": "random"}})
    viewer = shown(server, record["dataset_id"], "&play=1000")
    assert viewer.state["iterations"] > 0, viewer.state
    viewer.close()


def test_a_layout_of_the_force_kind_runs_without_a_node_table(alice, client):
    record = made(alice, {"at": {"libraries": ["cugraph"], "alg": "force_atlas2", "params": {"max_iter": 50, "gravity": 2}}})
    table = columns(client, record["dataset_id"])
    assert len(table) == N and np.isfinite(table[["x", "y"]].to_numpy()).all()


WRONG = {
    "layout.at.params.nitter": ({"libraries": ["igraph"], "alg": "fr", "params": {"nitter": 5}}, 'did you mean "niter"?'),
    "layout.at.params.niter": ({"libraries": ["igraph"], "alg": "fr", "params": {"niter": -1}}, "from 0 to"),
    "layout.at.params": ({"libraries": ["igraph"], "alg": "fr", "params": [1]}, "an object"),
    "layout.at.alg": ({"libraries": ["igraph"], "alg": "circel"}, 'did you mean "circle"?'),
    "layout.at.libraries": ({"libraries": ["nx"], "alg": "circle"}, "use cugraph or igraph"),
    "layout.at.size": ({"libraries": ["igraph"], "alg": "circle", "size": 3}, "libraries, alg, params"),
}


@pytest.mark.parametrize("field", WRONG)
def test_what_is_wrong_with_a_layout_is_refused_by_name_or_told(alice, field):
    asked, text = WRONG[field]
    r = alice("POST", "/api/v1/datasets/", json=body(alice, {"at": asked}))
    assert r.status_code == 400 and field in r.text and text in r.json()["message"].replace("\\", ""), r.text
    # Where the interface has no such member, it is kept and the answer tells that nothing came of it.
    r = alice("POST", "/api/v2/upload/datasets/", json=body(alice, {"at": asked}))
    assert r.status_code == 201, r.text
    notices = r.json()["data"]["notices"]
    assert [n for n in notices if n["slug"] == "layout-not-run" and text in n["text"]], notices


def test_two_layouts_are_one_too_many(alice):
    circle = {"libraries": ["igraph"], "alg": "circle"}
    r = alice("POST", "/api/v1/datasets/", json=body(alice, {"a": circle, "b": circle}))
    assert r.status_code == 400 and "a, b" in r.text, r.text


def test_a_layout_that_fails_is_a_notice_and_the_page_lays_the_graph_out(server, alice):
    record = made(alice, {"at": {"libraries": ["igraph"], "alg": "rt", "params": {"root": "ghost"}}})
    told = [n["text"] for n in record["notices"] if n["slug"] == "layout-failed"]
    assert len(told) == 1 and "ghost" in told[0] and '"root"' in told[0], record["notices"]
    viewer = shown(server, record["dataset_id"])
    assert viewer.state["iterations"] > 0, viewer.state
    viewer.close()


# ---- the command line -------------------------------------------------------------------------------------------------

def laid_out(edges, alg, *more):
    rows = list(csv.DictReader(io.StringIO(run_cli("layout", alg, edges, *more).stdout)))
    return np.array([[float(r["x"]), float(r["y"])] for r in rows])


@pytest.fixture(scope="module")
def rmat(tmp_path_factory):
    path = tmp_path_factory.mktemp("layout") / "rmat.csv"
    run_cli("generate", "rmat", "--scale", 9, "--out", path)
    return path


@pytest.mark.parametrize("alg, name", [("force_atlas2", "max_iter"), ("fr", "niter"), ("kk", "maxiter"), ("lgl", "maxiter"),
                                       ("graphopt", "niter")])
def test_iterations_reach_the_parameter_of_the_layout(rmat, alg, name):
    few = laid_out(rmat, alg, "--iterations", 3)
    assert np.array_equal(few, laid_out(rmat, alg, "-p", f"{name}=3"))
    # Those of kk are moves of single nodes.
    many = 100_000 if alg == "kk" else 300
    assert not np.array_equal(few, laid_out(rmat, alg, "--iterations", many))
    # What is said with its own name counts.
    assert np.array_equal(few, laid_out(rmat, alg, "--iterations", 300, "-p", f"{name}=3"))


def test_iterations_of_a_layout_without_any_are_refused(rmat):
    r = run_cli("layout", "circle", rmat, "--iterations", 3, check=False)
    assert r.returncode != 0 and "--iterations 3" in r.stderr and "leave it out" in r.stderr, r.stderr


def nearest(points):
    order = points[np.argsort(points[:, 0])]
    least = math.inf
    for k in range(1, len(order)):
        apart = order[k:] - order[:-k]
        if apart[:, 0].min() > least:
            break
        least = min(least, np.hypot(*apart.T).min())
    return least


def test_nodes_do_not_overlap_where_that_is_to_be_prevented(rmat):
    few = ("--iterations", 60, "-p", "vertex_radius=20")
    assert nearest(laid_out(rmat, "force_atlas2", *few)) < 40
    apart = laid_out(rmat, "force_atlas2", *few, "-p", "prevent_overlapping=true")
    assert nearest(apart) >= 40
    again = laid_out(rmat, "force_atlas2", *few, "-p", "prevent_overlapping=true", "--threads", 1)
    assert np.array_equal(apart, again)
    smaller = laid_out(rmat, "force_atlas2", "--iterations", 60, "-p", "vertex_radius=2", "-p", "prevent_overlapping=true")
    assert np.ptp(smaller) < np.ptp(apart)


def test_the_start_of_force_atlas2_is_the_one_that_its_parameters_choose(rmat):
    coarse = laid_out(rmat, "force_atlas2", "--iterations", 1)
    assert not np.array_equal(coarse, laid_out(rmat, "force_atlas2", "--iterations", 1, "-p", "multilevel_start=false"))
