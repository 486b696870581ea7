"""Pictures that the server draws without a browser: by its routes, for the command line and for agents."""

import base64
import json
import select
import socket
from urllib.parse import urlencode

import graphistry
import numpy as np
import pandas as pd
import pytest
import requests
from agent import Agent
from conftest import HANG_S, PASSWORD, Server, run_cli, unique, until
from live import Viewer
from pngs import pixels, sides


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    s = Server(tmp_path_factory.mktemp("pictures") / "data").start()
    yield s
    assert s.stop() == 0, s.output()


@pytest.fixture(scope="module")
def headers(server):
    return {"Authorization": f"Bearer {server.token()}"}


@pytest.fixture(scope="module")
def plotted(server):
    """A ring as a user of PyGraphistry plots it: sixty nodes of two kinds, named."""
    graphistry.register(api=3, protocol="http", server=server.server, username="admin", password=PASSWORD)
    nodes = pd.DataFrame({"id": range(60), "kind": ["a", "b"] * 30, "title": [f"node {i}" for i in range(60)]})
    edges = pd.DataFrame({"s": range(60), "d": [(i + 1) % 60 for i in range(60)]})
    plot = graphistry.edges(edges, "s", "d").nodes(nodes, "id").bind(point_title="title")
    plot = plot.encode_point_color("kind", categorical_mapping={"a": "#ff0000", "b": "#00ff00"})
    return plot.plot(render=False)


@pytest.fixture(scope="module")
def dataset(plotted):
    return plotted.split("dataset=")[1].split("&")[0]


@pytest.fixture(scope="module")
def session(server, plotted, headers):
    """The session of its page; nobody looks at it, so that the picture has its layout run."""
    address = plotted if plotted.startswith("http") else f"http:{plotted}"
    page = requests.get(address, headers=headers)
    return page.url.split("session=")[1].split("&")[0]


def asked(server, session, query="", headers=None, kind="png"):
    query = query if isinstance(query, str) else urlencode(query)
    return requests.get(f"{server.url}/viz/{session}/picture.{kind}?{query}", headers=headers)


def count(png, rgb):
    return int((pixels(png)[:, :, :3] == rgb).all(axis=2).sum())


RED, GREEN = (255, 0, 0), (0, 255, 0)


def test_a_picture_has_the_size_and_the_background_that_were_asked_for(server, session, headers):
    r = asked(server, session, headers=headers)
    assert r.status_code == 200 and r.headers["content-type"] == "image/png", r.text[:300]
    assert r.headers["cache-control"] == "no-store"
    assert sides(r.content) == (1440, 900, "rgb")
    clear = asked(server, session, "width=300&height=200&scale=2&background=none&theme=light", headers)
    assert sides(clear.content) == (600, 400, "rgba")
    assert pixels(clear.content)[0, 0, 3] == 0
    dark, light = (asked(server, session, f"width=300&height=200&theme={t}", headers).content for t in ("dark", "light"))
    assert pixels(dark)[0, 0].max() < 40 < 220 < pixels(light)[0, 0].min()
    assert asked(server, session, "width=300&height=200", headers).content == dark, "the same picture twice"
    blue = asked(server, session, {"width": 300, "height": 200, "background": "#102030"}, headers)
    assert tuple(pixels(blue.content)[0, 0]) == (16, 32, 48)


def test_a_picture_shows_the_window_the_names_and_the_legend(server, session, headers):
    small = {"width": 400, "height": 300}
    bare = asked(server, session, {**small, "names": "false"}, headers).content
    named = asked(server, session, {**small, "names": "true"}, headers).content
    told = asked(server, session, {**small, "names": "false", "legend": "true", "title": "Ring"}, headers).content
    letters = [int((pixels(p).min(axis=2) > 200).sum()) for p in (bare, named, told)]
    assert letters[0] == 0 and letters[1] > 100 and letters[2] > 100, letters
    assert count(told, RED) > 60 and (pixels(told)[200:, :40] == RED).all(axis=2).any(), "a swatch at the lower left"
    empty = asked(server, session, {**small, "names": "false", "left": 1e6, "right": 2e6, "top": 1e6, "bottom": 0}, headers)
    assert count(empty.content, RED) == count(empty.content, GREEN) == 0 < count(bare, RED)


