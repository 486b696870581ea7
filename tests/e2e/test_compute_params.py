"""A dataset's `compute`: every name of the schema with parameters of its own against igraph, NetworkX and what a parameter promises;
what is bound to its columns is no missing column; ids as without it; refusals that name the parameter; starts that lead nowhere."""

import io
import json
import random
import time

import graphistry
import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from conftest import counted
from graphistry.compute.ast import call

R = random.Random(11)
N = 26
IDS = [f"n{v:02}" for v in range(N)]
# The last node has the most edges, and none leaves it.
PAIRS = sorted({(a, b) for a, b in ((R.randrange(N - 1), R.randrange(N - 1)) for _ in range(75)) if a != b}
               | {(a, N - 1) for a in range(0, N - 1, 2)})
EDGES = pd.DataFrame({"s": [IDS[a] for a, _ in PAIRS], "d": [IDS[b] for _, b in PAIRS],
                      "w": [1.0 + (5 * a + 3 * b) % 4 for a, b in PAIRS]})
NODES = pd.DataFrame({"id": IDS, "lab": [1.0 + v % 3 for v in range(N)]})
WEIGHT = dict(zip(PAIRS, EDGES.w))

D = nx.DiGraph(PAIRS)
D.add_nodes_from(range(N))
U = D.to_undirected()
G = igraph.Graph(N, PAIRS, directed=True)
G.es["w"] = list(EDGES.w)
GU = G.as_undirected(mode="each")
# In a simple undirected graph an edge and one against it are one, with the mean of their weights, as cuGraph has it.
S = nx.Graph()
for (a, b), w in WEIGHT.items():
    S.add_edge(a, b, weight=(w + WEIGHT.get((b, a), w)) / 2)


def same(values, tol=1e-6):
    """A value for each node, by its number; None for null."""
    want = [values.get(v) for v in range(N)] if isinstance(values, dict) else list(values)

    def check(nodes, _edges, _plain):
        for v, (got, expected) in enumerate(zip(nodes, want)):
            if expected is None or np.isnan(expected):
                assert pd.isna(got), (v, got, expected)
            else:
                assert abs(got - expected) <= tol * max(1, abs(expected)), (v, got, expected)
    return check


def of_length_one(values):
    """igraph 1.0 has the greatest value 1 whatever `scale` says, which stands for the length before it."""
    return np.array(values) / np.linalg.norm(values)


def partition(parts):
    of = {v: i for i, part in enumerate(parts) for v in part}

    def check(nodes, _edges, _plain):
        pairs = {(of[v], label) for v, label in enumerate(nodes)}
        assert len(pairs) == len(set(of.values())) == len(set(nodes)), nodes
    return check


def lists(rows):
    """Rows of a matrix for the nodes that were named; none for the others."""
    def check(nodes, _edges, _plain):
        for v, got in enumerate(nodes):
            got = [] if got is None or isinstance(got, float) else list(got)
            assert got == rows.get(v, []), (v, got)
    return check


def by_edge(value, only=None, tol=1e-6):
    def check(_nodes, edges, _plain):
        for (a, b), got in zip(PAIRS, edges):
            want = value(a, b)
            if only is not None and (a, b) not in only and (b, a) not in only:
                assert pd.isna(got), (a, b, got)
            else:
                assert abs(got - want) <= tol, (a, b, got, want)
    return check


def marked(members):
    def check(nodes, edges, _plain):
        assert {v for v, mark in enumerate(nodes) if mark == 1} == set(members)
        assert all(mark == 0 or (a in members and b in members) for (a, b), mark in zip(PAIRS, edges))
    return check


def forest(weight):
    total = sum(d["weight"] for *_, d in nx.minimum_spanning_edges(weight, data=True))

    def check(_nodes, edges, _plain):
        kept = [pair for pair, mark in zip(PAIRS, edges) if mark == 1]
        assert len(kept) == N - nx.number_connected_components(U)
        assert nx.is_forest(nx.Graph(kept)) and abs(sum(weight[a][b]["weight"] for a, b in kept) - total) < 1e-9
    return check


