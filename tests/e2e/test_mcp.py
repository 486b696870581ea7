"""The tool endpoint: every row of its error table, every limit, the official client, an agent with ten questions."""

import asyncio
import json
import random
import shutil
import socket
import subprocess
import sys
import threading
import time

import networkx as nx
import pytest
import requests
from agent import Agent, OpenPage, Refused
from conftest import PASSWORD, ROOT, Server, run_cli, unique

sys.path.insert(0, str(ROOT / "bench/data"))
sys.path.insert(0, str(ROOT / "tests/e2e"))
import debian_graph  # noqa: E402
from test_debian_formats import index  # noqa: E402

CLIENTS = ROOT / "tests/clients"
NODES = [{"type": "Node"}]
TOOLS = ["list_sessions", "get_session_info", "query_graph", "create_collection", "list_collections",
         "update_collection", "delete_collection", "reorder_collections", "reset_collections"]


def kind(value):
    return json.dumps([{"type": "Node", "filter_dict": {"kind": value}}])


@pytest.fixture(scope="module")
def small(server):
    """Six nodes of kinds x and y in a ring, a dataset of alice that everybody may see."""
    alice = server.api("alice")
    nodes = alice.file(b"id,kind,n\na,x,1\nb,y,2\nc,x,3\nd,y,4\ne,x,5\nf,y,6\n", "csv")
    edges = alice.file(b"s,d,w\na,b,1\nb,c,2\nc,d,3\nd,e,4\ne,f,5\nf,a,6\n", "csv")
    return alice.dataset([edges["file_id"]], [nodes["file_id"]], nodes={"node": "id"}, name="Ring",
                         description="Six in a ring")


@pytest.fixture(scope="module")
def key(accounts):
    return ":".join(accounts["key"])


@pytest.fixture(scope="module")
def page(server, small):
    with OpenPage(server, small, unique("ring"), server.token("alice")) as page:
        yield page


@pytest.fixture
def agent(server, key):
    return Agent(server, key)


@pytest.fixture
def on(page, agent):
    """The agent's tools on alice's open page, which has no collections yet."""
    agent.call("reset_collections", session_id=page.session)
    return lambda tool, **a: agent.call(tool, session_id=page.session, **a)


# ---- transport --------------------------------------------------------------------------------------


def test_versions_are_negotiated_and_the_model_is_told_how(server):
    for asked in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]:
        agent = Agent(server, start=False)
        info = agent.initialize(asked)
        assert info["protocolVersion"] == asked
    assert Agent(server, start=False).initialize("1999-01-01")["protocolVersion"] == "2025-11-25"
    assert info["capabilities"]["tools"] == {"listChanged": False}
    assert "GFQL" in info["instructions"] and "filter_dict" in info["instructions"]
    tools = agent.result("tools/list")["tools"]
    assert [t["name"] for t in tools] == TOOLS
    assert agent.result("ping") == {}
    assert agent.ask("tools/list", **{"mcp-protocol-version": "2025-06-18"}).status_code == 200
    r = agent.ask("tools/list", **{"mcp-protocol-version": "1.0"})
    assert (r.status_code, r.json()["error"]["code"]) == (400, -32602)


