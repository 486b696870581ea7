"""What the unchanged Python client binds beyond colours and sizes: as the page is told it, and as it draws it."""

import json

import numpy as np
import pandas as pd
import pytest
import requests
from conftest import browser, unique
from live import Viewer
from test_client import dataset_of, plot

EDGES = pd.DataFrame({"s": list("abcdab"), "d": list("bcdaca"), "w": [1.0, 2, 3, 4, 5, 9], "way": ["bug", "car"] * 3,
                      "what": [f"way to {x}" for x in "bcdaca"]})
NODES = pd.DataFrame({"id": list("abcd"), "kind": ["DE", "user", "fa-car", "nobody"], "risk": [1, 5, 9, 2],
                      "x": [-100.0, 100, 100, -100], "y": [100.0, 100, -100, -100],
                      "lon": [13.4, -74.0, 151.2, 28.0], "lat": [52.5, 40.7, -33.9, -26.2]})
STILL = {"play": 0, "pointSize": 2}
RED, GOLD, INK, GREEN = [216, 0, 39], [255, 218, 68], [16, 19, 26], [0, 255, 0]


@pytest.fixture
def g(client):
    placed = client.edges(EDGES, "s", "d").nodes(NODES, "id").bind(point_x="x", point_y="y")
    return placed.settings(url_params=STILL)


def opened(server, url):
    """The address of a session of its own, the message that describes its graph, and the frames of its picture."""
    dataset, session = dataset_of(url), unique("bound")
    query = {"dataset": dataset}
    page = requests.get(f"{server.url}/graph/graph.html", params={**query, "session": session})
    assert page.status_code == 200
    base = f"{server.url}/viz/{session}"
    while True:
        answer = requests.get(f"{base}/graph", params=query).json()
        graph = next((m for m in answer["messages"] if m["t"] == "graph"), None)
        if graph:
            break
    frames = [requests.get(f"{base}/scene/{k}", params=query).content for k in range(answer["scene_frames"])]
    return base, graph, frames


def told(server, url):
    """The message that describes the graph, and the looks of all icons with what each element shows."""
    _, graph, frames = opened(server, url)
    layers = []
    for frame in frames:
        if frame[5] == 20:
            count, size = int.from_bytes(frame[24:28], "little"), int.from_bytes(frame[52:56], "little")
            shown = np.frombuffer(frame[64:64 + 2 * count], "<u2")
            look = json.loads(frame[-size:])
            items = [look["list"][i - 1] if i else None for i in shown]
            layers.append({"axis": frame[48], "place": frame[49], "look": look, "shown": items})
    return graph, layers


def seen(url, *colors):
    found = browser("bound-real.mjs", url, json.dumps(colors))
    assert found["complaints"] == [], found
    return found


def test_icons_of_a_bound_column_are_drawn_and_unknown_ones_named(server, g):
    url = plot(g.bind(point_icon="kind", edge_icon="way"))
    graph, layers = told(server, url)
    nodes, edges = (next(layer for layer in layers if layer["axis"] == axis) for axis in (0, 1))
    assert nodes["shown"] == [{"flag": "de"}, {"glyph": "\uf007"}, {"glyph": "\uf1b9"}, None]
    assert {item["glyph"] for item in edges["shown"]} == {"\uf188", "\uf1b9"}
    said = [n["text"] for n in graph["notices"] if n["slug"] == "encoding-not-drawn"]
    assert len(said) == 1 and '"nobody"' in said[0], said
    german, user, car, nobody = seen(url, RED, GOLD, INK)["nodes"]
    assert german[0] > 0.1 and german[1] > 0.1, "the flag"
    assert min(user[2], car[2]) > 0.05 and nobody[2] < 0.02, "ink on two discs"