def labels(test):
    """What the number of communities must be, beside that without parameters."""
    def check(nodes, _edges, plain):
        assert all(label == int(label) >= 0 for label in nodes)
        assert test(len(set(nodes)), len(set(plain))), (len(set(nodes)), len(set(plain)))
    return check


def modularity(best, weights=None, slack=0.05):
    def check(nodes, _edges, _plain):
        reached = GU.modularity([int(label) for label in nodes], weights=weights)
        assert reached >= best - slack, (reached, best)
    return check


def near(sources, radius, graph):
    return {v for s in sources for v in nx.single_source_shortest_path_length(graph, s, cutoff=radius)}


def shared(a, b, weight=lambda v: 1.0):
    both, any_ = set(U[a]) & set(U[b]), set(U[a]) | set(U[b])
    size = lambda nodes: sum(weight(v) for v in nodes)
    return size(both), size(any_), size(U[a]), size(U[b])


def jaccard(a, b, weight=lambda v: 1.0):
    both, any_, *_ = shared(a, b, weight)
    return both / any_ if any_ else 0.0


def overlap(a, b, weight=lambda v: 1.0):
    both, _, of_a, of_b = shared(a, b, weight)
    return both / min(of_a, of_b) if min(of_a, of_b) else 0.0


def sorensen(a, b, weight=lambda v: 1.0):
    both, _, of_a, of_b = shared(a, b, weight)
    return 2 * both / (of_a + of_b) if of_a + of_b else 0.0


LAB = lambda v: NODES.lab[v]
ONE = PAIRS[3]
PAIR = {"vertex_pair": [[IDS[ONE[0]], IDS[ONE[1]]]]}
BUNCH = {"ebunch": PAIR["vertex_pair"]}
FROM = "n02"
STEPS = {v: d for v, d in nx.single_source_shortest_path_length(D, 2, cutoff=2).items()}
FAR = nx.single_source_shortest_path_length(D, 2)
TWO = nx.multi_source_dijkstra_path_length(D, [2, 5], cutoff=2, weight=None)
few, many = (lambda most: labels(lambda n, _: 1 <= n <= most)), labels(lambda n, plain: n > plain)
any_number = labels(lambda n, _: n >= 1)

