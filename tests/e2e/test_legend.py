"""How the legend shows the values of a column as the unchanged Python client binds it: as told, and as drawn.

What the page draws of it is held by `shell/web/tests/page/legend-signs.mjs`; here the rows in the real page."""

import copy

import numpy as np
import pytest
import requests
from conftest import browser, unique
from live import Viewer, until_at_rest
from test_bound import EDGES, NODES, STILL, g, told  # noqa: F401
from test_client import dataset_of, plot
from test_pictures_bound import count, picture

LIME, PINK, AQUA = [0, 255, 0], [255, 0, 255], [0, 255, 255]


def encoded(g, **encodings):  # noqa: F811
    """A copy with raw encodings, for which the client has no calls."""
    out = g.bind()
    out._complex_encodings = copy.deepcopy(g._complex_encodings)
    for key, encoding in encodings.items():
        side = "node" if key.startswith("point") else "edge"
        out._complex_encodings[f"{side}_encodings"]["current"][key] = encoding
    return out


def by_value(kind, attribute, outcomes, graph="point", **more):
    """An encoding as the client's own checks have it."""
    mapping = {"categorical": {"fixed": outcomes}} if isinstance(outcomes, dict) else {"continuous": {"bins": outcomes}}
    variation = next(iter(mapping))
    return {"graphType": graph, "encodingType": kind, "attribute": attribute, "variation": variation, "mapping": mapping,
            **more}


@pytest.fixture
def legends(g):  # noqa: F811
    return encoded(
        g.bind(point_color="id"),
        pointLegendTypeColorEncoding=by_value("legendtypecolor", "kind", {"DE": "#00ff00", "user": "#ff00ff"}),
        pointLegendTypeSizeEncoding=by_value("legendtypesize", "kind", {"DE": 10, "user": 5}),
        pointLegendTypeIconEncoding=by_value("legendtypeicon", "kind", {"DE": "DE", "user": "fa-user"}),
        pointLegendPivotOpacityEncoding=by_value("legendpivotopacity", "risk", [[4, 0.2], [None, 1]]),
        edgeLegendTypeWeightEncoding=by_value("legendtypeweight", "way", {"bug": 1, "car": 4}, "edge"),
        edgeLegendTypeColorEncoding=by_value("legendtypecolor", "way", {"bug": "red", "car": "#00ffff"}, "edge"),
    )


def test_the_message_has_the_rows_with_what_is_bound(server, g, legends):  # noqa: F811
    graph, layers = told(server, plot(legends))
    assert layers == [], "nothing is on the nodes"
    assert not [n for n in graph["notices"] if "Legend" in n["text"]], graph["notices"]
    kind, risk, way = sorted(graph["legend"]["blocks"], key=lambda b: b["title"])
    assert [(b["side"], b["title"]) for b in (kind, risk, way)] == [("node", "kind"), ("node", "risk"), ("edge", "way")]
    rows = {e["label"]: e for e in kind["entries"]}
    assert set(rows) == set(NODES["kind"]) and all(e["count"] == 1 for e in rows.values())
    assert rows["DE"]["look"] == {"color": "#00ff00", "size": 16.0}
    assert rows["user"]["look"] == {"color": "#ff00ff", "size": 8.0}
    icons = kind["signs"][0]["list"]
    assert [icons[rows[name]["signs"][0] - 1] for name in ("DE", "user")] == [{"flag": "de"}, {"glyph": "\uf007"}]
    assert rows["nobody"]["signs"] == [0]
    assert {e["label"]: (e["count"], e["look"]["opacity"]) for e in risk["entries"]} == {"< 4": (2, 0.2), "≥ 4": (2, 1.0)}
    assert {e["label"]: e["look"] for e in way["entries"]} == {
        "bug": {"color": "#ff0000", "width": 1.38}, "car": {"color": "#00ffff", "width": 4.0}}
    # The nodes look as without.
    plain, _ = told(server, plot(g.bind(point_color="id")))
    assert graph["legend"]["node_color"] == plain["legend"]["node_color"] and "blocks" not in plain["legend"]


