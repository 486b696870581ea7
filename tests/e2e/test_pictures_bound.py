"""What the unchanged Python client binds beyond colours and sizes, in the pictures that the server draws without a browser."""

import re
from urllib.parse import parse_qs, urlparse

import pytest
import requests
from test_bound import EDGES, GOLD, GREEN, INK, NODES, RED, STILL, g  # noqa: F401
from test_client import dataset_of, plot
from test_pictures import pixels


def picture(server, url, kind="png", **query):
    """The picture of the session that the address of a plot leads to, whose graph stays as it is placed."""
    page = requests.get(url)
    session = parse_qs(urlparse(page.url).query)["session"][0]
    query = {"dataset": dataset_of(url), "width": 600, "height": 600, "names": "false", "pointSize": 2, **query}
    r = requests.get(f"{server.url}/viz/{session}/picture.{kind}", params=query)
    assert r.status_code == 200, r.text[:300]
    return pixels(r.content)[:, :, :3] if kind == "png" else r.text


def count(shown, color, far=6):
    return int((abs(shown.astype(int) - color).max(axis=2) <= far).sum())


def quarter(shown, right, lower):
    h, w = shown.shape[0] // 2, shown.shape[1] // 2
    return shown[h * lower:h * (lower + 1), w * right:w * (right + 1)]


def test_icons_and_badges_stand_on_their_discs(server, g):  # noqa: F811
    # A background that is far from the ink on light discs.
    shown = picture(server, plot(g.bind(point_icon="kind")), background="#406080")
    german, user, car, nobody = (quarter(shown, *at) for at in [(0, 0), (1, 0), (1, 1), (0, 1)])
    assert count(german, RED) > 40 and count(german, GOLD) > 40, "the flag"
    assert min(count(user, INK), count(car, INK)) > 30 and count(nobody, INK) == 0, "ink on two discs"
    badged = g.encode_point_badge("kind", "TopRight", default_mapping="?", as_text=True, color="white",
                                  bg={"color": "#00ff00"})
    bare, shown = picture(server, plot(g)), picture(server, plot(badged))
    assert count(bare, GREEN) == 0 and all(count(quarter(shown, x, y), GREEN) > 20 for x in (0, 1) for y in (0, 1))
    text = picture(server, plot(g.bind(point_icon="kind")), "svg")
    assert text.count("<clipPath") == 1 and "url(#disc1)" in text and 'fill="#d80027"' in text


def test_axes_lie_under_the_graph_with_their_labels(server, g):  # noqa: F811
    rows = [{"label": "top", "y": 60, "external": True}, {"r": 50, "width": 2}, {"x": 0, "space": True}]
    bare, shown = picture(server, plot(g)), picture(server, plot(g.encode_axis(rows)))
    lighter = (shown.astype(int) - bare).min(axis=2)
    assert (lighter > 20).any(axis=0).mean() > 0.9, "a line from side to side"
    assert 200 < (lighter > 10).any(axis=1).sum(), "and one from top to bottom"
    text = picture(server, plot(g.encode_axis(rows)), "svg")
    assert ">top</text>" in text and "stroke-dasharray" in text and 'id="underlay"' in text


def test_edges_are_written_along_their_lines_where_names_are_wanted(server, g):  # noqa: F811
    url = plot(g.bind(edge_label="what"))
    named, bare = (picture(server, url, "svg", names=names) for names in ("true", "false"))
    labels = re.findall(r"rotate\([^>]*>(way to [a-d])</text>", named)
    assert len(labels) >= 2 and set(labels) <= set(EDGES["what"]), named
    assert "way to" not in bare


@pytest.mark.parametrize("is_flat", [False, True])
def test_a_map_lies_under_places_that_are_degrees(server, client, is_flat):
    nodes = NODES.drop(columns=["x", "y"])
    if is_flat:
        nodes = nodes.assign(x=nodes.lon, y=0.5 * nodes.lat).drop(columns=["lon", "lat"])
    g = client.edges(EDGES, "s", "d").nodes(nodes, "id")  # noqa: F811
    g = g.bind(point_x="x", point_y="y") if is_flat else g.bind(point_longitude="lon", point_latitude="lat")
    text = picture(server, plot(g.settings(url_params=STILL)), "svg")
    lines = re.findall(r'<path d="([^"]*)"', text.split('id="edges"')[0])
    assert (len(lines) == 3 and sum(map(len, lines)) > 20_000) != is_flat, "graticule, borders and coasts"
