"""The document of a visualization: what its pages and agents change together, take back, and find again."""

import base64
import json
import os
import random
import zlib
from urllib.parse import quote

import numpy as np
import pytest
import requests
from agent import Agent
from conftest import Server, unique
from live import Viewer, bits

# `scripts/long.sh page` takes more.
SEEDS = 10 if os.environ.get("GRAPHLUME_LONG") else 1
MASK = 16


class Page(Viewer):
    """A viewer with a copy of the document, as the page keeps it."""

    def __init__(self, server, dataset, session, user=None):
        self.session, self.dataset = session, dataset
        headers = {"Authorization": f"Bearer {server.token(user)}"} if user else {}
        self.document, self.own, self.answers, self.heard, self.undo, self.asked = None, {}, {}, [], None, 0
        self.counts, self.masks = None, {}
        super().__init__(server, dataset, session, headers=headers)
        self.until(lambda: self.document is not None)

    def step(self, *timeout):
        m = super().step(*timeout)
        if not isinstance(m, dict):
            if m.kind == MASK:
                bits = np.unpackbits(np.frombuffer(m.payload[16:], "u1"), bitorder="little")[:m.count]
                self.masks[m.payload[0]] = bits.astype(bool)
            return m
        if m["t"] == "document":
            self.document, self.own = m["document"], m["own"]
        if m["t"] == "changed":
            self.heard.append(m)
            entries = self.own if m["own"] else self.document
            for change in m["changes"]:
                if change["value"] is None:
                    entries.pop(change["path"], None)
                else:
                    entries[change["path"]] = change["value"]
        if m["t"] == "counts":
            self.counts = m
        if m["t"] == "history":
            self.undo = m["undo"]
        if m["t"] in ("done", "refused"):
            self.answers[m["id"]] = m
        return m

    def ask(self, **message):
        """Sends a step and returns the answer to it."""
        self.asked += 1
        name = f"s{self.asked}"
        self.say({"id": name, **message})
        self.until(lambda: name in self.answers)
        return self.answers[name]

    def do(self, changes, label="step", **more):
        changes = [{"path": path, "value": value} for path, value in changes.items()]
        return self.ask(t="do", label=label, changes=changes, **more)

    def catch_up(self):
        """Hears all that was said before now."""
        answer = self.ask(t="do", label="", changes=[])
        assert answer["t"] == "refused", "a step without changes is none"


def expr(text):
    return {"kind": "filter", "rule": {"expr": text}}


def whole(text, **more):
    return {"kind": "filter", "name": "", "on": True, "order": 0.0, "rule": {"expr": text}, **more}


def upload(api):
    rows = "".join(f"n{i},n{(i * 7 + 1) % 40}\n" for i in range(40))
    nodes = "".join(f"n{i},{i},{'abcd'[i % 4]}\n" for i in range(40))
    node_file = api.file(f"id,x,kind\n{nodes}".encode(), "csv")
    return api.dataset([api.file(f"s,d\n{rows}".encode(), "csv")["file_id"]], [node_file["file_id"]], nodes={"node": "id"})


@pytest.fixture
def graph(alice):
    return upload(alice)


@pytest.fixture
def open_page(server, graph):
    pages = []

    def open_one(session, user="alice", dataset=graph):
        pages.append(Page(server, dataset, session, user))
        return pages[-1]

    yield open_one
    for page in pages:
        page.close()


def test_a_step_arrives_on_every_page_and_is_taken_back_by_whoever_made_it(open_page):
    session = unique("doc")
    first, second = open_page(session), open_page(session)
    done = first.do({"filters/f1": expr("point:x > 3"), "prune_orphans": True}, label="Filter x > 3")
    assert done["t"] == "done" and done["own"] is False, done
    second.until(lambda: second.heard)
    told = second.heard[0]
    assert told["label"] == "Filter x > 3" and told["by"] == {"name": "alice", "kind": "person", "you": True}, told
    assert second.document == {"filters/f1": whole("point:x > 3"), "prune_orphans": True}
    second.until(lambda: second.undo == "Filter x > 3")
    assert second.ask(t="undo")["t"] == "done", "the same account, at another page"
    first.until(lambda: first.document == {})
    assert first.ask(t="undo")["slug"] == "nothing-to-undo"
    assert first.ask(t="redo")["t"] == "done" and first.document["prune_orphans"] is True


