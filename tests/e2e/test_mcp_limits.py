"""Every limit of the tool endpoint: one below it, at it, one above it.

| limit | value | held by |
|---|---|---|
| token lifetime | 3,600 s | `test_tokens.py`, `test_a_token_lives_an_hour_to_the_second` |
| token exchange window | 86,400 s from the login | `test_tokens.py`, `test_a_token_is_exchanged_for_a_day_to_the_second` |
| collections of a session | 10 | `test_ten_collections_stay_and_the_oldest_goes` |
| rows of `query_graph` | 50; 20 when no columns are projected | `test_rows_are_cut_at_their_limit` |
| columns of `get_session_info` | 120 of each axis | `test_as_many_columns_are_listed_as_the_limit_says` |
| a tool call | 60 s | `a_tool_may_take_its_time_and_is_ended_after_it` in `shell/http/tests/tools.rs`; \
`test_a_call_that_takes_too_long_is_ended` |
| revocation | 60 s | `test_mcp_errors.py`, `test_a_key_that_is_revoked_is_refused_at_once` |
| calls at once | 16 of one connection | `test_sixteen_calls_of_one_connection_run_at_once` |
| a message | 1 MiB | `test_mcp.py`, `test_a_message_may_have_a_mebibyte` |

Single-use links and their two limits are not built.
"""

import json
import random
import threading

import pytest
import requests
from agent import Agent, OpenPage, Refused
from conftest import HANG_S, Server, unique, until
from mcp_rig import NODES, agent, key, kind, on, page, small  # noqa: F401


@pytest.mark.parametrize("count", [119, 120, 121])
@pytest.mark.parametrize("axis", ["node", "edge"])
def test_as_many_columns_are_listed_as_the_limit_says(server, alice, key, axis, count):
    wide = ",".join(f"c{i}" for i in range(count - 2)), ",".join("1" * (count - 2))
    edges = alice.file((f"s,d,{wide[0]}\na,b,{wide[1]}\n" if axis == "edge" else "s,d\na,b\n").encode(), "csv")
    files, nodes = [], {}
    if axis == "node":
        files = [alice.file(f"id,k,{wide[0]}\na,x,{wide[1]}\nb,y,{wide[1]}\n".encode(), "csv")["file_id"]]
        nodes = {"node": "id"}
    session = unique("wide")
    with OpenPage(server, alice.dataset([edges["file_id"]], files, nodes=nodes), session, server.token("alice")):
        text = Agent(server, key).text("get_session_info", session_id=session)
        line = next(l for l in text.split("\n") if l.startswith(f"{axis} columns"))
        assert line.startswith(f"{axis} columns ({count}):"), line[:40]
        assert line.count("int64") + line.count("object") == min(count, 120)
        # From both ends.
        assert ("(+1 more not listed)" in line) == (count == 121) and f"c{count - 3} (" in line


QUERIES = {
    "nodes": (20, "nodes", json.dumps(NODES)),
    "edges": (20, "edges", json.dumps([{"type": "Node"}, {"type": "Edge", "direction": "forward"}, {"type": "Node"}])),
    "cypher": (50, "nodes", "MATCH (n) RETURN n.id AS id"),
    "select": (50, "nodes", json.dumps([{"type": "Node"}, {"type": "Call", "function": "select",
                                                           "params": {"items": [["id", "id"]]}}])),
}


@pytest.mark.parametrize("what", QUERIES)
def test_rows_are_cut_at_their_limit(server, alice, key, what):
    limit, output, query = QUERIES[what]
    for count in [limit - 1, limit, limit + 1]:
        # A star has a node more than edges.
        text = "s,d\n" + "".join(f"hub,n{i}\n" for i in range(count if what == "edges" else count - 1))
        edges = alice.file(text.encode(), "csv")
        session = unique("rows")
        with OpenPage(server, alice.dataset([edges["file_id"]]), session, server.token("alice")):
            told = Agent(server, key).call("query_graph", session_id=session, gfql_operations=query,
                                           output_type=output)
        rows = told["rows" if limit == 50 else what]
        counted = {"nodes": "node_count", "edges": "edge_count"}.get(what, "row_count")
        assert told[counted] == count
        assert (len(rows), told["returned"], told["truncated"], told["limit"]) == (
            min(count, limit), min(count, limit), count > limit, limit)


