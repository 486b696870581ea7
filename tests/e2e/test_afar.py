"""The view from afar: the groups that the server finds, and the page's picture of them."""

import random
import zlib

import numpy as np
import pytest
import requests
from conftest import browser, unique
from live import Viewer
from test_document import Page
from test_live import session_of

NODES, PARTS = 6000, 12
EDGES = {"source": "s", "destination": "d"}
NONE = 0xFFFF


def part_of(v):
    return v % PARTS


@pytest.fixture(scope="module")
def edges():
    """A graph of parts: most edges are within one, and a hub of each reaches all of its part."""
    draw = random.Random(3)
    pairs = [(v, part_of(v)) for v in range(PARTS, NODES)]
    for _ in range(3 * NODES):
        v = draw.randrange(NODES)
        w = draw.randrange(NODES) if draw.random() < 0.04 else part_of(v) + PARTS * draw.randrange(NODES // PARTS)
        pairs.append((v, w))
    return ("s,d\n" + "".join(f"n{v},n{w}\n" for v, w in pairs)).encode()


def groups_of(server, dataset):
    """The groups of each level, and the number of the node that each index stands for."""
    session = session_of(server, dataset, "&play=0")
    viewer = Viewer(server, dataset, session)
    viewer.until(lambda: viewer.graph and viewer.frames)
    epoch, n = viewer.graph["epoch"], viewer.graph["node_count"]
    base = f"{server.url}/viz/{session}"
    reply = requests.get(f"{base}/{epoch}/groups.bin", params={"dataset": dataset})
    assert reply.status_code == 200, reply.text
    assert requests.get(f"{base}/{epoch + 1}/groups.bin", params={"dataset": dataset}).status_code == 410
    frame = reply.content
    assert frame[:4] == b"GVZ1" and frame[5] == 21
    payload = zlib.decompress(frame[48:], -15) if frame[6] & 1 else frame[48:]
    levels = int.from_bytes(payload[:4], "little")
    found = np.frombuffer(payload[16:], "<u2").reshape(levels, n)
    names = []
    for first in range(0, n, 200):
        asked = ",".join(map(str, range(first, min(n, first + 200))))
        names += requests.get(f"{base}/names", params={"nodes": asked, "dataset": dataset}).json()["names"]
    viewer.close()
    return found, np.array([int(name[1:]) for name in names])


def purity(groups, parts):
    """Share of the nodes whose part is that of most nodes of their group."""
    held = sum(np.bincount(parts[groups == g]).max() for g in np.unique(groups[groups != NONE]))
    return held / len(parts)


def test_groups_are_the_communities_of_the_graph_the_largest_first_and_finer_ones_lie_in_them(server, alice, edges):
    dataset = alice.dataset([alice.file(edges, "csv")["file_id"]], edges=EDGES)
    (coarse, fine), numbers = groups_of(server, dataset)
    assert purity(coarse, numbers % PARTS) > 0.95
    sizes = np.bincount(coarse[coarse != NONE])
    assert len(sizes) >= PARTS and (np.diff(sizes) <= 0).all()
    for group in np.unique(fine[fine != NONE]):
        assert len(np.unique(coarse[fine == group])) == 1, group


def test_a_column_named_community_has_the_precedence(server, alice, edges):
    rows = "".join(f"n{v},{'xyz'[v % 3] if v % 7 else ''}\n" for v in range(NODES))
    nodes = alice.file(("id,community\n" + rows).encode(), "csv")["file_id"]
    dataset = alice.dataset([alice.file(edges, "csv")["file_id"]], [nodes], edges=EDGES, nodes={"node": "id"})
    (coarse, *_), numbers = groups_of(server, dataset)
    without = numbers % 7 == 0
    assert (coarse[without] == NONE).all()
    assert purity(coarse[~without], numbers[~without] % 3) == 1 and len(np.unique(coarse[~without])) == 3


def test_the_page_shows_the_hubs_names_and_the_colours_of_their_communities(server, alice, edges):
    dataset = alice.dataset([alice.file(edges, "csv")["file_id"]], edges=EDGES)
    seen = browser("afar-real.mjs", f"{server.url}/graph/graph.html?dataset={dataset}&play=3000&theme=dark")
    assert seen["complaints"] == []
    large = [g for g in seen["groups"] if g["level"] == 0 and g["r"] > 15]
    assert {g["name"] for g in large} >= {f"n{v}" for v in range(PARTS)}, [g["name"] for g in seen["groups"]]
    assert sum(g["count"] for g in large) <= NODES
    for group in large:
        # Its own colour, darker: towards the background.
        wanted = np.array(group["color"]) * 0.55 + np.array([14, 17, 22]) * 0.45
        assert np.abs(np.array(group["seen"]) - wanted).max() < 50, group


def test_what_is_collapsed_is_a_step_of_the_document_that_others_see_and_that_is_taken_back(server, edges):
    api = server.api()
    dataset = api.dataset([api.file(edges, "csv")["file_id"]], edges=EDGES)
    session = unique("collapse")
    page = Page(server, dataset, session, "admin")
    other = Page(server, dataset, session, "admin")
    for value, words in [
        ({"name": "A", "rule": {"sets": ["a"]}}, "collapsed/a.rule"),
        ({"name": "A", "rule": {"expr": "degre > 3"}}, "degree"),
        ({"name": "A", "rule": {"expr": "degree > 3"}, "radius": 3}, "radius"),
    ]:
        refused = page.do({"collapsed/a": value})
        assert refused["t"] == "refused" and words in refused["message"], refused
    assert page.document == {}
    value = {"name": "Hubs", "rule": {"expr": "degree > 300"}}
    assert page.do({"collapsed/a": value}, label="Collapse 12 nodes")["t"] == "done"
    other.until(lambda: other.document)
    assert other.document == {"collapsed/a": {"name": "Hubs", "on": True, "order": 0.0, **value}}
    assert other.heard[-1]["label"] == "Collapse 12 nodes"
    query = f"dataset={dataset}&session={session}&play=0&theme=dark&superGraph=false"
    seen = browser("afar-real.mjs", f"{server.url}/graph/graph.html?{query}")
    [disc] = seen["groups"]
    assert (disc["name"], disc["count"], disc["id"]) == ("Hubs", PARTS, "a") and seen["complaints"] == []
    assert np.abs(np.array(disc["seen"]) - [18, 21, 29]).max() < 140, "dark inside, whatever lies behind"
    assert page.ask(t="undo")["t"] == "done"
    other.until(lambda: other.document == {})
    assert browser("afar-real.mjs", f"{server.url}/graph/graph.html?{query}")["groups"] == []
    assert page.ask(t="redo")["t"] == "done"
    other.until(lambda: other.document)
    page.close()
    other.close()
