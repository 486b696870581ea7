"""Graphs in frames: of a notebook that was saved to disk, behind a proxy that strips a prefix and does not tell, and of a
site that leads people who are signed in."""

import http.server
import json
import socket
import threading

import graphistry
import pandas as pd
import pytest
import requests
from conftest import PASSWORD, Server, browser, unique
from graphistry.util import make_iframe
from live import Viewer
from test_document import Page

RING = pd.DataFrame({"s": [f"n{i}" for i in range(60)], "d": [f"n{(i * 7 + 1) % 60}" for i in range(60)]})
PREFIX = "/user/ann/proxy/8000"
CALL = [["workbooks", "open", "views", "current", "filters", "add"], ["point:degree > 1"]]
SITES = "'self' http://localhost:*"


def plotted(server, username="admin"):
    """The address that the unchanged client writes into a notebook."""
    graphistry.register(api=3, protocol="http", server=server.server, username=username, password=PASSWORD)
    return graphistry.edges(RING, "s", "d").settings(url_params={"play": 0, "splashAfter": "False"}).plot(render=False)


def seen(address, **more):
    return browser("frame-real.mjs", json.dumps({"address": address, **more}))


def ancestors(server, path, method="GET", **more):
    policy = requests.request(method, server.url + path, headers={"Accept": "text/html"}, **more).headers["content-security-policy"]
    return next((d.removeprefix("frame-ancestors ") for d in policy.split("; ") if d.startswith("frame-ancestors")), None)


def shows_a_picture(out):
    return out["loaded"] and out["lit"] > 0.02 and out["hues"] >= 1


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A server whose operator names who may show graphs in a frame."""
    server = Server(tmp_path_factory.mktemp("named") / "data", "--frame-ancestors", SITES).start()
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """A server whose cookies browsers send in frames of other sites, too."""
    server = Server(tmp_path_factory.mktemp("secure") / "data", "--cookie-secure=true", "--cookie-samesite=None").start()
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="module")
def secure_named(tmp_path_factory):
    options = ["--cookie-secure=true", "--cookie-samesite=None", "--frame-ancestors", SITES]
    server = Server(tmp_path_factory.mktemp("both") / "data", *options).start()
    yield server
    assert server.stop() == 0


# ---- saved notebooks ------------------------------------------------------------------------------------------


def saved(folder, address):
    """A notebook as its program exports it: the client's frame in a file."""
    file = folder / "notebook.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><title>Notebook</title><body>{make_iframe(address, 500)}</body>")
    return file.as_uri()


def test_a_notebook_opened_from_disk_shows_the_picture(server, tmp_path):
    out = seen(saved(tmp_path, plotted(server, "alice")))
    assert shows_a_picture(out) and out["live"], out


def test_a_site_that_is_not_named_shows_none(named, tmp_path):
    """The reverse, without which the test before could not fail."""
    out = seen(saved(tmp_path, plotted(named)))
    assert not out["loaded"], out


def test_graphs_alone_may_be_framed(server, named):
    ours = {"/": "'self'", "/login": "'self'", "/no-such-page": "'self'"}
    for of, graph in ((server, None), (named, SITES)):
        for path, wanted in {**ours, "/graph/graph.html?dataset=Karate": graph, "/graph/graph.html": graph}.items():
            assert ancestors(of, path) == wanted, path
        assert ancestors(of, "/login", "POST", data={"username": "admin", "password": "wrong"}) == "'self'"
    assert "x-frame-options" not in requests.get(f"{server.url}/graph/graph.html?dataset=Karate").headers


# ---- a proxy that strips its prefix ---------------------------------------------------------------------------


