"""Arguments of tools: those of a wrong kind are refused with the sentence that mends them, lists and objects are taken where a
text that holds JSON is declared, and toolsets are named by header or address."""

import json

import pytest
import requests
from agent import Agent, OpenPage, Refused
from conftest import HANG_S, unique
from mcp_rig import ALL_TOOLS, NODES, TOOLS, agent, key, kind, on, page, small  # noqa: F401
from test_mcp_modern import Alone

TEXT, FLAG = "it has to be a text, in quotes", "it has to be true or false, without quotes"
SIDE = "it has to be a whole number from 200 to 1600, without quotes"
OUTPUT = 'it has to be one of "shape", "nodes", "edges", "all", a text'
THEME = 'it has to be one of "dark", "light", a text'
OPEN = {"session_id": "here"}
QUERY = {**OPEN, "gfql_operations": "[]"}
NEW = {**QUERY, "name": "n"}
ONE = {**OPEN, "collection_id": "c"}
# The tool, its arguments, and the sentence that mends them.
WRONG = [
    ("list_sessions", {"extra": 1}, 'list_sessions takes no argument "extra"; it takes none'),
    ("list_sessions", {"session_id": "x"}, 'list_sessions takes no argument "session_id"; it takes none'),
    ("get_session_info", {}, f"session_id is missing; {TEXT}"),
    ("get_session_info", {"session_id": None}, f"session_id is missing; {TEXT}"),
    ("get_session_info", {"session_id": 1}, f"session_id is 1, a number; {TEXT}"),
    ("get_session_info", {"session_id": 1.5}, f"session_id is 1.5, a number; {TEXT}"),
    ("get_session_info", {"session_id": True}, f"session_id is true, a truth value; {TEXT}"),
    ("get_session_info", {"session": "x"}, 'get_session_info takes no argument "session"; it takes session_id'),
    ("get_session_info", {**OPEN, "columns": []}, 'get_session_info takes no argument "columns"; it takes session_id'),
    ("query_graph", {}, f"session_id is missing; {TEXT}"),
    ("query_graph", OPEN, f"gfql_operations is missing; {TEXT}"),
    ("query_graph", {"gfql_operations": "[]"}, f"session_id is missing; {TEXT}"),
    ("query_graph", {**QUERY, "session_id": 7}, f"session_id is 7, a number; {TEXT}"),
    ("query_graph", {**OPEN, "gfql_operations": 7}, f"gfql_operations is 7, a number; {TEXT}"),
    ("query_graph", {**OPEN, "gfql_operations": False}, f"gfql_operations is false, a truth value; {TEXT}"),
    ("query_graph", {**OPEN, "gfql_operations": None}, f"gfql_operations is missing; {TEXT}"),
    ("query_graph", {**OPEN, "query": "MATCH (n) RETURN n"}, 'query_graph takes no argument "query"; it takes session_id, gfql_operations, output_type, format'),
    ("query_graph", {**QUERY, "limit": 10}, 'query_graph takes no argument "limit"; it takes session_id, gfql_operations, output_type, format'),
    ("query_graph", {**QUERY, "output_type": "rows"}, f'output_type is "rows", a text; {OUTPUT}'),
    ("query_graph", {**QUERY, "output_type": "Nodes"}, f'output_type is "Nodes", a text; {OUTPUT}'),
    ("query_graph", {**QUERY, "output_type": ""}, f'output_type is "", a text; {OUTPUT}'),
    ("query_graph", {**QUERY, "output_type": 1}, f"output_type is 1, a number; {OUTPUT}"),
    ("query_graph", {**QUERY, "output_type": True}, f"output_type is true, a truth value; {OUTPUT}"),
    ("query_graph", {**QUERY, "output_type": ["nodes"]}, f'output_type is "[\\"nodes\\"]", a text; {OUTPUT}'),
    ("query_graph", {**QUERY, "format": 1}, 'format is 1, a number; it has to be "json", a text'),
    ("query_graph", {**QUERY, "format": True}, 'format is true, a truth value; it has to be "json", a text'),
    ("get_picture", {}, f"session_id is missing; {TEXT}"),
    ("get_picture", {**OPEN, "width": "300"}, f'width is "300", a text; {SIDE}'),
    ("get_picture", {**OPEN, "width": 300.5}, f"width is 300.5, a number; {SIDE}"),
    ("get_picture", {**OPEN, "width": -300}, f"width is -300, a number; {SIDE}"),
    ("get_picture", {**OPEN, "width": 10**12}, f"width is 1000000000000, a number; {SIDE}"),
    ("get_picture", {**OPEN, "width": [300]}, f"width is [300], a list; {SIDE}"),
    ("get_picture", {**OPEN, "height": "tall"}, f'height is "tall", a text; {SIDE}'),
    ("get_picture", {**OPEN, "height": {"px": 300}}, f'height is {{"px":300}}, an object; {SIDE}'),
    ("get_picture", {**OPEN, "height": True}, f"height is true, a truth value; {SIDE}"),
    ("get_picture", {**OPEN, "theme": "blue"}, f'theme is "blue", a text; {THEME}'),
    ("get_picture", {**OPEN, "theme": 0}, f"theme is 0, a number; {THEME}"),
    ("get_picture", {**OPEN, "bundle": "true"}, f'bundle is "true", a text; {FLAG}'),
    ("get_picture", {**OPEN, "bundle": 1}, f"bundle is 1, a number; {FLAG}"),
    ("get_picture", {**OPEN, "bundle": []}, f"bundle is [], a list; {FLAG}"),
    ("get_picture", {**OPEN, "size": 300}, 'get_picture takes no argument "size"; it takes session_id, width, height, theme, bundle'),
    ("create_collection", OPEN, f"name is missing; {TEXT}"),
    ("create_collection", {**OPEN, "name": "n"}, f"gfql_operations is missing; {TEXT}"),
    ("create_collection", {**NEW, "name": 7}, f"name is 7, a number; {TEXT}"),
    ("create_collection", {**NEW, "gfql_operations": 1}, f"gfql_operations is 1, a number; {TEXT}"),
    ("create_collection", {**NEW, "node_color": 0xFF0000}, f"node_color is 16711680, a number; {TEXT}"),
    ("create_collection", {**NEW, "palette": 3}, f"palette is 3, a number; {TEXT}"),
    ("create_collection", {**NEW, "description": False}, f"description is false, a truth value; {TEXT}"),
    ("create_collection", {**NEW, "color": "#ff0000"},
     'create_collection takes no argument "color"; it takes session_id, name, gfql_operations, node_color, palette, description'),
    ("list_collections", {"session_id": -1}, f"session_id is -1, a number; {TEXT}"),
    ("list_collections", {**OPEN, "limit": 5}, 'list_collections takes no argument "limit"; it takes session_id'),
    ("update_collection", OPEN, f"collection_id is missing; {TEXT}"),
    ("update_collection", {**OPEN, "collection_id": 3}, f"collection_id is 3, a number; {TEXT}"),
    ("update_collection", {**ONE, "name": True}, f"name is true, a truth value; {TEXT}"),
    ("update_collection", {**ONE, "node_color": 0}, f"node_color is 0, a number; {TEXT}"),
    ("update_collection", {**ONE, "gfql_operations": "[]"},
     'update_collection takes no argument "gfql_operations"; it takes session_id, collection_id, name, node_color, palette'),
    ("delete_collection", OPEN, f"collection_id is missing; {TEXT}"),
    ("delete_collection", {**OPEN, "collection_id": 0}, f"collection_id is 0, a number; {TEXT}"),
    ("delete_collection", {**OPEN, "name": "n"}, 'delete_collection takes no argument "name"; it takes session_id, collection_id'),
    ("reorder_collections", OPEN, f"order is missing; it has to be a list, each of which is {TEXT[13:]}"),
    ("reorder_collections", {**OPEN, "order": "c"}, f'order is "c", a text; it has to be a list, each of which is {TEXT[13:]}'),
    ("reorder_collections", {**OPEN, "order": {"c": 0}}, f'order is {{"c":0}}, an object; it has to be a list, each of which is {TEXT[13:]}'),
    ("reorder_collections", {**OPEN, "order": ["c", 1]}, f"order[1] is 1, a number; {TEXT}"),
    ("reorder_collections", {**OPEN, "order": [["c"]]}, f'order[0] is ["c"], a list; {TEXT}'),
    ("reset_collections", {}, f"session_id is missing; {TEXT}"),
    ("reset_collections", {**OPEN, "confirm": True}, 'reset_collections takes no argument "confirm"; it takes session_id'),
]


