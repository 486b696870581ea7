"""The unchanged client's `gfql_remote` against its own local `gfql`, over one property graph: the shapes of
the client's documentation, every output and format, errors, and who may ask."""

import io
import json
import zipfile

import graphistry
import numpy as np
import pandas as pd
import pytest
import requests
from graphistry import (
    between, contains, e, e_forward, e_reverse, e_undirected, endswith, fullmatch, ge, gt, is_in, isna, lt, match, n,
    ne, notna, startswith,
)
from graphistry.compute.ast import call, let, ref

import gfql_cases
from conftest import PASSWORD

NODES = pd.DataFrame({
    "id": [0, 1, 2, 3, 4, 5],
    "type": ["person", "person", "company", "account", "account", "person"],
    "name": ["Ann", "bob", "Acme", None, "main", "Carla"],
    "risk": [0.9, 0.2, None, 0.5, 0.7, 0.1],
    "age": [31, 45, 12, 3, 4, 28],
    "since": pd.to_datetime(["2020-01-01", "2021-06-30", "2019-12-31", "2024-02-29", "2023-03-01", "2022-07-15"]),
    "active": [True, False, True, True, False, True],
})
EDGES = pd.DataFrame({
    "s": [0, 1, 2, 3, 3, 4, 0, 0, 5],
    "d": [1, 2, 3, 4, 0, 1, 1, 0, 9],
    "kind": ["knows", "works", "owns", "pays", "pays", "pays", "knows", "self", "knows"],
    "amount": [1.0, 20.5, 3.0, 400.0, 50.0, None, 7.0, 8.0, 9.0],
})

CHAINS = {
    "everything": [],
    "nodes by value": [n({"type": "person"})],
    "nodes by test": [n({"risk": gt(0.4), "type": is_in(["person", "account"])})],
    "one hop": [n({"type": "person"}), e_forward(), n()],
    "one hop back": [n({"id": 1}), e_reverse(), n()],
    "edge test": [n(), e_forward({"kind": "pays", "amount": ge(50)}), n()],
    "named": [n({"type": "account"}, name="from"), e_undirected(name="via"), n(name="to")],
    "two hops": [n({"id": 0}), e_forward(hops=2), n()],
    "two or three hops": [n({"id": 0}), e_forward(min_hops=2, max_hops=3), n()],
    "to a fixed point": [n({"id": 2}), e_forward(to_fixed_point=True), n()],
    "through nodes": [n({"id": 1}), e(source_node_match={"type": "person"}, hops=2), n()],
    "to nodes": [n(), e_forward(destination_node_match={"active": True}), n({"age": between(3, 40)})],
    "triangle": [n({"type": "person"}), e_forward(), n({"type": "company"}), e_forward(), n({"type": "account"})],
    "texts": [n({"name": contains("a", case=False)})],
    "text ends": [n({"name": startswith("A")}), e_undirected(), n({"name": endswith("b")})],
    "patterns": [n({"name": match("[a-c]")}), e_undirected(), n({"name": fullmatch("[A-Z][a-z]+")})],
    "nulls": [n({"name": isna()}), e_undirected(), n({"risk": notna()})],
    "not equal": [n({"type": ne("person")}), e_reverse({"amount": lt(100)}), n()],
    "query text": [n(query="age > 20 and active"), e_forward(edge_query="amount > 5"), n()],
    "degrees": [call("get_degrees"), n({"degree": gt(2)})],
    "rows": [n({"type": "person"}), call("rows", {"table": "nodes"}), call("select", {"items": ["name", ["twice", "age * 2"]]}),
             call("order_by", {"keys": [["twice", "desc"]]}), call("limit", {"value": 2})],
    "groups": [call("rows", {"table": "edges"}), call("group_by", {"keys": ["kind"], "aggregations": [["total", "sum", "amount"], ["many", "count"]]})],
}
LETS = {
    "reference": let({"people": [n({"type": "person"}), e_undirected(), n()], "old": ref("people", [n({"age": gt(30)})])}),
    "two hops in parts": let({"a": [n({"id": 0}), e_forward(), n()], "b": ref("a", [n({"id": 1})])}),
}
TEXTS = [
    "MATCH (a)-[r]->(b) WHERE a.age > 20 RETURN a.name AS a, b.name AS b, r.amount AS amount ORDER BY amount",
    "MATCH (p) WHERE p.type = 'person' RETURN p.name AS name, p.age AS age ORDER BY age DESC LIMIT 2",
    "MATCH (a)-[r]->(b) RETURN r.kind AS kind, count(*) AS many ORDER BY kind",
    "MATCH (a)-[*1..2]->(b) RETURN a.id AS a, b.id AS b ORDER BY a, b",
    "MATCH (a)-[*2]-(b) WHERE a.id = 2 RETURN a.id AS a, b.id AS b ORDER BY b",
    "MATCH (a) WHERE (a)-[]->() RETURN a.id AS id ORDER BY id",
    "MATCH (a) WHERE NOT (a)<-[]-() RETURN a.id AS id ORDER BY id",
    "MATCH (a) WHERE a.name CONTAINS 'a' OR a.age > 40 RETURN a.name AS name ORDER BY name",
]


