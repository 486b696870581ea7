"""Every example of the client's documentation of GFQL, remote against local. `gfql_docs.py` lists them by page."""

import pytest
import requests

from graphistry.compute.ast import call

import gfql_cases
import gfql_docs

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def graphs(server):
    """The graphs by name: as they are here, and as they were uploaded."""
    import graphistry

    from conftest import PASSWORD

    graphistry.register(api=3, protocol="http", server=server.server, username="alice", password=PASSWORD)
    made = {}
    for name, (nodes, node, edges, source, destination) in gfql_docs.GRAPHS.items():
        graph = graphistry.edges(edges, source, destination)
        graph = graph if nodes is None else graph.nodes(nodes, node)
        made[name] = graph.upload(validate=False)
    return made


def same(mine, theirs, **case):
    frames = lambda g: {"nodes": g._nodes, "edges": g._edges}
    found = gfql_cases.difference(case, frames(mine), frames(theirs))
    assert found is None, found


def cases(table):
    return pytest.mark.parametrize("name", list(table))


@cases(gfql_docs.CHAINS)
def test_a_pattern(graphs, name):
    graph, query = graphs[gfql_docs.CHAINS[name][0]], gfql_docs.CHAINS[name][1]
    same(graph.gfql_remote(query), graph.gfql(query))


def test_the_older_name_of_the_call(graphs):
    _, query = gfql_docs.CHAINS["overview: between risky nodes"]
    same(graphs["risk"].chain_remote(query), graphs["risk"].chain(query))
    shape = graphs["risk"].chain_remote_shape(query)
    assert list(shape["rows"]) == [len(getattr(graphs["risk"].chain(query), part)) for part in ("_nodes", "_edges")]


@cases(gfql_docs.WHERES)
def test_conditions_along_a_path(graphs, name):
    place, steps, where = gfql_docs.WHERES[name]
    graph = graphs[place]
    from graphistry import Chain

    ends = [graph._source, graph._destination]
    same(graph.gfql_remote(Chain(steps, where=where)), graph.gfql(steps, where=where), where=True, ends=ends)


@cases(gfql_docs.TABLES)
def test_rows(graphs, name):
    place, query, ordered = gfql_docs.TABLES[name]
    same(graphs[place].gfql_remote(query), graphs[place].gfql(query), rows=True, ordered=ordered)


@cases(gfql_docs.SAME)
def test_two_ways_to_write_a_pattern(graphs, name):
    place, query, other = gfql_docs.SAME[name]
    same(graphs[place].gfql_remote(query), graphs[place].gfql(other))


@cases(gfql_docs.TESTS_OF_ROWS)
def test_rows_by_a_dictionary_of_tests(graphs, name):
    place, query, tests = gfql_docs.TESTS_OF_ROWS[name]
    sent = [call("where_rows", {"filter_dict": tests}) if getattr(op, "function", "") == "where_rows" else op for op in query]
    same(graphs[place].gfql_remote(sent), graphs[place].gfql(query), rows=True)


@cases(gfql_docs.LETS)
def test_named_results(graphs, name):
    place, query = gfql_docs.LETS[name]
    same(graphs[place].gfql_remote(query), graphs[place].gfql(query))


def shown(graph):
    """What a graph says about how it is shown."""
    keys = ("_name", "_description", "_point_title", "_edge_label", "_edge_weight", "_point_opacity", "_complex_encodings")
    return {key: getattr(graph, key) for key in keys}


@cases(gfql_docs.CALLS)
def test_built_in_calls(graphs, name):
    place, query = gfql_docs.CALLS[name]
    mine, theirs = graphs[place].gfql_remote(query), graphs[place].gfql(query)
    same(mine, theirs)
    ends = [(g._node or "id", g._source, g._destination) for g in (mine, theirs)]
    assert ends[0] == ends[1]
    show = [op for op in query if getattr(op, "function", "").startswith(("encode_", "name", "description"))]
    if show:
        # The client's own engine loses what these calls say; its methods of the same names do not.
        said = graphs[place]
        for op in show:
            said = getattr(said, op.function)(**op.params)
        assert shown(mine) == shown(said)


@cases(gfql_docs.IGRAPH)
def test_algorithms_of_igraph(graphs, name):
    place, params, column = gfql_docs.IGRAPH[name]
    query = [call("compute_igraph", params)]
    mine, theirs = graphs[place].gfql_remote(query)._nodes, graphs[place].gfql(query)._nodes
    want = dict(zip(theirs["id"], theirs[column]))
    got = dict(zip(mine["id"], mine[column]))
    assert got == pytest.approx(want, rel=1e-5, abs=1e-9)