@pytest.fixture(scope="module")
def examples(server, key):
    """What each tool takes, and the right call that its refusals show."""
    tools = {t["name"]: t["inputSchema"] for t in Agent(server, key, path="/mcp/x/all").result("tools/list")["tools"]}
    assert {tool for tool, *_ in WRONG} == set(tools) == set(ALL_TOOLS), "each tool has rows"
    return tools


@pytest.mark.parametrize(("tool", "arguments", "sentence"), WRONG, ids=lambda v: None if isinstance(v, dict) else str(v)[:40])
def test_a_wrong_argument_is_answered_with_the_sentence_that_mends_it(agent, examples, tool, arguments, sentence):
    r = agent.ask("tools/call", {"name": tool, "arguments": arguments})
    error = r.json()["error"]
    assert (r.status_code, error["code"]) == (400, -32602), r.text
    said, right = error["message"].split(f". A right call: {tool} ")
    assert said == sentence
    # The call that is shown is one: each argument is known, none is missing, and the endpoint reads it.
    shown, schema = json.loads(right), examples[tool]
    assert set(schema["required"]) <= set(shown) <= set(schema["properties"])
    if shown:
        assert agent.refusal(tool, **{**shown, "session_id": "no-such-session"}) == (403, -32002)


def test_there_are_as_many_wrong_arguments_as_promised():
    assert len({json.dumps(row) for row in WRONG}) == len(WRONG) >= 60