def test_mapped_icons_bins_texts_and_badges_are_drawn(server, g):
    url = plot(
        g.encode_point_icon("risk", continuous_binning=[[4, "user"], [None, "bug"]], comparator="<=", shape="circle")
        .encode_point_badge("kind", "TopRight", categorical_mapping={"DE": "!"}, default_mapping="?", as_text=True,
                            color="white", bg={"color": "#00ff00"})
    )
    _, layers = told(server, url)
    icon, badge = (next(layer for layer in layers if layer["place"] == place) for place in (0, 2))
    assert [item["glyph"] for item in icon["shown"]] == ["\uf007", "\uf188", "\uf188", "\uf007"]
    assert icon["look"]["shape"] == "circle"
    wanted = {"color": "#ffffff", "bg": "#00ff00"}
    assert badge["shown"] == [{"text": "!", **wanted}] + 3 * [{"text": "?", **wanted}]
    assert seen(url, GREEN)["stage"][0] > 0.0002, "badges"


def test_rings_of_a_layout_and_straight_axes_are_told_with_their_labels(server, client, g):
    ring = client.edges(EDGES, "s", "d").nodes(NODES, "id").ring_continuous_layout(ring_col="risk", play_ms=0)
    graph, _ = told(server, plot(ring))
    axes = graph["underlay"]["axes"]
    assert len(axes) >= 3 and all(row["r"] >= 0 for row in axes), axes
    assert any(row.get("label") for row in axes), axes
    url = plot(g.encode_axis([{"label": "top", "y": 60, "external": True},
                              {"x": 0, "space": True, "bounds": {"min": -50, "max": "50"}}]))
    graph, _ = told(server, url)
    assert graph["underlay"]["axes"] == [{"y": 60.0, "label": "top", "kind": "external"},
                                         {"x": 0.0, "kind": "space", "min": -50.0, "max": 50.0}]
    # The line of the upper axis crosses the whole stage, a little brighter than the background.
    assert seen(url, [85, 88, 96])["stage"][0] > 0.0005


def test_edges_are_called_as_bound_and_as_wide_as_their_weight(server, g):
    url = plot(g.bind(edge_label="what", edge_weight="w"))
    graph, _ = told(server, url)
    assert graph["edges_named"] is True and graph["legend"]["edge_size"]["title"] == "w"
    labels = seen(url)["labels"]
    assert len(labels) >= 2 and set(labels) <= set(EDGES["what"]), labels


def test_chosen_colours_are_as_given_in_both_themes(server, g):
    # Hues that the light theme has others for, where nobody chose them.
    chosen = g.encode_point_color("kind", categorical_mapping={"DE": "#6db9fc", "user": "#fdd141"}, default_mapping="#ca5d2f", as_categorical=True)
    url = plot(chosen)
    graph, _ = told(server, url)
    assert all(entry.get("chosen") for entry in graph["legend"]["node_color"]["entries"]), graph["legend"]
    for theme in ["dark", "light"]:
        nodes = seen(f"{url}&theme={theme}", [109, 185, 252], [253, 209, 65], [202, 93, 47])["nodes"]
        hues = sorted(int(np.argmax(shares)) for shares in nodes)
        assert hues == [0, 1, 2, 2] and all(max(shares) > 0.8 for shares in nodes), (theme, nodes)
    plain = plot(g.bind(point_color="kind"))
    nodes = seen(f"{plain}&theme=light", [109, 185, 252], [50, 124, 185])["nodes"]
    assert max(blue for blue, _ in nodes) < 0.1 and max(light for _, light in nodes) > 0.8, nodes


def test_a_map_lies_under_places_that_are_degrees(server, client):
    flat = NODES.assign(x=NODES.lon, y=0.5 * NODES.lat).drop(columns=["lon", "lat"])
    flat = client.edges(EDGES, "s", "d").nodes(flat, "id").bind(point_x="x", point_y="y")
    assert seen(plot(flat.settings(url_params=STILL)))["coasts"] == 0
    nodes = NODES.drop(columns=["x", "y"])
    g = client.edges(EDGES, "s", "d").nodes(nodes, "id").bind(point_longitude="lon", point_latitude="lat")
    for placed, scale in [(g, 1.0), (g.mercator_layout(), None)]:
        url = plot(placed.settings(url_params=STILL))
        graph, _ = told(server, url)
        found = graph["underlay"]["map"]
        assert found and (scale is None or abs(found["scale"] - scale) < 1e-3), found
        assert graph["has_positions"] is True
        coasts = seen(url)["coasts"]
        assert coasts > 1500, f"{coasts} pixels of coasts and borders"


