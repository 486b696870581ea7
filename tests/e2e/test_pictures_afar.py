"""What the page shows in place of nodes, in the pictures that the server draws: collapsed nodes, communities, bundled edges."""

import base64
import re

import numpy as np
import pytest
from agent import Agent
from conftest import run_cli, unique
from test_afar import EDGES, edges  # noqa: F401
from test_document import Page
from test_live import session_of
from test_pictures import asked, pixels

ISLAND = 40
# Four islands of forty nodes at given places, blue to the left and red to the right; edges lead from one to the next.
CORNERS = [(-100, 100), (100, 100), (100, -100), (-100, -100)]
BLUE, RED = (0, 0, 255), (255, 0, 0)
# What is within a disc on the usual background: 45 % of it, and of the whole 14 % of what lies behind.
WITHIN = {color: tuple(0.86 * (0.55 * c + 0.45 * b) + 0.14 * b for c, b in zip(color, (19, 22, 30)))
          for color in (BLUE, RED)}
SMALL = {"width": 500, "height": 500, "names": "false", "theme": "dark", "wait": 0}
BARE = {**SMALL, "pointSize": 0.3, "edgeOpacity": 0}


def picture(server, page, query, **kind):
    return asked(server, page.session, query, {"Authorization": f"Bearer {server.token('admin')}"}, **kind)


def near(shown, color, far=14):
    return np.abs(shown[:, :, :3].astype(int) - np.array(color)).max(axis=2) <= far


def even(shown):
    """How many pixels lie in a row of sixteen of nearly one colour, such as within discs."""
    shown = shown[:, :, :3].astype(int)
    same = (np.abs(np.diff(shown, axis=1)).max(axis=2) <= 8) & (shown[:, 1:].max(axis=2) > 50)
    return int(np.lib.stride_tricks.sliding_window_view(same, 15, axis=1).all(axis=2).sum())


