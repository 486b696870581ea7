"""Layouts by name on a session that is open, as a page asks for them: shown to all who look, where the call itself puts the nodes."""

import random

import numpy as np
import pytest
import requests
from conftest import Server
from live import Viewer

N = 100
# Layouts that need more than the graph: what they need.
PARAMS = {
    "bipartite": {"types": "half"},
    "ring_continuous_layout": {"ring_col": "n"},
    "ring_categorical_layout": {"ring_col": "kind"},
    "time_ring_layout": {"time_col": "at"},
    "circle_layout": {"bounding_box": [0, 0, 10, 10]},
    "layout_graphviz": {"prog": "dot"},
    "tree_layout": {"allow_cycles": True},
}
CALLS = ("circle_layout", "fa2_layout", "group_in_a_box_layout", "layout_graphviz", "mercator_layout",
         "ring_categorical_layout", "ring_continuous_layout", "time_ring_layout", "tree_layout")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    s = Server(tmp_path_factory.mktemp("laid") / "data").start()
    yield s
    assert s.stop() == 0, s.output()


@pytest.fixture(scope="module")
def dataset(server):
    draw = random.Random(5)
    edges = [(i, draw.randrange(i)) for i in range(1, N)] + [(draw.randrange(N), draw.randrange(N)) for _ in range(60)]
    nodes = "".join(f"{i},{i * 3},{'abcd'[i % 4]},{i % 2},2026-01-{i % 28 + 1:02},{i / 3},{i / 7}\n" for i in range(N))
    api = server.api()
    edge_file = api.file(("s,d\n" + "".join(f"{a},{b}\n" for a, b in edges)).encode(), "csv")["file_id"]
    node_file = api.file(("id,n,kind,half,at,latitude,longitude\n" + nodes).encode(), "csv", parser_options={"parse_dates": ["at"]})
    return api.dataset([edge_file], [node_file["file_id"]], nodes={"node": "id"})


@pytest.fixture(scope="module")
def viewer(server, dataset):
    headers = {"Authorization": f"Bearer {server.token()}"}
    page = requests.get(f"{server.url}/graph/graph.html?dataset={dataset}&play=0", headers=headers)
    session = page.url.split("session=")[1].split("&")[0]
    v = Viewer(server, dataset, session, headers=headers)
    v.until(lambda: v.frames)
    yield v
    v.close()


def laid(viewer, name, params):
    """Where the nodes are when the layout has been shown."""
    before = viewer.state.get("placements", 0)
    viewer.say({"t": "layout", "name": name, "params": params})
    said = len(viewer.messages)

    def shown():
        errors = [m for m in viewer.messages[said:] if m["t"] == "error"]
        assert not errors, errors
        return viewer.state.get("placements", 0) > before

    viewer.until(shown)
    frames = viewer.frames
    viewer.until(lambda: viewer.frames > frames and viewer.at_rest)
    assert viewer.state["placed_by"] == name
    return viewer.positions


def asked(server, dataset, call):
    """The positions that the same call answers a query with."""
    answer = requests.post(f"{server.url}/api/v2/etl/datasets/{dataset}/gfql/nodes", headers={"Authorization": f"Bearer {server.token()}"},
                           json={"gfql_query": [call], "format": "json"})
    assert answer.status_code == 200, answer.text
    rows = answer.json()
    rows = rows["nodes"] if isinstance(rows, dict) else rows
    nan = float("nan")
    number = lambda v: nan if v is None else v  # noqa: E731
    return np.array([[number(r["x"]), number(r["y"])] for r in sorted(rows, key=lambda r: r["id"])])


IGRAPH = ("auto automatic bipartite circle circle_3d circular circular_3d davidson_harel dh drl drl_3d fr fr3d fr_3d fruchterman_reingold "
          "fruchterman_reingold_3d graphopt grid grid_3d kamada_kawai kamada_kawai_3d kk kk3d kk_3d large large_graph lgl mds random random_3d "
          "reingold_tilford reingold_tilford_circular rt rt_circular sphere spherical star sugiyama tree").split()


@pytest.mark.parametrize("name", [*IGRAPH, "force_atlas2", *CALLS])
def test_every_layout_shows_what_its_call_answers(server, dataset, viewer, name):
    params = PARAMS.get(name, {})
    if name in CALLS:
        call = {"type": "Call", "function": name, "params": params}
    else:
        library = "cugraph" if name == "force_atlas2" else "igraph"
        call = {"type": "Call", "function": f"layout_{library}", "params": {"layout": name, "params": params}}
    wanted = asked(server, dataset, call)
    shown = laid(viewer, name, params)
    has = np.isfinite(wanted).all(1)
    assert has.sum() > N / 2
    size = np.ptp(wanted[has], axis=0).max()
    assert np.abs(shown[has] - wanted[has]).max() < 1e-4 * size + 1e-6, name


@pytest.mark.parametrize("name, params, wanted", [
    ("kkk", {}, 'did you mean "kk'),
    ("fr", {"nitter": 3}, 'did you mean "niter"'),
    ("fr", {"niter": -1}, "from 0 to"),
    ("ring_continuous_layout", {"ring_col": "nix"}, "nix"),
])
def test_what_is_wrong_is_said_to_the_page_that_asked(viewer, name, params, wanted):
    before = len(viewer.messages)
    viewer.say({"t": "layout", "name": name, "params": params})
    viewer.until(lambda: any(m["t"] == "error" for m in viewer.messages[before:]))
    error = next(m for m in viewer.messages[before:] if m["t"] == "error")
    assert wanted in error["message"], error


def test_a_second_page_sees_it(server, dataset, viewer):
    session = viewer.ws.request.path.split("/viz/")[1].split("/")[0]
    laid(viewer, "circle", {})
    other = Viewer(server, dataset, session, headers={"Authorization": f"Bearer {server.token()}"})
    try:
        other.until(lambda: other.frames)
        assert np.abs(other.positions - viewer.positions).max() < 1e-4
        laid(viewer, "grid", {})
        other.until(lambda: other.state.get("placed_by") == "grid")
    finally:
        other.close()