@cases(gfql_docs.CYPHER)
def test_cypher_gives_a_table(graphs, name):
    mine, theirs = (run(gfql_docs.CYPHER[name]) for run in (graphs["world"].gfql_remote, graphs["world"].gfql))
    same(mine, theirs, rows=True, ordered=True)
    assert len(theirs._nodes) > 0


@cases(gfql_docs.GRAPH_TEXTS)
def test_cypher_gives_a_graph(graphs, name):
    place, text = gfql_docs.GRAPH_TEXTS[name]
    mine, theirs = graphs[place].gfql_remote(text), graphs[place].gfql(text)
    same(mine, theirs)
    assert len(theirs._nodes) > 0


@cases(gfql_docs.STAGES)
def test_cypher_in_stages(graphs, name):
    place, text = gfql_docs.STAGES[name]
    mine, theirs = graphs[place].gfql_remote(text), graphs[place].gfql(text)
    same(mine, theirs, rows=True, ordered=True)
    assert len(theirs._nodes) > 0


@cases(gfql_docs.MISTAKES)
def test_mistakes_are_named(graphs, server, name):
    place, query, slug = gfql_docs.MISTAKES[name]
    r = requests.post(f"{server.url}/api/v2/etl/datasets/{graphs[place]._dataset_id}/gfql/all", json={"gfql_query": query},
                      headers={"Authorization": f"Bearer {server.token('alice')}"})
    assert r.status_code == 400, r.text
    error = r.json()["error"]
    assert error.startswith("[") and (slug is None or error.startswith(f"[{slug}]")), error


def test_less_is_downloaded(graphs):
    g, steps = graphs["world"], [gfql_docs.n(), gfql_docs.e(), gfql_docs.n()]
    local = g.gfql(steps)
    nodes = g.gfql_remote(steps, output_type="nodes", node_col_subset=[g._node, "age"])
    assert set(nodes._nodes.columns) == {"id", "age"} and len(nodes._nodes) == len(local._nodes)
    edges = g.gfql_remote(steps, output_type="edges", edge_col_subset=["s", "d", "weight"])
    assert set(edges._edges.columns) == {"s", "d", "weight"} and len(edges._edges) == len(local._edges)
    for engine in ("pandas", "cudf"):
        same(g.gfql_remote(steps, engine=engine), local)
    import graphistry

    bound = graphistry.bind(dataset_id=g._dataset_id)
    assert len(bound.gfql_remote([gfql_docs.n(), gfql_docs.e()])._nodes) == len(local._nodes)