@pytest.fixture
def islands(server):
    """A session of the islands, and its page."""
    draw = np.random.default_rng(5)
    rows = ["id,community,x,y,color"]
    for v in range(4 * ISLAND):
        x, y = np.array(CORNERS[v // ISLAND]) + draw.uniform(-40, 40, 2)
        rows.append(f"n{v},{v // ISLAND},{x:.2f},{y:.2f},{'#0000ff' if x < 0 else '#ff0000'}")
    pairs = [(v, v // ISLAND * ISLAND + (v + int(draw.integers(1, ISLAND))) % ISLAND) for v in range(4 * ISLAND)]
    pairs += [(v, (v + ISLAND) % (4 * ISLAND)) for v in range(0, 4 * ISLAND, 4)]
    api = server.api()
    nodes = api.file("\n".join(rows).encode(), "csv")["file_id"]
    ends = api.file(("s,d\n" + "".join(f"n{s},n{d}\n" for s, d in pairs)).encode(), "csv")["file_id"]
    bound = {"node": "id", "node_x": "x", "node_y": "y", "node_color": "color"}
    dataset = api.dataset([ends], [nodes], nodes=bound)
    page = Page(server, dataset, session_of(server, dataset, "&play=0"), "admin")
    yield page
    page.close()


def collapse(page):
    """Two islands are one disc each."""
    for k, name in ((0, "North"), (2, "South")):
        value = {"name": name, "order": k, "rule": {"expr": f"community = {k}"}}
        assert page.do({f"collapsed/g{k}": value})["t"] == "done"


def test_collapsed_nodes_are_one_disc_with_their_number(server, islands):
    before = pixels(picture(server, islands, BARE).content)
    assert near(before, BLUE).sum() > 200 and near(before, WITHIN[BLUE], 20).sum() < 400
    collapse(islands)
    shown = pixels(picture(server, islands, BARE).content)
    # A quarter of the nodes takes 3 % of the picture.
    for color in (BLUE, RED):
        assert 0.7 < near(shown, WITHIN[color], 20).sum() / (0.03 * 500 * 500) < 1.3, near(shown, WITHIN[color], 20).sum()
    named = {**SMALL, "names": "true"}
    text = picture(server, islands, named, kind="svg").text
    assert re.findall(r">(North|South|40)</text>", text) in (["North", "40", "South", "40"], ["South", "40", "North", "40"])
    assert text.count("<circle") == 80, "members that are left, and no others"
    assert picture(server, islands, named, kind="pdf").content.startswith(b"%PDF")
    # What a filter hides is no member of the disc.
    assert islands.do({"filters/f": {"kind": "filter", "rule": {"expr": "x > -110 or community > 0"}}})["t"] == "done"
    fewer = re.findall(r">(\d+)</text>", picture(server, islands, named, kind="svg").text)
    assert sorted(fewer)[-1] == "40" and 5 < int(sorted(fewer)[0]) < 40, fewer
    assert islands.ask(t="undo")["t"] == "done"
    # One step back takes each disc away.
    assert islands.ask(t="undo")["t"] == "done" and islands.ask(t="undo")["t"] == "done"
    islands.until(lambda: islands.document == {})
    assert (pixels(picture(server, islands, BARE).content) == before).all()


def test_edges_between_communities_run_together_where_that_is_asked_for(server, islands):
    straight, bundled = (picture(server, islands, {**SMALL, "bundle": b}, kind="svg").text for b in ("false", "true"))
    curves = [text.count("C") for text in re.findall(r'<path d="[^"]*"', straight) + re.findall(r'<path d="[^"]*"', bundled)]
    assert straight.count("<path") == bundled.count("<path") and sum(curves) >= 30, "those from island to island"
    assert not re.search(r'<path d="M[^"]*C', straight)
    lines = {**SMALL, "pointOpacity": 0, "theme": "dark"}
    shown = [pixels(picture(server, islands, {**lines, "bundle": b}).content).astype(int) for b in ("false", "true")]

    def spread(image):
        """How far the ink halfway from one of the upper islands to the other lies from its middle row."""
        ink = np.clip(image[:200, 245:255, :3].max(axis=2) - 45, 0, None).sum(axis=1)
        rows = np.arange(ink.size)
        middle = (ink * rows).sum() / ink.sum()
        return np.sqrt((ink * (rows - middle) ** 2).sum() / ink.sum())

    far = [spread(image) for image in shown]
    assert 0 < far[1] < 0.75 * far[0], far
    refused = picture(server, islands, {**SMALL, "bundle": "2"})
    assert refused.status_code == 400 and "bundle" in refused.text


def test_a_large_graph_is_communities_from_afar_for_routes_the_command_line_and_agents(server, edges, tmp_path):  # noqa: F811
    api = server.api()
    dataset = api.dataset([api.file(edges, "csv")["file_id"]], edges=EDGES)
    session = unique("afar")
    page = Page(server, dataset, session, "admin")
    query = {"width": 800, "height": 600, "theme": "dark", "wait": 60}
    headers = {"Authorization": f"Bearer {server.token()}"}
    small = pixels(asked(server, session, {**query, "names": "false"}, headers).content)
    nodes = pixels(asked(server, session, {**query, "names": "false", "superGraph": "false", "wait": 0}, headers).content)
    assert even(small) > 0.01 * 800 * 600 > 4 * even(nodes), (even(small), even(nodes))
    key = run_cli("key", "create", "admin", "--data", server.data).stdout.strip()
    seen = {}
    for what, args in (("afar", ()), ("nodes", ("--no-communities",)), ("bundled", ("--no-communities", "--bundle"))):
        out = tmp_path / f"{what}.png"
        run_cli("picture", session, "-o", out, "--server", server.url, "--key", key, "--width", 800, "--height", 600,
                "--theme", "dark", "--no-names", "--wait", 0, *args)
        seen[what] = pixels(out.read_bytes())
    assert (seen["afar"] == small).all() and (seen["nodes"] == nodes).all()
    assert (seen["bundled"] != nodes).any(axis=2).mean() > 0.05
    [image] = Agent(server, key).ask("tools/call", {"name": "get_picture", "arguments": {
        "session_id": session, "width": 800, "height": 600, "theme": "dark"}}, id=1).json()["result"]["content"]
    agent = pixels(base64.b64decode(image["data"]))
    assert even(agent) > 3 * even(nodes), "an agent sees discs, too"
    page.close()