def test_the_servers_picture_has_the_rows(server, g, legends):  # noqa: F811
    bare, shown = (picture(server, plot(of), legend="true", height=700) for of in (g, legends))
    for name, color, least, most in [("disc", PINK, 15, 60), ("line", AQUA, 50, 90)]:
        assert count(bare, color) == 0 and least < count(shown, color, 40) < most, (name, count(shown, color, 40))
    assert 0 <= count(shown, LIME) < 80, "the flag covers its disc"
    text = picture(server, plot(legends), "svg", legend="true", height=700)
    assert all(f">{label}</text>" in text for label in ("kind", "way", "risk", "≥ 4", "nobody"))
    assert 'fill="#d80027"' in text, "the flag"


def test_icons_that_are_drawn_have_glyphs_in_the_legend(server, g):  # noqa: F811
    graph, _ = told(server, plot(g.bind(point_icon="kind")))
    block, = graph["legend"]["blocks"]
    assert graph["legend"]["node_icon"] == {"title": "kind", "kind": "categorical"}
    signs = {e["label"]: e["signs"][0] for e in block["entries"]}
    assert signs["nobody"] == 0 and sorted(signs.values()) == [0, 1, 2, 3]
    # A row's sign stands in the real page.
    found = browser("legend-real.mjs", plot(g.bind(point_icon="kind")))
    assert found["complaints"] == [] and found["rows"] == ["DE", "fa-car", "nobody", "user"], found
    assert found["glyphs"] == 2 and found["pictures"] == 1, found


def test_what_no_legend_can_show_is_named(server, g):  # noqa: F811
    of = encoded(
        g,
        pointLegendTypeKeplerEncoding={"datasets": []},
        pointLegendTypeColorEncoding=by_value("legendtypecolor", "kind", {"DE": "no colour"}),
        pointLegendPivotIconEncoding=by_value("legendpivoticon", "nothing", {"a": "user"}),
    )
    graph, _ = told(server, plot(of))
    said = " ".join(n["text"] for n in graph["notices"])
    for part in ("pointLegendTypeKeplerEncoding is kept", "LegendTypeColor encoding of column \"kind\" is ignored: one of its",
                 "column \"nothing\", which the node table does not have"):
        assert part in said, (part, said)


def test_weights_of_nodes_are_masses_of_the_layout(server, client):
    """Of two equal stars the one with the heavy middle is the larger."""
    leaves = [(f"{hub}{k}", hub) for hub in "ab" for k in range(12)]
    edges = EDGES.iloc[:0].reindex(range(len(leaves))).assign(s=[s for s, _ in leaves], d=[d for _, d in leaves])
    ids = sorted({v for pair in leaves for v in pair})
    nodes = NODES.iloc[:0].reindex(range(len(ids)))[["id"]].assign(id=ids, w=[20.0 if v == "a" else 1.0 for v in ids])

    def sizes(bindings):
        url = client.edges(edges[["s", "d"]], "s", "d").nodes(nodes, "id").bind(**bindings).settings(
            url_params={"play": 5000}).plot(render=False)
        dataset, session = dataset_of(url), unique("mass")
        query = {"dataset": dataset, "session": session, "play": 5000}
        requests.get(f"{server.url}/graph/graph.html", params=query)
        viewer = Viewer(server, dataset, session)
        until_at_rest(viewer)
        names = requests.get(f"{server.url}/viz/{session}/names", params={
            "dataset": dataset, "nodes": ",".join(map(str, range(len(ids))))}).json()["names"]
        at = dict(zip(names, np.array(viewer.positions)))
        said = [n["text"] for n in viewer.graph["notices"]]
        viewer.close()
        assert not any("node_weight" in text for text in said), said
        return {hub: np.mean([np.hypot(*(at[s] - at[hub])) for s, d in leaves if d == hub]) for hub in "ab"}

    plain, weighted = sizes({}), sizes({"point_weight": "w"})
    assert plain["a"] < 1.3 * plain["b"], plain
    assert weighted["a"] > 1.5 * weighted["b"], (plain, weighted)