class Stripping:
    """A proxy that shows a server under a prefix, takes it off and says nothing of it, as notebook hubs do. What is asked for
    outside the prefix is another program's."""

    def __init__(self, port):
        self.port_behind, self.outside, self.streams = port, [], 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return  # Closed: the test has ended.
            threading.Thread(target=self.serve, args=[client], daemon=True).start()

    def serve(self, client):
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                if not (more := client.recv(65536)):
                    return
                head += more
            head, rest = head.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            method, target, version = lines[0].split(" ")
            if not target.startswith(PREFIX + "/"):
                self.outside.append(target)
                client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            lines[0] = f"{method} {target.removeprefix(PREFIX)} {version}"
            if any(line.lower().startswith("upgrade:") for line in lines):
                self.streams += 1
            else:
                lines = [line for line in lines if not line.lower().startswith("connection:")] + ["Connection: close"]
            with socket.create_connection(("127.0.0.1", self.port_behind)) as behind:
                behind.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + rest)
                threading.Thread(target=self.pass_on, args=[client, behind], daemon=True).start()
                self.pass_on(behind, client)

    @staticmethod
    def pass_on(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # One side has gone, and the other notices.


@pytest.fixture
def stripping(server):
    proxy = Stripping(server.port)
    yield proxy
    proxy.listener.close()


def test_behind_a_proxy_that_strips_its_prefix_the_page_loads_and_streams(server, stripping):
    dataset = plotted(server, "alice").split("dataset=")[1].split("&")[0]
    out = seen(f"{stripping.url}{PREFIX}/graph/graph.html?dataset={dataset}&play=20000&splashAfter=False")
    assert out["url"].startswith(f"{stripping.url}{PREFIX}/graph/graph.html?dataset={dataset}&") and "session=" in out["url"], out
    assert shows_a_picture(out) and out["live"] and stripping.streams >= 1, out
    assert stripping.outside == [] and out["complaints"] == [], (stripping.outside, out)


def test_the_redirect_is_relative(server):
    r = requests.get(f"{server.url}/graph/graph.html?dataset=Karate&x=a%20b", allow_redirects=False)
    assert r.status_code == 302 and r.headers["Location"].startswith("graph.html?dataset=Karate&x=a%20b&session="), r.headers
    assert requests.get(f"{server.url}/graph/graph.html?dataset=Karate").status_code == 200


# ---- a site that leads people who are signed in ---------------------------------------------------------------


@pytest.fixture
def elsewhere():
    """Shows an address in a frame, from another site: to browsers `localhost` is not 127.0.0.1."""

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            shown = self.path.removeprefix("/?")
            body = f"<!doctype html><title>Elsewhere</title><iframe width=900 height=500 src='{shown}'></iframe>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield f"http://localhost:{site.server_port}/?"
    site.shutdown()


def private_graph(server):
    """The address of a graph that its author alone sees, and the author's token."""
    api = server.api()
    dataset = api.dataset([api.file(RING.to_csv(index=False).encode(), "csv")["file_id"]])
    share = {"obj_pk": dataset, "obj_type": "dataset", "mode": "private"}
    api("POST", "/api/v2/share/link/", json=share).raise_for_status()
    token = server.token()
    session = unique("framed")
    address = f"{server.url}/graph/graph.html?dataset={dataset}&session={session}&play=0&splashAfter=False"
    requests.get(address, cookies={"graphlume_jwt": token}).raise_for_status()
    return address, token, dataset, session


def test_a_site_that_nobody_named_shows_people_their_graph_and_can_neither_use_nor_read_it(secure, elsewhere):
    address, token, dataset, session = private_graph(secure)
    out = seen(elsewhere + address, server=secure.url, token=token, calls=CALL)
    assert shows_a_picture(out) and "admin" in out["user"], out
    assert out["answer"]["kind"] == "E" and "--frame-ancestors" in json.dumps(out["answer"]), out
    page = Page(secure, dataset, session, "admin")
    assert not filters(page), page.document
    page.close()


def test_a_site_that_the_operator_names_uses_it(secure_named, elsewhere):
    address, token, dataset, session = private_graph(secure_named)
    out = seen(elsewhere + address, server=secure_named.url, token=token, calls=CALL)
    assert shows_a_picture(out) and out["answer"]["kind"] == "C", out
    page = Page(secure_named, dataset, session, "admin")
    assert [f["rule"] for f in filters(page)] == [{"expr": CALL[1][0]}], page.document
    page.close()


def filters(page):
    return [value for path, value in page.document.items() if path.startswith("filters/")]


def opened(server, dataset, session, token):
    """A viewer as a page is one: by a cookie, from our own origin."""
    headers = {"Cookie": f"graphlume_jwt={token}", "Origin": server.url}
    viewer = Viewer(server, dataset, session, headers=headers)
    viewer.until(lambda: viewer.graph is not None)
    return viewer


def test_in_such_a_frame_the_owner_watches(secure, secure_named, server):
    for of, steers in ((secure, False), (secure_named, True), (server, True)):
        _, token, dataset, session = private_graph(of)
        for query, expected in (("", True), ("&framed=1", steers)):
            viewer = opened(of, dataset + query, session, token)
            hello = viewer.messages[0]
            assert hello["steers"] is expected and hello["framed"] is not expected, hello
            assert any("--frame-ancestors" in n["text"] for n in hello["notices"]) is not expected, hello
            viewer.say({"t": "pin", "index": 0, "x": 0.0, "y": 0.0})
            viewer.say({"t": "do", "id": "one", "label": "x", "changes": [{"path": "look/background", "value": "#123456"}]})
            viewer.until(lambda: any(m.get("id") == "one" for m in viewer.messages))
            done = next(m for m in viewer.messages if m.get("id") == "one")
            assert (done["t"], done["own"]) == ("done", not expected), done
            refused = [m for m in viewer.messages if m["t"] == "error" and m["slug"] == "not-yours"]
            assert bool(refused) is not expected, viewer.messages
            viewer.close()


def test_nobody_uses_a_public_graph_in_any_frame(secure, elsewhere):
    """Who is not signed in has nothing that could be taken: the clients of notebooks and sites go on working."""
    address = plotted(secure)
    out = seen(elsewhere + address, server=secure.url, calls=CALL)
    assert shows_a_picture(out) and out["answer"]["kind"] == "C", out
