"""What the tools do on an open page."""

import json
import threading

import requests
from agent import Agent, OpenPage
from conftest import Server, unique, until
from mcp_rig import agent, key, kind, on, page, small  # noqa: F401


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
    stage = on("query_graph", gfql_operations="GRAPH { MATCH (n {kind: 'x'}) }", output_type="all")
    assert (stage["result"], stage["node_count"], stage["edge_count"]) == ("graph", 3, 0) and "n" in stage["nodes"][0]


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
            until(lambda: agent.call("list_collections", session_id=session) == before, "the list of before")
            until(lambda: [c["match_count"] for c in page.collections["collections"]] == [1, 1, 1], "they are painted")
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

        def counted():
            listed = agent.call("list_collections", session_id=session)
            counts = [(c["id"], c["matchCount"]) for c in listed["collections"]]
            return counts == [("c1", 4), ("c2", 3), ("c3", 2)] and listed

        listed = until(counted, "the collections of the address")
        assert listed["background"]["color"] == "#333333" and page.collections["background"] == ["#333333"]
        agent.call("create_collection", session_id=session, name="Mine", gfql_operations=kind("y"))
        names = [c["name"] for c in agent.call("list_collections", session_id=session)["collections"]]
        assert names == ["Mine", "Big", "Xs", "Both"], "one list"