def test_what_stands_around_the_arguments_is_mended_too(agent, key, server):
    right = '. A right call: {"name":"list_sessions","arguments":{}}'
    for params, said in [
        ({}, "params.name of tools/call is missing; it has to be the name of a tool, a text"),
        ({"name": 7}, "params.name of tools/call is 7, a number; it has to be the name of a tool, a text"),
        ({"name": "list_sessions", "arguments": []}, "params.arguments of tools/call is [], a list; it has to be an object, not its text"),
        ({"name": "list_sessions", "arguments": "{}"}, 'params.arguments of tools/call is "{}", a text; it has to be an object, not its text'),
    ]:
        for asked in (agent, Alone(server, key)):
            r = asked.ask("tools/call", params)
            assert (r.status_code, r.json()["error"]["code"], r.json()["error"]["message"]) == (400, -32602, said + right)
    r = agent.ask("tools/call", {"name": "get_pictures"})
    assert r.json()["error"]["message"] == 'there is no tool "get_pictures"; there are ' + ", ".join(ALL_TOOLS)


def test_lists_and_objects_are_taken_as_their_json_where_a_text_is_declared(on):
    xs = [{"type": "Node", "filter_dict": {"kind": "x"}}]
    assert on("query_graph", gfql_operations=xs) == on("query_graph", gfql_operations=kind("x"))
    # The order of members counts: without a name, the last binding of a Let is its result.
    bindings = {"z": {"type": "Chain", "chain": xs}, "a": {"type": "Chain", "chain": NODES}}
    let = {"type": "Let", "bindings": bindings}
    told = [on("query_graph", gfql_operations=asked)["node_count"] for asked in (let, json.dumps(let))]
    assert told[0] == told[1]
    made = on("create_collection", name="Xs", gfql_operations=xs, node_color="#ff0000")
    assert (made["collection"]["matchCount"], made["replaced"]) == (3, False)
    made = on("create_collection", name={"a": 1}, gfql_operations={"type": "Chain", "chain": NODES})
    assert (made["collection"]["name"], made["collection"]["matchCount"]) == ('{"a":1}', 6)


# ---- ids as texts ------------------------------------------------------------------------------------------------------------

FAR = [9007199254740993, 9007199254740995, -9007199254740997, 7]


