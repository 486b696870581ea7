"""The client's own layouts, called on the server by `gfql_remote`, against the same calls made locally by the unchanged client."""

import graphistry
import numpy as np
import pandas as pd
import pytest
from graphistry.compute.ast import call

from conftest import PASSWORD

RNG = np.random.default_rng(5)
IDS = [f"n{i:02}" for i in range(40)]
DAYS = pd.Timestamp("2021-01-31 10:30:00") + pd.to_timedelta(np.sort(RNG.integers(0, 900, 40)), unit="D")
NODES = pd.DataFrame({
    "id": IDS[::-1],
    "level": RNG.integers(0, 7, 40),
    "score": np.where(np.arange(40) % 9 == 4, np.nan, RNG.random(40) * 80 - 20),
    "kind": RNG.choice(["bank", "firm", "person"], 40),
    "when": DAYS,
    "latitude": RNG.random(40) * 160 - 80,
    "longitude": RNG.random(40) * 360 - 180,
    "x": RNG.random(40) * 10,
    "y": RNG.random(40) * 5,
})
# A ring, chords, a copy and a loop.
PAIRS = [(i, (i + 1) % 40) for i in range(40)] + [(i, (i * 7) % 40) for i in range(0, 40, 3)] + [(1, 2)]
EDGES = pd.DataFrame({"s": [IDS[a] for a, _ in PAIRS], "d": [IDS[b] for _, b in PAIRS], "no": range(len(PAIRS))})

CASES = [
    ("mercator_layout", {}),
    ("mercator_layout", {"scale_for_graphistry": False}),
    ("circle_layout", {}),
    ("circle_layout", {"bounding_box": [1.0, -2.0, 30.0, 40.0], "sort_by": "score", "ring_spacing": 3.0}),
    ("ring_continuous_layout", {"ring_col": "score"}),
    ("ring_continuous_layout", {}),
    ("ring_continuous_layout", {"ring_col": "level", "num_rings": 7, "min_r": 10, "max_r": 50, "reverse": True}),
    ("ring_continuous_layout", {"ring_col": "score", "v_start": -50, "v_end": 100, "ring_step": 100.0}),
    ("ring_continuous_layout", {"ring_col": "score", "v_step": 10.0, "normalize_ring_col": False}),
    ("ring_continuous_layout", {"ring_col": "score", "axis": ["low", "middle", "high"], "play_ms": 500}),
    ("ring_categorical_layout", {"ring_col": "kind"}),
    ("ring_categorical_layout", {"ring_col": "kind", "order": ["person", "none", "bank", "firm"], "reverse": True}),
    ("ring_categorical_layout", {"ring_col": "kind", "order": ["person", "none"], "drop_empty": False, "combine_unhandled": True}),
    ("ring_categorical_layout", {"ring_col": "kind", "order": ["firm"], "combine_unhandled": True, "append_unhandled": False}),
    ("ring_categorical_layout", {"ring_col": "level", "order": [3, 1, 2, 0, 4, 5, 6], "min_r": 0, "max_r": 1}),
    ("time_ring_layout", {"time_col": "when"}),
    ("time_ring_layout", {"time_col": "when", "num_rings": 20, "reverse": True}),
    ("time_ring_layout", {"time_col": "when", "time_unit": "M", "min_r": 50, "max_r": 500}),
    ("time_ring_layout", {"time_col": "when", "time_start": "2020-06-01", "time_end": "2024-02-29T12:00:00", "num_rings": 30}),
    ("modularity_weighted_layout", {"community_col": "kind"}),
    ("modularity_weighted_layout", {"community_col": "level", "same_community_weight": 5, "cross_community_weight": 0.5, "edge_influence": 1}),
]


@pytest.fixture(scope="module")
def graph(server):
    graphistry.register(api=3, protocol="http", server=server.server, username="alice", password=PASSWORD)
    return graphistry.nodes(NODES, "id").edges(EDGES, "s", "d").upload(validate=False)


def axis(g):
    return g._complex_encodings["node_encodings"]["default"].get("pointAxisEncoding", {}).get("rows")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name,options", CASES, ids=lambda v: v if isinstance(v, str) else "-".join(v) or "plain")
def test_positions_are_those_of_the_local_call(graph, name, options):
    local = getattr(graph, name)(**options)
    found = graph.gfql_remote([call(name, options)])
    assert list(found._nodes) == list(local._nodes), (list(found._nodes), list(local._nodes))
    pd.testing.assert_frame_equal(found._nodes.reset_index(drop=True), local._nodes.reset_index(drop=True), check_dtype=False, rtol=1e-9)
    order = [*local._edges]
    assert list(found._edges) == order
    pd.testing.assert_frame_equal(found._edges.reset_index(drop=True), local._edges.reset_index(drop=True), check_dtype=False)
    if axis(local):
        rows = axis(found)
        assert [r["label"] for r in rows] == [r["label"] for r in axis(local)]
        assert np.allclose([r["r"] for r in rows], [r["r"] for r in axis(local)])


