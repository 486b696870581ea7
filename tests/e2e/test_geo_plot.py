"""A table with coordinates is a map, or a picture of its own, until somebody has forces run, and again when that is taken back."""

import numpy as np
import pandas as pd
import pytest
from conftest import PASSWORD, Server, browser
from live import Viewer
from test_given_coordinates import opened, session_of

CITIES = pd.DataFrame(
    [("Moscow", 55.75, 37.62), ("Beijing", 39.9, 116.4), ("Paris", 48.86, 2.35), ("Nairobi", -1.29, 36.82), ("Lima", -12.05, -77.04),
     ("Sydney", -33.87, 151.21), ("Toronto", 43.65, -79.38), ("Tokyo", 35.68, 139.69)], columns=["city", "latitude", "longitude"])
ROADS = pd.DataFrame({"a": list(CITIES.city), "b": list(np.roll(CITIES.city, 3))})


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    s = Server(tmp_path_factory.mktemp("geo") / "data").start()
    yield s
    assert s.stop() == 0, s.output()


@pytest.fixture(scope="module")
def graphistry(server):
    import graphistry

    graphistry.register(api=3, protocol="http", server=server.server, username="admin", password=PASSWORD)
    return graphistry


def plotted(graphistry, nodes, **bindings):
    g = graphistry.edges(ROADS, "a", "b").nodes(nodes, "city")
    url = (g.bind(**bindings) if bindings else g).plot(render=False)
    assert "play=" not in url, "the client says nothing of the layout"
    return url if url.startswith("http") else f"http:{url}"


def mercator(nodes):
    return np.stack([np.radians(nodes.longitude), np.arctanh(np.sin(np.radians(nodes.latitude)))], 1)


def flat(nodes):
    return np.stack([nodes.x, nodes.y], 1)


def off(at, wanted, up):
    """How far points are from the wanted ones, after the move and the one scale that fit best, as a share of their extent."""
    at = np.array(at, float) * [1, up]
    at, wanted = at - at.mean(0), wanted - wanted.mean(0)
    scale = (at * wanted).sum() / (wanted ** 2).sum()
    assert scale > 0, "not mirrored"
    return np.abs(at - scale * wanted).max() / np.ptp(at, 0).max()


GRID = CITIES[["city"]].assign(x=[0.0, 4, 4, 0, 2, 1, 3, 2], y=[0.0, 0, 3, 3, 1, 2, 2, 4])
PLOTS = {
    "latitude and longitude": (CITIES, {}, mercator, True),
    "x and y": (GRID, {}, flat, False),
    "bound columns": (GRID.rename(columns={"x": "east", "y": "north"}), {"point_x": "east", "point_y": "north"},
                      lambda nodes: np.stack([nodes.east, nodes.north], 1), False),
}


@pytest.mark.parametrize("plot", PLOTS)
def test_nodes_stay_at_their_coordinates_until_forces_are_asked_for_and_come_back(server, graphistry, plot, tmp_path):
    nodes, bindings, place, mapped = PLOTS[plot]
    url = plotted(graphistry, nodes, **bindings)
    session, dataset = session_of(server, url)
    viewer = Viewer(server, dataset, session, headers={"Authorization": f"Bearer {server.token()}"})
    try:
        viewer.until(lambda: viewer.frames and viewer.state is not None)
        assert viewer.state["state"] == "settled" and viewer.state["iterations"] == 0, viewer.state
        wanted = place(nodes.set_index("city").loc[names_by_index(server, session, dataset, len(nodes))])
        assert off(viewer.positions, wanted, 1) < 1e-3
    finally:
        viewer.close()
    seen = browser("given-real.mjs", url, tmp_path / "given.png")
    assert seen["complaints"] == []
    # On the screen y points down.
    assert off(seen["given"]["at"], wanted, -1) < 0.01 and off(seen["back"]["at"], wanted, -1) < 0.01
    assert (seen["given"]["menu"], seen["given"]["word"], seen["given"]["iterations"]) == ("Given positions", "as given", 0)
    assert off(seen["moved"]["at"], wanted, -1) > 0.1 and seen["moved"]["menu"] == "Forces"
    assert "Run layout" in seen["moved"]["undo"]
    assert (seen["back"]["menu"], seen["back"]["word"]) == ("Given positions", "as given")
    assert np.abs(np.subtract(seen["again"]["at"], seen["moved"]["at"])).max() < 2 and seen["again"]["menu"] == "Forces"
    assert off(seen["last"]["at"], wanted, -1) < 0.01 and "Given positions" in seen["last"]["undo"]
    # The coast lines go when their file does not arrive.
    assert (seen["coasts"] > 1000) == mapped, seen["coasts"]


def names_by_index(server, session, dataset, count):
    """The names of the nodes, in the order of their positions."""
    api = server.api()
    return [api("GET", f"/viz/{session}/node/{i}", params={"dataset": dataset}).json()["id"] for i in range(count)]


def test_who_asks_for_play_gets_it(server, graphistry):
    url = plotted(graphistry, CITIES)
    viewer = opened(server, f"{url}&play=1000")
    try:
        viewer.until(lambda: viewer.state is not None and viewer.state.get("iterations", 0) > 0)
    finally:
        viewer.close()