def test_filters_and_looks_of_the_session_are_in_its_picture(server, session, dataset, headers):
    page = Viewer(server, dataset, session, headers=headers)
    page.until(lambda: page.frames)
    viewer = next(m for m in page.messages if m["t"] == "hello")["viewer"]
    small = "width=400&height=300&names=false"
    before = asked(server, session, small, headers).content

    def do(**changes):
        step = {"label": "test", "changes": [{"path": k.replace("__", "/"), "value": v} for k, v in changes.items()]}
        r = requests.post(f"{server.url}/viz/{session}/do?viewer={viewer}", json=step, headers=headers)
        assert r.json()["t"] == "done", r.text

    do(filters__f={"kind": "filter", "rule": {"expr": "kind = 'a'"}}, look__background="#ffffff")
    after = asked(server, session, small, headers).content
    assert count(before, GREEN) > 50 and count(after, GREEN) == 0 < count(after, RED)
    assert tuple(pixels(after)[0, 0]) == (255, 255, 255)
    svg = asked(server, session, small, headers, "svg").text
    assert svg.count("<circle") == 30
    do(filters__f=None, look__background=None)
    assert asked(server, session, small, headers).content == before
    page.close()


def test_shapes_and_texts_are_files_of_their_kinds(server, session, headers):
    svg = asked(server, session, "title=A+%26+B", headers, "svg")
    assert svg.headers["content-type"] == "image/svg+xml"
    # Made of names that people choose: as a document it runs nothing and belongs to no origin.
    assert svg.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    assert svg.headers["content-disposition"] == 'attachment; filename="picture.svg"'
    assert svg.text.startswith("<svg") and "A &amp; B" in svg.text and ">node " in svg.text
    assert svg.text.count("<circle") == 60 and svg.text.count("<path") == 60
    pdf = asked(server, session, "", headers, "pdf")
    assert pdf.headers["content-type"] == "application/pdf"
    assert pdf.content.startswith(b"%PDF-") and pdf.content.endswith(b"%%EOF")


def test_too_many_elements_for_shapes_name_the_limit(server, headers):
    api = server.api()
    edges = "".join(f"{i},{i + 1}\n" for i in range(10_001))
    dataset = api.dataset([api.file(("s,d\n" + edges).encode(), "csv")["file_id"]])
    here = f"dataset={dataset}&wait=0"
    r = asked(server, unique("many"), here, headers, "svg")
    assert r.status_code == 400 and r.json()["slug"] == "picture-elements", r.text[:300]
    assert "20000" in r.text and "PNG" in r.text
    assert asked(server, unique("many"), f"{here}&width=100&height=100", headers).status_code == 200


@pytest.mark.parametrize("query,field,legal", [
    ("width=9000", "width", "16 to 8192"), ("height=2", "height", "16 to 8192"), ("width=wide", "width", "16 to 8192"),
    ("theme=blue", "theme", "dark or light"), ("background=wall", "background", "none"), ("scale=9", "scale", "0.25 to 8"),
    ("width=8000&height=8000", "scale", "40000000"), ("left=1", "right", "none of them"),
    ("left=2&right=1&top=1&bottom=0", "left", "less than"), ("wait=100", "wait", "0 to 60"),
    ("legend=perhaps", "legend", "true or false"),
])
def test_what_cannot_be_drawn_is_refused_by_name(server, session, headers, query, field, legal):
    r = asked(server, session, query, headers)
    assert r.status_code == 400 and field in r.text and legal in r.text, r.text[:300]
    assert asked(server, session, "viewer=nobody", headers).status_code == 404


def test_who_may_not_look_gets_no_picture(server, headers):
    api = server.api()
    private = api.dataset([api.file(b"s,d\na,b\n", "csv")["file_id"]])
    body = {"obj_pk": private, "obj_type": "dataset", "mode": "private"}
    assert requests.post(f"{server.url}/api/v2/share/link/", headers=headers, json=body).ok
    mine, other = unique("mine"), unique("other")
    query = f"dataset={private}&width=64&height=64"
    assert asked(server, mine, query, headers).status_code == 200
    for kind in ("png", "svg", "pdf"):
        assert asked(server, mine, query, None, kind).status_code == 404
        assert asked(server, other, "", headers, kind).status_code == 404, "no such session"