EDGE = {"type": "Edge", "direction": "forward"}
PATTERN = [{"type": "Node", "name": "x"}, EDGE, {"type": "Node", "name": "y"}]
ROWS = [{"type": "Call", "function": "rows", "params": {"table": "nodes"}}]
PATHS = [{"type": "Call", "function": "rows", "params": {"binding_ops": [{"type": "Node", "name": "x"}]}}]
REFUSED = "unsupported-operation"
# Every function that the client may call: what stands before it, its parameters, and the code of the refusal.
SAFELIST = {
    "rows": ([], {"table": "edges"}, None),
    "select": (ROWS, {"items": ["id"]}, None),
    "return_": (ROWS, {"items": [["a", "id"]]}, None),
    "with_": (ROWS, {"items": [["a", "age + 1"]], "extend": True}, None),
    "where_rows": (ROWS, {"expr": "age > 20"}, None),
    "order_by": (ROWS, {"keys": [["age", "desc"]]}, None),
    "skip": (ROWS, {"value": 1}, None),
    "limit": (ROWS, {"value": 1}, None),
    "distinct": (ROWS, {}, None),
    "unwind": (ROWS, {"expr": "[1, 2]"}, None),
    "group_by": (ROWS, {"keys": ["type"], "aggregations": [["n", "count"]]}, None),
    "count_table": ([], {"table": "edges"}, None),
    "drop_cols": (ROWS, {"cols": ["age"]}, None),
    "fill_empty_row": (ROWS, {"row": {"a": 1}}, None),
    "semi_apply_mark": (PATHS, {"binding_ops": PATTERN, "join_aliases": ["x"], "out_col": "m"}, None),
    "anti_semi_apply": (PATHS, {"binding_ops": PATTERN, "join_aliases": ["x"]}, None),
    "join_apply": (PATHS, {"binding_ops": PATTERN, "join_aliases": ["x"]}, None),
    "search_any": (PATHS, {"alias": "x", "term": "per", "out_col": "m"}, None),
    "get_degrees": ([], {}, None),
    "get_indegrees": ([], {}, None),
    "get_outdegrees": ([], {}, None),
    "filter_nodes_by_dict": ([], {"filter_dict": {"type": "person"}}, None),
    "filter_edges_by_dict": ([], {"filter_dict": {"interesting": True}}, None),
    "prune_self_edges": ([], {}, None),
    "drop_nodes": ([], {"nodes": ["a"]}, None),
    "keep_nodes": ([], {"nodes": ["a", "b"]}, None),
    "materialize_nodes": ([], {}, None),
    "hop": ([], {"hops": 1}, None),
    "get_topological_levels": ([], {}, None),
    "hypergraph": ([], {"entity_types": ["type"]}, None),
    "create_index": ([], {"kind": "node_id"}, None),
    "drop_index": ([], {}, None),
    "compute_cugraph": ([], {"alg": "pagerank"}, None),
    "compute_igraph": ([], {"alg": "pagerank"}, None),
    "layout_cugraph": ([], {"layout": "force_atlas2", "params": {"max_iter": 5}}, None),
    "layout_igraph": ([], {"layout": "circle"}, None),
    "fa2_layout": ([], {"fa2_params": {"max_iter": 5}}, None),
    "encode_point_color": ([], {"column": "type"}, None),
    "encode_edge_color": ([], {"column": "e_type"}, None),
    "encode_point_size": ([], {"column": "age"}, None),
    "encode_edge_size": ([], {"column": "amount"}, None),
    "encode_edge_weight": ([], {"column": "amount"}, None),
    "encode_point_opacity": ([], {"column": "age"}, None),
    "encode_edge_opacity": ([], {"column": "amount"}, None),
    "encode_point_icon": ([], {"column": "type", "categorical_mapping": {"person": "user"}}, None),
    "encode_edge_icon": ([], {"column": "e_type", "categorical_mapping": {"knows": "user"}}, None),
    "encode_point_label": ([], {"column": "type"}, None),
    "encode_edge_label": ([], {"column": "e_type"}, None),
    "encode_point_title": ([], {"column": "type"}, None),
    "encode_edge_title": ([], {"column": "e_type"}, None),
    "encode_axis": ([], {"rows": [{"r": 10, "label": "ring"}]}, None),
    "name": ([], {"name": "mine"}, None),
    "description": ([], {"description": "mine"}, None),
    "collapse": ([], {"node": "a", "attribute": "person", "column": "type"}, None),
    "layout_graphviz": ([], {"prog": "dot"}, None),
    "circle_layout": ([], {"bounding_box": [0, 0, 3, 4]}, None),
    "tree_layout": ([], {}, None),
    "mercator_layout": ([], {}, "column-not-found"),
    "modularity_weighted_layout": ([], {}, None),
    "ring_continuous_layout": ([], {}, None),
    "ring_categorical_layout": ([], {"ring_col": "type"}, None),
    "time_ring_layout": ([], {"time_col": "timestamp"}, "column-not-found"),
    "group_in_a_box_layout": ([], {}, None),
    "umap": ([], {}, None),
}


def post(server, dataset, query, who="alice", output="/all", **more):
    return requests.post(f"{server.url}/api/v2/etl/datasets/{dataset}/gfql{output}", json={"gfql_query": query, **{"format": "json", **more}},
                         headers={"Authorization": f"Bearer {server.token(who)}"})


def test_the_whole_list_of_calls_is_known(graphs, server):
    from graphistry.compute.gfql.call.validation import SAFELIST_V1

    assert set(SAFELIST) == set(SAFELIST_V1)
    dataset = graphs["risk"]._dataset_id
    for name, (before, params, slug) in SAFELIST.items():
        r = post(server, dataset, [*before, {"type": "Call", "function": name, "params": params}])
        if slug is None:
            assert r.status_code == 200, f"{name}: {r.text}"
        else:
            assert r.status_code in (400, 422) and r.json()["error"].startswith(f"[{slug}]") and "suggestion" in r.text, f"{name}: {r.text}"
        for wrong, code in (({"parameter_of_nobody": 1}, "invalid-node-reference"),):
            r = post(server, dataset, [*before, {"type": "Call", "function": name, "params": {**params, **wrong}}])
            assert r.status_code == 400 and r.json()["error"].startswith(f"[{code}]"), f"{name}: {r.text}"
        required = SAFELIST_V1[name]["required_params"]
        if required and slug is None:
            r = post(server, dataset, [*before, {"type": "Call", "function": name, "params": {}}])
            assert r.status_code == 400 and r.json()["error"].startswith("[missing-required-field]"), f"{name}: {r.text}"


