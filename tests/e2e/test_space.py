"""Nodes with a third coordinate: what the server says of it, and the page's picture in space."""

import zlib

import numpy as np
import pytest
import requests
from conftest import browser, until
from live import Viewer

SIDE = 4
NODES = SIDE**3
NONE = 0xFFFF


def place(v):
    return v % SIDE * 30, v // SIDE % SIDE * 30, v // SIDE**2 * 30


@pytest.fixture(scope="module")
def edges():
    pairs = [(v, w) for v in range(NODES) for w in range(v) if sum(abs(a - b) for a, b in zip(place(v), place(w))) == 30]
    return ("s,d\n" + "".join(f"{v},{w}\n" for v, w in pairs)).encode()


def dataset_of(api, edges, columns, bindings=None, without=()):
    rows = "".join(f"{v},{x},{y},{'' if v in without else z}\n" for v in range(NODES) for x, y, z in [place(v)])
    nodes = api.file((f"{columns}\n" + rows).encode(), "csv")["file_id"]
    return api.dataset([api.file(edges, "csv")["file_id"]], [nodes], nodes={"node": "id", **(bindings or {})})


def open_viewer(server, dataset, **kinds):
    page = requests.get(f"{server.url}/graph/graph.html", params={"dataset": dataset, "play": 0}, **kinds)
    session = page.url.split("session=")[1].split("&")[0]
    viewer = Viewer(server, dataset, session, **kinds)
    viewer.session = session
    viewer.until(lambda: viewer.graph and viewer.frames)
    return viewer


def asked(server, viewer, dataset, ahead=0, **kinds):
    address = f"{server.url}/viz/{viewer.session}/{viewer.graph['epoch'] + ahead}/depth.bin"
    return requests.get(address, params={"dataset": dataset}, **kinds)


def depths(reply):
    """Z of each node, NaN for none, and how exact it is."""
    assert reply.status_code == 200, reply.text
    frame = reply.content
    assert frame[:4] == b"GVZ1" and frame[5] == 22
    payload = zlib.decompress(frame[48:], -15) if frame[6] & 1 else frame[48:]
    steps = np.frombuffer(payload, "<u2")
    first, step = np.frombuffer(frame[32:36], "<f4")[0], np.frombuffer(frame[40:44], "<f4")[0]
    return np.where(steps == NONE, np.nan, first + steps * float(step)), step


def numbers(server, viewer, dataset):
    names = requests.get(f"{server.url}/viz/{viewer.session}/names",
                         params={"nodes": ",".join(map(str, range(NODES))), "dataset": dataset}).json()["names"]
    return [int(name) for name in names]


@pytest.mark.parametrize("columns,bindings", [("id,x,y,z", None), ("id,x,y,height", {"node_z": "height"})])
def test_a_column_z_and_a_bound_one_are_the_third_coordinate_in_their_own_units(server, alice, edges, columns, bindings):
    dataset = dataset_of(alice, edges, columns, bindings, without=(5,))
    viewer = open_viewer(server, dataset)
    assert viewer.graph["layout"]["depths"] == 1
    z, step = depths(asked(server, viewer, dataset))
    wanted = np.array([np.nan if v == 5 else place(v)[2] for v in numbers(server, viewer, dataset)])
    assert (np.isnan(z) == np.isnan(wanted)).all()
    assert np.nanmax(np.abs(z - wanted)) <= step
    assert asked(server, viewer, dataset, ahead=1).status_code == 410
    viewer.close()


def test_who_may_not_see_a_dataset_is_told_no_third_coordinate(server, alice, edges):
    dataset = dataset_of(alice, edges, "id,x,y,z")
    private = {"obj_pk": dataset, "obj_type": "dataset", "mode": "private"}
    assert alice("POST", "/api/v2/share/link/", json=private).status_code == 200
    headers = dict(alice.session.headers)
    viewer = open_viewer(server, dataset, headers=headers)
    assert asked(server, viewer, dataset, headers=headers).status_code == 200
    refused = asked(server, viewer, dataset)
    assert refused.status_code in (401, 403, 404) and b"GVZ1" not in refused.content, refused.status_code
    viewer.close()


