"""Bad input, odd circumstances and lost rights, each against a real server: nothing fails that need not."""

import concurrent.futures
import json
import os
import random
import re
import socket
import subprocess
import threading
import time

import pyarrow as pa
import pytest
import requests
from websockets.exceptions import ConnectionClosed, InvalidStatus

from conftest import HANG_S, Server, binary, counted, free_port, run_cli, unique, until
from live import Viewer
from test_rest import arrow_file, arrow_stream, parquet


def graph_of(alice, name="a", n=30):
    rows = b"".join(b"%s%d,%s%d\n" % (name.encode(), i, name.encode(), i + 1) for i in range(n))
    return alice.dataset([alice.file(b"s,d\n" + rows, "csv")["file_id"]])


def share(api, dataset, mode):
    r = api("POST", "/api/v2/share/link/", json={"obj_pk": dataset, "obj_type": "dataset", "mode": mode})
    assert r.status_code == 200, r.text


# Rights


def test_a_graph_made_private_leaves_its_viewers_at_once(server, alice):
    dataset, session = graph_of(alice), unique("s")
    stranger = Viewer(server, dataset, session)
    owner = Viewer(server, dataset, session, headers=dict(alice.session.headers))
    for viewer in (stranger, owner):
        viewer.until(lambda: viewer.graph and viewer.frames)
    share(alice, dataset, "private")
    with pytest.raises(ConnectionClosed) as caught:
        stranger.until(lambda: False)
    assert caught.value.rcvd.code in (4401, 4404)
    seen = owner.frames
    owner.ws.send(json.dumps({"t": "play", "on": True, "ms": 500}))
    owner.until(lambda: owner.frames > seen)
    owner.close()


def test_nothing_of_a_private_graph_is_served_to_strangers(server, alice, bob):
    mine, public, session = graph_of(alice, "secret"), graph_of(alice), unique("s")
    share(alice, mine, "private")
    owner = Viewer(server, mine, session, headers=dict(alice.session.headers))
    owner.until(lambda: owner.graph and owner.frames)
    epoch = owner.graph["epoch"]
    paths = ["node/0", "edge/0", "search?q=secret", "frame", f"{epoch}/edges.bin", f"{epoch}/positions.bin"]
    for get in (lambda url: requests.get(url), lambda url: bob("GET", url.removeprefix(server.url))):
        for path in paths:
            for query in ("", f"dataset={mine}", f"dataset={public}"):
                url = f"{server.url}/viz/{session}/{path}{'&' if '?' in path else '?'}{query}"
                r = get(url)
                assert r.status_code in (401, 404, 409) and b"secret0" not in r.content, (url, r.content[:200])
    for dataset in (mine, public):
        with pytest.raises(ConnectionClosed):
            Viewer(server, dataset, session).until(lambda: False)
    owner.close()


def test_the_cookie_opens_pages_and_nothing_else(server, alice):
    dataset = graph_of(alice)
    share(alice, dataset, "private")
    token = alice.session.headers["Authorization"].removeprefix("Bearer ")
    cookies = {"graphlume_jwt": token}
    r = requests.get(f"{server.url}/graph/graph.html?dataset={dataset}", cookies=cookies)
    assert r.status_code == 200
    session = re.search(r"session=(\w+)", r.url).group(1)
    cookie = {"Cookie": f"graphlume_jwt={token}"}
    viewer = Viewer(server, dataset, session, headers={**cookie, "Origin": server.url})
    viewer.until(lambda: viewer.frames)
    viewer.close()
    # Browsers say whose page opens a stream: a cookie that comes without that, or from elsewhere, is refused.
    for origin in ({}, {"Origin": "https://elsewhere.example"}, {"Origin": "null"}):
        with pytest.raises(InvalidStatus) as caught:
            Viewer(server, dataset, session, headers={**cookie, **origin})
        assert caught.value.response.status_code == 403, origin
    # A page of somebody else's must not be able to delete with the visitor's cookie.
    assert requests.delete(f"{server.url}/api/v2/datasets/{dataset}", cookies=cookies).status_code == 401
    assert requests.get(f"{server.url}/api/v2/files/", cookies=cookies).status_code == 401