def boxes(nodes, key):
    """The corners of what each group takes."""
    return nodes.groupby(key).agg(x0=("x", "min"), x1=("x", "max"), y0=("y", "min"), y1=("y", "max")).sort_index()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [
    {"partition_key": "kind"},
    {"partition_key": "level", "layout_alg": "circle", "x": 5, "y": -3, "w": 200, "h": 100},
    {"partition_alg": "community_multilevel", "encode_colors": False},
], ids=lambda v: "-".join(v))
def test_groups_stand_in_the_boxes_of_the_local_call(graph, options):
    wide = graph.nodes(NODES.drop(columns=["x", "y"])).upload(validate=False)
    found = wide.gfql_remote([call("group_in_a_box_layout", options)])._nodes
    assert len(found) == len(NODES) and found[["x", "y"]].notna().all().all()
    if "partition_alg" in options:
        # Communities are found by chance: boxes of their own do not overlap.
        own = boxes(found, options["partition_alg"]).to_numpy()
        for i, (a0, a1, b0, b1) in enumerate(own):
            for c0, c1, d0, d1 in own[:i]:
                assert a1 <= c0 + 1e-6 or c1 <= a0 + 1e-6 or b1 <= d0 + 1e-6 or d1 <= b0 + 1e-6
        return
    local = wide.group_in_a_box_layout(**{**options, "layout_alg": options.get("layout_alg", "fr")})._nodes
    assert list(found) == list(local)
    ours, theirs = boxes(found, options["partition_key"]), boxes(local, options["partition_key"])
    # Each has a node at both ends of its box, whichever layout stands in it.
    pd.testing.assert_frame_equal(ours, theirs, check_dtype=False, rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name,options,words", [
    ("ring_categorical_layout", {"ring_col": "kind", "order": ["bank", "bank"]}, ["order", "bank"]),
    ("ring_continuous_layout", {"ring_col": "kind"}, ["kind", "numbers"]),
    ("ring_continuous_layout", {"ring_col": "score", "num_rings": 0}, ["num_rings", "1 to 10000"]),
    ("time_ring_layout", {"time_col": "score"}, ["score", "times"]),
    ("time_ring_layout", {"time_col": "when", "time_unit": "w"}, ["time_unit", "s, m, h, D, W, M, Y, C"]),
    ("circle_layout", {"bounding_box": [1, 2]}, ["bounding_box", "cx, cy, width, height"]),
    ("group_in_a_box_layout", {"w": -1}, ["\"w\"", "above 0"]),
    ("modularity_weighted_layout", {"community_col": "nothing"}, ["nothing"]),
])
def test_bad_parameters_are_refused_by_name(server, graph, name, options, words):
    reply = server.api("alice")("POST", f"/api/v2/etl/datasets/{graph._dataset_id}/gfql/nodes",
                                json={"gfql_operations": [{"type": "Call", "function": name, "params": options}], "format": "json"})
    assert reply.status_code in (400, 422), reply.text
    for word in words:
        assert word in reply.text.replace('\\"', '"'), reply.text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("prog", ["dot", "neato", "fdp", "sfdp", "circo", "twopi", "osage", "patchwork"])
def test_programs_of_graphviz_have_a_layout_that_stands_in(graph, prog):
    options = {"prog": prog, "directed": True, "x_out_col": "px", "y_out_col": "py", "graph_attr": {"rankdir": "TB"}}
    found = graph.gfql_remote([call("layout_graphviz", options)])._nodes
    assert found[["px", "py"]].notna().all().all() and (found[["x", "y"]].to_numpy() == NODES[["x", "y"]].to_numpy()).all()
    places = found[["px", "py"]].drop_duplicates()
    assert len(places) == len(NODES), "no two nodes in one place"


def test_what_dot_draws_falls(server):
    api = server.api("alice")
    file = api.file(b"s,d\na,b\na,c\nb,d\nc,d\n", "csv")
    dataset = api.dataset([file["file_id"]])
    ask = {"type": "Call", "function": "layout_graphviz", "params": {}}
    reply = api("POST", f"/api/v2/etl/datasets/{dataset}/gfql/nodes", json={"gfql_operations": [ask], "format": "json"})
    assert reply.status_code == 200, reply.text
    y = {next(v for k, v in row.items() if v in list("abcd")): row["y"] for row in reply.json()}
    assert y["a"] > y["b"] == y["c"] > y["d"], y
    ask["params"] = {"prog": "dott"}
    reply = api("POST", f"/api/v2/etl/datasets/{dataset}/gfql/nodes", json={"gfql_operations": [ask], "format": "json"})
    assert reply.status_code in (400, 422) and "prog" in reply.text and "sfdp" in reply.text, reply.text


def trees():
    """Edges of rooted trees whose nodes are numbered level by level."""
    for seed in range(6):
        r = np.random.default_rng(seed)
        n = int(r.integers(5, 30))
        yield sorted((int(r.integers(max(0, v - 5), v)), v) for v in range(1, n))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"width": 30, "height": 5}, {"rotate": 90, "level_col": "depth"}], ids=lambda v: "-".join(v) or "plain")
def test_trees_have_the_levels_of_the_local_call(server, options):
    graphistry.register(api=3, protocol="http", server=server.server, username="alice", password=PASSWORD)
    for pairs in trees():
        graph = graphistry.edges(pd.DataFrame(pairs, columns=["s", "d"]), "s", "d").materialize_nodes()
        local = graph.tree_layout(**options)._nodes.set_index("id")
        found = graph.upload(validate=False).gfql_remote([call("tree_layout", options)])._nodes.set_index("id").loc[local.index]
        assert sorted(found) == sorted(local)
        level, across, along = options.get("level_col", "level"), *(("x", "y") if "rotate" in options else ("y", "x"))
        assert (found[level] == local[level]).all() and np.allclose(found[across], local[across])
        # Levels are as wide as asked, and no two nodes of one meet.
        assert np.isclose(np.ptp(found[along]), np.ptp(local[along]))
        assert not found.duplicated([level, along]).any()