CASES = {
    ("cugraph", "betweenness_centrality"): ({"normalized": False, "endpoints": True}, same(
        nx.betweenness_centrality(D, normalized=False, endpoints=True))),
    ("cugraph", "katz_centrality"): ({"alpha": 0.05, "tol": 1e-10, "max_iter": 1000}, same(
        nx.katz_centrality(D, alpha=0.05, tol=1e-12, max_iter=5000), 1e-5)),
    ("cugraph", "ecg"): ({"ensemble_size": 3, "random_state": 5}, any_number),
    ("cugraph", "leiden"): ({"resolution": 6.0}, many),
    ("cugraph", "louvain"): ({"resolution": 6.0}, many),
    ("cugraph", "spectralBalancedCutClustering"): ({"num_clusters": 3}, few(3)),
    ("cugraph", "spectralModularityMaximizationClustering"): ({"num_clusters": 3}, few(3)),
    ("cugraph", "connected_components"): ({"connection": "strong"}, partition(nx.strongly_connected_components(D))),
    ("cugraph", "strongly_connected_components"): ({"directed": False}, partition(nx.connected_components(U))),
    ("cugraph", "weakly_connected_components"): ({"connection": "weak"}, partition(nx.connected_components(U))),
    ("cugraph", "core_number"): ({"degree_type": "bidirectional"}, same(nx.core_number(U))),
    ("cugraph", "hits"): ({"tol": 1e-12, "max_iter": 5000}, same(nx.hits(D, max_iter=5000, tol=1e-14)[0], 1e-5)),
    ("cugraph", "pagerank"): ({"alpha": 0.5, "tol": 1e-12, "max_iter": 1000}, same(
        nx.pagerank(D, alpha=0.5, tol=1e-14, max_iter=1000))),
    ("cugraph", "bfs"): ({"start": [FROM, "n05"], "depth_limit": 2}, same(TWO)),
    ("cugraph", "bfs_edges"): ({"source": FROM, "depth_limit": 2}, same(STEPS)),
    ("cugraph", "sssp"): ({"source": FROM, "cutoff": 2}, same(STEPS)),
    ("cugraph", "shortest_path"): ({"source": FROM}, same(FAR)),
    ("cugraph", "shortest_path_length"): ({"source": FROM, "target": IDS[max(FAR)]}, same({max(FAR): FAR[max(FAR)]})),
    ("cugraph", "batched_ego_graphs"): ({"seeds": [FROM, "n05"], "radius": 1}, marked(near([2, 5], 1, D))),
    ("cugraph", "edge_betweenness_centrality"): ({"normalized": False}, by_edge(
        lambda a, b: nx.edge_betweenness_centrality(D, normalized=False)[a, b])),
    ("cugraph", "jaccard"): (PAIR, by_edge(jaccard, [ONE])),
    ("cugraph", "jaccard_w"): ({"weights": "lab"}, by_edge(lambda a, b: jaccard(a, b, LAB))),
    ("cugraph", "overlap"): (PAIR, by_edge(overlap, [ONE])),
    ("cugraph", "overlap_coefficient"): (BUNCH, by_edge(overlap, [ONE])),
    ("cugraph", "overlap_w"): ({"weights": "lab"}, by_edge(lambda a, b: overlap(a, b, LAB))),
    ("cugraph", "sorensen"): (PAIR, by_edge(sorensen, [ONE])),
    ("cugraph", "sorensen_coefficient"): (BUNCH, by_edge(sorensen, [ONE])),
    ("cugraph", "sorensen_w"): ({"weights": "lab"}, by_edge(lambda a, b: sorensen(a, b, LAB))),
    ("cugraph", "ego_graph"): ({"n": FROM, "radius": 2}, marked(near([2], 2, D))),
    ("cugraph", "k_core"): ({"k": 3}, marked(nx.k_core(U, 3).nodes)),
    ("cugraph", "minimum_spanning_tree"): ({"weight": "w"}, forest(S)),
    ("igraph", "authority_score"): ({"scale": False}, same(of_length_one(G.authority_score()), 1e-5)),
    ("igraph", "hub_score"): ({"scale": False}, same(of_length_one(G.hub_score()), 1e-5)),
    ("igraph", "betweenness"): ({"cutoff": 2, "weights": "w"}, same(G.betweenness(cutoff=2, weights="w"))),
    ("igraph", "bibcoupling"): ({"vertices": ["n01", FROM]}, lists(dict(zip([1, 2], G.bibcoupling([1, 2]))))),
    ("igraph", "cocitation"): ({"vertices": ["n01", FROM]}, lists(dict(zip([1, 2], G.cocitation([1, 2]))))),
    ("igraph", "harmonic_centrality"): ({"mode": "out"}, same(G.harmonic_centrality(mode="out"))),
    ("igraph", "closeness"): ({"mode": "in", "weights": "w", "vertices": [1, 25]}, same(
        dict(zip([1, 25], G.closeness([1, 25], mode="in", weights="w"))))),
    ("igraph", "clusters"): ({"mode": "weak"}, same(G.connected_components(mode="weak").membership)),
    ("igraph", "community_edge_betweenness"): ({"clusters": 4}, labels(lambda n, _: n == 4)),
    ("igraph", "community_fastgreedy"): ({"weights": "w"}, modularity(
        GU.community_multilevel(weights="w").modularity, "w", 0.1)),
    ("igraph", "community_infomap"): ({"trials": 2, "edge_weights": "w"}, any_number),
    ("igraph", "community_label_propagation"): ({"directed": False, "random_state": 3}, any_number),
    ("igraph", "community_leading_eigenvector"): ({"clusters": 2}, few(2)),
    ("igraph", "community_leiden"): ({"objective_function": "modularity", "resolution": 6.0, "directed": False}, labels(
        lambda n, _: n > 5)),
    ("igraph", "community_multilevel"): ({"resolution": 6.0}, many),
    ("igraph", "community_spinglass"): ({"spins": 2}, few(3)),  # A node without edges is a part of its own.
    ("igraph", "community_walktrap"): ({"steps": 2}, modularity(
        GU.community_walktrap(steps=2).as_clustering().modularity)),
    ("igraph", "constraint"): ({"weights": "w"}, same(G.constraint(weights="w"))),
    ("igraph", "gomory_hu_tree"): ({"capacity": "w"}, None),
    ("igraph", "eccentricity"): ({"mode": "all"}, same(G.eccentricity(mode="all"))),
    ("igraph", "eigenvector_centrality"): ({"directed": False, "scale": False}, same(
        of_length_one(GU.eigenvector_centrality()), 1e-5)),
    ("igraph", "k_core"): ({"mode": "out"}, same(G.coreness(mode="out"))),
    ("igraph", "pagerank"): ({"damping": 0.5, "weights": "w"}, same(G.pagerank(damping=0.5, weights="w"))),
    ("igraph", "spanning_tree"): ({"weights": "w"}, None),
}