def test_what_is_not_possible_is_refused_by_name_and_changes_nothing(open_page):
    page = open_page(unique("doc"))
    page.do({"filters/f1": expr("point:x > 3")})
    for changes, slug, words in [
        ({"filtres/a": expr("x")}, "unknown-path", "filters/<id>"),
        ({"filters/a": {"rule": {"expresion": "x > 1"}}}, "invalid-value", "filters/a.rule"),
        ({"settings/gravity": "strong"}, None, "gravity"),
        ({"pins/9999": [0, 0]}, None, "9999"),
        ({"prune_orphans": True, "look/pointSize": [1]}, "invalid-value", "look/pointSize"),
        ({"collections/c": {"name": "C", "node_color": "reddish", "rule": {"gfql": [{"type": "Node"}]}}}, "invalid-color", "reddish"),
    ]:
        refused = page.do(changes)
        assert refused["t"] == "refused" and words in refused["message"], refused
        assert slug is None or refused["slug"] == slug, refused
    assert page.document == {"filters/f1": whole("point:x > 3")}


def test_pins_and_settings_of_the_document_reach_the_layout_and_go_back(open_page):
    page = open_page(unique("doc"))
    page.until(lambda: page.frames)
    assert page.do({"pins/5": [1000, -1000], "settings/gravity": 3.5})["t"] == "done"
    page.until(lambda: page.state.get("settings", {}).get("gravity") == 3.5)
    page.until(lambda: abs(page.positions[5] - [1000, -1000]).max() < 1)
    assert page.ask(t="undo")["t"] == "done"
    page.until(lambda: page.state["settings"]["gravity"] == 1.0)
    assert page.document == {}
    # linLog has no value of its own at first: the size of the graph decides.
    assert page.do({"settings/linLog": True})["t"] == "done"
    page.until(lambda: page.state["settings"]["linLog"] is True)
    assert page.ask(t="undo")["t"] == "done"
    page.until(lambda: page.state["settings"]["linLog"] is None)


def test_who_may_not_change_the_visualization_changes_filters_for_himself(open_page):
    session = unique("doc")
    owner, guest = open_page(session), open_page(session, user=None)
    done = guest.do({"filters/mine": expr("point:x > 3")}, label="mine")
    assert done["t"] == "done" and done["own"] is True, done
    assert guest.own == {"filters/mine": whole("point:x > 3")} and guest.document == {}
    refused = guest.do({"pins/1": [0, 0]})
    assert refused["slug"] == "not-yours" and "of your own" in refused["message"], refused
    owner.do({"filters/all": expr("point:x < 30")})
    guest.until(lambda: "filters/all" in guest.document)
    owner.catch_up()
    assert owner.own == {} and "filters/mine" not in owner.document
    assert guest.ask(t="undo")["own"] is True and guest.own == {}
    assert guest.ask(t="undo")["slug"] == "nothing-to-undo", "what the owner did is his"


def test_what_an_agent_does_to_collections_is_a_step_and_a_page_takes_collections_in(server, open_page, accounts):
    session = unique("doc")
    page = open_page(session)
    agent = Agent(server, ":".join(accounts["key"]))
    painted = agent.call("create_collection", session_id=session, name="Kind a", node_color="#ff0000",
                         gfql_operations=json.dumps([{"type": "Node", "filter_dict": {"kind": "a"}}]))
    own = painted["collection"]["id"]
    page.until(lambda: f"collections/{own}" in page.document)
    assert page.heard[-1]["by"] == {"name": "alice", "kind": "agent", "you": False}, page.heard[-1]
    entry = page.document[f"collections/{own}"]
    assert entry["name"] == "Kind a" and entry["on"] is True and entry["node_color"] == "#ff0000"
    done = page.do({f"collections/{own}": {**entry, "name": "As", "node_color": "#00ff00"},
                    "collections/b": {"name": "Bs", "node_color": "#0000ff", "order": -1,
                                      "rule": {"gfql": [{"type": "Node", "filter_dict": {"kind": "b"}}]}}})
    assert done["t"] == "done", done
    page.until(lambda: any(m["t"] == "collections" and len(m["collections"]) == 2 for m in page.messages))
    listed = agent.call("list_collections", session_id=session)["collections"]
    assert [(c["name"], c["color"]) for c in listed] == [("Bs", "#0000ff"), ("As", "#00ff00")]
    assert page.ask(t="undo")["t"] == "done"
    assert [c["name"] for c in agent.call("list_collections", session_id=session)["collections"]] == ["Kind a"]
    agent.call("delete_collection", session_id=session, collection_id=own)
    page.until(lambda: f"collections/{own}" not in page.document)