def test_a_taken_session_name_does_not_tell_what_it_shows(server, alice):
    first, second, session = graph_of(alice, "x"), graph_of(alice, "y"), unique("s")
    viewer = Viewer(server, first, session)
    viewer.until(lambda: viewer.frames)
    other = Viewer(server, second, session)
    with pytest.raises(ConnectionClosed) as caught:
        other.until(lambda: False)
    assert caught.value.rcvd.code == 4410
    assert not any(first in json.dumps(m) for m in other.messages), other.messages
    viewer.close()


# Bad input


def mutated(rng, body):
    body = bytearray(body)
    for _ in range(rng.choice([1, 1, 3, 20])):
        at = rng.randrange(len(body))
        match rng.randrange(5):
            case 0:
                body[at] = rng.randrange(256)
            case 1:
                del body[at:at + rng.randrange(1, 20)]
            case 2:
                body[at:at] = rng.randbytes(rng.randrange(1, 9))
            case 3:
                body[at:at + 4] = rng.choice([b"\xff\xff\xff\x7f", b"\xff" * 4, b"\0\0\0\x80", bytes(4)])
            case _:
                body = body[:at] or body
        if not body:
            return b"x"
    return bytes(body)


def test_damaged_tables_are_answered_in_one_line_and_the_log_stays_readable(fresh):
    """Some damage trips a check inside a decoder: that is an answer too, and no stack trace in the log."""
    api, rng = fresh.api(), random.Random(7)
    table = pa.table({
        "s": ["a", "b", None, "é"] * 5, "d": ["b", "c", "a", "x"] * 5, "w": [1.5, float("nan"), None, 2.0] * 5,
        "l": [[1], [], None, [2, 3]] * 5, "c": pa.array(["x", "y", "x", None] * 5).dictionary_encode(),
        "t": pa.array([1, 2, 3, None] * 5, pa.timestamp("us", "UTC")), "b": [True, None, False, True] * 5})
    seeds = {"arrow": [arrow_file(table), arrow_stream(table)],
             "parquet": [parquet(table), parquet(table, compression="zstd", use_dictionary=False)],
             "csv": [b's,d,w\n1,2,3\n"a ""q""",b,\n'], "json": [b'[{"s":1,"d":2},{"s":"a","d":null}]']}
    files = {t: api("POST", "/api/v2/files/", json={"file_type": t}).json()["file_id"] for t in seeds}
    for _ in range(1200):
        kind = rng.choice(["arrow", "arrow", "arrow", "parquet", "csv", "json"])
        body = mutated(rng, rng.choice(seeds[kind]))
        r = api("POST", f"/api/v2/upload/files/{files[kind]}", data=body, timeout=HANG_S)
        assert r.status_code == 200, (kind, body, r.text)
        record = r.json()
        assert record["is_valid"] == (not record["errors"])
        for error in record["errors"]:
            assert error["message"] and error["slug"] and "\n" not in error["message"], error
            assert len(error["message"]) < 500 and "defect" not in error["message"], error
    log = (fresh.data.parent / f"{fresh.data.name}.log").read_text()
    assert "stack backtrace" not in log and "panicked at" not in log


JSON_BODIES = [
    b"", b"[" * 100_000, b'{"a":' * 100_000, b"1e999", b"NaN", b"null", b"[]", b'"x"', b'{"name":"\\ud800"}',
    b'\xef\xbb\xbf{"name": 5}', "{}".encode("utf-16"), b"\xff\xfe\x00", b'{"name":1,"name":2}',
    b'"' + b"9" * 900_000 + b'"', b'{"file_type":[{}]}', b'{"obj_pk":{},"mode_action":[]}',
    b'{"token":{"a":1}}', b'{"name":"x","metadata":{},"node_encodings":{"bindings":{"node":[]}},"edge_encodings":5}',
]