def test_without_a_third_coordinate_there_is_none_and_the_answer_says_what_to_do(server, alice, edges):
    dataset = dataset_of(alice, edges, "id,x,y,height")
    viewer = open_viewer(server, dataset)
    assert viewer.graph["layout"]["depths"] == 0
    refused = asked(server, viewer, dataset)
    assert refused.status_code == 404 and "node_z" in refused.text
    viewer.close()


def test_a_layout_by_name_in_space_gives_one_and_one_in_the_plane_takes_it_back(server, edges):
    api = server.api()
    dataset = api.dataset([api.file(edges, "csv")["file_id"]])
    headers = {"Authorization": f"Bearer {server.token()}"}
    viewer = open_viewer(server, dataset, headers=headers)
    assert viewer.state.get("depths") == 0
    for name, there in [("grid_3d", True), ("circle", False)]:
        before = viewer.state["placements"]
        viewer.say({"t": "layout", "name": name, "params": {}})
        viewer.until(lambda: viewer.state.get("placements", 0) > before)
        assert (viewer.state["depths"] > 0) == there, viewer.state
        reply = asked(server, viewer, dataset, headers=headers)
        if there:
            assert sorted(set(np.round(depths(reply)[0]))) == [0, 1, 2, 3]
        else:
            assert reply.status_code == 404
    viewer.close()


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_z_of_a_layout_by_name_outlives_the_server(fresh, edges, end):
    api, headers = fresh.api(), {"Authorization": f"Bearer {fresh.token()}"}
    dataset = api.dataset([api.file(edges, "csv")["file_id"]])
    viewer = open_viewer(fresh, dataset, headers=headers)
    viewer.say({"t": "layout", "name": "grid_3d", "params": {}})
    viewer.until(lambda: viewer.state.get("placements", 0) > 0)
    session, before = viewer.session, depths(asked(fresh, viewer, dataset, headers=headers))[0]
    assert sorted(set(np.round(before))) == [0, 1, 2, 3]
    # A server that is told to stop writes positions down first; one that is killed has written them when they came to rest.
    kept = fresh.data / "positions" / dataset / session
    # The second word of the file is its format, 2 with z: positions of before the layout may have been written, too.
    until(lambda: end == "stop" or kept.exists() and kept.read_bytes()[4] == 2, "the positions are written")
    viewer.close()
    getattr(fresh, end)()
    fresh.start()
    viewer = Viewer(fresh, dataset, session, headers=headers)
    viewer.session = session
    # The graph may be told of while positions are read; the state says when they are there.
    viewer.until(lambda: viewer.graph and viewer.frames and viewer.state["state"] != "loading")
    assert viewer.state["depths"] > 0, viewer.state
    assert np.abs(depths(asked(fresh, viewer, dataset, headers=headers))[0] - before).max() < 1e-3
    viewer.close()


def test_the_page_shows_it_from_a_side_and_the_plane_again(server, alice, edges):
    dataset = dataset_of(alice, edges, "id,x,y,z")
    seen = browser("space-real.mjs", f"{server.url}/graph/graph.html?dataset={dataset}&play=0&theme=dark&edgeOpacity=0")
    assert seen["complaints"] == []
    flat, space, back = (np.array([[n["x"], n["y"], n["r"]] for n in seen[k]]) for k in ("flat", "space", "back"))
    ids = [int(name) for name in seen["names"]]
    at = {v: k for k, v in enumerate(ids)}
    front, rear = [at[v] for v in range(NODES - SIDE**2, NODES)], [at[v] for v in range(SIDE**2)]
    # In the plane the layers lie on one another, in space they come apart; what is near is larger.
    assert np.abs(flat[front, :2] - flat[rear, :2]).max() < 1
    assert np.hypot(*(space[front, :2] - space[rear, :2]).T).min() > 30
    assert space[front, 2].mean() > 1.2 * space[rear, 2].mean()
    own = [np.abs(np.array(n["seen"]) - n["color"][:3]).max() < 24 for n in seen["space"] if n["hit"]]
    assert len(own) > 0.6 * NODES and np.mean(own) > 0.9, (len(own), np.mean(own))
    assert np.abs(back - flat).max() < 1