def test_the_document_outlives_the_server(tmp_path):
    server = Server(tmp_path / "data").start()
    dataset = upload(server.api())
    session = unique("doc")
    page = Page(server, dataset, session, "admin")
    page.until(lambda: page.frames)
    done = page.do({"filters/f1": expr("point:x > 3"), "pins/3": [5, 5], "look/pointSize": 2,
                    "collections/c": {"name": "C", "rule": {"gfql": [{"type": "Node"}]}, "node_color": "#ff0000"}})
    assert done["t"] == "done", done
    before = page.document
    assert len(before) == 4
    server.kill()
    page.close()
    server.start()
    again = Page(server, dataset, session, "admin")
    assert again.document == before
    again.until(lambda: again.frames and abs(again.positions[3] - [5, 5]).max() < 0.1)
    assert again.do({"pins/3": None})["t"] == "done", "a pin is let go after all"
    again.close()
    assert server.stop() == 0, server.output()


def visible(page, nodes):
    """Whether these nodes are the visible ones, and the edges among them."""
    page.until(lambda: page.counts and page.counts["nodes"] == len(nodes))
    edges = sum(i in nodes and (i * 7 + 1) % 40 in nodes for i in range(40))
    assert set(np.flatnonzero(page.masks[0])) == set(nodes)
    assert page.masks[1].sum() == edges == page.counts["edges"]


def test_a_page_that_comes_later_is_told_what_is_hidden_after_its_graph(server, graph):
    session = unique("late")
    page = Page(server, graph, session, "alice")
    page.until(lambda: page.frames)
    assert page.do({"filters/f": {"kind": "filter", "rule": {"expr": "point:degree > 1000"}}})["t"] == "done"
    page.until(lambda: page.counts and page.counts["nodes"] == 0)
    late = Page(server, graph, session, "alice")
    kinds = []
    step = late.step

    def noted(*timeout):
        m = step(*timeout)
        kinds.append(m["t"] if isinstance(m, dict) else m.kind)
        return m

    late.step = noted
    # Masks are about the elements of a graph: one that comes before it is of no use to a page.
    late.until(lambda: "graph" in kinds and MASK in kinds[kinds.index("graph"):])
    page.close()
    late.close()


def at(server, page, path, **params):
    return f"{server.url}/viz/{page.session}/{path}", {"dataset": page.dataset, **params}


def test_filters_say_what_is_visible_to_all_and_histograms_follow(server, open_page):
    first = open_page(unique("doc"))
    second = open_page(first.session)
    assert first.do({"filters/f1": expr("point:x >= 10 and point:kind in ('a', 'b')")})["t"] == "done"
    want = {i for i in range(10, 40) if i % 4 < 2}
    visible(first, want)
    visible(second, want)
    assert first.counts["filters"]["f1"] == {"nodes": len(want), "edges": None}
    refused = first.do({"filters/f2": expr("point:kindd = 'a'")})
    assert refused["t"] == "refused" and "kind" in refused["message"], refused
    refused = first.do({"filters/f2": expr("point:x >")})
    assert refused["t"] == "refused" and refused["message"], refused
    first.do({"filters/brush": {"rule": {"brush": {"axis": "node", "column": "x", "range": [0, 19]}}}})
    visible(first, want & set(range(20)))
    url, params = at(server, first, "bins", columns="node:x,node:kind", bins=8)
    answer = requests.get(url, params=params, headers=server_headers(server)).json()
    x, kind = answer["histograms"]
    assert sum(x["total"]) == 40 and sum(x["passing"]) == len(want), "its own brush does not count"
    passing = {v["value"]: v["passing"] for v in kind["values"]}
    inside = want & set(range(20))
    assert passing == {k: sum(i % 4 == "abcd".index(k) for i in inside) for k in "abcd"}, passing
    first.ask(t="undo")
    first.ask(t="undo")
    visible(second, set(range(40)))
    hide = {"kind": "exclusion", "rule": {"nodes": bits([1, 2, 3])}}
    first.do({"filters/hide": hide, "filters/deg": expr("degree > 0")})
    visible(second, set(range(40)) - {1, 2, 3})
    assert second.counts["filters"]["hide"]["nodes"] == 3