def parquet(table):
    data = io.BytesIO()
    table.to_parquet(data)
    return data.getvalue()


def body(compute, nodes=None, edges=None, layout=None, **fields):
    return {"name": "params", "metadata": {}, "node_encodings": {"bindings": {**(nodes or {})}},
            "edge_encodings": {"bindings": {"source": "s", "destination": "d", **(edges or {})}}, "compute": compute,
            **({"layout": layout} if layout else {}), **fields}


def created(api, compute, node_files=(), **rest):
    edges = api.file(parquet(rest.pop("table", EDGES)), "parquet")["file_id"]
    r = api("POST", "/api/v1/datasets/", json=body(compute, edge_files=[edges], node_files=list(node_files), **rest))
    assert r.status_code == 201, r.text
    return r.json()["data"]


def refused(api, member, name="res"):
    r = api("POST", "/api/v1/datasets/", json=body({name: member}))
    assert r.status_code == 400, r.text
    assert len(r.text) < 2000, "a refusal is for people to read"
    return r.json()


def tables(dataset, client):
    """Nodes by number and edges by row."""
    out = client.bind(dataset_id=dataset, source="s", destination="d", node="id").gfql_remote([])
    nodes = out._nodes.set_index("id").loc[IDS].reset_index()
    assert list(zip(out._edges.s, out._edges.d)) == list(zip(EDGES.s, EDGES.d))
    return nodes, out._edges


@pytest.fixture(scope="module")
def node_file(server):
    return server.api("alice").file(parquet(NODES), "parquet")["file_id"]


@pytest.fixture(scope="module")
def results(server, node_file):
    """All of them in two datasets: with the parameters, and with none."""
    from conftest import PASSWORD
    graphistry.register(api=3, protocol="http", server=server.server, username="alice", password=PASSWORD)
    made = []
    for given in (True, False):
        compute = {f"{library[0]}_{name}": {"libraries": [library], "alg": name, **({"params": params} if given else {})}
                   for (library, name), (params, _) in CASES.items()}
        api = server.api("alice")
        data = created(api, compute, [node_file], nodes={"node": "id"})
        assert data["notices"] == [], data["notices"]
        record = counted(api, data["dataset_id"])
        assert [n for n in record["notices"] if n["slug"] != "computed-on"] == [], record["notices"]
        made.append(tables(data["dataset_id"], graphistry))
    return made


