"""Every call of the client's safelist with its parameters, over graphs of our own: what test_client_calls.py compares."""

import numpy as np
import pandas as pd

RNG = np.random.default_rng(5)
IDS = [f"n{i:02}" for i in range(24)]
NODES = pd.DataFrame({
    "id": IDS[::-1],
    "level": RNG.integers(0, 5, 24),
    "score": np.where(np.arange(24) % 9 == 4, np.nan, RNG.random(24) * 80 - 20),
    "kind": RNG.choice(["bank", "firm", "person"], 24),
    "flag": np.arange(24) % 3 == 0,
    "when": pd.Timestamp("2021-01-31 10:30:00") + pd.to_timedelta(np.sort(RNG.integers(0, 900, 24)), unit="D"),
    "latitude": RNG.random(24) * 160 - 80,
    "longitude": RNG.random(24) * 360 - 180,
    "note": [None if i % 5 == 0 else f"note {i}" for i in range(24)],
    "tags": [["x", "y"][: i % 3] for i in range(24)],
})
# A ring, chords, a copy and a loop.
PAIRS = [(i, (i + 1) % 24) for i in range(22)] + [(i, (i * 7) % 22) for i in range(1, 22, 3)] + [(1, 2), (5, 5)]
EDGES = pd.DataFrame({
    "s": [IDS[a] for a, _ in PAIRS], "d": [IDS[b] for _, b in PAIRS], "no": range(len(PAIRS)),
    "w": [1.0 + (a * 7 + b) % 5 for a, b in PAIRS], "rel": [["owns", "pays"][a % 2] for a, _ in PAIRS],
})
PLACED = NODES.assign(x=RNG.random(24) * 10, y=RNG.random(24) * 5)
FALL = pd.DataFrame([(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (5, 6), (8, 6)], columns=["s", "d"])
# A cycle below a root that nothing enters.
ENTERED = pd.DataFrame([(0, 1), (1, 2), (2, 0), (3, 0), (3, 4)], columns=["s", "d"])
# The nodes of a cycle by their places, as igraph counts them.
PLACES = pd.DataFrame({"id": range(4)})
CYCLE = pd.DataFrame([(0, 1), (1, 2), (2, 0), (2, 3), (3, 3)], columns=["s", "d"])
NUMBERED = pd.DataFrame({"s": [3, 1, 2, 3], "d": [1, 2, 3, 7]})
EVENTS = pd.DataFrame({
    "id": [10, 11, 12, 13, 14], "ip": ["x", "y", "x", None, "z"], "port": [80, 80, 22, 80, 443],
    "user": ["a", "b", "a", "c", "x"], "part": [0.5, None, 1.5, 2.0, 0.5], "ok": [True, False, True, True, False],
    "when": pd.to_datetime([f"2021-0{i}-01 10:00:00.25" if i else None for i in (1, 1, 0, 2, 1)], format="ISO8601"),
})
TRAFFIC = pd.DataFrame({"from": [10, 11, 12], "to": [11, 12, 10], "proto": ["tcp", "udp", "tcp"], "bytes": [5, 5, 7]})
# Name to nodes, id, edges, source, destination, and further bindings.
GRAPHS = {
    "ring": (NODES, "id", EDGES, "s", "d"),
    "flat": (NODES.drop(columns="tags"), "id", EDGES, "s", "d"),
    "placed": (PLACED, "id", EDGES, "s", "d"),
    "bound": (NODES.rename(columns={"latitude": "north", "longitude": "east"}), "id", EDGES, "s", "d",
              {"point_latitude": "north", "point_longitude": "east", "point_x": "px", "point_y": "py", "edge_weight": "w"}),
    "fall bound": (None, None, FALL, "s", "d", {"point_x": "px", "point_y": "py"}),
    "fall": (None, None, FALL, "s", "d"),
    "places": (PLACES, "id", CYCLE, "s", "d"),
    "entered": (None, None, ENTERED, "s", "d"),
    "cycle": (None, None, CYCLE, "s", "d"),
    "numbered": (None, None, NUMBERED, "s", "d"),
    "events": (EVENTS, "id", TRAFFIC, "from", "to"),
}


ROWS_OF = {"rows", "select", "return_", "with_", "where_rows", "order_by", "skip", "limit", "unwind", "group_by", "fill_empty_row",
           "drop_cols", "distinct", "count_table", "semi_apply_mark", "anti_semi_apply", "join_apply", "search_any"}


class Case:
    """One call: over which graph, between which steps, whether its rows have an order that the client promises, and which
    columns or tables are looked at otherwise."""

    def __init__(self, name, params=None, graph="ring", before=(), ordered=True, after=(), aside=()):
        self.name, self.params, self.graph, self.ordered, self.aside = name, params or {}, graph, ordered, set(aside)
        self.before, self.after = list(before), list(after)
        # Rows take the place of the nodes; edges beside them mean nothing.
        self.rows = name in ROWS_OF or bool(params) and params.get("return_as", "graph") != "graph"

    def __str__(self):
        return "-".join([self.name, *self.params] + ([self.graph] if self.graph != "ring" else []))


def step(name, /, **params):
    return {"type": "Call", "function": name, "params": params}


def same(name, *options, **more):
    return [Case(name, params, **more) for params in options]


ROWS = [step("rows", table="nodes")]
NAMED = [{"type": "Node", "name": "x"}, {"type": "Edge", "direction": "forward", "name": "e"}, {"type": "Node", "name": "y"}]
PATHS = [step("rows", table="nodes", binding_ops=[{"type": "Node", "name": "x"}])]
PATTERN = [{"type": "Node", "name": "x"}, {"type": "Edge", "direction": "forward"}, {"type": "Node", "name": "y"}]
LONG = [*PATTERN, {"type": "Edge", "direction": "forward"}, {"type": "Node", "name": "z"}]

# Rows of paths: the client's own engine leaves columns of its joins beside the values, so some are chosen.
CHOSEN = [step("select", items=["x.id", "x.kind", "x.score"])]
BOTH = [step("select", items=["x.id", "x.level", "y.id", "y.note"])]
MARKED = [step("select", items=["x.id", "m"])]
paths = lambda name, *options, after, before=PATHS: same(name, *options, before=before, after=after, ordered=False)

ROW_CALLS = [
    *same("rows", {"table": "edges"}, {"table": "nodes"}),
    *same("rows", {"table": "nodes", "source": "x"}, {"table": "edges", "source": "e"}, before=NAMED, ordered=False),
    *paths("rows", {"binding_ops": PATTERN}, {"binding_ops": PATTERN, "attach_prop_aliases": ["x", "y"]},
           {"binding_ops": PATTERN, "attach_prop_columns": {"x": ["id", "level"], "y": ["id", "note"]}}, before=(), after=BOTH),
    *paths("rows", {"binding_ops": NAMED, "alias_prefilters": {"x": [{"kind": "expr", "text": "x.level > 1"}, {"kind": "search_any", "term": "an"}]}},
           before=(), after=BOTH),
    *paths("rows", {"alias_endpoints": {"x": "src", "y": "dst"}, "table": "edges"}, before=(), after=BOTH),
    *same("select", {"items": ["id", ["twice", "level * 2"]]}, before=ROWS),
    *same("return_", {"items": [["k", "kind"], "score"]}, before=ROWS),
    *same("with_", {"items": [["k", "kind"]]}, {"items": [["k", "score + 1"]], "extend": True}, before=ROWS),
    *same("where_rows", {"expr": "level > 2 AND kind = 'bank'"}, {"filter_dict": {"kind": "firm"}},
          {"expr": "score < 10", "filter_dict": {"flag": True}}, before=ROWS),
    *same("order_by", {"keys": [["kind", "desc"], ["id", "asc"]]}, {"keys": [["score", "asc"], ["id", "asc"]]}, before=ROWS),
    *same("skip", {"value": 5}, {"value": 50}, before=ROWS),
    *same("limit", {"value": 3}, {"value": 0}, before=ROWS),
    *same("unwind", {"expr": "tags", "as_": "tag"}, {"expr": "[1, 2]"}, before=ROWS),
    *same("group_by", {"keys": ["kind"], "aggregations": [["n", "count"], ["total", "sum", "level"], ["m", "avg", "score"]]},
          {"keys": ["kind", "flag"], "aggregations": [["high", "max", "score"], ["low", "min", "id"], ["d", "count_distinct", "level"],
                                                     ["all", "collect", "id"]]},
          {"keys": ["id"], "aggregations": [["n", "count"]], "key_prefixes": ["k"]}, before=ROWS, ordered=False),
    *same("fill_empty_row", {"row": {"n": 0, "t": "none"}}, before=ROWS),
    *same("fill_empty_row", {"row": {"n": 0}}, before=[*ROWS, step("where_rows", expr="level > 99"),
                                                        step("group_by", keys=["kind"], aggregations=[["n", "count"]])]),
    *same("drop_cols", {"cols": ["note", "absent"]}, before=ROWS),
    *same("distinct", {}, {"subset": ["kind"]}, before=[*ROWS, step("select", items=["kind", "flag"])]),
    *same("count_table", {}, {"table": "edges"}, {"table": "nodes", "alias": "n"}),
    *same("count_table", {"table": "nodes", "source": "y"}, before=NAMED),
    *paths("semi_apply_mark", {"binding_ops": PATTERN, "join_aliases": ["x"], "out_col": "m"},
           {"binding_ops": LONG, "join_aliases": ["x"], "out_col": "m", "neq": ["x", "z"]},
           {"binding_ops": PATTERN, "join_aliases": ["x"], "out_col": "m", "requested_property_columns": {"x": ["id"]}}, after=MARKED),
    *paths("anti_semi_apply", {"binding_ops": PATTERN, "join_aliases": ["x"]},
           {"binding_ops": LONG, "join_aliases": ["x"], "neq": ["x", "z"]},
           {"binding_ops": PATTERN, "join_aliases": ["x"], "requested_property_columns": {"x": ["id"]}}, after=CHOSEN),
    *paths("join_apply", {"binding_ops": PATTERN, "join_aliases": ["x"]}, {"binding_ops": PATTERN, "join_aliases": ["x"], "how": "inner"},
           {"binding_ops": PATTERN, "join_aliases": ["x"], "how": "left"}, after=BOTH),
    *paths("search_any", {"alias": "x", "term": "PER", "out_col": "m"}, {"alias": "x", "term": "PER", "out_col": "m", "case_sensitive": True},
           {"alias": "x", "term": "^n.1$", "out_col": "m", "regex": True}, {"alias": "x", "term": "1", "out_col": "m", "columns": ["note"]},
           after=MARKED),
]

GRAPH_CALLS = [
    *same("get_degrees", {}, {"col": "all", "degree_in": "ins", "degree_out": "outs"}),
    *same("get_indegrees", {}, {"col": "ins"}),
    *same("get_outdegrees", {}, {"col": "outs"}),
    *same("get_degrees", {}, graph="numbered"),
    *same("filter_nodes_by_dict", {"filter_dict": {"kind": "bank"}}, {"filter_dict": {"kind": "bank", "level": 2}}),
    *same("filter_edges_by_dict", {"filter_dict": {"rel": "owns", "w": 3.0}}),
    *same("create_index", {"kind": "node_id"}, {"kind": "edge_out_adj", "name": "mine", "engine": "pandas"},
          {"kind": "node_prop", "column": "kind"}),
    *same("drop_index", {}, {"kind": "node_id"}, {"kind": "node_prop", "column": "kind"}),
    *same("materialize_nodes", {}, {"engine": "pandas"}, {"reuse": False}),
    *same("materialize_nodes", {}, {"reuse": False}, graph="numbered"),
    *same("hop", {}, {"hops": 2, "direction": "reverse"}, {"hops": 2, "direction": "undirected"}, {"to_fixed_point": True},
          {"hops": 1, "edge_match": {"rel": "owns"}}, {"hops": 1, "source_node_match": {"kind": "bank"}},
          {"hops": 2, "destination_node_match": {"kind": "firm"}}, {"hops": 1, "source_node_query": "level > 2"},
          {"hops": 1, "edge_query": "w > 2"}, {"hops": 1, "destination_node_query": "level > 2"},
 {"min_hops": 1, "max_hops": 2, "engine": "pandas"},
          {"hops": 2, "label_node_hops": "hop", "label_seeds": True, "source_node_match": {"level": 1}},
          {"hops": 2, "label_node_hops": "hop", "source_node_match": {"kind": "bank"}},
          {"hops": 2, "label_edge_hops": "hop", "source_node_match": {"kind": "bank"}}, ordered=False),
    *same("prune_self_edges", {}),
    *same("collapse", {"node": "n03", "attribute": "bank", "column": "kind"},
          {"node": "n03", "attribute": "bank", "column": "kind", "self_edges": True, "unwrap": True, "verbose": False}, graph="flat"),
    *same("drop_nodes", {"nodes": ["n01", "n05"]}, {"nodes": ["n03", "absent"]}),
    *same("keep_nodes", {"nodes": ["n01", "n02", "n05"]}, {"nodes": {"id": IDS[:12], "kind": ["bank", "firm"]}}),
    *same("get_topological_levels", {}, {"level_col": "depth"}, graph="fall"),
    *same("get_topological_levels", {"allow_cycles": True, "warn_cycles": False}, {"remove_self_loops": False}, graph="cycle"),
]

HYPERGRAPHS = same(
    "hypergraph", {}, {"entity_types": ["ip", "user"]}, {"entity_types": ["ip", "port"], "direct": True}, {"drop_na": False},
    {"drop_na": False, "direct": True}, {"drop_edge_attrs": True}, {"direct": True, "drop_edge_attrs": True}, {"verbose": False},
    {"engine": "pandas"}, {"npartitions": 2, "chunksize": 3}, {"from_edges": True}, {"from_edges": True, "entity_types": ["from", "to"]},
    {"entity_types": ["from", "to", "proto"], "from_edges": True, "direct": True, "opts": {"EDGES": {"from": ["to"], "to": ["proto"]}}},
    {"opts": {"CATEGORIES": {"who": ["ip", "user"]}}}, {"opts": {"CATEGORIES": {"who": ["ip", "user"]}}, "direct": True},
    {"opts": {"DELIM": "/"}}, {"opts": {"SKIP": ["port", "id"]}}, {"opts": {"EVENTID": "id"}}, {"opts": {"NULLVAL": "x"}, "drop_na": False},
    {"opts": {"TITLE": "t", "NODEID": "n", "ATTRIBID": "at", "EVENTID": "ev", "EVENTTYPE": "row", "CATEGORY": "cat", "NODETYPE": "nt", "EDGETYPE": "et"}},
    {"opts": {"SOURCE": "a", "DESTINATION": "b"}, "direct": True},
    *({"return_as": part} for part in ("graph", "nodes", "edges", "entities", "events")),
    *({"return_as": part, "direct": True, "entity_types": ["ip", "user"]} for part in ("nodes", "edges", "entities", "events")),
    graph="events", ordered=False)

COLORS = {"palette": ["red", "blue"], "as_continuous": True}
SHOWN = [
    *(Case(f"encode_{of}_color", {"column": column, **more}) for of, column in (("point", "kind"), ("edge", "rel")) for more in (
        {}, COLORS, {"palette": ["red", "blue"], "as_categorical": True}, {"categorical_mapping": {"bank": "red", "owns": "blue"}},
        {"categorical_mapping": {"bank": "red"}, "default_mapping": "gray"})),
    *(Case(f"encode_{of}_{what}", {"column": column, **more}) for of, column in (("point", "kind"), ("edge", "rel"))
      for what in ("size", "opacity") for more in (
        {}, {"categorical_mapping": {"bank": 3, "owns": 0.5}}, {"categorical_mapping": {"bank": 3}, "default_mapping": 1})),
    *same("encode_edge_weight", {"column": "w"}, {"column": "rel", "categorical_mapping": {"owns": 3}, "default_mapping": 1}),
    *(Case(f"encode_{of}_icon", {"column": column, **more}) for of, column in (("point", "level"), ("edge", "w")) for more in (
        {}, {"categorical_mapping": {"1": "user"}, "default_mapping": "question"}, {"continuous_binning": [[2, "a"], [None, "b"]]},
        {"categorical_mapping": {"1": "A"}, "as_text": True})),
    *(Case(f"encode_{of}_{what}", {"column": column}) for of, column in (("point", "note"), ("edge", "rel")) for what in ("label", "title")),
    *same("encode_axis", {"rows": [{"r": 10, "label": "ring"}, {"x": 3, "label": "line", "external": True}]}, {}),
    *same("name", {"name": "mine"}),
    *same("description", {"description": "what it is"}),
]

LAYOUTS = [
    *same("mercator_layout", {}, graph="bound"),
    *same("mercator_layout", {}, {"scale_for_graphistry": False}),
    *same("circle_layout", {}, {"ring_spacing": 3.0, "point_spacing": 9.0}, {"ignore_index": False, "engine": "pandas"}, graph="placed"),
    *same("circle_layout", {"bounding_box": [1.0, -2.0, 30.0, 40.0]}, {"bounding_box": [0, 0, 3, 4], "sort_by": "score", "ascending": False, "na_position": "first"},
          {"bounding_box": [0, 0, 3, 4], "sort_by": ["kind", "score"], "ascending": [True, False]}),
    *same("ring_continuous_layout", {}, {"ring_col": "score"}, {"ring_col": "level", "num_rings": 7, "min_r": 10, "max_r": 50, "reverse": True},
          {"ring_col": "score", "v_start": -50, "v_end": 100, "ring_step": 100.0}, {"ring_col": "score", "v_step": 10.0, "normalize_ring_col": False},
          {"ring_col": "score", "axis": ["low", "middle", "high"], "play_ms": 500, "engine": "pandas"}),
    *same("ring_categorical_layout", {"ring_col": "kind"}, {"ring_col": "kind", "order": ["person", "none", "bank", "firm"], "reverse": True},
          {"ring_col": "kind", "order": ["person", "none"], "drop_empty": False, "combine_unhandled": True},
          {"ring_col": "kind", "order": ["firm"], "combine_unhandled": True, "append_unhandled": False},
          {"ring_col": "kind", "min_r": 0, "max_r": 1, "play_ms": 3, "engine": "pandas"},
          {"ring_col": "kind", "axis": {"bank": "B", "firm": "F", "person": "P"}}),
    *same("time_ring_layout", {"time_col": "when"}, {"time_col": "when", "num_rings": 20, "reverse": True},
          {"time_col": "when", "time_unit": "M", "min_r": 50, "max_r": 500}, {"time_col": "when", "play_ms": 7, "engine": "pandas"},
          {"time_col": "when", "time_start": "2020-06-01", "time_end": "2024-02-29T12:00:00", "num_rings": 30}),
    *same("modularity_weighted_layout", {"community_col": "kind"}, {"community_col": "level", "same_community_weight": 5, "cross_community_weight": 0.5},
          {"community_col": "kind", "edge_influence": 1, "engine": "pandas"},
          {"community_alg": "clusters", "community_params": {"params": {"mode": "weak"}}}),
    *same("group_in_a_box_layout", {"partition_key": "kind", "layout_alg": "circle"},
          {"partition_key": "level", "layout_alg": "circle", "x": 5, "y": -3, "w": 200, "h": 100},
          {"partition_key": "kind", "layout_alg": "circle", "encode_colors": False, "engine": "cpu"},
          {"partition_key": "kind", "layout_alg": "circle", "colors": ["red", "blue"], "w": 10},
          {"partition_key": "kind", "layout_alg": "grid", "layout_params": {"width": 2}},
          {"partition_alg": "clusters", "partition_params": {"params": {"mode": "weak"}}, "layout_alg": "circle"}),
    # Positions by forces are looked at by what stands around them.
    *same("fa2_layout", {}, {"fa2_params": {"max_iter": 20}}, {"circle_layout_params": {"sort_by": "score", "ring_spacing": 3.0}},
          {"circle_layout_params": {"partition_by": "kind"}, "partition_key": "kind", "engine": "pandas"}, {"circle_layout_params": {"sort_by": "id"}},
          {"circle_layout_params": {"partition_by": "level"}, "partition_key": "level"}, aside=["x", "y"]),
    *same("fa2_layout", {}, graph="placed", aside=["x", "y"]),
    *same("fa2_layout", {}, graph="cycle", aside=["x", "y"]),
    *same("layout_igraph", {"layout": "circle"}, {"layout": "star", "params": {"center": 3}}, {"layout": "grid", "bind_position": False},
          {"layout": "circle", "x_out_col": "px", "y_out_col": "py"}, {"layout": "grid", "params": {"width": 3}, "play": 5},
          {"layout": "circle", "params": {"order": None}}),
    # The local call turns edges round where it looks at the graph without directions.
    *same("layout_igraph", {"layout": "circle", "directed": False}, aside=["_edges"]),
    *same("layout_igraph", {"layout": "circle", "use_vids": True}, graph="places"),
    *same("layout_igraph", {"layout": "rt", "params": {"root": [0]}}, graph="fall"),
    *same("tree_layout", {}, {"level_col": "depth", "width": 30, "height": 5}, {"allow_cycles": False}, {"root": 0}, {"root": 2}, {"root": 8},
          {"level_sort_values_by": "id", "level_sort_values_by_ascending": False}, {"level_sort_values_by": ["level", "id"]},
          graph="fall", aside=["x"]),
    *same("tree_layout", {}, graph="fall bound", aside=["px"]),
    *same("tree_layout", {"rotate": 90}, graph="fall", aside=["y"]),
    *same("tree_layout", {"root": 1}, {"root": 2}, graph="cycle", aside=["x"]),
    *same("tree_layout", {}, {"root": 2}, {"root": 3}, graph="entered", aside=["x"]),
    *same("compute_igraph", {"alg": "pagerank"}, {"alg": "pagerank", "out_col": "pr", "params": {"damping": 0.7}},
          {"alg": "personalized_pagerank", "params": {"reset_vertices": 3}}),
    *same("compute_igraph", {"alg": "pagerank", "directed": False}, aside=["_edges"]),
    *same("compute_igraph", {"alg": "betweenness", "use_vids": True}, graph="places"),
]
CASES = ROW_CALLS + GRAPH_CALLS + HYPERGRAPHS + SHOWN + LAYOUTS

# What stands in the place of a comparison: how the call is compared, and in which test.
ELSEWHERE = {
    "compute_cugraph": ("results of cuGraph's algorithms made by other libraries (tests/data/oracles.json): the local call needs a GPU",
                        "test_oracles.py, test_algorithm_callers.py"),
    "layout_cugraph": ("bands of quality (tests/data/layout_bands.json) and the command line: the local call needs a GPU",
                       "test_layouts.py, test_layouts_force.py"),
    "layout_graphviz": ("what each program's drawing is for, by a layout that stands in: the local call needs Graphviz", "test_layout_calls.py"),
    "umap": ("the columns of the client, and how well umap-learn keeps neighbours (tests/data/umap): the local call needs umap-learn, "
             "which is recorded there", "test_umap_call.py"),
}
FRAMES = "a table of the client, which has no form in a request"
FUNCTION = "a function of the client, which has no form in a request: refused by name"
SLICE = "of the nodes too, where the local call leaves out edges alone; steps of a pattern are compared in test_gfql_oracle.py"
TAKES_NONE = "the local call does not take it"
# Parameters that are not compared, and why.
ASIDE = {
    ("hop", "nodes"): FRAMES, ("hop", "target_wave_front"): FRAMES,
    ("hop", "return_as_wave_front"): "without `nodes` the local call keeps where hops begin; ours leaves that out as it does with `nodes`",
    ("hop", "output_min_hops"): SLICE, ("hop", "output_max_hops"): SLICE,
    ("get_degrees", "engine"): TAKES_NONE + "; here it makes no difference",
    ("ring_continuous_layout", "format_axis"): FUNCTION, ("ring_continuous_layout", "format_labels"): FUNCTION,
    ("ring_categorical_layout", "format_axis"): FUNCTION, ("ring_categorical_layout", "format_labels"): FUNCTION,
    ("time_ring_layout", "format_axis"): FUNCTION, ("time_ring_layout", "format_label"): FUNCTION,
    ("fa2_layout", "remove_self_edges"): TAKES_NONE + "; loops move nothing, refused by name",
    ("fa2_layout", "featurize"): TAKES_NONE + "; refused by name",
    ("circle_layout", "partition_by"): "needs a table of boxes, which has no form in a local call's JSON; see fa2_layout",
}
# What differs on purpose.
DIFFERS = {
    "circle_layout": "the local call leaves its positions unbound and the page in motion; here they are bound, and the page stands still",
    "fa2_layout": "the local call needs a GPU or lays out by igraph: compared are the columns, the order, the circle around the layout, "
                  "and the binding, which the local call leaves out",
    "group_in_a_box_layout": "the local call leaves its positions unbound; here they are bound. By forces, and by communities that are "
                             "found by chance, boxes are compared: test_layout_calls.py",
    "tree_layout": "the local order along a level follows the hashes of the ids: levels, their distances and widths are compared, and "
                   "that ours has no more crossings. The page stands still even where positions were bound before. Where a graph has several parts or no root, the local call fails or gives no levels",
    "drop_nodes": "an object of columns drops the nodes that have their values; the local call takes the columns' names for ids",
    "keep_nodes": "an object of columns without the id is an error of the local call",
    "layout_igraph": "a node in `params` is named by its id, or by its place where ids are texts; the local call takes places alone. "
                     "Without directions the local call turns edges round",
    "compute_igraph": "as layout_igraph",
    "hypergraph": "an id of a time is written alike everywhere; in edges of the local call it depends on the rows that are left",
    "modularity_weighted_layout": "communities that are found by chance are compared in test_client_frames.py",
}


def few(ids):
    """Nodes with these ids and a column for every call."""
    count = len(ids)
    return pd.DataFrame({"id": ids, "kind": ["p", "q", "p", "r"][:count], "n": range(count), "when": pd.date_range("2021-01-01", periods=count),
                         "latitude": 10.0, "longitude": 20.0})


def between(sources, destinations):
    return pd.DataFrame({"s": sources, "d": destinations, "rel": ["a", "b", "a"][:len(sources)]})


DAYS = pd.date_range("2021-01-01", periods=4)
ODD_GRAPHS = {
    "no node table": (None, None, between(["a", "b", "c"], ["b", "c", "c"]), "s", "d"),
    "numbers": (few([10, 11, 12, 13]), "id", between([10, 11, 12], [11, 12, 12]), "s", "d"),
    "fractions": (few([1.5, 2.5, 3.0, 4.0]), "id", between([1.5, 2.5, 3.0], [2.5, 3.0, 3.0]), "s", "d"),
    "times": (few(DAYS), "id", between(DAYS[:3], DAYS[1:]), "s", "d"),
    "truths": (few([True, False]), "id", between([True, False], [False, False]), "s", "d"),
    "no edges": (few(["a", "b", "c"]), "id", between([], []).astype("str"), "s", "d"),
    "one node": (few(["a"]), "id", between(["a"], ["a"]), "s", "d"),
    "an id twice": (few(["a", "b", "b", "c"]), "id", between(["a", "b"], ["b", "c"]), "s", "d"),
    "a node without an id": (few(["a", None, "c", "d"]), "id", between(["a", "c"], ["c", "d"]), "s", "d"),
    "an edge without an end": (few(["a", "b", "c", "d"]), "id", between(["a", "c", None], ["c", None, "b"]), "s", "d"),
    "ends without a node": (few(["a", "b"]), "id", between(["a", "c"], ["b", "d"]), "s", "d"),
}
# Every call that makes a graph, once.
ODD_CASES = [Case(name, params, aside=aside, ordered=name != "hypergraph") for name, params, aside in [
    ("get_degrees", {}, ()), ("get_indegrees", {}, ()), ("get_outdegrees", {}, ()), ("filter_nodes_by_dict", {"filter_dict": {"kind": "p"}}, ()),
    ("filter_edges_by_dict", {"filter_dict": {"rel": "a"}}, ()), ("materialize_nodes", {}, ()), ("materialize_nodes", {"reuse": False}, ()),
    ("hop", {}, ()), ("prune_self_edges", {}, ()), ("collapse", {"node": "a", "attribute": "p", "column": "kind"}, ()),
    ("drop_nodes", {"nodes": ["a", 10]}, ()), ("keep_nodes", {"nodes": ["a", "b", 10]}, ()), ("get_topological_levels", {}, ()),
    ("hypergraph", {"entity_types": ["kind"]}, ()), ("hypergraph", {"from_edges": True, "entity_types": ["rel"]}, ()),
    ("compute_igraph", {"alg": "pagerank"}, ()), ("layout_igraph", {"layout": "circle"}, ()),
    ("fa2_layout", {}, ("x", "y")), ("mercator_layout", {}, ()), ("circle_layout", {"bounding_box": [0, 0, 3, 4]}, ()),
    ("ring_continuous_layout", {"ring_col": "n"}, ()), ("ring_categorical_layout", {"ring_col": "kind"}, ()),
    ("time_ring_layout", {"time_col": "when"}, ()), ("tree_layout", {}, ("x",)), ("modularity_weighted_layout", {"community_col": "kind"}, ()),
    ("group_in_a_box_layout", {"partition_key": "kind", "layout_alg": "circle"}, ()), ("encode_point_color", {"column": "kind"}, ()),
    ("encode_edge_color", {"column": "rel"}, ()), ("create_index", {"kind": "node_id"}, ()), ("compute_cugraph", {"alg": "pagerank"}, ()),
    ("layout_cugraph", {}, ()), ("layout_graphviz", {}, ()), ("umap", {"n_neighbors": 2}, ()),
]]
# What differs of them, and why.
ONE_END = "an edge without an end is no edge; the local call counts it for its other end"
TWICE = "the local call multiplies the rows of an id that stands twice"
ODD_DIFFERS = {
    ("no edges", "tree_layout"): "without edges the local call does nothing; here all nodes are at level 0",
    ("one node", "ring_continuous_layout"): "the local call divides nothing by nothing; here the only value is on the first ring",
    ("an id twice", "get_topological_levels"): TWICE, ("an id twice", "modularity_weighted_layout"): TWICE,
    ("an id twice", "tree_layout"): "both rows of the node stand in one place, and the test of places would not have it",
    ("a node without an id", "get_topological_levels"): "a row without an id is no node, and has no level; the local call gives it 0",
    **{("an edge without an end", name): ONE_END for name in (
        "get_degrees", "get_indegrees", "get_outdegrees", "get_topological_levels", "circle_layout", "materialize_nodes")},
}
