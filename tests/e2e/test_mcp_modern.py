"""The tool endpoint as revision 2026-07-28 has it: no connections, every request stands alone. And that both eras answer
side by side on one address.

| HTTP | code | when | held by |
|---|---|---|---|
| 400 | -32700 | no JSON-RPC message | `test_every_row_of_the_modern_error_table` |
| 400 | -32602 | parameters, `_meta`, an unknown tool or resource | the same |
| 400 | -32020 | a header is missing, twice there, or contradicts the body | `test_headers_have_to_say_what_the_body_says` |
| 400 | -32021 | never: no method needs anything of the client | |
| 400 | -32022 | a revision that is not spoken | `test_every_row_of_the_modern_error_table` |
| 401 | -32001 | no credential, or a wrong one | the same |
| 403 | -32602 | not the caller's to see or to change (this revision forbids -32002) | the same |
| 404 | -32601 | no such method | the same |
| 410 | -32004 | the visualization is closed | the same |
| 403 -32003, 429 -32603, 500 -32603, 503 -32006, 504 -32005 | | as before | `shell/http/src/mcp/error.rs` |
"""

import asyncio
import base64
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from agent import Agent, OpenPage
from conftest import HANG_S, unique, until
from mcp_rig import ALL_TOOLS, TOOLS, key, kind, page, small  # noqa: F401

NEWEST = "2026-07-28"
META = "io.modelcontextprotocol/"


class Alone:
    """Requests that stand alone."""

    def __init__(self, server, key=None, version=NEWEST, path="/mcp"):
        self.url, self.key, self.version = server.url + path, key, version

    def ask(self, method, params=None, headers=None, meta=None, id=1):
        meta = {META + "protocolVersion": self.version, META + "clientCapabilities": {}} if meta is None else meta
        params = {**(params or {}), "_meta": meta}
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": self.version, "Mcp-Method": method}
        name = params.get("uri" if method == "resources/read" else "name")
        if isinstance(name, str):
            sent["Mcp-Name"] = name
        if self.key:
            sent["Authorization"] = f"Bearer {self.key}"
        sent = {k: v for k, v in {**sent, **(headers or {})}.items() if v is not None}
        body = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        return requests.post(self.url, json=body, headers=sent, timeout=HANG_S)

    def result(self, method, params=None, **more):
        r = self.ask(method, params, **more)
        assert r.status_code == 200 and "mcp-session-id" not in r.headers, r.text
        result = r.json()["result"]
        assert result["resultType"] == "complete" and result["_meta"][META + "serverInfo"]["version"] == "1.0.0"
        return result

    def call(self, tool, /, **arguments):
        result = self.result("tools/call", {"name": tool, "arguments": arguments})
        return json.loads(result["content"][0]["text"])

    def row(self, method, params=None, **more):
        r = self.ask(method, params, **more)
        assert r.headers["content-type"].startswith("application/json"), r.text
        assert r.json()["id"] == 1, r.text
        return r.status_code, r.json()["error"]["code"]


@pytest.fixture
def alone(server, key):
    return Alone(server, key)


def test_a_request_needs_nothing_that_came_before(server, alone, page):
    nobody = Alone(server)
    told = nobody.result("server/discover")
    assert told["supportedVersions"][0] == NEWEST and "GFQL" in told["instructions"]
    assert (told["ttlMs"], told["cacheScope"]) == (3_600_000, "public")
    assert {"tools", "resources"} <= set(told["capabilities"])
    lists = [nobody.result("tools/list") for _ in range(3)]
    assert [t["name"] for t in lists[0]["tools"]] == TOOLS and lists[0] == lists[1] == lists[2], "in one order"
    assert (lists[0]["ttlMs"], lists[0]["cacheScope"]) == (3_600_000, "private"), "a header chooses the tools"
    assert nobody.result("resources/templates/list")["resourceTemplates"] == []
    here = {"session_id": page.session}
    assert page.session in [s["session_id"] for s in alone.call("list_sessions")["sessions"]]
    assert alone.call("query_graph", gfql_operations=kind("x"), **here)["node_count"] == 3
    # What an older client would have sent along is passed over.
    assert alone.result("tools/list", headers={"mcp-session-id": "x", "Last-Event-ID": "7"})["tools"]
    coded = "=?base64?" + base64.b64encode(b"list_sessions").decode() + "?="
    assert alone.result("tools/call", {"name": "list_sessions"}, headers={"Mcp-Name": coded})
    told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    r = requests.post(alone.url, json=told, headers={"MCP-Protocol-Version": NEWEST})
    assert (r.status_code, r.content) == (202, b"")