def test_the_table_has_every_name_of_the_schema(alice):
    schema = alice("GET", "/api/v1/datasets/").json()
    schema = schema.get("data", schema)["compute"]
    assert {(library, name) for library in schema for name in schema[library]} == set(CASES) and len(CASES) == 55
    assert all(params for params, _ in CASES.values())


@pytest.mark.parametrize("library,name", CASES, ids=lambda x: x)
def test_parameters_are_carried_out(results, library, name):
    (nodes, edges), (plain_nodes, _) = results
    column = f"{library[0]}_{name}"
    _, check = CASES[library, name]
    get = lambda table: table[column].tolist() if column in table.columns else [None] * len(table)
    found = get(nodes), get(edges)
    assert any(value is not None for side in found for value in side), "no such column"
    if name == "spanning_tree":
        # igraph keeps every edge apart: the least of those between two nodes counts.
        least = nx.Graph()
        for (a, b), w in WEIGHT.items():
            least.add_edge(a, b, weight=min(w, WEIGHT.get((b, a), w)))
        kept = [pair for pair, mark in zip(PAIRS, found[1]) if mark == 1]
        want = sum(d["weight"] for *_, d in nx.minimum_spanning_edges(least, data=True))
        assert nx.is_forest(nx.Graph(kept)) and abs(sum(WEIGHT[pair] for pair in kept) - want) < 1e-9
    elif name == "gomory_hu_tree":
        # The first node hangs on none. Trees may differ, the cuts in them do not.
        flows = nodes[f"{column}_flow"][nodes[column].notna()]
        assert sorted(flows) == pytest.approx(sorted(GU.gomory_hu_tree(capacity="w").es["flow"]))
    else:
        check(*found, get(plain_nodes))


def test_components_have_the_numbers_of_igraph(results):
    nodes, _ = results[1]
    assert nodes["i_clusters"].tolist() == G.connected_components(mode="strong").membership
    assert len(set(nodes["i_clusters"])) > 3


def test_the_same_parameters_give_the_same_as_a_call_of_a_query(results, client, alice, node_file):
    data = created(alice, None, [node_file], nodes={"node": "id"})
    g = client.bind(dataset_id=data["dataset_id"], source="s", destination="d", node="id")
    for library, name in [("cugraph", "pagerank"), ("cugraph", "sssp"), ("igraph", "closeness"), ("igraph", "clusters")]:
        out = g.gfql_remote([call(f"compute_{library}", {"alg": name, "params": CASES[library, name][0], "out_col": "x"})])
        want = out._nodes.set_index("id").loc[IDS]["x"].tolist()
        got = results[0][0][f"{library[0]}_{name}"].tolist()
        assert np.allclose(got, want, rtol=0, atol=0, equal_nan=True), name


def test_a_kind_of_graph_is_that_of_the_schema(alice, client):
    kinds = alice("GET", "/api/v1/datasets/").json()
    kinds = kinds.get("data", kinds)["types"]["CuGraphKind"]
    twice = pd.DataFrame({"s": ["a", "a", "a", "b"], "d": ["b", "b", "c", "c"]})
    member = {"libraries": ["cugraph"], "alg": "pagerank", "params": {"tol": 1e-12, "max_iter": 1000}}
    data = created(alice, {"none": member, **{kind: {**member, "kind": kind} for kind in kinds}}, table=twice)
    nodes = client.bind(dataset_id=data["dataset_id"], source="s", destination="d", node="id").gfql_remote([])._nodes
    rank = lambda g: [nx.pagerank(g, tol=1e-14, max_iter=1000)[v] for v in nodes["id"]]
    pairs = list(zip(twice.s, twice.d))
    assert nodes["Graph"].tolist() == pytest.approx(rank(nx.DiGraph(pairs)))
    assert nodes["Graph"].tolist() == nodes["none"].tolist()
    assert nodes["MultiGraph"].tolist() == pytest.approx(rank(nx.MultiDiGraph(pairs)))
    assert abs(nodes["Graph"] - nodes["MultiGraph"]).max() > 0.01


