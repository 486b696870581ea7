"""Encodings of kepler.gl by the unchanged client: places, colours, sizes and labels of its layers, on this map."""

import numpy as np
import pandas as pd
import pytest
import requests
from conftest import PASSWORD, Server
from live import Viewer
from test_geo_plot import CITIES, ROADS, mercator, names_by_index, off
from test_given_coordinates import session_of

PLACES = CITIES.rename(columns={"latitude": "la", "longitude": "lo"}).assign(
    people=[13, 22, 2, 5, 10, 5, 3, 14], area=[1, 2, 3, 4, 5, 6, 7, 8], alias=[f"{c[:3].upper()}" for c in CITIES.city])
WAYS = ROADS.assign(kind=["air", "sea"] * 4, trips=range(1, 9))
POINTS = {"id": "cities", "type": "point", "config": {
    "dataId": "n", "label": "Cities", "columns": {"lat": "la", "lng": "lo"}, "textLabel": [{"field": {"name": "alias", "type": "string"}}],
    "visConfig": {"radius": 10, "colorRange": {"colors": ["#0000ff", "#ff0000"]}}},
    "visualChannels": {"colorField": {"name": "people", "type": "integer"}, "colorScale": "quantize",
                       "sizeField": {"name": "area", "type": "integer"}, "sizeScale": "linear"}}
ARCS = {"id": "roads", "type": "arc", "config": {
    "dataId": "e", "columns": {"lat0": "edgeSourceLatitude", "lng0": "edgeSourceLongitude", "lat1": "edgeTargetLatitude",
                               "lng1": "edgeTargetLongitude"}},
    "visualChannels": {"colorField": {"name": "kind", "type": "string"}, "sizeField": {"name": "trips", "type": "integer"}}}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    s = Server(tmp_path_factory.mktemp("kepler") / "data").start()
    yield s
    assert s.stop() == 0, s.output()


@pytest.fixture(scope="module")
def g(server):
    import graphistry

    graphistry.register(api=3, protocol="http", server=server.server, username="admin", password=PASSWORD)
    base = graphistry.edges(WAYS, "a", "b").nodes(PLACES, "city")
    return base.encode_kepler_dataset(id="n", type="nodes", label="Places").encode_kepler_dataset(
        id="e", type="edges", label="Ways", map_node_coords=True)


def shown(server, plot):
    """What a page is told, what each node is called, and where it stands."""
    url = plot.plot(render=False)
    session, dataset = session_of(server, url if url.startswith("http") else f"http:{url}")
    viewer = Viewer(server, dataset, session, headers={"Authorization": f"Bearer {server.token()}"})
    viewer.until(lambda: viewer.frames and viewer.graph is not None and viewer.state is not None)
    names = names_by_index(server, session, dataset, len(PLACES))
    svg = requests.get(f"{server.url}/viz/{session}/picture.svg", headers={"Authorization": f"Bearer {server.token()}"},
                       params={"dataset": dataset, "wait": 0})
    assert svg.status_code == 200, svg.text
    viewer.close()
    return viewer, PLACES.set_index("city").loc[names].reset_index(), svg.text


def test_layers_of_points_and_arcs_are_drawn_on_the_map(server, g):
    viewer, table, svg = shown(server, g.encode_kepler_layer(POINTS).encode_kepler_layer(ARCS))
    assert viewer.state["iterations"] == 0 and viewer.graph["underlay"]["map"], "it lies on the map"
    assert off(viewer.positions, mercator(table.rename(columns={"la": "latitude", "lo": "longitude"})), 1) < 1e-3
    legend = viewer.graph["legend"]
    assert (legend["node_color"]["title"], legend["node_size"]["title"]) == ("people", "area")
    assert (legend["edge_color"]["title"], legend["edge_size"]["title"]) == ("kind", "trips")
    assert {e["label"] for e in legend["edge_color"]["entries"]} == {"air", "sea"}
    # The ends of the ramp and the names are in the picture.
    for part in ('fill="#0000ff"', 'fill="#ff0000"', ">MOS<", ">TOK<"):
        assert part in svg, part
    discs = svg.split('<g id="nodes"')[1].split("</g>")[0].split("<circle")[1:]
    radii = sorted(float(d.split(' r="')[1].split('"')[0]) for d in discs)
    assert len(radii) == 8 and radii[-1] > 1.5 * radii[0]
    said = [n["text"] for n in viewer.graph["notices"]]
    assert [t for t in said if "Kepler" in t] == ["Kepler's layer \"Cities\" (point): radius has no counterpart"], said


def test_what_has_no_counterpart_is_named_and_the_rest_is_drawn(server, g):
    plot = (g.encode_kepler_dataset(id="c", type="countries", label="Countries")
            .encode_kepler_layer({"id": "density", "type": "hexagon", "config": {"dataId": "n", "columns": {"lat": "la", "lng": "lo"}}})
            .encode_kepler_layer({**POINTS, "config": {**POINTS["config"], "visConfig": {}}})
            .encode_kepler_options(read_only=True))
    viewer, table, _ = shown(server, plot)
    said = " | ".join(n["text"] for n in viewer.graph["notices"])
    for part in ('"density" (hexagon): layers of this kind', '"Countries" (countries) is not drawn', "readOnly"):
        assert part in said, (part, said)
    assert viewer.graph["legend"]["node_color"]["title"] == "people"
    assert off(viewer.positions, mercator(table.rename(columns={"la": "latitude", "lo": "longitude"})), 1) < 1e-3


def test_a_column_that_is_not_there_is_named_with_those_that_are(server, g):
    layer = {**POINTS, "visualChannels": {"colorField": {"name": "pepole", "type": "integer"}}}
    viewer, _, _ = shown(server, g.encode_kepler_layer(layer))
    said = [n["text"] for n in viewer.graph["notices"] if "pepole" in n["text"]]
    assert said and "people" in said[0], viewer.graph["notices"]


def test_own_encodings_go_before_those_of_a_layer(server, g):
    plot = g.encode_kepler_layer(POINTS).encode_point_color("alias", as_categorical=True, categorical_mapping={"MOS": "#00ff00"})
    viewer, _, svg = shown(server, plot)
    assert viewer.graph["legend"]["node_color"]["title"] == "alias"
    assert 'fill="#00ff00"' in svg and viewer.graph["legend"]["node_size"]["title"] == "area"
    assert np.isfinite(viewer.positions).all()


def test_the_record_gives_back_what_was_sent(server, g):
    url = g.encode_kepler_layer(POINTS).plot(render=False)
    dataset = url.split("dataset=")[1].split("&")[0]
    record = requests.get(f"{server.url}/api/v2/upload/datasets/{dataset}", headers={"Authorization": f"Bearer {server.token()}"}).json()
    node = record["data"]["node_encodings"]
    assert not {"node_latitude", "node_size", "node_label"} & set(node["bindings"]), "what a layer means is no binding of the upload"
    kepler = {**node["complex"].get("default", {}), **node["complex"].get("current", {})}["pointKeplerEncoding"]
    assert kepler["layers"] == [POINTS] and pd.notna(kepler["datasets"][0]["info"]["id"])