def test_another_dataset_within_a_query(graphs, server):
    """By its id, with the rights of the one who asks."""
    from graphistry.compute.ast import let, n, ref, remote

    far = graphs["transfers"]._dataset_id
    query = let({"far": remote(dataset_id=far), "high": ref("far", [n({"risk": "high"})])})
    found = graphs["world"].gfql_remote(query)
    assert set(found._nodes["id"]) == {1, 3}
    bindings = {"far": {"type": "RemoteGraph", "dataset_id": far}}
    with_token = {"far": {**bindings["far"], "token": "secret"}}
    nobody = {"far": {"type": "RemoteGraph", "dataset_id": "0" * 32}}
    many = {f"b{i}": {"type": "RemoteGraph", "dataset_id": f"{i:032x}"} for i in range(9)}
    world = graphs["world"]._dataset_id
    for named, slug in ((with_token, REFUSED), (nobody, "graph-not-bound"), (many, "query-too-large")):
        r = post(server, world, {"type": "Let", "bindings": named})
        assert 400 <= r.status_code < 500 and r.json()["error"].startswith(f"[{slug}]"), r.text
    share = {"obj_pk": far, "obj_type": "dataset", "mode": "private"}
    assert server.api("alice")("POST", "/api/v2/share/link/", json=share).status_code == 200
    assert post(server, world, {"type": "Let", "bindings": bindings}).status_code == 200
    other = server.api("bob")
    own = other.dataset([other.file(b"s,d\n1,2\n", "csv")["file_id"]])
    r = post(server, own, {"type": "Let", "bindings": bindings}, who="bob")
    assert r.status_code == 400 and r.json()["error"].startswith("[graph-not-bound]"), r.text


def test_a_graph_of_nodes_alone_answers(server):
    api = server.api("alice")
    table = api.file(b"id,kind\na,x\nb,y\nc,x\n", "csv")["file_id"]
    body = {"name": "nodes", "metadata": {}, "node_files": [table], "edge_files": [],
            "node_encodings": {"bindings": {"node": "id"}}, "edge_encodings": {"bindings": {}}}
    r = api("POST", "/api/v2/upload/datasets/", json=body)
    assert r.status_code in (200, 201), r.text
    dataset = r.json()["data"]["dataset_id"]
    ask = lambda query, output="/nodes": post(server, dataset, query, output=output)
    found = ask([{"type": "Node", "filter_dict": {"kind": "x"}}])
    assert found.status_code == 200, found.text
    assert [row["id"] for row in found.json()] == ["a", "c"]
    assert ask([{"type": "Node"}, EDGE], "/shape").json()[1]["rows"] == 0
    assert ask("MATCH (v) RETURN count(*) AS n").json() == [{"n": 3}]
    both = ask([], "/all").json()
    assert (len(both["nodes"]), both["edges"]) == (3, [])


def test_procedures_by_name(graphs, server):
    dataset = graphs["world"]._dataset_id
    rows = post(server, dataset, "CALL graphistry.degree() YIELD nodeId, degree RETURN nodeId, degree ORDER BY degree DESC, nodeId LIMIT 2",
                output="/nodes")
    assert rows.status_code == 200, rows.text
    local = graphs["world"].gfql("CALL graphistry.degree()")._nodes.sort_values(["degree", "nodeId"], ascending=[False, True])
    assert [list(row.values()) for row in rows.json()] == local[["nodeId", "degree"]].head(2).values.tolist()
    whole = post(server, dataset, "CALL graphistry.degree()", output="/nodes").json()
    assert list(whole[0]) == list(local.columns) and len(whole) == len(local)
    ranked = post(server, dataset, "CALL graphistry.cugraph.pagerank({out_col: 'rank'}) YIELD nodeId, rank RETURN sum(rank) AS total", output="/nodes")
    assert ranked.json()[0]["total"] == pytest.approx(1)
    for text, slug in (("CALL db.labels()", "unsupported-cypher-query"), ("CALL graphistry.nx.louvain()", "type-mismatch"),
                       ("CALL graphistry.degree.write() YIELD degree RETURN degree", "unsupported-cypher-query"),
                       ("CALL graphistry.degree(1)", "unsupported-cypher-query")):
        r = post(server, dataset, text, output="/nodes")
        assert 400 <= r.status_code < 500 and r.json()["error"].startswith(f"[{slug}]"), r.text