def test_every_row_of_the_error_table(server, page, agent, key, small):
    def row(r):
        assert r.headers["content-type"].startswith("application/json")
        return r.status_code, r.json()["error"]["code"]

    stranger = Agent(server, start=False)
    for bad in ["", "x", "[]", "7", "{}", '{"jsonrpc":"2.0","id":null,"method":"ping"}',
                '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "[" * 1000, b"\xff"]:
        assert row(agent.post(bad)) == (400, -32700), bad
    assert row(stranger.ask("tools/list")) == (400, -32000)
    assert row(stranger.ask("tools/call", {"name": "list_sessions"})) == (400, -32000)
    for params in [None, {}, {"name": 7}, {"name": "query_graph", "arguments": []},
                   {"name": "query_graph", "arguments": {"session_id": page.session}},
                   {"name": "query_graph", "arguments": {"session_id": 1, "gfql_operations": "[]"}},
                   {"name": "list_sessions", "arguments": {"extra": 1}},
                   {"name": "query_graph", "arguments": {"session_id": page.session, "gfql_operations": NODES}},
                   {"name": "query_graph", "arguments": {"session_id": page.session, "gfql_operations": "[]",
                                                         "output_type": "rows"}}]:
        assert row(agent.ask("tools/call", params)) == (400, -32602), params
    assert row(agent.ask("initialize", {"protocolVersion": 1})) == (400, -32602)
    nobody = Agent(server)
    for wrong in [None, "x", "x.y.z", "ABCDEFGHIJ:" + "x" * 32, key[:-1], key + "x", ":"]:
        nobody.key = wrong
        r = nobody.ask("tools/call", {"name": "list_sessions"})
        assert row(r) == (401, -32001), wrong
        assert r.headers["www-authenticate"].startswith("Bearer")
    # Not there, not possible as a name, and there but somebody else's: a stranger cannot tell.
    for absent in ["no-such-session", "", "a b", "../x", "x" * 300]:
        assert agent.refusal("get_session_info", session_id=absent) == (403, -32002)
    bob = Agent(server, server.token("bob"))
    assert "nodes: 6" in bob.text("get_session_info", session_id=page.session), "bob may look"
    for tool, more in [("create_collection", {"name": "n", "gfql_operations": kind("x")}),
                       ("update_collection", {"collection_id": "c"}), ("delete_collection", {"collection_id": "c"}),
                       ("reorder_collections", {"order": []}), ("reset_collections", {})]:
        assert bob.refusal(tool, session_id=page.session, **more) == (403, -32002), tool
    lost = Agent(server, key)
    lost.session = "0" * 64
    assert row(lost.ask("tools/list")) == (404, -32000)
    assert row(lost.ask("tools/call", {"name": "list_sessions"})) == (404, -32000)
    for unknown in ["resources/list", "tools/cal", ""]:
        assert row(agent.ask(unknown)) == (200, -32601)
    assert row(agent.ask("tools/call", {"name": "drop_table"})) == (200, -32601)


def test_ids_come_back_as_they_were_sent_and_notifications_are_acknowledged(agent):
    for id in [0, -1, 7, 2**53, 2**63 - 1, "a", "", "ä" * 50]:
        assert agent.ask("ping", id=id).json()["id"] == id
    for message in [{"jsonrpc": "2.0", "method": "notifications/initialized"},
                    {"jsonrpc": "2.0", "method": "tools/call", "params": {}},
                    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
                    {"jsonrpc": "2.0", "id": 5, "result": {}}]:
        r = agent.post(message)
        assert (r.status_code, r.content) == (202, b"")


def test_a_message_may_have_a_mebibyte(agent):
    for size, status in [(2**20 - 1, 200), (2**20, 200), (2**20 + 1, 400)]:
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        r = agent.post(text + " " * (size - len(text)))
        assert r.status_code == status, size
    assert r.json()["error"]["code"] == -32700


def test_pages_of_foreign_origins_are_refused_before_any_work(server, agent):
    own, foreign = server.url, "https://evil.example"
    assert agent.ask("ping", Origin=own).status_code == 200
    r = agent.ask("ping", Origin=foreign)
    assert (r.status_code, r.json()["error"]["code"]) == (403, -32002)
    for method in ["GET", "DELETE"]:
        r = requests.request(method, agent.url, headers=agent.headers(Origin=foreign))
        assert r.status_code == 403, method
    assert agent.ask("ping").status_code == 200, "the connection is still there"
    assert "access-control-allow-origin" not in agent.ask("ping").headers


def test_a_connection_that_was_closed_is_unknown(server, key):
    agent = Agent(server, key)
    r = requests.delete(agent.url, headers=agent.headers())
    assert r.status_code == 204
    assert agent.ask("tools/list").status_code == 404
    assert requests.delete(agent.url, headers=agent.headers()).status_code == 404
    assert requests.delete(agent.url).status_code == 400


def test_the_event_stream_is_held_open_and_ends_with_its_connection(server, key):
    agent = Agent(server, key)
    r = requests.get(agent.url)
    assert (r.status_code, r.json()["error"]["code"]) == (400, -32000)
    assert requests.get(agent.url, headers={"mcp-session-id": "0" * 64}).status_code == 404
    stream = requests.get(agent.url, headers=agent.headers(), stream=True, timeout=10)
    assert stream.headers["content-type"] == "text/event-stream"
    pieces = stream.iter_content(None)
    assert next(pieces) == b": alive\n\n"
    ended = threading.Thread(target=lambda: list(pieces))
    ended.start()
    ended.join(1)
    assert ended.is_alive(), "nothing is pushed, and nothing ends it"
    assert agent.call("list_sessions")["sessions"] is not None, "calls go on beside it"
    requests.delete(agent.url, headers=agent.headers())
    ended.join(5)
    assert not ended.is_alive()


def test_a_stolen_connection_grants_nothing(server, page, key):
    agent = Agent(server, key)
    assert agent.call("list_sessions")["sessions"]
    thief = Agent(server, start=False)
    thief.session = agent.session
    assert thief.refusal("list_sessions") == (401, -32001)
    thief.key = server.token("bob")
    assert thief.call("list_sessions")["sessions"] == [], "own key, own rights"
    assert thief.refusal("reset_collections", session_id=page.session) == (403, -32002)
    ids = {Agent(server).session for _ in range(20)}
    assert len(ids) == 20 and all(len(i) == 64 for i in ids)


def test_a_flood_of_strangers_leaves_memory_flat_and_agents_connected(fresh):
    """100,000 times initialize, many on one connection at a time."""
    known = Agent(fresh, fresh.token())
    known.call("list_sessions")
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize",
                       "params": {"protocolVersion": "2025-06-18", "capabilities": {}}}).encode()
    one = (b"POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: "
           + str(len(body)).encode() + b"\r\n\r\n" + body)

    def flood(count, batch=100):
        with socket.create_connection(("127.0.0.1", fresh.port)) as s:
            for _ in range(count // batch):
                s.sendall(one * batch)
                got = b""
                while got.count(b"mcp-session-id:") < batch or not got.endswith(b"}"):
                    piece = s.recv(1 << 20)
                    assert piece, "the server hung up"
                    got += piece
                assert got.count(b"HTTP/1.1 200") == batch

    flood(5_000)
    before = fresh.rss_bytes()
    flood(100_000)
    assert fresh.rss_bytes() - before < 32 << 20
    assert known.call("list_sessions") == {"sessions": []}, "a known agent is not pushed out"
    recent = [Agent(fresh) for _ in range(33)]
    alive = [a.ask("ping").status_code for a in recent]
    assert alive == [404] + [200] * 32, "a stranger keeps 32 connections"


# ---- credentials and rights ---------------------------------------------------------------------------


def test_both_forms_of_credential_the_switch_and_revocation(tmp_path):
    data = tmp_path / "data"
    run_cli("user", "add", "carol", "--password-stdin", "--data", data, input=PASSWORD + "\n")
    run_cli("user", "add", "mute", "--password-stdin", "--data", data, input=PASSWORD + "\n")
    run_cli("user", "add", "boss", "--role", "superuser", "--password-stdin", "--data", data, input=PASSWORD + "\n")
    carol = run_cli("key", "create", "carol", "--data", data).stdout.strip()
    gone = run_cli("key", "create", "carol", "--data", data).stdout.strip()
    run_cli("user", "set", "mute", "--graph-language", "off", "--data", data)
    run_cli("key", "revoke", gone.split(":")[0], "--data", data)
    server = Server(data).start()
    try:
        for credential in [carol, server.token("carol"), "Bearer " + carol]:
            assert Agent(server, credential).call("list_sessions") == {"sessions": []}
        assert Agent(server, gone).refusal("list_sessions") == (401, -32001)
        muted = Agent(server, server.token("mute"))
        assert muted.refusal("list_sessions") == (403, -32003)
        assert [t["name"] for t in muted.result("tools/list")["tools"]] == TOOLS, "the list is for everybody"
        with OpenPage(server, "karate", "carols", server.token("carol")):
            admin = Agent(server, server.token("boss"))
            assert "nodes: 34" in admin.text("get_session_info", session_id="carols")
            assert admin.refusal("reset_collections", session_id="carols") == (403, -32002), "not even administrators"
            assert Agent(server, carol).call("reset_collections", session_id="carols") == {"removed": 0}
    finally:
        server.stop()


def test_only_who_may_see_the_dataset_may_look(server, alice, key):
    edges = alice.file(b"s,d\na,b\n", "csv")
    dataset = alice.dataset([edges["file_id"]])
    r = alice("POST", "/api/v2/share/link/", json={"obj_pk": dataset, "obj_type": "dataset", "privacy": {
        "mode": "private", "notify": False, "invited_users": [], "mode_action": "20", "message": ""}})
    assert r.status_code < 300, r.text
    session = unique("private")
    with OpenPage(server, dataset, session, server.token("alice")):
        assert "nodes: 2" in Agent(server, key).text("get_session_info", session_id=session)
        bob = Agent(server, server.token("bob"))
        absent = bob.ask("tools/call", {"name": "get_session_info", "arguments": {"session_id": "absent"}}, id=1)
        hidden = bob.ask("tools/call", {"name": "get_session_info", "arguments": {"session_id": session}}, id=1)
        assert (hidden.status_code, hidden.content) == (absent.status_code, absent.content) and hidden.status_code == 403


def test_a_closed_visualization_is_gone_within_five_seconds(server, small, key):
    session = unique("closing")
    agent = Agent(server, key)
    page = OpenPage(server, small, session, server.token("alice"))
    assert agent.call("list_collections", session_id=session)["collections"] == []
    assert session in [s["session_id"] for s in agent.call("list_sessions")["sessions"]]
    page.close()
    began = time.monotonic()
    while True:
        try:
            agent.call("list_collections", session_id=session)
            assert time.monotonic() - began < 5, "still open"
            time.sleep(0.1)
        except Refused as e:
            assert (e.status, e.code) == (410, -32004)
            break
    assert session not in [s["session_id"] for s in agent.call("list_sessions")["sessions"]]
    with OpenPage(server, small, session):
        # A stranger looks at it, its owner is away: others may look, nobody may change.
        assert agent.call("list_collections", session_id=session)["collections"] == []
        assert agent.refusal("reset_collections", session_id=session) == (410, -32004)


def test_a_deleted_dataset_closes_its_visualizations(server, alice, key):
    edges = alice.file(b"s,d\na,b\n", "csv")
    dataset = alice.dataset([edges["file_id"]])
    session = unique("deleted")
    agent = Agent(server, key)
    with OpenPage(server, dataset, session, server.token("alice")):
        assert agent.call("list_collections", session_id=session)["collections"] == []
        assert alice("DELETE", f"/api/v2/datasets/{dataset}").status_code == 204
        assert agent.refusal("list_collections", session_id=session) == (410, -32004)
        assert Agent(server, server.token("bob")).refusal("list_collections", session_id=session) == (403, -32002)


# ---- tools --------------------------------------------------------------------------------------------


def test_session_info_is_lines_of_text(page, agent, small):
    lines = agent.text("get_session_info", session_id=page.session).split("\n")
    assert lines == [
        f"session_id: {page.session}", "nodes: 6", "edges: 6",
        "node columns (3): id (object), kind (object), n (int64)",
        "edge columns (3): s (object), d (object), w (int64)",
        'graph columns: node id "id", edge source "s", edge destination "d"',
        "title: Ring", "description: Six in a ring",
    ]
    [mine] = [s for s in agent.call("list_sessions")["sessions"] if s["session_id"] == page.session]
    assert (mine["dataset_id"], mine["name"], mine["node_count"], mine["edge_count"]) == (small, "Ring", 6, 6)


@pytest.mark.parametrize("count", [119, 120, 121])
def test_as_many_columns_are_listed_as_the_limit_says(server, alice, key, count):
    more = count - 2
    header = "s,d," + ",".join(f"c{i}" for i in range(more))
    edges = alice.file(f"{header}\na,b,{','.join('1' * more)}\n".encode(), "csv")
    session = unique("wide")
    with OpenPage(server, alice.dataset([edges["file_id"]]), session, server.token("alice")):
        text = Agent(server, key).text("get_session_info", session_id=session)
        line = next(l for l in text.split("\n") if l.startswith("edge columns"))
        assert line.count("int64") + line.count("object") == min(count, 120)
        assert ("(+1 more not listed)" in line) == (count == 121) and f"c{more - 1} (" in line


def test_queries_in_both_languages_and_their_shapes(on):
    both = on("query_graph", gfql_operations=kind("x"))
    assert both == {"output_type": "shape", "result": "graph", "node_count": 3, "edge_count": 0, "shape": [
        {"kind": "nodes", "rows": 3, "cols": 3}, {"kind": "edges", "rows": 0, "cols": 3}]}
    hop = json.dumps([{"type": "Node", "filter_dict": {"id": "a"}}, {"type": "Edge", "direction": "forward"},
                      {"type": "Node"}])
    nodes = on("query_graph", gfql_operations=hop, output_type="nodes")
    assert [r["id"] for r in nodes["nodes"]] == ["a", "b"] and nodes["returned"] == 2 and not nodes["truncated"]
    everything = on("query_graph", gfql_operations=hop, output_type="all")
    assert [(e["s"], e["d"], e["w"]) for e in everything["edges"]] == [("a", "b", 1)]
    assert everything["truncated"] == {"nodes": False, "edges": False}
    more = json.dumps([{"type": "Node", "filter_dict": {"n": {"type": "GT", "val": 4}}}])
    assert on("query_graph", gfql_operations=more)["node_count"] == 2
    none = on("query_graph", gfql_operations=kind("z"), output_type="nodes")
    assert (none["node_count"], none["nodes"], "error" in none) == (0, [], False)
    rows = on("query_graph", gfql_operations="MATCH (n) RETURN n.kind AS kind, count(*) AS n ORDER BY kind",
              output_type="nodes")
    assert rows["rows"] == [{"kind": "x", "n": 3}, {"kind": "y", "n": 3}] and rows["limit"] == 50


def test_tools_fail_with_a_code_and_a_hint(page, agent):
    fails = lambda tool, **a: agent.failure(tool, session_id=page.session, **a)  # noqa: E731
    missing = json.dumps([{"type": "Node", "filter_dict": {"knd": "x"}}])
    told = agent.call("query_graph", session_id=page.session, gfql_operations=missing)
    assert told["error"].startswith("[column-not-found]") and 'did you mean "kind"?' in told["error"]
    assert (told["code"], told["field"]) == ("column-not-found", "knd")
    assert fails("query_graph", gfql_operations="[{]") == "invalid-json"
    assert fails("query_graph", gfql_operations="find me the hubs") == "invalid-cypher-syntax"
    assert fails("query_graph", gfql_operations="CREATE (n)").startswith(("unsupported", "invalid"))
    assert fails("query_graph", gfql_operations=kind("x"), format="csv") == "unsupported-format"
    new = lambda **a: fails("create_collection", **{"name": "n", "gfql_operations": kind("x"), **a})  # noqa: E731
    assert new(gfql_operations=missing) == "column-not-found"
    assert new(gfql_operations="MATCH (n) RETURN n") == "cypher-not-accepted"
    assert new(gfql_operations="[]") == "empty-chain"
    assert new(gfql_operations='{"type": "Node"}') == "invalid-chain-type"
    assert new(node_color="red") == "invalid-color" and new(palette="Blue") == "palette-not-found"
    assert new(name=" ") == "invalid-name"
    assert fails("update_collection", collection_id="absent", name="n") == "collection-not-found"
    for tool in ["delete_collection", "update_collection"]:
        assert fails(tool, collection_id="global") == "builtin-collection"
    assert fails("reorder_collections", order=["absent"]) == "collection-not-found"


@pytest.mark.parametrize("named, limit", [(False, 20), (True, 50)])
def test_rows_are_cut_at_their_limit(server, alice, key, named, limit):
    for count in [limit - 1, limit, limit + 1]:
        text = "s,d\n" + "".join(f"hub,n{i}\n" for i in range(count - 1))
        edges = alice.file(text.encode(), "csv")
        session = unique("rows")
        with OpenPage(server, alice.dataset([edges["file_id"]]), session, server.token("alice")):
            query = "MATCH (n) RETURN n.id AS id" if named else json.dumps(NODES)
            told = Agent(server, key).call("query_graph", session_id=session, gfql_operations=query,
                                           output_type="nodes")
        rows = told["rows" if named else "nodes"]
        assert told["row_count" if named else "node_count"] == count
        assert (len(rows), told["returned"], told["truncated"], told["limit"]) == (
            min(count, limit), min(count, limit), count > limit, limit)


def test_collections_are_made_listed_changed_moved_and_removed(on, page, agent):
    made = on("create_collection", name="Xs", gfql_operations=kind("x"), node_color="#FF0000", description="odd ones",
              palette="Blues")
    one = made["collection"]
    assert (one["name"], one["position"], one["color"], one["matchCount"], one["description"]) == (
        "Xs", 0, "#ff0000", 3, "odd ones")
    assert "palette" not in one and not made["replaced"] and made["dropped"] == []
    none = on("create_collection", name="None", gfql_operations=kind("z"))["collection"]
    assert (none["matchCount"], none["position"]) == (0, 0) and none["color"].startswith("#")
    hop = [{"type": "Node", "filter_dict": {"id": "a"}}, {"type": "Edge", "direction": "forward"}, {"type": "Node"}]
    blues = on("create_collection", name="Hop", gfql_operations=json.dumps(hop), palette="blues")["collection"]
    assert (blues["matchCount"], blues["color"], blues["palette"]) == (3, None, "Blues"), "two nodes and an edge"
    listed = lambda: on("list_collections")["collections"]  # noqa: E731
    names = lambda: [(c["name"], c["position"]) for c in listed()]  # noqa: E731
    assert names() == [("Hop", 0), ("None", 1), ("Xs", 2)]
    assert [c["matchCount"] for c in listed()] == [3, 0, 3]
    background = on("list_collections")["background"]
    assert background["id"] == "global" and background["position"] == 3
    again = on("create_collection", name="Xs", gfql_operations=kind("y"), node_color="#00ff00")
    assert again["replaced"] and again["collection"]["id"] == one["id"] and again["collection"]["position"] == 2
    changed = on("update_collection", collection_id=one["id"], name="Ys", node_color="#0000ff80")["collection"]
    assert (changed["name"], changed["color"], changed["matchCount"]) == ("Ys", "#0000ff80", 3)
    assert agent.failure("update_collection", session_id=page.session, collection_id=one["id"], name="Hop") == "conflict"
    assert agent.failure("update_collection", session_id=page.session, collection_id=one["id"]) == "nothing-to-change"
    palette = on("update_collection", collection_id=one["id"], palette="Set1")["collection"]
    assert (palette["color"], palette["palette"]) == (None, "Set1")
    order = on("reorder_collections", order=[one["id"]])["collections"]
    assert [c["name"] for c in order] == ["Ys", "Hop", "None"], "the others keep their order"
    assert on("delete_collection", collection_id=blues["id"])["deleted"]["name"] == "Hop"
    assert names() == [("Ys", 0), ("None", 1)]
    assert on("reset_collections") == {"removed": 2} and names() == []


def test_ten_collections_stay_and_the_oldest_goes(on, page):
    for i in range(9):
        assert on("create_collection", name=f"c{i}", gfql_operations=kind("x"))["dropped"] == []
    # Replacing makes the first one the newest.
    assert on("create_collection", name="c0", gfql_operations=kind("x"))["replaced"]
    assert on("create_collection", name="c9", gfql_operations=kind("y"))["dropped"] == []
    assert len(on("list_collections")["collections"]) == 10
    dropped = on("create_collection", name="c10", gfql_operations=kind("y"))["dropped"]
    assert [d["name"] for d in dropped] == ["c1"]
    names = [c["name"] for c in on("list_collections")["collections"]]
    assert len(names) == 10 and names[0] == "c10" and "c0" in names
    deadline = time.monotonic() + 5
    while [c["name"] for c in page.collections["collections"]] != names:
        assert time.monotonic() < deadline, page.collections
        time.sleep(0.02)


def test_changes_at_once_lose_nothing(on, page, server, key):
    def make(i):
        mine = Agent(server, key)
        mine.call("create_collection", session_id=page.session, name=f"t{i}", gfql_operations=kind("x"))

    threads = [threading.Thread(target=make, args=(i,)) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert {c["name"] for c in on("list_collections")["collections"]} == {f"t{i}" for i in range(8)}


def test_collections_survive_being_killed_and_come_back_painted(tmp_path):
    data = tmp_path / "data"
    server = Server(data).start()
    try:
        admin = server.api()
        nodes = admin.file(b"id,kind\na,x\nb,y\n", "csv")
        edges = admin.file(b"s,d\na,b\n", "csv")
        dataset = admin.dataset([edges["file_id"]], [nodes["file_id"]], nodes={"node": "id"})
        session = unique("kept")
        with OpenPage(server, dataset, session, server.token()):
            agent = Agent(server, server.token())
            for i, color in enumerate(["#ff0000", "#00ff00", "#0000ff"]):
                agent.call("create_collection", session_id=session, name=f"c{i}", gfql_operations=kind("x"),
                           node_color=color)
            before = agent.call("list_collections", session_id=session)
            server.kill()
        server.start()
        one = server.api()("GET", f"/api/experimental/viz/sessions/{session}/").json()
        assert one["revision"]["dataset"]["dataset_id"] == dataset
        agent = Agent(server, server.token())
        assert agent.refusal("list_collections", session_id=session) == (410, -32004), "nobody has it open"
        with OpenPage(server, dataset, session, server.token()) as page:
            deadline = time.monotonic() + 10
            while agent.call("list_collections", session_id=session) != before:
                assert time.monotonic() < deadline, agent.call("list_collections", session_id=session)
                time.sleep(0.05)
            while [c["match_count"] for c in page.collections["collections"]] != [1, 1, 1]:
                assert time.monotonic() < deadline, page.collections
                time.sleep(0.05)
    finally:
        server.stop()


def test_the_address_of_a_page_brings_collections_along(server, small, key):
    sets = [
        {"type": "set", "id": "c1", "name": "Big", "node_color": "#FF0000",
         "expr": {"type": "gfql_chain", "gfql": [{"type": "Node", "filter_dict": {"n": {"type": "GT", "val": 2}}}]}},
        {"type": "set", "id": "c2", "name": "Xs", "expr": {"type": "gfql_chain", "gfql": json.loads(kind("x"))}},
        {"type": "intersection", "id": "c3", "name": "Both", "node_color": "#00FF00",
         "expr": {"type": "intersection", "sets": ["c1", "c2"]}},
    ]
    query = f"collections={requests.utils.quote(json.dumps(sets))}&collectionsGlobalNodeColor=333333"
    session = unique("url")
    with OpenPage(server, small, session, server.token("alice"), query=query) as page:
        agent = Agent(server, key)
        deadline = time.monotonic() + 10
        while True:
            listed = agent.call("list_collections", session_id=session)
            counts = [(c["id"], c["matchCount"]) for c in listed["collections"]]
            if counts == [("c1", 4), ("c2", 3), ("c3", 2)]:
                break
            assert time.monotonic() < deadline, counts
            time.sleep(0.05)
        assert listed["background"]["color"] == "#333333" and page.collections["background"] == ["#333333"]
        agent.call("create_collection", session_id=session, name="Mine", gfql_operations=kind("y"))
        names = [c["name"] for c in agent.call("list_collections", session_id=session)["collections"]]
        assert names == ["Mine", "Big", "Xs", "Both"], "one list"


# ---- time ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dense(server):
    """A graph with a query that takes very long."""
    rng = random.Random(1)
    text = "s,d\n" + "".join(f"n{rng.randrange(400)},n{rng.randrange(400)}\n" for _ in range(30_000))
    alice = server.api("alice")
    dataset = alice.dataset([alice.file(text.encode(), "csv")["file_id"]])
    with OpenPage(server, dataset, unique("dense"), server.token("alice")) as page:
        yield page


SLOW = "MATCH (a)-[]->(b)-[]->(c)-[]->(d)-[]->(e)-[]->(f) WHERE a.id < f.id RETURN count(*) AS n"


def test_a_call_can_be_withdrawn_and_a_lost_connection_stops_nothing(server, dense, key):
    agent = Agent(server, key)
    replies = []
    body = {"name": "query_graph", "arguments": {"session_id": dense.session, "gfql_operations": SLOW,
                                                 "output_type": "nodes"}}
    thread = threading.Thread(target=lambda: replies.append(agent.ask("tools/call", body, id="slow")))
    thread.start()
    time.sleep(1)
    assert thread.is_alive(), replies
    other = Agent(server, key)
    assert other.call("query_graph", session_id=dense.session, gfql_operations=json.dumps(NODES))["node_count"] == 400
    began = time.monotonic()
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}}
    assert requests.post(agent.url, json=cancel, headers=agent.headers()).status_code == 202
    thread.join(5)
    assert time.monotonic() - began < 1, "at once"
    assert replies[0].json()["error"]["code"] == -32800