def test_no_json_body_is_a_server_error(server, alice):
    paths = requests.get(f"{server.url}/openapi.json").json()["paths"]
    asked = 0
    for path, methods in paths.items():
        if path == "/logout":
            # Takes no body: whatever comes with it, the session ends.
            continue
        for method in set(methods) & {"post", "patch", "put"}:
            url = re.sub(r"\{\w+\}", "0" * 32, path)
            for body in JSON_BODIES:
                r = alice(method, url, data=body, headers={"Content-Type": "application/json"}, timeout=HANG_S)
                if path == "/api/v2/users/me/keys/" and r.status_code == 201:
                    # No body and any object will do: a label is all that one may give.
                    continue
                assert 400 <= r.status_code < 500, (method, url, body[:80], r.status_code, r.text[:200])
                if path.startswith("/mcp"):
                    # The form of its own protocol.
                    assert r.json()["error"]["code"] < 0 and r.json()["error"]["message"], r.text
                elif path == "/login" and r.headers["Content-Type"].startswith("text/html"):
                    # A form of people is answered with a page.
                    assert "<h1" in r.text, (url, r.text[:200])
                else:
                    assert r.json()["success"] is False and r.json()["message"], (url, r.text)
                asked += 1
    assert asked > 150


def test_a_wrong_kind_of_value_is_named_for_what_it_is(alice):
    r = alice("POST", "/api/v2/share/link/", json={"obj_pk": "x", "mode_action": ["10"]})
    assert r.status_code == 400 and r.json()["message"] == "mode_action is a JSON array; expected a string"


