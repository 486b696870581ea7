"""Pictures that the server draws without a browser."""

import struct

import pytest
import requests
from conftest import Server
from live import Viewer


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    s = Server(tmp_path_factory.mktemp("pictures") / "data").start()
    yield s
    assert s.stop() == 0, s.output()


@pytest.fixture(scope="module")
def session(server):
    api = server.api()
    ring = "".join(f"{i},{(i + 1) % 60}\\n" for i in range(60))
    dataset = api.dataset([api.file(("s,d\\n" + ring).encode(), "csv")["file_id"]])
    headers = {"Authorization": f"Bearer {server.token()}"}
    page = requests.get(f"{server.url}/graph/graph.html?dataset={dataset}&play=0", headers=headers)
    name = page.url.split("session=")[1].split("&")[0]
    viewer = Viewer(server, dataset, name, headers=headers)
    viewer.until(lambda: viewer.frames)
    yield name
    viewer.close()


def asked(server, session, query, headers=None):
    headers = headers or {"Authorization": f"Bearer {server.token()}"}
    return requests.get(f"{server.url}/viz/{session}/picture.png?{query}", headers=headers)


def sides(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert depth == 8
    return width, height, {2: "rgb", 6: "rgba"}[kind]


def test_a_picture_has_the_size_and_the_background_that_were_asked_for(server, session):
    r = asked(server, session, "")
    assert r.status_code == 200 and r.headers["content-type"] == "image/png", r.text[:300]
    assert sides(r.content) == (1440, 900, "rgb")
    clear = asked(server, session, "width=300&height=200&transparent=true&theme=light")
    assert sides(clear.content) == (300, 200, "rgba")
    dark, light = (asked(server, session, f"width=300&height=200&theme={t}").content for t in ("dark", "light"))
    assert dark != light
    assert asked(server, session, "width=300&height=200").content == dark, "the same picture twice"


@pytest.mark.parametrize("query,field", [
    ("width=9000", "width"), ("height=2", "height"), ("width=wide", "width"), ("theme=blue", "theme"), ("transparent=7", "transparent"),
])
def test_what_cannot_be_drawn_is_refused_by_name(server, session, query, field):
    r = asked(server, session, query)
    assert r.status_code == 400 and field in r.text, r.text[:300]


def test_who_may_not_look_gets_no_picture(server, session):
    mine, other = asked(server, session, ""), asked(server, "nobody-has-it", "")
    assert mine.status_code == 200 and other.status_code == 404, other.text[:300]
