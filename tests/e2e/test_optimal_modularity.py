"""The exact partition by modularity against optima that are published, in a server with its limits, and what is too large."""

import graphistry
import networkx as nx
import pandas as pd
import pytest
from graphistry.compute.ast import call

from conftest import PASSWORD
from test_networkit import RECORDED

# Aloise, Cafieri, Caporossi, Hansen, Perron and Liberti 2010, Physical Review E 82:046112: without directions and weights.
OPTIMA = {"karate": 0.419790, "lesmis": 0.560008, "dolphins": 0.528519}
CALL = {"alg": "community_optimal_modularity", "directed": False}


def graph(name):
    if name == "dolphins":
        return nx.Graph([tuple(e) for e in RECORDED[name]["edges"]])
    made = nx.karate_club_graph() if name == "karate" else nx.les_miserables_graph()
    return nx.Graph(nx.convert_node_labels_to_integers(made).edges())


def uploaded(server, edges):
    graphistry.register(api=3, protocol="http", server=server.url.removeprefix("http://"), username="alice", password=PASSWORD)
    return graphistry.edges(pd.DataFrame(edges, columns=["s", "d"]), "s", "d").materialize_nodes().upload()


@pytest.mark.parametrize("name", OPTIMA)
def test_the_optimum_is_the_published_one(server, name):
    g = graph(name)
    nodes = uploaded(server, list(g.edges())).gfql_remote([call("compute_igraph", CALL)])._nodes
    groups = nodes.groupby("community_optimal_modularity")["id"].apply(lambda ids: {int(v) for v in ids})
    assert nx.community.modularity(g, groups, weight=None) == pytest.approx(OPTIMA[name], abs=6e-7)


def test_a_large_graph_is_refused_with_the_way_that_remains(server):
    g = uploaded(server, [(i, i + 1) for i in range(300)])
    with pytest.raises(Exception, match="at most 200 nodes") as refused:
        g.gfql_remote([call("compute_igraph", CALL)])
    assert "301" in str(refused.value) and "community_leiden" in str(refused.value)