def test_a_call_that_takes_a_minute_is_ended(server, dense, key):
    agent = Agent(server, key)
    began = time.monotonic()
    refused = agent.refusal("query_graph", session_id=dense.session, gfql_operations=SLOW, output_type="nodes")
    took = time.monotonic() - began
    assert refused == (504, -32005) and 59.9 < took < 61.5, took
    assert agent.call("query_graph", session_id=dense.session, gfql_operations=json.dumps(NODES))["node_count"] == 400


# ---- the official client ------------------------------------------------------------------------------


def test_the_official_client_lists_and_calls_every_tool(server, page, key):
    import httpx2
    from mcp import Client, ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def drive():
        auth = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(headers=auth, timeout=30) as http:
            async with streamable_http_client(server.url + "/mcp", http_client=http) as streams:
                async with ClientSession(*streams[:2]) as session:
                    info = await session.initialize()
                    assert info.server_info.name == "graphlume" and "GFQL" in info.instructions
                    tools = (await session.list_tools()).tools
                    assert [t.name for t in tools] == TOOLS
                    await session.send_ping()

                    async def call(tool, /, **arguments):
                        result = await session.call_tool(tool, arguments)
                        assert not result.is_error, result
                        return result.content[0].text

                    here = {"session_id": page.session}
                    assert page.session in await call("list_sessions")
                    assert "nodes: 6" in await call("get_session_info", **here)
                    count = json.loads(await call("query_graph", gfql_operations=kind("x"), **here))
                    assert count["node_count"] == 3
                    await call("reset_collections", **here)
                    made = json.loads(await call("create_collection", name="sdk", gfql_operations=kind("y"), **here))
                    id = made["collection"]["id"]
                    assert made["collection"]["matchCount"] == 3
                    assert id in await call("list_collections", **here)
                    await call("update_collection", collection_id=id, name="renamed", **here)
                    await call("reorder_collections", order=[id], **here)
                    assert "renamed" in await call("delete_collection", collection_id=id, **here)
                    failed = json.loads(await call("query_graph", gfql_operations="[{]", **here))
                    assert failed["error"].startswith("[invalid-json]")
                    return len(tools)

    assert asyncio.run(drive()) == 9
    assert Client is not None