def server_headers(server, user="alice"):
    return {"Authorization": f"Bearer {server.token(user)}"}


def test_a_guest_s_own_filters_are_shown_to_him_alone(server, open_page):
    owner = open_page(unique("doc"))
    guest = open_page(owner.session, user=None)
    owner.do({"filters/all": expr("point:x < 30")})
    visible(guest, set(range(30)))
    guest.do({"filters/mine": expr("point:x >= 20")})
    visible(guest, set(range(20, 30)))
    owner.do({"filters/all": expr("point:x < 25")})
    visible(guest, set(range(20, 25)))
    visible(owner, set(range(25)))
    url, params = at(server, guest, "bins", columns="node:kind", viewer=guest.messages[0]["viewer"])
    kind = requests.get(url, params=params).json()["histograms"][0]
    assert sum(v["passing"] for v in kind["values"]) == 5
    guest.ask(t="undo")
    visible(guest, set(range(25)))
    assert guest.do({"filters/all": None})["own"] is True
    visible(guest, set(range(40)))
    visible(owner, set(range(25)))
    guest.do({"filters/all": None})
    visible(guest, set(range(25)))


def test_a_page_that_comes_later_sees_what_is_visible(server, open_page):
    first = open_page(unique("doc"))
    first.do({"filters/f": expr("point:x < 7"), "prune_orphans": True})
    inside = {i for i in range(7)}
    linked = {i for i in inside if (i * 7 + 1) % 40 in inside} | {(i * 7 + 1) % 40 for i in inside if (i * 7 + 1) % 40 in inside}
    visible(first, linked)
    late = open_page(first.session)
    visible(late, linked)
    url, params = at(server, first, "graph")
    told = requests.get(url, params=params).json()
    assert next(m for m in told["messages"] if m["t"] == "counts")["nodes"] == len(linked)


def test_what_a_text_means_is_found(server, open_page):
    page = open_page(unique("doc"))
    page.until(lambda: page.graph)
    for text, form, nodes in [
        ("point:kind = 'a'", "expr", set(range(0, 40, 4))),
        ("MATCH (n) WHERE n.x > 35 RETURN n", "cypher", set(range(36, 40))),
        ('[{"type": "Node", "filter_dict": {"kind": "b"}}]', "gfql", set(range(1, 40, 4))),
    ]:
        url, params = at(server, page, "find")
        found = requests.post(url, params=params, json={"text": text}).json()
        assert found["as"] == form and found["node_count"] == len(nodes), found
        raw = zlib.decompress(base64.b64decode(found["nodes"]), -15)
        assert set(np.flatnonzero(np.unpackbits(np.frombuffer(raw, "u1"), bitorder="little"))) == nodes
        page.do({"filters/found": {"rule": found["rule"]}})
        visible(page, nodes)
    refused = requests.post(url, params=params, json={"text": "point:kin = 'a'"})
    assert refused.status_code == 400 and "kind" in refused.json()["message"], refused.text
    columns = requests.get(*at(server, page, "columns")[:1], params=params).json()["columns"]
    named = {(c["axis"], c["name"]): c for c in columns}
    assert named["node", "degree"]["derived"] and named["node", "x"]["kind"] == "number" and ("edge", "s") in named