def test_headers_have_to_say_what_the_body_says(alone):
    call = ("tools/call", {"name": "list_sessions"})
    for wrong in [{"MCP-Protocol-Version": None}, {"MCP-Protocol-Version": "2025-11-25"}, {"Mcp-Method": None},
                  {"Mcp-Method": "tools/list"}, {"Mcp-Method": "TOOLS/CALL"}, {"Mcp-Name": None}, {"Mcp-Name": "other"},
                  {"Mcp-Name": "=?base64?!?="}, {"Mcp-Name": "=?base64?eA==?="}]:
        assert alone.row(*call, headers=wrong) == (400, -32020), wrong
    read = ("resources/read", {"uri": "graphlume://dataset/x"})
    for wrong in [{"Mcp-Name": None}, {"Mcp-Name": "graphlume://dataset/y"}]:
        assert alone.row(*read, headers=wrong) == (400, -32020), wrong


def test_every_row_of_the_modern_error_table(server, alone, page, small):
    for meta in [{}, {META + "protocolVersion": NEWEST}, {META + "clientCapabilities": {}},
                 {META + "protocolVersion": NEWEST, META + "clientCapabilities": 7}]:
        assert alone.row("tools/list", meta=meta) == (400, -32602), meta
    for params in [{}, {"name": 7}, {"name": "no_such_tool"}, {"name": "query_graph", "arguments": []},
                   {"name": "list_sessions", "arguments": {"extra": 1}}]:
        assert alone.row("tools/call", params) == (400, -32602), params
    for uri in ["graphlume://dataset/absent", "graphlume://dataset/../x", "file:///etc/passwd", ""]:
        assert alone.row("resources/read", {"uri": uri}) == (400, -32602), uri
    assert alone.row("resources/list", {"cursor": "x"}) == (400, -32602)
    for method in ["ping", "initialize", "prompts/list", "logging/setLevel", "subscriptions/listen", "nothing"]:
        assert alone.row(method) == (404, -32601), method
    for version in ["1999-01-01", "2025-11-25", "x"]:
        r = Alone(server, version=version).ask("tools/list")
        error = r.json()["error"]
        assert (r.status_code, error["code"]) == (400, -32022)
        assert error["data"]["requested"] == version and error["data"]["supported"][:2] == [NEWEST, "2025-11-25"]
    for credential in [None, "x", "ABCDEFGHIJ:" + "x" * 32]:
        stranger = Alone(server, credential)
        for asked in [("tools/call", {"name": "list_sessions"}), ("resources/list", {})]:
            r = stranger.ask(*asked)
            assert (r.status_code, r.json()["error"]["code"]) == (401, -32001)
            assert r.headers["www-authenticate"].startswith("Bearer")
    info = {"name": "get_session_info", "arguments": {"session_id": "no-such-session"}}
    assert alone.row("tools/call", info) == (403, -32602)
    paint = {"name": "reset_collections", "arguments": {"session_id": page.session}}
    assert Alone(server, server.token("bob")).row("tools/call", paint) == (403, -32602)
    session = unique("gone")
    with OpenPage(server, small, session, server.token("alice")):
        info["arguments"]["session_id"] = session
        assert alone.result("tools/call", info)
    until(lambda: alone.ask("tools/call", info).status_code == 410, "the visualization is closed")
    assert alone.row("tools/call", info) == (410, -32004)
    r = requests.post(alone.url, data="[1]", headers={"MCP-Protocol-Version": NEWEST})
    assert (r.status_code, r.json()["error"]["code"]) == (400, -32700)


def test_both_eras_answer_on_one_address(server, key, alone):
    older = [Agent(server, key, start=False) for _ in range(4)]
    for agent, version in zip(older, ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]):
        assert agent.initialize(version)["protocolVersion"] == version
    assert Agent(server, key, start=False).ask("initialize", {"protocolVersion": NEWEST}).json()["result"][
        "protocolVersion"] == "2025-11-25"
    for agent in older:
        assert [t["name"] for t in agent.result("tools/list")["tools"]] == TOOLS
        told = agent.result("tools/list")
        assert "resultType" not in told and "ttlMs" not in told
        assert alone.result("tools/list")["tools"] == told["tools"]