def test_ten_collections_stay_and_the_oldest_goes(on, page):
    for i in range(9):
        assert on("create_collection", name=f"c{i}", gfql_operations=kind("x"))["dropped"] == []
    assert len(on("list_collections")["collections"]) == 9
    # Replacing makes the first one the newest.
    assert on("create_collection", name="c0", gfql_operations=kind("x"))["replaced"]
    assert on("create_collection", name="c9", gfql_operations=kind("y"))["dropped"] == []
    assert len(on("list_collections")["collections"]) == 10
    dropped = on("create_collection", name="c10", gfql_operations=kind("y"))["dropped"]
    assert [d["name"] for d in dropped] == ["c1"]
    names = [c["name"] for c in on("list_collections")["collections"]]
    assert len(names) == 10 and names[0] == "c10" and "c0" in names
    until(lambda: [c["name"] for c in page.collections["collections"]] == names, "the page has them in this order")


def dense_graph(api):
    """A graph with a query that takes very long."""
    rng = random.Random(1)
    text = "s,d\n" + "".join(f"n{rng.randrange(400)},n{rng.randrange(400)}\n" for _ in range(30_000))
    return api.dataset([api.file(text.encode(), "csv")["file_id"]])


@pytest.fixture(scope="module")
def dense(server):
    """The graph, open in a page of alice."""
    dataset = dense_graph(server.api("alice"))
    with OpenPage(server, dataset, unique("dense"), server.token("alice")) as page:
        yield page


def in_progress(server):
    """Requests that the server has begun, the one that asks for them left out."""
    return server.metric("http_in_flight") - 1


BUSY = -32603
SLOW = "MATCH (a)-[]->(b)-[]->(c)-[]->(d)-[]->(e)-[]->(f) WHERE a.id < f.id RETURN count(*) AS n"


def test_a_call_can_be_withdrawn_and_a_lost_connection_stops_nothing(server, dense, key):
    agent = Agent(server, key)
    replies = []
    body = {"name": "query_graph", "arguments": {"session_id": dense.session, "gfql_operations": SLOW,
                                                 "output_type": "nodes"}}
    thread = threading.Thread(target=lambda: replies.append(agent.ask("tools/call", body, id="slow")))
    thread.start()
    until(lambda: in_progress(server), "the query has begun")
    other = Agent(server, key)
    assert other.call("query_graph", session_id=dense.session, gfql_operations=json.dumps(NODES))["node_count"] == 400
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}}

    def ended():
        # A call that has not been read yet is none that could be withdrawn.
        assert requests.post(agent.url, json=cancel, headers=agent.headers()).status_code == 202
        return not thread.is_alive()

    assert thread.is_alive(), replies
    until(ended, "the call is withdrawn")
    assert replies[0].json()["error"]["code"] == -32800


def test_sixteen_calls_of_one_connection_run_at_once(server, dense, key):
    agent, replies = Agent(server, key), []
    body = {"name": "query_graph", "arguments": {"session_id": dense.session, "gfql_operations": SLOW,
                                                 "output_type": "nodes"}}

    def slow(i):
        # Connections of their own, but for the endpoint one agent.
        mine = Agent(server, key, start=False)
        mine.session = agent.session
        reply = mine.ask("tools/call", body, id=f"slow{i}").json()
        while reply["error"]["code"] == BUSY:
            # The probe below had the last place at that moment.
            reply = mine.ask("tools/call", body, id=f"slow{i}").json()
        replies.append(reply)

    def free():
        """Whether one more call is taken at this moment."""
        r = agent.ask("tools/call", {"name": "list_sessions"})
        if r.status_code == 200:
            return True
        assert (r.status_code, r.json()["error"]["code"]) == (429, BUSY), r.text
        return False

    threads = [threading.Thread(target=slow, args=(i,)) for i in range(16)]
    [t.start() for t in threads[:15]]
    until(lambda: in_progress(server) >= 15, "fifteen are in progress")
    assert free() and not replies, "fifteen run, and a sixteenth is taken"
    threads[15].start()
    until(lambda: not free(), "sixteen run, and a seventeenth is refused")
    for i in range(16):
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": f"slow{i}"}}
        assert agent.post(cancel).status_code == 202
    [t.join(HANG_S) for t in threads]
    assert [r["error"]["code"] for r in replies] == [-32800] * 16
    assert free()


def test_a_call_that_takes_too_long_is_ended(tmp_path):
    """With a limit of two seconds; that it is a minute unless told otherwise, `src/config.rs` holds."""
    server = Server(tmp_path / "data", "--tool-seconds", "2").start()
    agent = Agent(server, server.token())
    with OpenPage(server, dense_graph(server.api()), "dense", server.token()):
        slow = {"session_id": "dense", "gfql_operations": SLOW, "output_type": "nodes"}
        with pytest.raises(Refused) as refused:
            agent.text("query_graph", **slow)
        assert (refused.value.status, refused.value.code) == (504, -32005)
        assert "2 seconds" in refused.value.message
        assert agent.call("query_graph", session_id="dense", gfql_operations=json.dumps(NODES))["node_count"] == 400
    assert server.stop() == 0, server.output()
