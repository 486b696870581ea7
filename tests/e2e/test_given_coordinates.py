"""Coordinates that the uploader gave are shown as they are: in a tiny part of the plane, beside a wild one, and on rings."""

import re

import numpy as np
import pandas as pd
import pytest
import requests
from conftest import PASSWORD, Server
from live import POS_F32, Viewer, until_at_rest


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    s = Server(tmp_path_factory.mktemp("given") / "data").start()
    yield s
    assert s.stop() == 0, s.output()


def session_of(server, url):
    """The session and the dataset of the page at this address."""
    page = requests.get(url, headers={"Authorization": f"Bearer {server.token()}"})
    assert page.status_code == 200, page.text
    return tuple(re.search(rf"[?&]{name}=([^&]+)", page.url).group(1) for name in ("session", "dataset"))


def opened(server, url):
    """A viewer on the session that the page at this address gets."""
    session, dataset = session_of(server, url)
    return Viewer(server, dataset, session, headers={"Authorization": f"Bearer {server.token()}"})


def placed(server, xy):
    """A viewer on a ring of these positions, by the binding of the client, that stands still."""
    api = server.api()
    edge_file = api.file(("s,d\n" + "".join(f"{i},{(i + 1) % len(xy)}\n" for i in range(len(xy)))).encode(), "csv")["file_id"]
    node_file = api.file(("id,px,py\n" + "".join(f"{i},{x!r},{y!r}\n" for i, (x, y) in enumerate(xy))).encode(), "csv")["file_id"]
    dataset = api.dataset([edge_file], [node_file], nodes={"node": "id", "node_x": "px", "node_y": "py"})
    return opened(server, f"{server.url}/graph/graph.html?dataset={dataset}&play=0")


def ring(n, radius, middle=(0.0, 0.0)):
    turn = np.linspace(0, 2 * np.pi, n, endpoint=False)
    return [(float(middle[0] + radius * np.cos(a)), float(middle[1] + radius * np.sin(a))) for a in turn]


@pytest.mark.parametrize("far", [0, 20])
def test_a_ring_in_a_tiny_part_of_the_plane_is_told_apart(server, far):
    xy = ring(60, 1e-5) + ring(far, 1.0)
    viewer = placed(server, xy)
    try:
        viewer.until(lambda: viewer.frames)
        shown = viewer.positions[:60]
        assert len(np.unique(shown, axis=0)) == 60
        assert np.abs(shown - np.array(xy[:60])).max() < 1e-8
        assert np.abs(viewer.positions - np.array(xy)).max() < 1e-4
    finally:
        viewer.close()


def test_one_wild_coordinate_costs_the_others_nothing(server):
    xy = [(0.0, 0.0), (1.0, 0.0), (0.5, 1.0), (1e30, 0.2)]
    viewer = placed(server, xy)
    try:
        frame = viewer.step()
        while not viewer.frames:
            frame = viewer.step()
        assert frame.kind == POS_F32
        assert np.abs(viewer.positions[:3] - np.array(xy[:3])).max() < 1e-6
        far = [n["text"] for n in viewer.graph["notices"] if n["slug"] == "nodes-far-out"]
        assert len(far) == 1 and '1 of 4 nodes' in far[0] and '"3"' in far[0], viewer.graph["notices"]
    finally:
        viewer.close()


def test_motion_after_an_exact_picture_goes_on_by_steps(server):
    viewer = placed(server, ring(60, 1e-5) + ring(20, 1.0))
    try:
        viewer.until(lambda: viewer.frames)
        before = viewer.positions.copy()
        viewer.say({"t": "play", "on": True, "ms": 60_000})
        viewer.until(lambda: viewer.frames > 5)
        assert np.abs(viewer.positions - before).max() > 0
    finally:
        viewer.close()


def test_the_clients_rings_stay_rings_while_they_move(server):
    """`time_ring_layout` asks for two seconds of play with radii held: nodes may turn, and no sector takes them all."""
    import graphistry

    graphistry.register(api=3, protocol="http", server=server.server, username="admin", password=PASSWORD)
    rng = np.random.default_rng(3)
    nodes = pd.DataFrame({"id": np.arange(200), "t": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 3600 * 24 * 9, 200), "s")})
    edges = pd.DataFrame({"s": rng.integers(0, 200, 600), "d": rng.integers(0, 200, 600)})
    g = graphistry.nodes(nodes, "id").edges(edges, "s", "d").time_ring_layout("t")
    url = g.plot(render=False)
    assert "lockedR=True" in url and "play=" in url
    viewer = opened(server, url)
    try:
        viewer.until(lambda: viewer.frames)
        begin = viewer.positions.copy()
        until_at_rest(viewer)
        end = viewer.positions
        far = lambda xy: np.hypot(xy[:, 0], xy[:, 1])
        assert np.abs(end - begin).max() > 1, "they move"
        assert np.abs(far(end) - far(begin)).max() < 0.01 * far(begin).max(), "radii are held"
        gathered = lambda xy: np.hypot(*(xy / far(xy)[:, None]).mean(0))
        assert gathered(begin) < 0.2 and gathered(end) < 0.35, (gathered(begin), gathered(end))
    finally:
        viewer.close()