def test_one_manifest(server):
    told = requests.get(server.url + "/mcp/manifest.json").json()
    assert told["version"] == told["serverInfo"]["version"] == "1.0.0"
    assert told["transport"] == {"type": "streamable-http", "path": "/mcp"}
    assert [t["name"] for t in told["tools"]] == TOOLS and told["protocolVersions"][0] == NEWEST
    sets = {s["name"]: (s["path"], s["tools"]) for s in told["toolsets"]}
    assert sets == {"default": ("/mcp", TOOLS), "all": ("/mcp/x/all", ALL_TOOLS)}
    for path, names in sets.values():
        assert [t["name"] for t in Alone(server, path=path).result("tools/list")["tools"]] == names
    assert "/mcp/x/all" in told["instructions"]
    assert Agent(server).info["serverInfo"] == told["serverInfo"]


def test_datasets_are_resources_with_addresses(server, alone, small, key):
    def listed(ask):
        found, cursor = [], None
        while True:
            told = ask("resources/list", {"cursor": cursor} if cursor else {})
            found += told["resources"]
            cursor = told.get("nextCursor")
            if cursor is None:
                return {r["uri"]: r for r in found}

    uri = f"graphlume://dataset/{small}"
    address = f"{server.url}/graph/graph.html?dataset={small}"
    for ask in [alone.result, Agent(server, key).result]:
        entry = listed(ask)[uri]
        assert entry["name"] == "Ring" and address in entry["description"]
        [part] = ask("resources/read", {"uri": uri})["contents"]
        told = json.loads(part["text"])
        assert (told["open"], told["dataset_id"], told["node_count"]) == (address, small, 6)
    assert (alone.result("resources/list")["ttlMs"], alone.result("resources/list")["cacheScope"]) == (0, "private")
    bob = Alone(server, server.token("bob"))
    assert uri not in listed(bob.result), "not bob's"


def test_nothing_open_says_what_to_open(server):
    bob = server.api("bob")
    nobody = Alone(server, server.token("bob"))
    edges = bob.file(b"s,d\na,b\n", "csv")
    dataset = bob.dataset([edges["file_id"]], name="To open")
    told = nobody.call("list_sessions")
    assert told["sessions"] == []
    assert f"{server.url}/graph/graph.html?dataset={dataset}" in told["hint"] and '"To open"' in told["hint"]
    assert told == Agent(server, server.token("bob")).call("list_sessions")


def test_a_page_on_its_way_is_not_closed(server, small, key):
    session = unique("opening")
    r = requests.get(f"{server.url}/graph/graph.html?dataset={small}&session={session}", allow_redirects=False,
                     headers={"Authorization": f"Bearer {server.token('alice')}"})
    assert r.status_code in (200, 302)
    agent = Agent(server, key)
    assert "nodes: 6" in agent.text("get_session_info", session_id=session)
    assert session in [s["session_id"] for s in agent.call("list_sessions")["sessions"]]
    assert agent.call("reset_collections", session_id=session) is not None


def test_an_id_in_use_is_refused(server, page, key):
    agent = Agent(server, key)
    slow = {"name": "query_graph", "arguments": {"session_id": page.session, "gfql_operations":
            "UNWIND range(1, 3000000) AS i RETURN sum(i % 7) AS n", "output_type": "nodes"}}
    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            replies = [f.result() for f in [pool.submit(agent.ask, "tools/call", slow, "same") for _ in range(8)]]
            rows = sorted((r.status_code, r.json().get("error", {}).get("code", 0)) for r in replies)
            assert set(rows) <= {(200, 0), (400, -32602)}, rows
            if (400, -32602) in rows:
                break
    assert rows[0] == (200, 0) and rows[-1] == (400, -32602), rows
    assert agent.ask("tools/call", slow, "same").status_code == 200, "the id is free again"


@pytest.mark.parametrize(("path", "listed"), [("/mcp", TOOLS), ("/mcp/x/all", ALL_TOOLS)])
@pytest.mark.parametrize("mode", ["auto", NEWEST, "legacy"])
def test_the_official_python_client_in_each_mode(server, page, key, mode, path, listed):
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async def drive():
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=HANG_S) as http:
            async with Client(streamable_http_client(server.url + path, http_client=http), mode=mode) as client:
                assert [t.name for t in (await client.list_tools()).tools] == listed
                told = await client.call_tool("get_session_info", {"session_id": page.session})
                assert "nodes: 6" in told.content[0].text
                assert (await client.list_resources()).resources
                return client.protocol_version

    version = asyncio.run(drive())
    assert version == ("2025-11-25" if mode == "legacy" else NEWEST)