@pytest.fixture(scope="module")
def numbered(server, accounts, key):
    """A page on a graph whose ids are whole numbers that no double holds, and an agent's tools on it."""
    alice = server.api("alice")
    rows = "".join(f"{i},{i},{i}\n" for i in FAR)
    nodes = alice.file(f"node,same,text\n{rows}".encode().replace(b",7,7\n", b",7,x\n"), "csv")["file_id"]
    edges = alice.file("".join(["s,d,w\n", *(f"{a},{b},{a}\n" for a, b in zip(FAR, FAR[1:]))]).encode(), "csv")["file_id"]
    dataset = alice.dataset([edges], [nodes], nodes={"node": "node"}, name="Far")
    session = unique("far")
    with OpenPage(server, dataset, session, server.token("alice")):
        agent = Agent(server, key)
        yield dataset, lambda tool, **a: agent.call(tool, session_id=session, **a)


def test_texts_of_digits_find_numbers_by_id(numbered):
    _, on = numbered

    def ids(query):
        told = on("query_graph", gfql_operations=query, output_type="nodes")
        return [row["node"] for row in told.get("rows", told.get("nodes", []))]

    cypher = lambda text: ids(text + " RETURN n.node AS node ORDER BY n.node")  # noqa: E731
    far = str(FAR[0])
    assert set(ids("MATCH (n) RETURN n.node AS node")) == {*map(str, FAR[:3]), 7}, "as they leave"
    for text in [f"MATCH (n) WHERE n.node = '{far}'", f"MATCH (n {{node: '{far}'}})", f"MATCH (n) WHERE id(n) = '{far}'",
                 f"MATCH (n) WHERE n.node = {far}", f"MATCH (n) WHERE n.node IN ['{far}', '1']",
                 f"MATCH (n)-[e]->() WHERE e.s = '{far}'", f"MATCH (n)-[]->({{node: '{FAR[1]}'}})"]:
        assert cypher(text) == [far], text
    step = lambda filter: [{"type": "Node", "filter_dict": filter}]  # noqa: E731
    for steps in [step({"node": far}), step({"node": {"type": "IsIn", "options": [far, "x"]}}), step({"node": {"type": "EQ", "val": far}}),
                  [{"type": "Call", "function": "keep_nodes", "params": {"nodes": [far]}}]]:
        assert ids(json.dumps(steps)) == [far], steps
        assert ids(steps) == [far], "a list as it is"
    hop = [*step({"node": far}), {"type": "Edge", "direction": "forward", "edge_match": {"d": str(FAR[1])}}, *step({})]
    assert sorted(ids(hop)) == sorted(map(str, FAR[:2]))
    made = on("create_collection", name="One", gfql_operations=step({"node": {"type": "IsIn", "options": [far, str(FAR[2])]}}))
    assert made["collection"]["matchCount"] == 2


def test_no_other_column_is_read_so_and_the_rest_interface_is_as_it_was(numbered, server):
    dataset, on = numbered
    count = "MATCH (n) WHERE {} RETURN count(n) AS n"
    ask = lambda where: on("query_graph", gfql_operations=count.format(where), output_type="nodes")["rows"][0]["n"]  # noqa: E731
    far = FAR[0]
    assert ask(f"n.node = '{far}'") == 1
    # A column of the same numbers that holds no ids; one of texts; an id that is not as numbers are written.
    assert ask(f"n.same = '{far}'") == 0 and ask(f"n.same = {far}") == 1
    assert ask(f"n.text = '{far}'") == 1 and ask(f"n.text = {far}") == 0
    assert ask(f"n.node = '0{far}' OR n.node = '+{far}' OR n.node = '{far}.0'") == 0
    told = on("query_graph", gfql_operations=[{"type": "Node", "filter_dict": {"same": str(far)}}])
    assert told["code"] and "compare it with a number" in told["error"], told
    alice = server.api("alice")
    for query, answer in [(f"n.node = '{far}'", 0), (f"n.node = {far}", 1)]:
        r = alice("POST", f"/api/v2/datasets/{dataset}/gfql/nodes", json={"gfql_query": count.format(query), "format": "json"})
        assert r.json() == [{"n": answer}], r.text


def test_ids_that_are_texts_of_digits_stay_texts(server, key):
    alice = server.api("alice")
    nodes = alice.file(b'[{"id": "9007199254740993"}, {"id": "7"}]', "json")["file_id"]
    edges = alice.file(b'[{"s": "9007199254740993", "d": "7"}]', "json")["file_id"]
    dataset = alice.dataset([edges], [nodes], nodes={"node": "id"})
    session = unique("texts")
    with OpenPage(server, dataset, session, server.token("alice")):
        agent = Agent(server, key)
        for text in ["9007199254740993", "7"]:
            asked = agent.call("query_graph", session_id=session, gfql_operations=f"MATCH (n {{id: '{text}'}}) RETURN n.id AS id", output_type="nodes")
            assert asked["rows"] == [{"id": text}], asked
            asked = agent.call("query_graph", session_id=session, gfql_operations=[{"type": "Node", "filter_dict": {"id": text}}])
            assert asked["node_count"] == 1, asked


