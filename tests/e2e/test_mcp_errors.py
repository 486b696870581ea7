"""Every refusal of the tool endpoint, end to end.

| HTTP | code | held by |
|---|---|---|
| 400 | -32700 | `test_every_row_of_the_error_table`; its size in `test_mcp.py`, `test_a_message_may_have_a_mebibyte` |
| 400 | -32000 | `test_every_row_of_the_error_table` |
| 400 | -32602 | `test_every_row_of_the_error_table`; 60 wrong arguments in `test_mcp_arguments.py` |
| 401 | -32001 | `test_every_row_of_the_error_table` (with `WWW-Authenticate`), `test_both_forms_of_credential_the_switch_and_revocation`, \
`test_a_key_that_is_revoked_is_refused_at_once` |
| 403 | -32003 | `test_both_forms_of_credential_the_switch_and_revocation` |
| 403 | -32002 | `test_every_row_of_the_error_table`, `test_only_who_may_see_the_dataset_may_look`; foreign origins in `test_mcp.py` |
| 404 | -32000 | `test_every_row_of_the_error_table`; closed connections in `test_mcp.py` |
| 410 | -32004 | `test_a_closed_visualization_is_gone`, `test_a_deleted_dataset_closes_its_visualizations` |
| 500 | -32603 | `test_a_defect_of_the_data_folder_is_an_internal_error_and_says_no_more` |
| 503 | -32006 | `test_a_right_that_cannot_be_checked_is_refused_until_it_can` |
| 504 | -32005 | `test_mcp_limits.py`, `test_a_call_that_takes_too_long_is_ended`; `a_tool_may_take_its_time_and_is_ended_after_it` in `shell/http/tests/tools.rs` |
| 200 | -32601 | `test_every_row_of_the_error_table` |
| 200 | `error` | `test_tools_fail_with_a_code_and_a_hint` |
| 200 | `isError` | `a_tool_that_crashes_says_so_and_the_next_call_is_answered` in `shell/http/tests/tools.rs`: the only way to a crash is \
a seam that no option of the server opens |
| 429 | -32603 | `test_mcp_limits.py`, `test_sixteen_calls_of_one_connection_run_at_once` |
"""

import json

import pytest
from agent import Agent, OpenPage
from conftest import PASSWORD, Server, counted, run_cli, unique, until
from mcp_rig import NODES, TOOLS, agent, key, kind, page, small  # noqa: F401


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
    for unknown in ["prompts/list", "tools/cal", ""]:
        assert row(agent.ask(unknown)) == (200, -32601)
    assert row(agent.ask("tools/call", {"name": "drop_table"})) == (200, -32601)


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
            assert Agent(server, credential).call("list_sessions")["sessions"] == []
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


def test_a_closed_visualization_is_gone(server, small, key):
    """After three seconds, which `shell/service/src/sessions/presence.rs` holds with a clock that the test moves."""
    session = unique("closing")
    agent = Agent(server, key)
    page = OpenPage(server, small, session, server.token("alice"))
    assert agent.call("list_collections", session_id=session)["collections"] == []
    assert session in [s["session_id"] for s in agent.call("list_sessions")["sessions"]]
    page.close()
    ask = "tools/call", {"name": "list_collections", "arguments": {"session_id": session}}
    until(lambda: agent.ask(*ask).status_code != 200, "the visualization is closed")
    assert agent.refusal("list_collections", session_id=session) == (410, -32004)
    # Of a picture, too, it is said in words that the page is gone.
    told = agent.ask("tools/call", {"name": "get_picture", "arguments": {"session_id": session}}).text
    assert "the page of its owner is gone" in told and "open it in a browser again" in told, told
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
    # What is named as possible is: csv is neither in the schema nor in the refusal of something else.
    schema = {t["name"]: t["inputSchema"] for t in agent.result("tools/list")["tools"]}["query_graph"]
    assert schema["properties"]["format"]["enum"] == ["json"] and "csv" not in json.dumps(schema["properties"]["format"])
    other = agent.call("query_graph", session_id=page.session, gfql_operations=kind("x"), format="xml")
    assert other["code"] == "unsupported-format" and '"json"' in other["error"] and "csv" not in other["error"], other
    assert "error" not in agent.call("query_graph", session_id=page.session, gfql_operations=kind("x"), format="json")
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