@pytest.fixture(scope="module")
def graph(server):
    import graphistry

    from conftest import PASSWORD

    graphistry.register(api=3, protocol="http", server=server.server, username="alice", password=PASSWORD)
    return graphistry.nodes(NODES, "id").edges(EDGES, "s", "d").upload(validate=False)


def same(mine, theirs, rows=False):
    found = gfql_cases.difference({"rows": rows}, {"nodes": mine._nodes, "edges": mine._edges},
                                  {"nodes": theirs._nodes, "edges": theirs._edges})
    assert found is None, found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(CHAINS))
def test_a_chain_gives_what_it_gives_locally(graph, name):
    rows = name in ("rows", "groups")
    same(graph.gfql_remote(CHAINS[name]), graph.gfql(CHAINS[name]), rows)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(LETS))
def test_a_let_gives_what_it_gives_locally(graph, name):
    same(graph.gfql_remote(LETS[name]), graph.gfql(LETS[name]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", TEXTS)
def test_cypher_that_the_client_compiles_gives_the_same_rows(graph, text):
    mine = graph.gfql_remote(text, output_type="nodes")._nodes
    theirs = graph.gfql(text)._nodes
    pd.testing.assert_frame_equal(mine[list(theirs.columns)], theirs, check_dtype=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_every_format_carries_the_same_tables(graph, form):
    chain = CHAINS["named"]
    whole = graph.gfql_remote(chain, format=form)
    local = graph.gfql(chain)
    for part in ("_nodes", "_edges"):
        assert len(getattr(whole, part)) == len(getattr(local, part))
        one = graph.gfql_remote(chain, format=form, output_type=part[1:])
        assert getattr(one, part).shape == getattr(whole, part).shape
    shape = graph.gfql_remote_shape(chain, format=form)
    assert list(shape["kind"]) == ["nodes", "edges"]
    assert list(shape["rows"]) == [len(local._nodes), len(local._edges)]


@pytest.mark.filterwarnings("ignore")
def test_columns_are_cut_down_and_those_of_the_graph_stay(graph):
    some = graph.gfql_remote(CHAINS["one hop"], node_col_subset=["name"], edge_col_subset=["kind"])
    assert set(some._nodes.columns) == {"id", "name"} and set(some._edges.columns) == {"s", "d", "kind"}
    none = graph.gfql_remote([n({"type": "nobody"}), e_forward(), n()])
    assert len(none._nodes) == 0 and list(none._edges.columns) == list(EDGES.columns)


def test_nodes_without_edges_belong_to_the_graph_unless_the_call_says_otherwise(client):
    import graphistry

    nodes = pd.DataFrame({"id": ["a", "b", "c", "alone"]})
    few = graphistry.nodes(nodes, "id").edges(pd.DataFrame({"s": ["a", "b"], "d": ["b", "c"]}), "s", "d").upload(validate=False)

    def ranks(**params):
        found = few.gfql_remote([call("compute_cugraph", {"alg": "pagerank", "params": params})])._nodes
        return dict(zip(found["id"], found["pagerank"]))

    whole, part = ranks(), ranks(vertex_set="edges_only")
    assert abs(sum(whole.values()) - 1) < 1e-6 and whole["alone"] > 0.05
    assert np.isnan(part.pop("alone")) and abs(sum(part.values()) - 1) < 1e-6
    with pytest.raises(Exception, match="vertex_set.*edges_only"):
        ranks(vertex_set="some")


@pytest.mark.filterwarnings("ignore")
def test_algorithms_and_layouts_are_calls(graph, client):
    import networkx as nx

    ranked = graph.gfql_remote([call("compute_cugraph", {"alg": "pagerank", "out_col": "rank"}), n({"rank": gt(0.1)})])
    ranks = nx.pagerank(nx.DiGraph(list(zip(EDGES["s"], EDGES["d"]))), weight=None)
    assert set(ranked._nodes["id"]) == {v for v, r in ranks.items() if r > 0.1 and v in set(NODES["id"])}
    groups = graph.gfql_remote([call("compute_igraph", {"alg": "community_multilevel"})])._nodes
    assert groups["community_multilevel"].nunique() < len(NODES)
    placed = graph.gfql_remote([call("fa2_layout", {"fa2_params": {"max_iter": 20}})])
    assert placed._nodes[["x", "y"]].notna().all().all() and placed._point_x == "x"
    shown = graph.gfql_remote([n(), call("encode_point_size", {"column": "age"}), call("name", {"name": "mine"})])
    assert (shown._point_size, shown._name) == ("age", "mine")


def post(server, token, dataset, output, body):
    return requests.post(f"{server.url}/api/v2/etl/datasets/{dataset}/gfql{output}", json=body,
                         headers={"Authorization": f"Bearer {token}"})


BAD = {
    "column-not-found": {"gfql_operations": [{"type": "Node", "filter_dict": {"agee": 1}}], "strictness": "strict"},
    "invalid-chain-type": {"gfql_operations": [{"type": "Nod"}]},
    "invalid-direction": {"gfql_operations": [{"type": "Edge", "direction": "sideways"}]},
    "invalid-hops-value": {"gfql_operations": [{"type": "Edge", "direction": "forward", "hops": -1}]},
    "invalid-node-reference": {"gfql_operations": [{"type": "Call", "function": "get_degreez"}]},
    "incompatible-column-type": {"gfql_operations": [{"type": "Node", "filter_dict": {"age": "old"}}]},
    "invalid-predicate-value": {"gfql_operations": [{"type": "Node", "filter_dict": {"age": {"type": "GTT", "val": 1}}}]},
    "unresolved-graph-reference": {"gfql_query": {"type": "Let", "bindings": {"a": {"type": "Ref", "ref": "b", "chain": []}}}},
    "output-requires-let-query": {"gfql_operations": [], "gfql_output": "a"},
    "invalid-argument": {"format": "xml", "gfql_operations": []},
}


@pytest.mark.parametrize("slug", list(BAD))
def test_a_bad_query_is_refused_by_name(graph, server, slug):
    r = post(server, server.token("alice"), graph._dataset_id, "/nodes", BAD[slug])
    assert 400 <= r.status_code < 500, r.text
    assert r.json()["error"].startswith(f"[{slug}]"), r.text
    assert r.headers["content-type"].startswith("application/json")


def test_a_query_that_names_a_column_in_vain_is_told_so(graph, server):
    token, dataset = server.token("alice"), graph._dataset_id
    text = {"gfql_query": "MATCH (a) RETURN a.nmae AS n"}
    steps = {"gfql_operations": [{"type": "Node", "filter_dict": {"nmae": "x"}}]}
    for body in (text, steps):
        r = post(server, token, dataset, "/nodes", body | {"format": "csv"})
        said = json.loads(r.headers["x-graphlume-notices"])
        assert r.status_code == 200 and said[0]["slug"] == "column-not-found" and '"name"' in said[0]["text"], said
        whole = post(server, token, dataset, "/all", body | {"format": "json"}).json()["metadata"]["notices"]
        packed = post(server, token, dataset, "/all", body | {"format": "parquet"})
        with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
            assert json.loads(archive.read("metadata.json"))["notices"] == whole == said
    right = post(server, token, dataset, "/nodes", {"gfql_query": "MATCH (a) RETURN a.name AS n"})
    assert right.status_code == 200 and "x-graphlume-notices" not in right.headers


@pytest.mark.filterwarnings("ignore")
def test_a_query_without_steps_is_everything_and_says_so(ring, server):
    # What the client makes of a pattern that it cannot compile.
    text = "MATCH (a)-->(b), (a)-->(c), (c)-->(d) RETURN count(*) AS n"
    assert len(ring.gfql_remote(text)._nodes) == 4
    token = server.token("alice")
    for output, body in [("/all", {}), ("/nodes", {"format": "csv"}), ("/shape", {"format": "json"})]:
        r = post(server, token, ring._dataset_id, output, {"gfql_operations": [], **body})
        (said,) = json.loads(r.headers["x-graphlume-notices"])
        assert r.status_code == 200 and said["slug"] == "query-without-steps" and "gfql_query" in said["text"], said
    rows = {"gfql_query": text, "format": "json"}
    assert post(server, token, ring._dataset_id, "/nodes", rows).json() == [{"n": 1}]


def test_a_membership_test_has_two_limits_and_each_is_named(ring, server):
    def ask(values):
        body = {"gfql_operations": [{"type": "Node", "filter_dict": {"id": {"type": "IsIn", "options": values}}}]}
        return post(server, server.token("alice"), ring._dataset_id, "/nodes", body | {"format": "json"})

    assert len(ask([i % 1000 for i in range(100_000)]).json()) == 4
    many = ask([i % 1000 for i in range(100_001)])
    assert 400 <= many.status_code < 500 and many.json()["error"].startswith("[query-too-large]"), many.text
    assert "the limit is 100000" in many.json()["error"], many.text
    long = ask([10**12 + i for i in range(100_000)])
    assert long.status_code == 413 and "1048576" in long.text.replace(",", ""), long.text


def test_addresses_and_rights(graph, server):
    alice, bob, body = server.token("alice"), server.token("bob"), {"gfql_operations": []}
    dataset = graph._dataset_id
    whole = post(server, alice, dataset, "", body)
    assert whole.headers["content-type"] == "application/zip"
    assert zipfile.ZipFile(io.BytesIO(whole.content)).namelist() == ["nodes.parquet", "edges.parquet", "metadata.json"]
    assert post(server, alice, dataset, "/pictures", body).status_code == 400
    assert post(server, alice, "0" * 32, "/nodes", body).status_code == 404
    api = server.api("alice")
    private = api.dataset([api.file(b"s,d\n1,2\n", "csv")["file_id"]])
    share = {"obj_pk": private, "obj_type": "dataset", "mode": "private"}
    assert api("POST", "/api/v2/share/link/", json=share).status_code == 200
    assert post(server, alice, private, "/shape", body).json()[1]["rows"] == 1
    assert post(server, bob, private, "/shape", body).status_code == 404
    assert post(server, "nonsense", dataset, "/shape", body).status_code == 401
    r = requests.post(f"{server.url}/api/v2/datasets/{dataset}/python", json={"execute": "1"},
                      headers={"Authorization": f"Bearer {alice}"})
    assert r.status_code == 403 and r.json()["error"].startswith("[unsupported-operation]")
    older = requests.post(f"{server.url}/api/v2/datasets/{dataset}/gfql/shape", json=body,
                          headers={"Authorization": f"Bearer {alice}"})
    assert older.json() == post(server, alice, dataset, "/shape", body).json()


COMPILED = {
    # The unchanged client compiles these itself; the answers are those of its own engine.
    "cycle": ("MATCH (a)-->(b)-->(c)-->(a) RETURN count(*) AS n", [{"n": 3}]),
    "aggregate over nothing": ("MATCH (a {id: 99})-[]->(b) RETURN count(*) AS n, collect(b.id) AS l", [{"n": 0, "l": []}]),
    "group by a node": ("MATCH (a)-->(b) RETURN a.id AS a, count(*) AS n ORDER BY n DESC LIMIT 1", [{"a": 2, "n": 2}]),
    "shortest path": ("MATCH p = shortestPath((a {id: 0})-[*]->(b {id: 3})) RETURN length(p) AS l", [{"l": 3}]),
    "labels and keys": ("MATCH (n {id: 0}) RETURN labels(n) AS l, keys(n) AS k, split(n.name, 'n') AS s",
                        [{"l": ["P"], "k": ["id", "name"], "s": ["a", "", ""]}]),
    "maps": ("MATCH (n {id: 1}) RETURN {x: n.id, y: n.name} AS m", [{"m": {"x": 1, "y": "bob"}}]),
    "a list and no pattern": ("UNWIND [1, 2, 3] AS i RETURN sum(i) AS s", [{"s": 6}]),
    "constants and no pattern": ("WITH 1 AS a RETURN a + 1 AS b, 'x' AS c", [{"b": 2, "c": "x"}]),
    "a count of nothing": ("RETURN count(*) AS n", [{"n": 1}]),
    "a list for each node": ("MATCH (n) UNWIND [1, 2] AS i RETURN sum(i) AS s", [{"s": 12}]),
}


@pytest.fixture(scope="module")
def ring(server):
    graphistry.register(api=3, protocol="http", server=server.server, username="alice", password=PASSWORD)
    nodes = pd.DataFrame({"id": [0, 1, 2, 3], "name": ["ann", "bob", "cy", "di"], "label__P": [True, False, True, False]})
    edges = pd.DataFrame({"s": [0, 1, 2, 2], "d": [1, 2, 0, 3], "w": [1.0, 2.0, 3.0, 4.0]})
    return graphistry.nodes(nodes, "id").edges(edges, "s", "d").upload()


def plain(value):
    return [plain(v) for v in value] if hasattr(value, "__iter__") and not isinstance(value, (str, dict)) else value


@pytest.mark.parametrize("name", list(COMPILED))
def test_cypher_that_the_client_compiles_is_answered_as_it_is_meant(ring, name):
    text, want = COMPILED[name]
    rows = ring.gfql_remote(text)._nodes.to_dict("records")
    assert [{k: plain(v) for k, v in row.items()} for row in rows] == want


@pytest.mark.filterwarnings("ignore")
def test_a_result_is_kept_as_a_dataset_of_its_own(ring, server):
    kept = ring.gfql_remote([n({"name": "ann"}), e_forward(), n(), call("encode_point_color", {"column": "name"})], persist=True)
    assert kept._dataset_id and kept._dataset_id != ring._dataset_id and kept._dataset_id in kept._url
    token = server.token("alice")
    shape = post(server, token, kept._dataset_id, "/shape", {"gfql_operations": []}).json()
    assert [(row["kind"], row["rows"]) for row in shape] == [("nodes", 2), ("edges", 1)]
    body = {"gfql_operations": [{"type": "Node"}], "persist": True, "format": "json", "privacy": {"mode": "private"}}
    private = post(server, token, ring._dataset_id, "/all", body).json()["dataset_id"]
    assert post(server, server.token("bob"), private, "/shape", {"gfql_operations": []}).status_code == 404
    rows = {"gfql_query": "MATCH (a) RETURN a.id", "persist": True}
    for output, body in [("/nodes", {**rows, "gfql_query": []}), ("/all", rows), ("/all", {**rows, "privacy": {"mode": "x"}})]:
        assert post(server, token, ring._dataset_id, output, body).status_code == 400


CYPHER = {
    # What the client's own compilation would lose on the way is kept by sending the text.
    "optional": ("MATCH (a) OPTIONAL MATCH (a)-[r]->(b) WHERE r.amount > 100 RETURN a.id AS a, b.id AS b ORDER BY a",
                 [[0, None], [1, None], [2, None], [3, 4], [4, None], [5, None], [9, None]]),
    "limit before match": ("MATCH (a) WHERE a.age > 0 WITH a ORDER BY a.age DESC LIMIT 1 MATCH (a)-[r]->(b) RETURN a.name AS a, b.name AS b",
                           [["bob", "Acme"]]),
    "branches": ("MATCH (x)<--(a)-->(y) WHERE x.id < y.id RETURN a.id AS a, x.id AS x, y.id AS y ORDER BY a, x, y",
                 [[0, 0, 1], [0, 0, 1], [3, 0, 4]]),
    "inequality along a path": ("MATCH (a)-[r]->(b)-[q]->(c) WHERE a.age < c.age RETURN count(*) AS n", [[8]]),
    "lists and parameters": ("UNWIND $ids AS id MATCH (n) WHERE n.id = id RETURN id, [x IN range(1, id) | x * x] AS squares",
                             [[1, [1]], [3, [1, 4, 9]]]),
    "nothing": ("MATCH (n:Nobody) RETURN n.name AS name", []),
    "aggregate over nothing": ("MATCH (n:Nobody) RETURN count(*) AS n, sum(n.age) AS s", [[0, 0]]),
}


@pytest.mark.parametrize("name", list(CYPHER))
def test_a_text_in_cypher_is_answered_with_its_rows(graph, server, name):
    text, want = CYPHER[name]
    body = {"gfql_query": text, "params": {"ids": [1, 3]}, "format": "json"}
    token = server.token("alice")
    r = post(server, token, graph._dataset_id, "/nodes", body)
    assert r.status_code == 200, r.text
    assert [list(row.values()) for row in r.json()] == want
    shape = post(server, token, graph._dataset_id, "/shape", body).json()
    assert [(row["kind"], row["rows"]) for row in shape] == [("nodes", len(want)), ("edges", 0)]


@pytest.mark.parametrize("text, slug", [
    ("CREATE (n)", "invalid-cypher-syntax"), ("MATCH (n) DETACH DELETE n", "invalid-cypher-syntax"),
    ("MATCH (n) SET n.age = 1 RETURN n", "invalid-cypher-syntax"), ("MATCH (n) RETURN m", "invalid-cypher-syntax"),
    ("MATCH (n) RETURN 1 / 0", "invalid-predicate-value"), ("CALL db.labels()", "unsupported-cypher-query"), ("", "invalid-cypher-syntax"),
])
def test_a_text_that_is_refused_says_why(graph, server, text, slug):
    r = post(server, server.token("alice"), graph._dataset_id, "/nodes", {"gfql_query": text})
    assert 400 <= r.status_code < 500 and r.json()["error"].startswith(f"[{slug}]"), r.text