# ---- toolsets ----------------------------------------------------------------------------------------------------------------


def names(asked, **headers):
    return [t["name"] for t in asked.result("tools/list", **headers)["tools"]]


def test_nine_tools_are_listed_and_all_to_who_asks(server, key, page):
    nine, all = Agent(server, key), Agent(server, key, path="/mcp/x/all")
    assert names(nine) == TOOLS and names(all) == ALL_TOOLS and len(TOOLS) == 9
    for value, listed in [("all", ALL_TOOLS), ("All", ALL_TOOLS), ("default,all", ALL_TOOLS), ("default", TOOLS), ("", TOOLS)]:
        assert names(nine, **{"X-MCP-Toolsets": value}) == listed, value
    assert names(all, **{"X-MCP-Toolsets": "default"}) == ALL_TOOLS, "the address asks for all"
    assert names(Agent(server, key, path="/mcp/x/default")) == TOOLS
    for path, listed in [("/mcp", TOOLS), ("/mcp/x/all", ALL_TOOLS)]:
        assert names(Alone(server, path=path)) == listed
        assert names(Alone(server, path=path), headers={"X-MCP-Toolsets": "all"}) == ALL_TOOLS
    # What is not listed can be called, and a connection is one at both addresses.
    for agent in (nine, all):
        result = agent.result("tools/call", {"name": "get_picture", "arguments": {"session_id": page.session, "width": 300, "height": 200}})
        assert result["content"][0]["type"] == "image"
    nine.url = all.url
    assert names(nine) == ALL_TOOLS


def test_an_unknown_toolset_is_refused_with_those_that_there_are(server, key):
    for path, header in [("/mcp/x/nosuch", None), ("/mcp/x/nosuch", "all"), ("/mcp/x/all", "graphs"), ("/mcp", "all,graphs"), ("/mcp", "*")]:
        agent = Agent(server, key, start=False, path=path)
        hello = agent.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}}, **{"X-MCP-Toolsets": header})
        modern = Alone(server, key, path=path).ask("tools/list", headers={"X-MCP-Toolsets": header})
        held = [requests.request(method, agent.url, headers=agent.headers(**{"X-MCP-Toolsets": header}), timeout=HANG_S)
                for method in ("GET", "DELETE")]
        for r in (hello, modern, *held):
            error = r.json()["error"]
            assert (r.status_code, error["code"]) == (400, -32602), (path, header, r.text)
            assert '"default"' in error["message"] and '"all", at /mcp/x/all' in error["message"], error
            bad = "nosuch" if "nosuch" in path else header.split(",")[-1]
            assert f'"{bad}"' in error["message"], error


def test_both_addresses_have_the_same_rules(server, key, page):
    for path in ("/mcp", "/mcp/x/all"):
        agent = Agent(server, key, path=path)
        assert agent.refusal("get_session_info", session_id="absent") == (403, -32002)
        r = agent.ask("ping", Origin="https://evil.example")
        assert (r.status_code, r.json()["error"]["code"]) == (403, -32002)
        assert agent.post(" " * (2**20 + 1)).json()["error"]["code"] == -32700
        with pytest.raises(Refused) as refused:
            Agent(server, "x", path=path).call("list_sessions")
        assert (refused.value.status, refused.value.code) == (401, -32001)
        r = requests.options(agent.url, headers={"Origin": "https://other.example", "Access-Control-Request-Method": "POST"}, timeout=HANG_S)
        assert "access-control-allow-origin" not in r.headers
        held = requests.get(agent.url, headers=agent.headers(), stream=True, timeout=HANG_S)
        assert held.headers["content-type"].startswith("text/event-stream")
        held.close()
        assert requests.delete(agent.url, headers=agent.headers(), timeout=HANG_S).status_code == 204
        assert agent.ask("ping").status_code == 404