PAGERANK = {"libraries": ["cugraph"], "alg": "pagerank"}
BFS = {"libraries": ["cugraph"], "alg": "bfs"}
REFUSALS = [
    ({**PAGERANK, "params": {"alpa": 0.5}}, "compute.res.params.alpa", ["did you mean \"alpha\"?", "max_iter"]),
    ({**PAGERANK, "params": {"alpha": "half"}}, "compute.res.params.alpha", ["\"half\"", "from 0 to 1"]),
    ({**PAGERANK, "params": {"alpha": 1.5}}, "compute.res.params.alpha", ["1.5", "from 0 to 1"]),
    ({**PAGERANK, "params": {"max_iter": 1_000_000_000}}, "compute.res.params.max_iter", ["1000000000", "to 1000000"]),
    ({**PAGERANK, "params": ["alpha"]}, "compute.res.params", ["an object"]),
    ({**BFS, "params": {"start": {"deep": json.loads("[" * 40 + "]" * 40)}}}, "compute.res.params.start", ["node id"]),
    ({**BFS, "params": {"start": [["n01"]]}}, "compute.res.params.start", ["node id"]),
    ({**BFS, "params": {"x" * 50_000: 1}}, f"compute.res.params.{'x' * 64}", ["start"]),
    ({**BFS, "params": {"depth_limit": "9" * 50_000}}, "compute.res.params.depth_limit", ["999..."]),
    ({**BFS, "kind": "DiGraph"}, "compute.res.kind", ["DiGraph", "Graph, MultiGraph, BiPartiteGraph"]),
    ({**BFS, "kind": 1}, "compute.res.kind", ["number"]),
    ({"libraries": ["cugraph"], "alg": "core_number", "kind": "MultiGraph"}, "compute.res.kind", ["without copies"]),
    ({"libraries": ["igraph"], "alg": "closeness", "kind": "Graph"}, "compute.res.kind", ["cugraph", "leave kind out"]),
    ({"libraries": ["igraph"], "alg": "closeness", "params": {"mode": "up"}}, "compute.res.params.mode", ["all, in, out"]),
    ({**BFS, "kinds": "Graph"}, "compute.res.kinds", ["libraries, alg, params, kind"]),
]


@pytest.mark.parametrize("member,field,parts", REFUSALS, ids=[f"{i}" for i in range(len(REFUSALS))])
def test_what_cannot_be_meant_is_refused_with_its_field(alice, member, field, parts):
    answer = json.dumps(refused(alice, member), ensure_ascii=False).replace('\\"', '"')
    for part in (field, *parts):
        assert part in answer, answer


def test_what_only_the_graph_can_refuse_is_a_notice(alice):
    data = created(alice, {"far": {**BFS, "params": {"start": "nowhere"}}, "w": {
        "libraries": ["igraph"], "alg": "closeness", "params": {"weights": "heft"}}})
    notices = counted(alice, data["dataset_id"])["notices"]
    texts = [n["text"] for n in notices if n["slug"] == "compute-failed"]
    assert len(texts) == 2 and any("nowhere" in t and "compute.far" in t for t in texts), notices
    assert any("heft" in t and "there are" in t for t in texts), notices


def test_a_strangers_parameters_cost_no_more_than_their_record_may_hold(alice):
    seeds = [f"n{i:05}" for i in range(200_000)]
    r = alice("POST", "/api/v1/datasets/", json=body({"ego": {
        "libraries": ["cugraph"], "alg": "batched_ego_graphs", "params": {"seeds": seeds}}}))
    assert r.status_code in (400, 413), r.text[:300]
    r = alice("POST", "/api/v1/datasets/", json=body({"ego": {
        "libraries": ["cugraph"], "alg": "batched_ego_graphs", "params": {"seeds": seeds[:20_000]}}}))
    assert r.status_code == 400 and "compute takes" in r.text and "65536" in r.text, r.text[:300]
    # As many as a record holds: every one a search of its own, within the time of a job.
    there = sorted(set(EDGES.s))
    fits = [there[i % len(there)] for i in range(9_000)]
    begun = time.monotonic()
    data = created(alice, {"ego": {"libraries": ["cugraph"], "alg": "batched_ego_graphs",
                                   "params": {"seeds": fits, "radius": 4_000_000_000}}})
    assert [n for n in counted(alice, data["dataset_id"])["notices"] if n["slug"] == "compute-failed"] == []
    assert time.monotonic() - begun < 60


