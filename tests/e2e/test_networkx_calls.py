"""Cypher's `CALL graphistry.nx.*` on the server against the same call made locally by the unchanged client, which runs NetworkX."""

import graphistry
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import requests

from conftest import PASSWORD

# Copies, an edge and one against it, a part of its own; loops where NetworkX allows them.
PLAIN = [(0, 1), (0, 2), (1, 2), (1, 2), (2, 1), (2, 3), (3, 4), (4, 5), (5, 3), (5, 6), (6, 3), (7, 8), (8, 7), (9, 10), (10, 11), (11, 0)]
LOOPS = [*PLAIN, (4, 4), (7, 7)]
NODES = [*range(12), 20]
CALLS = [
    ("pagerank", "{}"), ("pagerank", "{alpha: 0.6, directed: false}"), ("pagerank", "{max_iter: 2, out_col: 'rank'}"),
    ("betweenness_centrality", "{}"), ("betweenness_centrality", "{normalized: false, directed: false}"),
    ("betweenness_centrality", "{endpoints: true}"),
    ("closeness_centrality", "{}"), ("closeness_centrality", "{wf_improved: false}"), ("closeness_centrality", "{directed: false}"),
    ("connected_components", "{}"), ("strongly_connected_components", "{}"), ("strongly_connected_components", "{directed: false}"),
    ("core_number", "{}"), ("core_number", "{directed: false}"),
    ("degree_centrality", "{}"), ("degree_centrality", "{directed: false}"),
    ("eigenvector_centrality", "{directed: false}"), ("eigenvector_centrality", "{directed: false, params: {tol: 0.01}}"),
    ("katz_centrality", "{}"), ("katz_centrality", "{alpha: 0.05, beta: 2.0, directed: false, normalized: false}"),
    ("hits", "{}"), ("hits", "{directed: false}"),
    ("edge_betweenness_centrality", "{}"), ("edge_betweenness_centrality", "{directed: false, out_col: 'share'}"),
]


def plot(edges):
    return graphistry.nodes(pd.DataFrame({"id": NODES}), "id").edges(pd.DataFrame(edges, columns=["s", "d"]), "s", "d")


@pytest.fixture(scope="module")
def graphs(server):
    graphistry.register(api=3, protocol="http", server=server.server, username="alice", password=PASSWORD)
    return {name: plot(edges).upload(validate=False) for name, edges in (("plain", PLAIN), ("loops", LOOPS))}


def asked(server, graph, text, output="/nodes"):
    return requests.post(f"{server.url}/api/v2/etl/datasets/{graph._dataset_id}/gfql{output}", json={"gfql_query": text, "format": "json"},
                         headers={"Authorization": f"Bearer {server.token('alice')}"})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name,options", CALLS, ids=lambda x: x)
def test_rows_are_those_of_the_local_call(graphs, server, name, options):
    compared = 0
    for kind, graph in graphs.items():
        if kind == "loops" and name == "core_number":
            continue  # NetworkX refuses loops; here they do not count.
        text = f"CALL graphistry.nx.{name}({options})"
        local = graph.gfql(text)._nodes
        answer = asked(server, graph, text)
        assert answer.status_code == 200, answer.text
        found = pd.DataFrame(answer.json())
        assert list(found) == list(local), (list(found), list(local))
        ids = [c for c in local if c in ("nodeId", "source", "destination")]
        pd.testing.assert_frame_equal(found[ids], local[ids].reset_index(drop=True), check_dtype=False)
        for column in (c for c in local if c not in ids):
            mine, theirs = found[column].to_numpy(dtype=float), local[column].to_numpy(dtype=float)
            if column == "labels":
                assert len(set(zip(mine, theirs))) == len(set(mine)) == len(set(theirs)), (kind, column)
            else:
                np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-7, err_msg=f"{kind} {column}")
        compared += 1
    assert compared


@pytest.mark.filterwarnings("ignore")
def test_columns_and_graphs_are_written(graphs, server):
    def written(name, params):
        text = [{"type": "Call", "function": f"graphistry.nx.{name}.write", "params": params}]
        answer = asked(server, graphs["plain"], text, "/all")
        assert answer.status_code == 200, answer.text
        return answer.json()
    # The client's own local call fails here, for it looks for its columns in NetworkX's nodes.
    local = nx.k_core(nx.DiGraph(PLAIN), 2)
    found = written("k_core", {"k": 2})
    assert {row["id"] for row in found["nodes"]} == set(local.nodes) and len(local)
    assert {(e["s"], e["d"]) for e in found["edges"]} == set(local.edges)
    assert {"hubs", "authorities"} <= set(written("hits", {})["nodes"][0])


def test_what_networkx_refuses_is_refused_by_name(graphs, server):
    for text, words in (("CALL graphistry.nx.katz_centrality({alpha: 5.0})", "katz_centrality"),
                        ("CALL graphistry.nx.hits({out_col: 'one'})", "out_col"),
                        ("CALL graphistry.nx.pagerank({nonsense: 1})", "nonsense"),
                        ("CALL graphistry.nx.louvain()", "louvain"),
                        ("CALL graphistry.nx.k_core()", "k_core")):
        answer = asked(server, graphs["plain"], text)
        assert 400 <= answer.status_code < 500 and words in answer.text, answer.text