def node(*args, timeout=120):
    """Runs one of the clients in tests/clients."""
    assert shutil.which("node"), "Node.js is missing (scripts/test.sh installs it)"
    assert (CLIENTS / "node_modules").is_dir(), "the clients are missing (scripts/test.sh installs them)"
    r = subprocess.run(["node", *args], capture_output=True, text=True, timeout=timeout, cwd=CLIENTS)
    assert r.returncode == 0, f"{args}\n{r.stdout}\n{r.stderr}"
    return json.loads(r.stdout)


def test_the_official_typescript_client_lists_and_calls_every_tool(server, page, key):
    told = node("sdk.mjs", server.url + "/mcp", key, page.session)
    assert told["tools"] == TOOLS and set(told["told"]) == set(TOOLS)
    assert json.loads(told["told"]["create_collection"])["collection"]["matchCount"] == 3
    assert "renamed" in told["told"]["delete_collection"]
    assert "-32002" in told["refused"] or "403" in told["refused"], told["refused"]


def test_the_inspector_lists_and_calls_on_the_command_line(server, page, key):
    base = ["node_modules/.bin/mcp-inspector", "--cli", server.url + "/mcp", "--transport", "http",
            "--header", f"Authorization: Bearer {key}"]
    assert [t["name"] for t in node(*base, "--method", "tools/list")["tools"]] == TOOLS
    called = node(*base, "--method", "tools/call", "--tool-name", "get_session_info",
                  "--tool-arg", f"session_id={page.session}")
    assert "nodes: 6" in called["content"][0]["text"]