BOUND = {
    "a size": ({"node_size": "pr"}, {}, {}),
    "a colour": ({"node_color": "camp"}, {}, {}),
    "colours and sizes of edges": ({}, {"edge_color": "between", "edge_size": "between"}, {}),
    "encodings": ({}, {}, {
        "node": {"pointSizeEncoding": {"graphType": "point", "encodingType": "size", "attribute": "pr",
                                       "variation": "continuous"},
                 "pointColorEncoding": {"graphType": "point", "encodingType": "color", "attribute": "camp",
                                        "variation": "categorical", "colors": ["red", "green", "blue"]}},
        "edge": {"edgeColorEncoding": {"graphType": "edge", "encodingType": "color", "attribute": "between",
                                       "variation": "continuous", "colors": ["white", "black"]}}}),
    "places": ({"node_x": "x", "node_y": "y"}, {}, {}),
}
COMPUTE = {"pr": PAGERANK, "camp": {"libraries": ["igraph"], "alg": "community_multilevel"},
           "between": {"libraries": ["cugraph"], "alg": "edge_betweenness_centrality"}}


@pytest.mark.parametrize("with_nodes", [False, True], ids=["edges alone", "with nodes"])
@pytest.mark.parametrize("case", BOUND)
def test_what_is_bound_to_a_column_of_compute_is_no_missing_column(alice, node_file, case, with_nodes):
    nodes, edges, encodings = BOUND[case]
    compute = COMPUTE
    layout = {"at": {"libraries": ["igraph"], "alg": "circle"}} if case == "places" else None
    made = body(compute, {**nodes, **({"node": "id"} if with_nodes else {})}, edges, layout)
    for side, of in encodings.items():
        made[f"{side}_encodings"]["complex"] = {"default": of}
    # By files, and by tables that are sent after.
    by_files = {**made, "edge_files": [alice.file(parquet(EDGES), "parquet")["file_id"]],
                "node_files": [node_file] if with_nodes else []}
    r = alice("POST", "/api/v1/datasets/", json=by_files)
    assert r.status_code == 201 and r.json()["data"]["notices"] == [], r.text
    record = counted(alice, r.json()["data"]["dataset_id"])
    assert [n for n in record["notices"] if n["slug"] != "computed-on"] == [], record["notices"]
    r = alice("POST", "/api/v1/datasets/", json=made)
    assert r.status_code == 201 and r.json()["data"]["notices"] == [], r.text
    dataset = r.json()["data"]["dataset_id"]
    for table, side in [*([(NODES, "nodes")] if with_nodes else []), (EDGES, "edges")]:
        r = alice("POST", f"/api/v2/upload/datasets/{dataset}/{side}/parquet", data=parquet(table))
        assert r.status_code == 200 and r.json()["data"].get("notices", []) == [], r.text


def test_a_column_that_nothing_makes_is_still_told(alice):
    data = created(alice, COMPUTE, nodes={"node_size": "prr"}, edges={"edge_color": "betwixt"})
    texts = [n["text"] for n in data["notices"] if n["slug"] == "column-missing"]
    assert len(texts) == 2 and any('"prr"' in t for t in texts) and any('"betwixt"' in t for t in texts), data