def test_a_collection_of_a_selection_is_painted(open_page):
    page = open_page(unique("doc"))
    page.until(lambda: page.graph)
    done = page.do({"collections/c": {"name": "Three", "node_color": "#ff0000", "rule": {"nodes": bits([4, 5, 6])}}})
    assert done["t"] == "done", done
    page.until(lambda: any(m["t"] == "collections" and [c["match_count"] for c in m["collections"]] == [3]
                           for m in page.messages))


def test_colours_and_sizes_follow_a_column_and_go_back(open_page):
    page = open_page(unique("doc"))
    page.until(lambda: page.frames and page.graph)
    before = page.graph["legend"]["node_color"]["title"]

    def shown():
        legends = [m["legend"] for m in page.messages if m["t"] in ("graph", "legend")]
        return legends[-1]

    done = page.do({"encodings/node.color": {"attribute": "kind"}, "encodings/node.size": {"attribute": "x"}})
    assert done["t"] == "done", done
    page.until(lambda: shown()["node_color"]["title"] == "kind")
    assert {e["label"]: e["count"] for e in shown()["node_color"]["entries"]} == dict.fromkeys("abcd", 10)
    assert shown()["node_size"]["title"] == "x" and shown()["node_size"]["max"] == 39
    for column, colors in (("component", {"colors": ["#000000", "#ffffff"]}), ("degree", {})):
        encoding = {"attribute": column, "variation": "continuous", **colors}
        assert page.do({"encodings/node.color": encoding})["t"] == "done"
        page.until(lambda: shown()["node_color"]["title"] == column)
        assert shown()["node_color"]["kind"] == "continuous", "numbers follow a ramp"
    refused = page.do({"encodings/node.color": {"attribute": "kindd"}})
    assert refused["t"] == "refused" and "kind" in refused["message"], refused
    for _ in range(3):
        assert page.ask(t="undo")["t"] == "done"
    page.until(lambda: shown()["node_color"]["title"] in (before, "community") and shown()["node_size"]["title"] == "degree")
    assert page.document == {}


def test_icons_and_opacities_follow_a_column_and_go_back(open_page):
    page = open_page(unique("doc"))
    page.until(lambda: page.frames and page.graph)

    def shown():
        return [m["legend"] for m in page.messages if m["t"] in ("graph", "legend")][-1]

    assert not page.icons and "node_icon" not in shown()
    done = page.do({"encodings/node.icon": {"attribute": "kind"}, "encodings/node.opacity": {"attribute": "x"}})
    assert done["t"] == "done", done
    page.until(lambda: page.icons and "node_icon" in shown())
    assert shown()["node_icon"]["title"] == "kind" and shown()["node_opacity"]["title"] == "x"
    # The values a to d name no icons: each has a shape of its own.
    look = page.icons[-1]
    assert look["title"] == "kind" and len({e["glyph"] for e in look["list"]}) == 4, look
    assert page.ask(t="undo")["t"] == "done"
    page.until(lambda: "node_icon" not in shown())


def test_axes_are_a_step_that_every_page_and_the_picture_shows(server, open_page, graph):
    session = unique("doc")
    page, watching = open_page(session), open_page(session, user=None)
    for one in (page, watching):
        one.until(lambda one=one: one.frames and one.graph)
        assert one.graph["underlay"]["axes"] == []
    headers = {"Authorization": f"Bearer {server.token('alice')}"}

    def rows(one):
        return [m["underlay"]["axes"] for m in one.messages if m["t"] in ("graph", "legend")][-1]

    def picture():
        r = requests.get(f"{server.url}/viz/{session}/picture.svg?wait=0", headers=headers)
        assert r.status_code == 200, r.text
        return r.text

    axes = [{"y": 0, "label": "middle", "external": True, "width": 6}, {"r": "20"}]
    assert page.do({"encodings/node.axis": {"rows": axes}})["t"] == "done"
    drawn = [{"y": 0.0, "label": "middle", "kind": "external", "width": 6.0}, {"r": 20.0, "kind": "plain"}]
    for one in (page, watching):
        one.until(lambda one=one: rows(one) == drawn)
        assert one.document["encodings/node.axis"] == {"rows": axes}
    assert ">middle</text>" in picture()
    late = open_page(session, user=None)
    late.until(lambda: late.frames and late.graph and rows(late) == drawn)
    for wrong, told in [({"rows": [{"r": 1}, {"label": "nowhere"}]}, "encodings/node.axis.rows[1]"),
                        ({"rows": 7}, "give a list of rows"), ({"rows": [{"r": 1}] * 501}, "at most 500")]:
        refused = page.do({"encodings/node.axis": wrong})
        assert refused["t"] == "refused" and told in refused["message"], refused
    refused = watching.do({"encodings/node.axis": {"rows": []}})
    assert refused["t"] == "refused" and refused["slug"] == "not-yours", refused
    assert page.ask(t="undo")["t"] == "done"
    for one in (page, watching, late):
        one.until(lambda one=one: rows(one) == [])
    assert ">middle</text>" not in picture()