# ---- an agent at work ---------------------------------------------------------------------------------


def test_an_agent_answers_ten_questions_about_packages(server, alice, key):
    nodes, edges = debian_graph.build(index(600))
    source, target = "package", "depends_on"
    assert {"package", "section"} <= set(nodes.columns), nodes.columns
    assert {source, target} <= set(edges.columns), edges.columns
    nf = alice.file(nodes.to_csv(index=False).encode(), "csv")
    ef = alice.file(edges.to_csv(index=False).encode(), "csv")
    dataset = alice.dataset([ef["file_id"]], [nf["file_id"]], edges={"source": source, "destination": target},
                            nodes={"node": "package"}, name="Packages")
    g = nx.MultiDiGraph()
    g.add_nodes_from(nodes["package"])
    g.add_edges_from(zip(edges[source], edges[target]))
    sections = dict(zip(nodes["package"], nodes["section"]))
    depended = {n: g.in_degree(n) for n in g}
    session = unique("packages")
    with OpenPage(server, dataset, session, server.token("alice")):
        agent = Agent(server, key)

        def cypher(text):
            return agent.call("query_graph", session_id=session, gfql_operations=text, output_type="nodes")["rows"]

        def ids(ops):
            told = agent.call("query_graph", session_id=session, gfql_operations=json.dumps(ops))
            return told["node_count"], told["edge_count"]

        info = agent.text("get_session_info", session_id=session)
        # 1: how large it is
        assert f"nodes: {g.number_of_nodes()}" in info and f"edges: {g.number_of_edges()}" in info
        # 2: the most depended-upon packages
        rows = cypher("MATCH ()-[]->(b) RETURN b.package AS p, count(*) AS n ORDER BY n DESC, p LIMIT 5")
        best = sorted(((-depended[n], n) for n in g))[:5]
        assert [(-r["n"], r["p"]) for r in rows] == best
        hub = rows[0]["p"]
        # 3: how many are two hops out of it, either way
        two = nx.single_source_shortest_path_length(g.to_undirected(as_view=True), hub, cutoff=2)
        hop = {"type": "Edge", "direction": "undirected", "hops": 2}
        assert ids([{"type": "Node", "filter_dict": {"package": hub}}, hop, {"type": "Node"}])[0] == len(two)
        # 4: what it needs directly
        told = agent.call("query_graph", session_id=session, output_type="nodes", gfql_operations=json.dumps(
            [{"type": "Node", "filter_dict": {"package": hub}}, {"type": "Edge", "direction": "forward"},
             {"type": "Node", "name": "needed"}]))
        needed = {r["package"] for r in told["nodes"] if r["needed"]}
        assert needed == set(g.successors(hub)) or told["truncated"]
        # 5: packages of a section without dependants
        lonely = sorted(n for n in nodes["package"] if sections[n] == "games" and depended[n] == 0)
        rows = cypher("MATCH (p) WHERE p.section = 'games' AND NOT (p)<-[]-() RETURN p.package AS p ORDER BY p")
        assert [r["p"] for r in rows] == lonely[:50]
        # 6: packages by section
        rows = cypher("MATCH (p) WHERE p.section IS NOT NULL RETURN p.section AS s, count(*) AS n ORDER BY s")
        assert {r["s"]: r["n"] for r in rows} == nodes["section"].dropna().value_counts().to_dict()
        # 7: edges between sections
        rows = cypher("MATCH (a)-[]->(b) WHERE a.section = 'libs' AND b.section = 'python' RETURN count(*) AS n")
        assert rows[0]["n"] == sum(sections.get(a) == "libs" and sections.get(b) == "python" for a, b in g.edges())
        # 8: everything that depends on the hub in the end
        back = [{"type": "Node", "filter_dict": {"package": hub}},
                {"type": "Edge", "direction": "reverse", "to_fixed_point": True}, {"type": "Node"}]
        assert ids(back)[0] == len(nx.ancestors(g, hub) | {hub})
        # 9: pairs that depend on each other
        rows = cypher("MATCH (a)-[]->(b)-[]->(a) WHERE a.package < b.package "
                      "RETURN count(DISTINCT [a.package, b.package]) AS n")
        simple = nx.DiGraph(g)
        assert rows[0]["n"] == sum(a < b and simple.has_edge(b, a) for a, b in simple.edges())
        # 10: how many depend on nothing
        rows = cypher("MATCH (p) WHERE NOT (p)-[]->() RETURN count(*) AS n")
        assert rows[0]["n"] == sum(g.out_degree(n) == 0 for n in g)
        # And the answer, painted.
        some = json.dumps([{"type": "Node", "filter_dict": {"package": {"type": "IsIn", "options": lonely}}}])
        made = agent.call("create_collection", session_id=session, name="Unneeded games", gfql_operations=some)
        assert made["collection"]["matchCount"] == len(lonely)