@pytest.mark.parametrize("table", [EDGES, EDGES.assign(id=range(len(EDGES)))], ids=["plain", "edges with a column id"])
def test_nodes_of_edges_have_their_ids_in_the_same_column_as_without(alice, table):
    asked = [
        ("gfql_operations", [{"type": "Node", "filter_dict": {"id": "n01"}}]),
        ("gfql_query", "MATCH (a) WHERE a.id = 'n01' RETURN a.id AS id"),
        ("gfql_query", "MATCH (a) RETURN a.id AS id ORDER BY id"),
    ]
    with_, without = (created(alice, compute, table=table)["dataset_id"] for compute in ({"pr": PAGERANK}, None))

    def rows(dataset, field, value):
        r = alice("POST", f"/api/v2/etl/datasets/{dataset}/gfql/nodes", json={field: value, "format": "json"})
        assert r.status_code == 200, r.text
        return [{k: v for k, v in row.items() if k != "pr"} for row in r.json()]
    for field, value in asked:
        got = rows(with_, field, value)
        assert got and got == rows(without, field, value), (field, value)
    [keys] = rows(with_, "gfql_query", "MATCH (a) RETURN DISTINCT keys(a) AS k")
    [plain] = rows(without, "gfql_query", "MATCH (a) RETURN DISTINCT keys(a) AS k")
    assert sorted(keys["k"]) == sorted([*plain["k"], "pr"]) == ["id", "pr"]


def test_a_result_is_not_written_over_the_ids(alice):
    data = created(alice, {"id": PAGERANK})
    notices = counted(alice, data["dataset_id"])["notices"]
    assert [n["slug"] for n in notices if n["slug"] != "computed-on"] == ["compute-column-kept"], notices


SEARCHES = {"bfs": "start", "bfs_edges": "source", "sssp": "source", "shortest_path": "source",
            "shortest_path_length": "source", "ego_graph": "n", "batched_ego_graphs": "seeds"}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_starts_where_it_leads_somewhere_or_says_that_it_does_not(alice, name):
    param = SEARCHES[name]
    member = {"libraries": ["cugraph"], "alg": name}
    sink = IDS[-1]
    assert D.out_degree(N - 1) == 0 and max(dict(D.degree).values()) == D.degree(N - 1)
    compute = {"default": member, "sink": {**member, "params": {param: sink}},
               "either": {**member, "params": {param: sink, "directed": False}}}
    dataset = created(alice, compute)["dataset_id"]
    notices = [n["text"] for n in counted(alice, dataset)["notices"] if n["slug"] == "start-without-way-out"]
    assert len(notices) == 1, notices
    for part in ("compute.sink", sink, f"compute.sink.params.{param}", "directed=false", "nothing else is reached"):
        assert part in notices[0], notices
    r = alice("POST", f"/api/v2/etl/datasets/{dataset}/gfql/nodes", json={
        "gfql_query": "MATCH (n) RETURN n.id AS id, n.default AS d, n.sink AS s, n.either AS e", "format": "json"})
    assert r.status_code == 200, r.text
    came = lambda key: {row["id"] for row in r.json() if row[key] not in (None, 0) or row[key] == 0 and "ego" not in name}
    assert came("s") == {sink}
    assert len(came("d")) > 3 and len(came("e")) > 3, "it leads on"
    # A query says the same.
    r = alice("POST", f"/api/v2/etl/datasets/{dataset}/gfql/nodes", json={"gfql_operations": [
        {"type": "Call", "function": "compute_cugraph", "params": {"alg": name, "params": {param: sink}}}], "format": "json"})
    assert r.status_code == 200 and "start-without-way-out" in str(r.headers) + r.text, (r.headers, r.text[:300])


def test_where_no_node_has_a_way_out_the_default_says_so(alice):
    loops = pd.DataFrame({"s": ["a", "b"], "d": ["a", "b"]})
    dataset = created(alice, {"hops": BFS}, table=loops)["dataset_id"]
    [text] = [n["text"] for n in counted(alice, dataset)["notices"] if n["slug"] == "start-without-way-out"]
    assert "chosen" in text and "compute.hops.params.start" in text