def raw(server, text, half_close=False):
    """Everything that the server says until it ends the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S) as s:
        s.sendall(text.encode() if isinstance(text, str) else text)
        if half_close:
            s.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: s.recv(65536), b""))


def test_broken_framing_is_refused_and_leaves_the_file_as_it_was(server, alice):
    f = alice.file(b"s,d\n1,2\n", "csv")
    head = (f"POST /api/v2/upload/files/{f['file_id']} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Authorization: {alice.session.headers['Authorization']}\r\n")
    for rest in ("Content-Length: 100\r\n\r\ns,d\n3,4\n", "Transfer-Encoding: chunked\r\n\r\n4\r\ns,d\n\r\n9\r\n3,4",
                 "Transfer-Encoding: chunked\r\n\r\nzz\r\ns,d\n\r\n", "Content-Length: -5\r\n\r\n",
                 "Content-Length: 4\r\nContent-Length: 5\r\n\r\ns,d\n3", "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"):
        answer = raw(server, head + rest, half_close=True)
        assert answer.startswith(b"HTTP/1.1 400"), (rest, answer[:200])
    # A length beside chunks: the chunks hold, and nothing after them is taken for a request.
    answer = raw(server, head.replace("Connection: close\r\n", "") + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "8\r\ns,d\n5,6\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.count(b"HTTP/1.1") == 1 and b"connection: close" in answer.lower()
    assert alice("GET", f"/api/v2/files/{f['file_id']}").json()["is_valid"] is True


def test_the_address_of_a_page_carries_nothing_into_the_headers(server, alice):
    dataset = graph_of(alice)
    for query in ("x=%0d%0aSet-Cookie:%20a=b", "x=é", "x=%F0%28", "gravity=NaN&play=1e999", "<script>", "a" * 7000):
        r = requests.get(f"{server.url}/graph/graph.html?dataset={dataset}&{query}", allow_redirects=False)
        assert r.status_code == 302 and "set-cookie" not in r.headers, query
        assert r.headers["Location"].startswith(f"graph.html?dataset={dataset}&")
    for name in ("x" * 200, "a b", "a%0d%0aX: y", "..", "a/b"):
        r = requests.get(f"{server.url}/graph/graph.html?dataset={dataset}&workbook={name}", allow_redirects=False)
        assert r.status_code == 400 and r.json()["field"] == "session", (name, r.text)
    r = requests.get(f"{server.url}/healthz?{'a' * 9000}")
    assert r.status_code == 414 and "8192" in r.json()["message"]
    assert requests.get(f"{server.url}/graph/graph.html?dataset={'a' * 9000}").status_code == 404, "the page reads more"
    assert requests.get(f"{server.url}/graph/graph.html?dataset={'a' * 70000}").status_code in (414, 431)


def test_odd_values_make_a_picture_of_finite_positions(server, alice):
    edges = alice.file(b"s,d,w,c\na,b,nan,red\nb,c,inf,#fff\nc,d,-inf,nope\nd,a,1e308,\na,a,-1,5\n,b,1,1\na,,1,1\n", "csv")
    nodes = alice.file(b"id,x,y,sz,col\na,nan,1,inf,red\nb,inf,2,-5,16711680\nc,1e308,-1e308,nan,#zzzzzz\nc,2,2,2,2\nzz,3,3,3,3\n", "csv")
    dataset = alice.dataset(
        [edges["file_id"]], [nodes["file_id"]],
        {"source": "s", "destination": "d", "edge_weight": "w", "edge_color": "c", "edge_size": "w"},
        {"node": "id", "node_x": "x", "node_y": "y", "node_size": "sz", "node_color": "col", "node_opacity": "x"})
    got = counted(alice, dataset)
    assert (got["node_count"], got["edge_count"]) == (5, 5)
    viewer = Viewer(server, dataset, unique("s"))
    viewer.say({"t": "play", "on": True, "ms": 3000})
    viewer.until(lambda: viewer.frames >= 3 and viewer.colors)
    import numpy as np

    assert np.isfinite(viewer.positions).all()
    viewer.close()


# Things at once


def test_uploads_to_one_place_at_once_leave_one_of_them(server, alice):
    dataset = alice.dataset()
    bodies = [b"s,d\n" + b"%d,%d\n" % (i, i) * (i + 1) * 1000 for i in range(8)]
    send = lambda body: requests.post(f"{server.url}/api/v2/upload/datasets/{dataset}/edges/csv", data=body,
                                      headers=dict(alice.session.headers))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, bodies))
    assert {r.status_code for r in answers} <= {200, 409}
    rows = {r.json()["data"]["num_rows"] for r in answers if r.status_code == 200}
    assert rows and counted(alice, dataset)["edge_count"] in rows


def test_deleting_what_is_being_uploaded_ends_in_its_absence(server, alice):
    body = b"s,d\n" + b"1,2\n" * 200_000
    call = lambda method, path, **kw: requests.request(method, server.url + path, headers=dict(alice.session.headers), **kw)
    rng = random.Random(3)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for _ in range(6):
            d = alice.dataset()
            upload = pool.submit(call, "POST", f"/api/v2/upload/datasets/{d}/edges/csv", data=body)
            time.sleep(rng.random() * 0.05)
            assert alice("DELETE", f"/api/v2/datasets/{d}").status_code == 204
            assert upload.result().status_code in (200, 404, 409), upload.result().text
            assert alice("GET", f"/api/v2/upload/datasets/{d}").status_code == 404


def fds(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def test_requests_and_viewers_leave_nothing_behind(fresh):
    api = fresh.api()
    dataset = graph_of(api)

    def calls():
        for _ in range(200):
            api("GET", "/api/v2/datasets/")
            api("POST", f"/api/v2/upload/files/{'0' * 32}", data=b"x" * 1000)

    def visits():
        for _ in range(200):
            requests.get(f"{fresh.url}/graph/graph.html?dataset={dataset}", allow_redirects=False)

    def viewers():
        for i in range(60):
            viewer = Viewer(fresh, dataset, f"leak{i % 20}")
            viewer.step()
            viewer.ws.socket.close() if i % 2 else viewer.close()
        until(lambda: fresh.metric("viewers") == 0, "the server has noticed that all are gone")

    # Each kind by itself: mixed, what lives for long (each visit has a record) keeps the pages of what does not.
    handles = None
    for work in (calls, visits, viewers):
        work()
        before, handles = fresh.rss_bytes(), handles or fds(fresh)
        work()
        work()
        assert fresh.rss_bytes() < before + (16 << 20), (work.__name__, before, fresh.rss_bytes())
    # Connections that their clients have closed are noticed one by one.
    until(lambda: fds(fresh) <= handles + 4, f"no more than {handles + 4} descriptors")


# The process


def test_a_busy_port_costs_no_password(tmp_path):
    env = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHLUME_")}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        r = subprocess.run([binary(), "serve", "--data", str(tmp_path / "d"), "--listen",
                            f"127.0.0.1:{taken.getsockname()[1]}", "--internal-listen", f"127.0.0.1:{free_port()}"],
                           env=env, capture_output=True, text=True, timeout=HANG_S)
    assert r.returncode == 1 and "another server" in r.stderr, r
    # The address is taken before anything is made: no folder, no account, no password that nobody could read again.
    assert "password" not in r.stdout + r.stderr and not (tmp_path / "d").exists(), r
    assert "computing on" not in r.stderr, r
    s = Server(tmp_path / "d").start()
    try:
        assert s.token("admin")
    finally:
        s.stop()


def test_a_second_server_on_the_folder_is_refused_and_a_restart_keeps_everything(fresh):
    api = fresh.api()
    dataset = graph_of(api)
    page = api("GET", f"/graph/graph.html?dataset={dataset}", allow_redirects=False).headers["Location"]
    session = page.rsplit("=", 1)[1]
    r = run_cli("serve", "--data", fresh.data, "--listen", f"127.0.0.1:{free_port()}",
                "--internal-listen", f"127.0.0.1:{free_port()}", check=False)
    assert r.returncode == 78 and "in use" in r.stderr and str(fresh.data) in r.stderr, r
    for stop in (lambda: fresh.stop(), lambda: fresh.kill()):
        stop()
        fresh.start()
        assert api("GET", "/api/v2/files/").status_code == 200, "the token of before holds"
        assert api("GET", f"/api/experimental/viz/sessions/{session}/").json()["session_id"] == session
        assert api("GET", f"/graph/{page}").status_code == 200


def test_sigterm_lets_an_upload_finish(fresh):
    api = fresh.api()
    f = api("POST", "/api/v2/files/", json={"file_type": "csv"}).json()["file_id"]

    half = threading.Event()

    def slowly():
        yield b"s,d\n"
        yield b"1,2\n" * 4
        half.set()
        until(lambda: "SIGTERM: draining" in fresh.output(), "the server is about to stop")
        yield b"1,2\n" * 6

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        upload = pool.submit(api, "POST", f"/api/v2/upload/files/{f}", data=slowly())
        assert half.wait(HANG_S)
        # The head of the request is there, so that the upload is one that was begun.
        until(lambda: fresh.metric("http_in_flight") > 1, "the upload is in progress")
        assert fresh.stop() == 0
        assert upload.result().status_code == 200 and upload.result().json()["is_valid"]
    fresh.start()
    assert api("GET", f"/api/v2/files/{f}").json()["is_valid"] is True


def test_a_full_disk_refuses_writing_and_nothing_else(tmp_path):
    mount = tmp_path / "disk"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100m", "tmpfs", str(mount)], capture_output=True).returncode:
        pytest.skip("mounting a small disk needs privileges")
    s = Server(mount / "data")
    try:
        s.start()
        api = s.api()
        dataset = graph_of(api)
        filler = mount / "filler"
        filler.write_bytes(bytes(os.statvfs(mount).f_bavail * os.statvfs(mount).f_frsize - (8 << 20)))
        r = api("POST", "/api/v2/files/", json={"file_type": "csv"})
        assert r.status_code == 507 and "Retry-After" in r.headers, r.text
        assert str(mount) not in r.text, "where the server keeps its data is nobody's business"
        ill = requests.get(s.url + "/ht/")
        assert ill.status_code == 503 and "MiB free" in ill.json()["detail"], ill.text
        assert requests.get(s.url + "/healthz").status_code == 200, "a restart would not help"
        r = run_cli("doctor", "--data", mount / "data", check=False)
        assert r.returncode == 1 and "MiB free" in r.stderr and "disk " in r.stdout, r
        assert api("GET", "/api/v2/files/").status_code == 200 and s.token()
        page = api("GET", f"/graph/graph.html?dataset={dataset}")
        assert page.status_code == 200 and "session=" in page.url, "looking needs no disk"
        viewer = Viewer(s, dataset, unique("s"), headers=dict(api.session.headers))
        viewer.until(lambda: viewer.frames)
        viewer.close()
        assert api("DELETE", f"/api/v2/datasets/{dataset}").status_code == 204
        filler.unlink()
        assert requests.get(s.url + "/ht/").status_code == 200
        assert api("POST", "/api/v2/files/", json={"file_type": "csv"}).status_code == 201
    finally:
        if s.process:
            s.stop()
            s.log.close()
        subprocess.run(["umount", str(mount)], check=True)


# The command line


def test_values_of_the_environment_and_the_file_are_configuration(tmp_path):
    env = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHLUME_")}
    r = subprocess.run([binary(), "serve", "--data", str(tmp_path / "d")], capture_output=True, text=True,
                       env=env | {"GRAPHLUME_LISTEN": "nowhere"}, timeout=HANG_S)
    assert r.returncode == 78 and "nowhere" in r.stderr and "--listen" in r.stderr, r
    config = tmp_path / "c.toml"
    config.write_text("[serve]\nbackend = 'abacus'\n")
    r = run_cli("--config", config, "serve", check=False)
    assert r.returncode == 78 and "abacus" in r.stderr and "cpu" in r.stderr, r
    assert run_cli("serve", "--backend", "abacus", check=False).returncode == 2


def test_a_mistyped_data_folder_is_not_an_empty_one(tmp_path):
    absent = tmp_path / "absent"
    for args in (["user", "list"], ["key", "list"], ["user", "disable", "x"], ["export", tmp_path / "b"]):
        r = run_cli(*args, "--data", absent, check=False)
        assert r.returncode == 1 and str(absent) in r.stderr and not r.stdout, (args, r)
    assert not absent.exists()


def test_output_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    edges = tmp_path / "e.csv"
    edges.write_text("src,dst\n1,2\n")
    for out in (edges / "x.csv", tmp_path / "x.zip", tmp_path):
        r = run_cli("layout", "force_atlas2", edges, "--iterations", 1_000_000, "--out", out, check=False, timeout=HANG_S)
        assert r.returncode == 1 and str(out) in r.stderr, r
    r = run_cli("layout", "circle", edges, "--threads", 99_999, check=False, timeout=HANG_S)
    assert r.returncode == 2 and "1024" in r.stderr, r


def test_a_reader_that_stops_early_is_no_failure(tmp_path):
    (tmp_path / "e.csv").write_text("src,dst\n1,2\n")
    for args in (["doctor"], ["user", "add", "x"], ["user", "list"], ["compute", "pagerank", "e.csv"]):
        reading, writing = os.pipe()
        os.close(reading)
        r = subprocess.run([binary(), *args], cwd=tmp_path, env={**os.environ, "GRAPHLUME_DATA": str(tmp_path / "d")},
                           stdout=writing, stderr=subprocess.PIPE, text=True)
        os.close(writing)
        assert r.returncode == 0 and "panic" not in r.stderr, (args, r)


@pytest.mark.parametrize("rows,nodes", [("", 0), ("a,a\n", 1), (",\n,1\n", 1), ("x,x\nx,x\ny,y\n", 2), ("1,2\n", 2)])
def test_degenerate_graphs_have_layouts_and_results(tmp_path, rows, nodes):
    edges = tmp_path / "e.csv"
    edges.write_text("src,dst\n" + rows)
    for args in (["layout", "force_atlas2", "--iterations", 5], ["layout", "circle"], ["layout", "grid"], ["layout", "star"],
                 ["compute", "pagerank"], ["compute", "louvain"], ["compute", "core_number"]):
        out = run_cli(*args[:2], edges, *args[2:]).stdout.splitlines()
        assert len(out) == nodes + 1 and "nan" not in "".join(out).lower(), (args, out)
