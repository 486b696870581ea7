"""Collections in real browsers: what an agent paints is on every screen."""

import json
import subprocess

import numpy as np
import pytest
import requests
from agent import Agent
from conftest import HANG_S, WEB, node_script, page_env, unique, until
from pngs import pixels

RED, BLUE, GREEN = [255, 0, 0], [0, 0, 255], [0, 200, 0]
# Far apart and large, so that the middle of a node is its colour.
PLACES = [("a", 0, 0), ("b", 10, 0), ("c", 0, 10), ("d", 10, 10)]


class Browsers:
    """Pages in headless Chromium that wait for commands."""

    def __init__(self, server):
        self.process = subprocess.Popen(node_script("watch.mjs", server.url), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, cwd=WEB, env=page_env())

    def __call__(self, command, **more):
        self.process.stdin.write(json.dumps({"command": command, **more}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["ok"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(HANG_S)


@pytest.fixture
def browsers(server):
    b = Browsers(server)
    yield b
    b.close()


@pytest.fixture
def placed(alice):
    """Four nodes at the corners of a square, with edges around."""
    rows = "".join(f"{n},{x},{y},40,{'x' if n in 'ab' else 'y'}\n" for n, x, y in PLACES)
    nodes = alice.file(f"id,x,y,size,kind\n{rows}".encode(), "csv")
    edges = alice.file(b"s,d\na,b\nb,d\nd,c\nc,a\n", "csv")
    return alice.dataset([edges["file_id"]], [nodes["file_id"]], name="Square",
                         nodes={"node": "id", "node_x": "x", "node_y": "y", "node_size": "size"})


def kinds(*names):
    return json.dumps([{"type": "Node", "filter_dict": {"id": {"type": "IsIn", "options": list(names)}}}])


def test_what_an_agent_paints_is_on_every_screen(server, browsers, placed, accounts, tmp_path):
    session = unique("shown")
    address = f"dataset={placed}&session={session}&test=1&play=0&pointSize=3&showLabels=false&showCollections=true"
    browsers("open", page="mine", query=address, token=server.token("alice"))
    browsers("open", page="other", query=address)
    pages, every = ["mine", "other"], [0, 1, 2, 3]
    own = browsers("look", page="mine", indices=every)
    assert browsers("look", page="other", indices=every) == own and len({tuple(c) for c in own}) < 4
    agent = Agent(server, ":".join(accounts["key"]))
    here = {"session_id": session}
    assert session in [s["session_id"] for s in agent.call("list_sessions")["sessions"]], "signed in by cookie"

    waits = []

    def shows(colors):
        for page in pages:
            seen = browsers("until", page=page, indices=every, colors=colors, within=1000 * HANG_S)
            assert seen["ms"] is not None, (page, colors, seen)
            waits.append(seen["ms"])

    def panel():
        first, second = (browsers("panel", page=page) for page in pages)
        assert first == second and first["complaints"] == []
        return [tuple(row) for row in first["rows"]]

    red = agent.call("create_collection", **here, name="Left <b>side</b>", gfql_operations=kinds("a", "c"),
                     node_color="#ff0000")["collection"]
    assert red["matchCount"] == 2
    shows([RED, own[1], RED, own[3]])
    rows = panel()
    assert rows[0] == ("Left <b>side</b>", "2", "rgb(255, 0, 0)") and rows[-1][0] == "Everything else"
    agent.call("create_collection", **here, name="Top", gfql_operations=kinds("a", "b"), node_color="#0000ff")
    shows([BLUE, BLUE, RED, own[3]])
    assert [r[0] for r in panel()] == ["Top", "Left <b>side</b>", "Everything else"]
    browsers("shot", page="mine", path=str(tmp_path / "painted.png"))
    agent.call("reorder_collections", **here, order=[red["id"]])
    shows([RED, BLUE, RED, own[3]])
    assert [r[0] for r in panel()] == ["Left <b>side</b>", "Top", "Everything else"]
    agent.call("update_collection", **here, collection_id=red["id"], name="Left", node_color="#00c800")
    shows([GREEN, BLUE, GREEN, own[3]])
    assert panel()[0] == ("Left", "2", "rgb(0, 200, 0)")
    bob = Agent(server, server.token("bob"))
    assert bob.refusal("reset_collections", **here) == (403, -32002), "looking is not owning"
    shows([GREEN, BLUE, GREEN, own[3]])
    agent.call("reset_collections", **here)
    shows(own)
    assert panel() == [("Everything else", None, panel()[0][2])], "asked for, it is there without any"
    print(f"on the screens after {waits} ms")


def test_edges_of_a_path_are_painted_and_get_their_look_back(server, browsers, placed, accounts):
    session = unique("edges")
    address = f"dataset={placed}&session={session}&test=1&play=0&pointSize=3&showLabels=false"
    browsers("open", page="mine", query=address, token=server.token("alice"))
    agent = Agent(server, ":".join(accounts["key"]))
    hop = [{"type": "Node", "filter_dict": {"id": "a"}}, {"type": "Edge", "direction": "forward"}, {"type": "Node"}]
    own = browsers("look", page="mine", indices=[0, 1, 2, 3])
    made = agent.call("create_collection", session_id=session, name="Hop", gfql_operations=json.dumps(hop),
                      node_color="#ff0000")["collection"]
    assert made["matchCount"] == 3, "two nodes and an edge"
    colors = [RED, RED, own[2], own[3]]
    assert browsers("until", page="mine", indices=[0, 1, 2, 3], colors=colors, within=1000 * HANG_S)["ms"] is not None
    browsers("open", page="late", query=address)
    assert browsers("until", page="late", indices=[0, 1, 2, 3], colors=colors, within=1000 * HANG_S)["ms"] is not None
    browsers("close", page="mine")
    reset = {"name": "reset_collections", "arguments": {"session_id": session}}
    until(lambda: agent.ask("tools/call", reset).status_code != 200, "the owner is away")
    assert agent.refusal("reset_collections", session_id=session) == (410, -32004)


def test_collections_are_rows_of_the_legend_unless_the_address_declines_them(server, browsers, placed, accounts):
    session = unique("rows")
    address = f"dataset={placed}&session={session}&test=1&play=0&pointSize=3&showLabels=false"
    browsers("open", page="silent", query=address, token=server.token("alice"))
    browsers("open", page="asks", query=address + "&showCollections=True")
    browsers("open", page="declines", query=address + "&showCollections=False")
    pages = ["silent", "asks", "declines"]
    own = browsers("look", page="silent", indices=[0, 1, 2, 3])
    assert [browsers("title", page=page) for page in pages] == [None, "Collections elements", None]
    agent = Agent(server, ":".join(accounts["key"]))
    agent.call("create_collection", session_id=session, name="Left", gfql_operations=kinds("a", "c"), node_color="#ff0000")
    for page in pages:
        seen = browsers("until", page=page, indices=[0, 1, 2, 3], colors=[RED, own[1], RED, own[3]], within=1000 * HANG_S)
        assert seen["ms"] is not None, (page, seen)
    rows = lambda page: [row[0] for row in browsers("panel", page=page)["rows"]]  # noqa: E731
    assert rows("asks") == rows("silent") == ["Left", "Everything else"] and rows("declines") == []
    assert [browsers("title", page=page) for page in pages] == ["Collections elements", "Collections elements", None]
    assert browsers("title", page="asks", click=True) == "Collections" and rows("asks") == []
    # A click on a row selects what is in it; the last row selects the rest.
    for row, stays in (("Left", 2), ("Everything else", 3)):
        assert browsers("pick", page="silent", row=row) == "2"
        # The panel of the selection covers the other two.
        seen = browsers("look", page="silent", indices=[2, 3])
        assert [max(color) > 90 for color in seen] == [stays == 2, stays == 3], (row, seen)
    # The server's picture has the same rows, on the dark plate of its legend: the swatch of the one is there and red.
    for wanted in (True, False):
        r = requests.get(f"{server.url}/viz/{session}/picture.png",
                         params={"dataset": placed, "legend": str(wanted).lower(), "width": 600, "height": 400, "wait": 0})
        assert r.status_code == 200, r.text
        left = pixels(r.content)[200:, :40, :3].astype(int)
        red = (np.abs(left - np.array(RED)).max(axis=2) < 40).sum()
        assert (red > 40) == wanted, (wanted, red)