# ---- what only a defect or a failing machine brings about -----------------------------------------------


class Damaged:
    """Flips a bit in the files of a record too large for the record store, for as long as it is entered: of every
    version of it that is there."""

    def __init__(self, server, text):
        found = [f for f in (server.data / "blobs").glob("*/*/*") if text.encode() in f.read_bytes()]
        self.whole = {f: f.read_bytes() for f in found}

    def __enter__(self):
        for path, whole in self.whole.items():
            at = len(whole) // 2
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])

    def __exit__(self, *_):
        for path, whole in self.whole.items():
            if path.exists():
                path.write_bytes(whole)


@pytest.fixture
def large(fresh):
    """A dataset whose record lies in a file of its own, open in a page; its server, its mark, an agent on it."""
    admin = fresh.api()
    mark = unique("mark")
    edges = admin.file(b"s,d\na,b\n", "csv")
    dataset = admin.dataset([edges["file_id"]], description=mark + " x" * 10_000)
    with OpenPage(fresh, dataset, "large", fresh.token()):
        # The last thing that is written to the record by itself.
        counted(admin, dataset)
        yield fresh, mark, Agent(fresh, fresh.token())


def test_a_right_that_cannot_be_checked_is_refused_until_it_can(large):
    server, mark, agent = large
    calls = [("query_graph", {"gfql_operations": json.dumps(NODES)}), ("list_collections", {}),
             ("reset_collections", {})]
    with Damaged(server, mark):
        for tool, more in calls:
            r = agent.ask("tools/call", {"name": tool, "arguments": {"session_id": "large", **more}})
            error = r.json()["error"]
            assert (r.status_code, error["code"]) == (503, -32006), (tool, r.text)
            assert "again" in error["message"] and mark not in r.text and "blob" not in r.text, r.text
    for tool, more in calls:
        assert "error" not in agent.call(tool, session_id="large", **more), tool


def test_a_defect_of_the_data_folder_is_an_internal_error_and_says_no_more(large):
    server, _, agent = large
    mark = unique("mark")

    def many(first):
        ids = [first] + [f"n{i}" for i in range(20_000)]
        return {"name": "many", "gfql_operations": json.dumps([{"type": "Node", "filter_dict": {"id": {"type": "IsIn", "options": ids}}}])}

    agent.call("create_collection", session_id="large", **many(mark))
    new = {"name": "new", "gfql_operations": json.dumps(NODES)}
    with Damaged(server, mark):
        # The right is known; the step before, which the record is to take in with this one, cannot be read.
        r = agent.ask("tools/call", {"name": "create_collection", "arguments": {"session_id": "large", **many("other")}})
        error = r.json()["error"]
        assert (r.status_code, error["code"]) == (500, -32603), r.text
        assert mark not in r.text and "blob" not in r.text and str(server.data) not in r.text, r.text
    assert "a tool call failed" in server.output()
    made = agent.call("create_collection", session_id="large", **new)
    assert made["collection"]["matchCount"] == 2
    names = [c["name"] for c in agent.call("list_collections", session_id="large")["collections"]]
    assert names == ["new", "many"], "nothing half-done was left"


def test_a_key_that_is_revoked_is_refused_at_once(tmp_path):
    """Keys are revoked on the command line, which needs the data folder for itself: the server stops for it."""
    data = tmp_path / "data"
    run_cli("user", "add", "carol", "--password-stdin", "--data", data, input=PASSWORD + "\n")
    keys = [run_cli("key", "create", "carol", "--data", data).stdout.strip() for _ in range(2)]
    server = Server(data).start()
    try:
        for key in keys:
            assert Agent(server, key).call("list_sessions")["sessions"] == []
        assert server.stop() == 0
        run_cli("key", "revoke", keys[0].split(":")[0], "--data", data)
        server.start()
        assert Agent(server, keys[0]).refusal("list_sessions") == (401, -32001)
        assert Agent(server, keys[1]).call("list_sessions")["sessions"] == [], "the other one goes on"
    finally:
        server.stop()
