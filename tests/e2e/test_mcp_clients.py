"""The official clients, and an agent with ten questions."""

import asyncio
import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest
from agent import Agent, OpenPage
from conftest import HANG_S, ROOT, unique
from mcp_rig import ALL_TOOLS, TOOLS, key, kind, page, small  # noqa: F401

sys.path.insert(0, str(ROOT / "bench/data"))
import debian_graph  # noqa: E402
from test_debian_formats import index  # noqa: E402

CLIENTS = ROOT / "tests/clients"


@pytest.mark.parametrize(("path", "listed"), [("/mcp", TOOLS), ("/mcp/x/all", ALL_TOOLS)])
def test_the_official_client_lists_and_calls_every_tool(server, page, key, path, listed):
    import httpx2
    from mcp import Client, ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def drive():
        auth = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(headers=auth, timeout=HANG_S) as http:
            async with streamable_http_client(server.url + path, http_client=http) as streams:
                async with ClientSession(*streams[:2]) as session:
                    info = await session.initialize()
                    assert info.server_info.name == "graphlume" and "GFQL" in info.instructions
                    tools = (await session.list_tools()).tools
                    assert [t.name for t in tools] == listed
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
                    [picture] = (await session.call_tool("get_picture", {"width": 300, "height": 200, **here})).content
                    assert picture.type == "image" and base64.b64decode(picture.data).startswith(b"\x89PNG")
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

    assert asyncio.run(drive()) == len(listed) == (9 if path == "/mcp" else 10)
    assert Client is not None


def node(*args, timeout=HANG_S):
    """Runs one of the clients in tests/clients."""
    assert shutil.which("node"), "Node.js is missing (scripts/test.sh installs it)"
    assert (CLIENTS / "node_modules").is_dir(), "the clients are missing (scripts/test.sh installs them)"
    r = subprocess.run(["node", *args], capture_output=True, text=True, timeout=timeout, cwd=CLIENTS)
    assert r.returncode == 0, f"{args}\n{r.stdout}\n{r.stderr}"
    return json.loads(r.stdout)


def test_the_official_typescript_client_lists_and_calls_every_tool(server, page, key):
    told = node("sdk.mjs", server.url + "/mcp", key, page.session)
    assert (told["tools"], told["all"], told["asked"]) == (TOOLS, ALL_TOOLS, ALL_TOOLS)
    assert set(told["told"]) == set(ALL_TOOLS), "each tool can be called at /mcp"
    assert base64.b64decode(told["told"]["get_picture"]).startswith(b"\x89PNG")
    assert json.loads(told["told"]["create_collection"])["collection"]["matchCount"] == 3
    assert "renamed" in told["told"]["delete_collection"]
    assert "-32002" in told["refused"] or "403" in told["refused"], told["refused"]


@pytest.mark.parametrize(("path", "listed"), [("/mcp", TOOLS), ("/mcp/x/all", ALL_TOOLS)])
@pytest.mark.parametrize("mode", ["auto", "2026-07-28", "legacy"])
def test_the_second_typescript_client_in_each_mode(server, page, key, mode, path, listed):
    told = node("modern.mjs", server.url + path, key, page.session, mode)
    assert told["version"] == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    assert told["tools"] == listed and "nodes: 6" in told["info"] and told["server"]["version"] == "1.0.0"
    assert told["resource"]["open"].startswith(server.url + "/graph/graph.html?dataset=") and told["refused"]


@pytest.mark.parametrize(("path", "listed"), [("/mcp", TOOLS), ("/mcp/x/all", ALL_TOOLS)])
def test_the_first_python_client(server, page, key, path, listed):
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphlume/mcp1"
    assert (folder / "mcp").is_dir(), "the older client is missing (scripts/test.sh installs it)"
    r = subprocess.run([sys.executable, str(CLIENTS / "older.py"), server.url + path, key, page.session],
                       capture_output=True, text=True, timeout=HANG_S, env={**os.environ, "PYTHONPATH": str(folder)})
    assert r.returncode == 0, r.stderr
    told = json.loads(r.stdout)
    assert told["version"] == "2025-11-25" and told["tools"] == listed and "nodes: 6" in told["info"]
    assert told["resource"]["open"].startswith(server.url + "/graph/graph.html?dataset=")


def test_the_inspector_lists_and_calls_on_the_command_line(server, page, key):
    base = ["node_modules/.bin/mcp-inspector", "--cli", server.url + "/mcp", "--transport", "http",
            "--header", f"Authorization: Bearer {key}"]
    assert [t["name"] for t in node(*base, "--method", "tools/list")["tools"]] == TOOLS
    called = node(*base, "--method", "tools/call", "--tool-name", "get_session_info",
                  "--tool-arg", f"session_id={page.session}")
    assert "nodes: 6" in called["content"][0]["text"]


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