def random_step(draw, page):
    dice = draw.randrange(10)
    if dice < 2:
        return page.ask(t="undo")
    if dice < 3:
        return page.ask(t="redo")
    changes = {}
    for _ in range(draw.randrange(1, 4)):
        path = draw.choice(["filters/a", "filters/b", "filters/c", "prune_orphans", "look/pointSize", "settings/gravity", "pins/3"])
        value = {"f": expr(f"point:x > {draw.randrange(40)}"), "r": draw.random() < 0.5, "l": draw.randrange(1, 9),
                 "s": draw.randrange(1, 5), "p": [draw.randrange(9), draw.randrange(9)]}[path[0] if path[0] in "flps" and path != "prune_orphans" else "r"]
        changes[path] = None if draw.random() < 0.25 else value
    more = {"join": draw.choice("xy")} if draw.random() < 0.3 else {}
    return page.do(changes, **more)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_two_pages_and_an_agent_end_with_the_same_document(server, open_page, accounts, seed):
    draw = random.Random(seed)
    session = unique("doc")
    agent = Agent(server, ":".join(accounts["key"]))
    pages = [open_page(session), open_page(session)]
    for round_ in range(60):
        at = draw.randrange(9)
        if at == 8:
            pages[draw.randrange(2)].close()
            pages = [open_page(session) if p.ws.protocol.state.name != "OPEN" else p for p in pages]
        elif at == 7:
            agent.call("create_collection", session_id=session, name=f"C{draw.randrange(3)}", node_color="#00ff00",
                       gfql_operations=json.dumps([{"type": "Node", "filter_dict": {"x": draw.randrange(40)}}]))
        else:
            answer = random_step(draw, pages[at % 2])
            assert answer["t"] == "done" or answer["slug"].startswith("nothing-to-"), answer
    for page in pages:
        page.catch_up()
    assert pages[0].document == pages[1].document and pages[0].document
    fresh = open_page(session)
    assert fresh.document == pages[0].document


def test_collections_of_more_than_50_kib_come_with_the_address(server, graph):
    of = [{"type": "set", "id": f"c{i}", "name": f"Kind {i}", "node_color": "#ff0000", "expr": {"type": "gfql_chain", "gfql": [
        {"type": "Node", "filter_dict": {"x": {"type": "IsIn", "options": [*range(i, 1500 + i)]}}}]}} for i in range(6)]
    text = quote(json.dumps(of, separators=(",", ":")), safe="")
    assert 50 << 10 < len(text) <= 64 << 10, len(text)
    headers = server_headers(server)
    page = requests.get(f"{server.url}/graph/graph.html?dataset={graph}&collections={text}&play=0", headers=headers)
    assert page.status_code == 200, page.text[:300]
    session = page.url.split("session=")[1].split("&")[0]
    viewer = Page(server, graph, session, "alice")
    assert [viewer.document[f"collections/c{i}"]["name"] for i in range(6)] == [f"Kind {i}" for i in range(6)]
    viewer.until(lambda: any(m["t"] == "collections" and [c["match_count"] for c in m["collections"]] == [40 - i for i in range(6)]
                             for m in viewer.messages))
    viewer.close()
