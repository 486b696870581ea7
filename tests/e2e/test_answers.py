"""What a query answers where the data say less than is drawn: ids, nodes that only edges name, positions, times."""

import numpy as np
import pandas as pd
import pytest

from agent import Agent, OpenPage
from conftest import counted, unique
from live import Viewer
from test_datasets import file_of

EDGES = pd.DataFrame({"s": ["a", "b", "c"], "d": ["b", "c", "a"],
                      "ts": pd.to_datetime(["2026-02-01", "2026-03-01", "2026-04-01"])})
NODES = pd.DataFrame({"acct": ["a"], "kind": ["x"], "x": [3.5], "y": [-2.0]})


@pytest.fixture
def partial(alice):
    """A graph of three nodes, of which the node table names one."""
    return create(alice, NODES)


def create(api, nodes):
    r = api("POST", "/api/v2/upload/datasets/", json={
        "name": "answers", "metadata": {}, "edge_files": [file_of(api, EDGES)], "node_files": [file_of(api, nodes)],
        "node_encodings": {"bindings": {"node": "acct"}},
        "edge_encodings": {"bindings": {"source": "s", "destination": "d"}}})
    assert r.status_code == 201, r.text
    return r.json()["data"]["dataset_id"]


def ask(api, dataset, query, status=200):
    r = api("POST", f"/api/v2/datasets/{dataset}/gfql/nodes", json={"gfql_query": query, "format": "json"})
    assert r.status_code == status, r.text
    return r.json()


def test_a_text_sees_the_graph_that_is_drawn_and_shows_ids(alice, partial):
    assert ask(alice, partial, "MATCH (a)-->(b) RETURN count(*) AS n") == [{"n": 3}]
    rows = ask(alice, partial, "MATCH (a) RETURN a, keys(a) AS k ORDER BY a.acct")
    assert rows[0] == {"a": "({acct: 'a', kind: 'x', x: 3.5, y: -2.0})", "k": ["acct", "kind", "x", "y"]}
    assert rows[1:] == [{"a": f"({{acct: '{v}'}})", "k": ["acct"]} for v in "bc"]
    path = ask(alice, partial, "MATCH p = shortestPath((a {acct: 'a'})-[*]->(b {acct: 'b'})) RETURN p")
    assert path[0]["p"].startswith("<({acct: 'a', ") and path[0]["p"].endswith("->({acct: 'b'})>")


def test_operations_see_the_rows_of_the_node_table_as_the_client_does(alice, partial):
    hop = [{"type": "Node"}, {"type": "Edge", "direction": "forward", "hops": 1}, {"type": "Node"}]
    assert ask(alice, partial, [{"type": "Node"}]) == NODES.to_dict("records")
    assert ask(alice, partial, hop) == []


def test_an_agent_sees_the_graph_that_is_drawn(server, accounts, partial):
    session = unique("answers")
    with OpenPage(server, partial, session, server.token("alice")):
        agent = Agent(server, ":".join(accounts["key"]))
        for query in ("MATCH (a) RETURN a.acct AS acct ORDER BY acct", '[{"type": "Node"}]'):
            said = agent.text("query_graph", session_id=session, gfql_operations=query, output_type="nodes")
            assert all(f'"{v}"' in said for v in "abc"), said


@pytest.mark.parametrize("test, n", [
    ("r.ts > '2026-02-15'", 2), ("r.ts = '2026-03-01 00:00:00'", 1), ("r.ts >= datetime('2026-03-01')", 2),
    ("r.ts < datetime('2026-03-01T00:00:00Z')", 1), ("r.ts IN ['2026-03-01', '2026-04-01']", 2),
])
def test_times_are_compared_with_texts_and_with_moments(alice, partial, test, n):
    assert ask(alice, partial, f"MATCH ()-[r]->() WHERE {test} RETURN count(*) AS n") == [{"n": n}]


def test_a_text_that_is_no_time_is_an_error(alice, partial):
    said = ask(alice, partial, "MATCH ()-[r]->() WHERE r.ts > 'spring' RETURN count(*) AS n", 400)
    assert "spring" in said["error"] and "ISO" in said["error"]


def test_columns_x_and_y_are_the_positions_where_none_are_bound(server, alice):
    places = {"a": [3.5, -2.0], "b": [10.0, 20.0], "c": [-30.0, 0.25]}
    nodes = pd.DataFrame({"acct": list(places), "x": [p[0] for p in places.values()], "y": [p[1] for p in places.values()]})
    dataset = create(alice, nodes)
    told = [n["slug"] for n in counted(alice, dataset)["notices"]]
    assert "positions-from-columns" in told
    alice("GET", f"/graph/graph.html?dataset={dataset}&play=0&session={(session := unique('places'))}")
    viewer = Viewer(server, dataset, session)
    viewer.until(lambda: viewer.positions is not None and viewer.at_rest)
    np.testing.assert_allclose(viewer.positions, list(places.values()), atol=0.05)
    viewer.close()