def test_a_map_goes_where_a_layout_by_name_moves_the_nodes(server, client):
    alone = pd.DataFrame({"id": list("efg"), "kind": "none", "risk": 1, "lon": [139.7, -46.6, 77.2], "lat": [35.7, -23.5, 28.6]})
    nodes = pd.concat([NODES.drop(columns=["x", "y"]), alone])
    g = client.edges(EDGES, "s", "d").nodes(nodes, "id").bind(point_longitude="lon", point_latitude="lat")
    url = plot(g.settings(url_params=STILL))
    dataset, session = dataset_of(url), unique("map")
    requests.get(f"{server.url}/graph/graph.html", params={"dataset": dataset, "session": session, "play": 0})
    viewer = Viewer(server, dataset, session)
    viewer.until(lambda: viewer.frames)
    here = f"{server.url}/graph/graph.html?dataset={dataset}&session={session}&play=0&pointSize=2"
    # On a map all meridians and parallels are drawn.
    shapes = lambda: requests.get(f"{server.url}/viz/{session}/picture.svg", params={"dataset": dataset}).text  # noqa: E731
    # Every node stands at its coordinates, those without edges as the others.
    found = viewer.graph["underlay"]["map"]
    wanted = np.sort(found["scale"] * nodes.lon + found["x"])
    assert np.allclose(np.sort(viewer.positions[:, 0]), wanted, atol=0.5), (viewer.positions, wanted)
    with_map = len(shapes())
    assert seen(here)["coasts"] > 1500
    viewer.say({"t": "layout", "name": "circle", "params": {}})
    viewer.until(lambda: viewer.state.get("displaced"))
    assert viewer.state["iterations"] == 0 and viewer.state["placed_by"] == "circle"
    assert seen(here)["coasts"] == 0
    assert len(shapes()) < 0.2 * with_map
    viewer.close()


def test_names_of_edges_are_answered_by_index_and_errors_name_the_field(server, client, g):
    dataset, session = dataset_of(plot(g.bind(edge_label="what"))), unique("bound")
    where = {"dataset": dataset, "session": session}
    requests.get(f"{server.url}/graph/graph.html", params=where)
    ask = lambda **query: requests.get(f"{server.url}/viz/{session}/names", params={**query, "dataset": dataset})  # noqa: E731
    answer = ask(nodes="0,99", edges="0,1,2,3,4,5,6").json()
    assert answer["names"] == ["a", ""]
    assert sorted(answer["edges"][:6]) == sorted(EDGES["what"]) and answer["edges"][6] == ""
    for edges, part in [("x", "no index"), (",".join(["1"] * 201), "more than 200")]:
        wrong = ask(edges=edges)
        assert wrong.status_code == 400 and part in wrong.text and '"edges"' in wrong.text, wrong.text


def test_an_edge_has_the_colours_bound_to_its_two_ends(server, g):
    """From the client to the page's frames, and to the picture that the server draws."""
    edges = EDGES.assign(a="red", b=["blue", "lime"] * 3)
    url = g.edges(edges, "s", "d").bind(edge_source_color="a", edge_destination_color="b").plot(render=False)
    base, _, frames = opened(server, url)
    colors, = [np.frombuffer(frame[64:], "u1").reshape(-1, 4) for frame in frames if frame[5] == 17 and frame[48] == 1]
    sources, destinations = colors[:len(EDGES)], colors[len(EDGES):]
    assert (sources == [255, 0, 0, 255]).all() and len(destinations) == len(EDGES)
    assert sorted(map(tuple, destinations.tolist())) == sorted([(0, 0, 255, 255), (0, 255, 0, 255)] * 3)
    drawn = requests.get(f"{base}/picture.svg", params={"dataset": dataset_of(url), "names": "false", "legend": "false"})
    assert drawn.status_code == 200, drawn.text
    # A line of a file of shapes has one colour, that half-way.
    assert "#800080" in drawn.text and "#808000" in drawn.text, drawn.text