def test_one_picture_of_a_session_at_a_time_and_none_for_those_who_hang_up(server, headers):
    api = server.api()
    draw = np.random.default_rng(7)
    edges = "".join(f"{a},{b}\n" for a, b in draw.integers(0, 40_000, (90_000, 2)))
    dataset = api.dataset([api.file(("s,d\n" + edges).encode(), "csv")["file_id"]])
    session = unique("busy")
    here = f"/viz/{session}/picture.png?dataset={dataset}&width=64&height=64"
    head = f"GET {here}&wait=60 HTTP/1.1\r\nHost: {server.server}\r\nAuthorization: {headers['Authorization']}\r\n\r\n"
    waiting = [socket.create_connection(server.server.split(":")) for _ in range(3)]
    for one in waiting:
        one.sendall(head.encode())
    refused = []
    while len(refused) < 2:
        for one in select.select([w for w in waiting if w not in refused], [], [], HANG_S)[0]:
            told = one.recv(4_096).decode()
            assert told.startswith("HTTP/1.1 429") and "one at a time" in told and "retry-after: 1" in told, told
            refused.append(one)
    # The third waits for the layout; its turn ends with its connection.
    for one in waiting:
        one.close()
    until(lambda: requests.get(f"{server.url}{here}&wait=0", headers=headers).status_code == 200, "the turn to be over")


def test_the_command_line_writes_a_picture(server, dataset, session, tmp_path):
    key = run_cli("key", "create", "admin", "--data", server.data).stdout.strip()
    here = ("--server", server.url, "--key", key, "--width", 200, "--height", 100)
    for what in (dataset, session):
        out = tmp_path / f"{what}.png"
        run_cli("picture", what, "-o", out, *here, "--scale", 2, "--legend")
        assert sides(out.read_bytes()) == (400, 200, "rgb")
    run_cli("picture", session, "-o", tmp_path / "x.svg", *here, "--title", "a<b")
    assert "a&lt;b" in (tmp_path / "x.svg").read_text()
    for args, told in [
        (("nothing", "-o", tmp_path / "x.png", *here), "dataset not found: nothing; GET /api/v2/datasets/ lists"),
        (("nothing", "-o", tmp_path / "x.png", "--server", server.url), "nothing: no session or dataset of that id"),
        (("nothing", "-o", tmp_path / "x.png", "--server", server.url), "--key takes the key"),
        ((session, "-o", tmp_path / "x.gif", *here), ".svg or .pdf"),
        ((session, "-o", tmp_path / "y.png", *here, "--theme", "blue"), "dark or light"),
        ((session, "-o", tmp_path / "y.png", "--server", "https://x"), "--server https://x"),
    ]:
        failed = run_cli("picture", *args, check=False)
        assert failed.returncode == 1 and told in failed.stderr, failed.stderr
    assert not (tmp_path / "y.png").exists()


def test_an_agent_looks_at_the_picture(server, dataset, headers):
    key = run_cli("key", "create", "admin", "--data", server.data).stdout.strip()
    session = unique("seen")
    page = Viewer(server, dataset, session, headers=headers)
    page.until(lambda: page.frames)
    agent = Agent(server, key)

    def call(**arguments):
        return agent.ask("tools/call", {"name": "get_picture", "arguments": {"session_id": session, **arguments}}, id=1)

    [image] = call(width=400, height=300).json()["result"]["content"]
    assert (image["type"], image["mimeType"]) == ("image", "image/png")
    png = base64.b64decode(image["data"])
    assert sides(png) == (400, 300, "rgb") and count(png, RED) > 50
    refused = json.loads(call(width=4000).json()["result"]["content"][0]["text"])
    assert refused["field"] == "width" and "200 to 1600" in refused["error"]
    page.close()
