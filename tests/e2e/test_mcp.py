"""The tool endpoint as a transport: messages, connections, event streams, floods.

Its refusals are in `test_mcp_errors.py`, its limits in `test_mcp_limits.py`, what the tools do in `test_mcp_tools.py`,
the official clients and an agent at work in `test_mcp_clients.py`.
"""

import json
import socket
import threading

import requests
from agent import Agent
from conftest import HANG_S
from mcp_rig import TOOLS, agent, key, page, small  # noqa: F401


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
    stream = requests.get(agent.url, headers=agent.headers(), stream=True, timeout=HANG_S)
    assert stream.headers["content-type"] == "text/event-stream"
    pieces = stream.iter_content(None)
    assert next(pieces) == b": alive\n\n"
    ended = threading.Thread(target=lambda: list(pieces))
    ended.start()
    assert agent.call("list_sessions")["sessions"] is not None, "calls go on beside it"
    assert ended.is_alive(), "nothing is pushed, and nothing ends it"
    requests.delete(agent.url, headers=agent.headers())
    ended.join(HANG_S)
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
    one = (b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: "
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
    assert known.call("list_sessions")["sessions"] == [], "a known agent is not pushed out"
    recent = [Agent(fresh) for _ in range(33)]
    alive = [a.ask("ping").status_code for a in recent]
    assert alive == [404] + [200] * 32, "a stranger keeps 32 connections"
