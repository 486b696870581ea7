"""What the document of a visualization costs, and whom: memory and disk of what pages change, and turns for what they ask.

Sizes and counts decide; nothing is decided by how long it takes."""

import base64
import contextlib
import os
import random
import socket
import threading
import time
import zlib

import pytest
import requests
from conftest import HANG_S, Server, unique
from test_document import Page, expr, upload

MIB = 1 << 20
# `scripts/long.sh crash-…` takes more.
KILLS = 25 if os.environ.get("GRAPHLUME_LONG") else 4


def packed(nodes_bytes):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(packer.compress(nodes_bytes) + packer.flush()).decode()


def disk_bytes(server):
    total = 0
    for folder, _, files in os.walk(server.data):
        for name in files:
            try:
                total += os.stat(os.path.join(folder, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


def post_step(server, page, changes, user=None, join=None):
    """A step as a request, which may be larger than a message of the stream."""
    if user and not hasattr(page, "token"):
        page.token = server.token(user)
    headers = {"Authorization": f"Bearer {page.token}"} if user else {}
    changes = [{"path": path, "value": value} for path, value in changes.items()]
    viewer = next(m for m in page.messages if m["t"] == "hello")["viewer"]
    answer = requests.post(
        f"{server.url}/viz/{page.session}/do", params={"viewer": viewer, "dataset": page.dataset}, headers=headers,
        json={"label": "step", "join": join, "changes": changes}, timeout=HANG_S)
    return answer.json()


def brushed(values):
    return {"on": False, "rule": {"brush": {"axis": "node", "column": "degree", "values": values}}}


@pytest.fixture
def pages():
    opened = []

    def open_one(server, dataset, session, user=None):
        opened.append(Page(server, dataset, session, user))
        return opened[-1]

    yield open_one
    for page in opened:
        # Without a goodbye: a page that reads no more would wait ten seconds for the answer to it.
        with contextlib.suppress(OSError):
            page.ws.socket.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def serve(tmp_path):
    servers = []

    def start(*extra):
        servers.append(Server(tmp_path / f"data{len(servers)}", *extra).start())
        return servers[-1]

    yield start
    for one in servers:
        one.stop()


def test_a_set_of_nodes_is_unpacked_no_further_than_the_graph_is_large(server, pages):
    session = unique("bomb")
    page = pages(server, "karate", session)
    page.until(lambda: page.graph)
    bomb = {"on": False, "rule": {"nodes": packed(bytes(4 * MIB))}}
    before = server.rss_bytes()
    refused = post_step(server, page, {f"filters/f{k}": bomb for k in range(160)})
    assert refused["t"] == "refused" and "unpacks to more than 5 bytes" in refused["message"], refused
    found = requests.post(f"{server.url}/viz/{session}/find?dataset=karate", json={"rule": bomb["rule"]}, timeout=HANG_S)
    assert found.status_code == 400 and "more than 5 bytes" in found.text, found.text
    out = requests.post(f"{server.url}/viz/{session}/export?dataset=karate&table=nodes&format=csv",
                        json={"nodes": bomb["rule"]["nodes"]}, timeout=HANG_S)
    assert out.status_code == 400 and "more than 5 bytes" in out.text, out.text
    # What is found goes into a filter and a file as it is.
    found = requests.post(f"{server.url}/viz/{session}/find?dataset=karate", json={"text": "degree > 9"}, timeout=HANG_S).json()
    assert found["node_count"] == 4, found
    out = requests.post(f"{server.url}/viz/{session}/export?dataset=karate&table=nodes&format=csv",
                        json={"nodes": found["nodes"]}, timeout=HANG_S)
    assert out.status_code == 200 and len(out.text.splitlines()) == 5, out.text
    assert page.do({"filters/found": {"rule": {"nodes": found["nodes"]}}})["t"] == "done"
    page.until(lambda: page.counts and page.counts["nodes"] == 4)
    # 160 of them unpacked to 640 MiB.
    assert server.rss_bytes() - before < 200 * MIB


def test_pages_without_an_account_have_their_bounds_and_get_told(serve, pages):
    server = serve("--memory", "1GiB")
    page = pages(server, "karate", unique("anon"))
    answers = [post_step(server, page, {f"filters/f{k}": brushed(list(range(k, k + 20_000)))}) for k in range(8)]
    done = [a["t"] for a in answers].count("done")
    assert 3 <= done < 8 and answers[-1]["slug"] == "too-large", answers
    assert "524288 bytes" in answers[-1]["message"], answers[-1]
    watcher = pages(server, "karate", page.session)
    watcher.until(lambda: watcher.document is not None)
    large = post_step(server, watcher, {"filters/own": brushed(list(range(20_000)))})
    assert large["t"] == "refused" and large["slug"] == "too-large" and "65536" in large["message"], large
    # Three hundred sessions of nobody with half a megabyte each hold no more than they may together.
    before = server.rss_bytes()
    refused = 0
    for k in range(300):
        one = pages(server, "karate", unique("anon"))
        for part in range(2):
            values = list(range(k, k + 30_000))
            answer = post_step(server, one, {f"filters/f{part}": brushed(values)})
            refused += answer["t"] == "refused" and answer["slug"] == "memory-full"
        if refused:
            break
    assert refused, "all pages are open: the next one has to be refused"
    assert server.rss_bytes() - before < 400 * MIB
    assert page.do({"filters/f0": None})["t"] == "done", "what takes something away goes on"


def test_a_document_of_an_account_costs_about_its_text(serve, pages):
    server = serve("--memory", "1GiB")
    session = unique("doc")
    page = pages(server, "karate", session, "admin")
    page.until(lambda: page.graph)
    rng = random.Random(3)
    before, disk = server.rss_bytes(), disk_bytes(server)
    text = 0
    for k in range(20):
        query = "MATCH (n) WHERE n.degree > 3 RETURN n // " + "".join(rng.choices("abcdefgh ", k=190_000))
        answer = post_step(server, page, {f"filters/f{k}": {"on": False, "rule": {"query": query}}}, "admin", "fill")
        assert answer["t"] == "done", answer
        text += len(query)
    for k in range(380):
        assert post_step(server, page, {"look/pointSize": 1 + k % 7}, "admin")["t"] == "done"
    page.close()
    assert text > 3.5 * MIB
    grown = server.rss_bytes() - before
    assert grown < 3 * text + 24 * MIB, f"{grown / MIB:.1f} MiB for {text / MIB:.1f} MiB"
    # 400 times the document would be 1.5 GiB.
    written = disk_bytes(server) - disk
    assert written < 40 * MIB, f"{written / MIB:.1f} MiB"
    server.stop()
    server.start()
    again = pages(server, "karate", session, "admin")
    assert len(again.document) == 21 and again.document["look/pointSize"] == 1 + 379 % 7
    assert again.document["filters/f3"]["rule"]["query"].startswith("MATCH (n) WHERE")


def test_documents_count_as_what_an_account_has_on_the_disk(serve, pages):
    server = serve("--account-bytes", "4MiB")
    kept, refused = 0, None
    for session in range(12):
        page = pages(server, "karate", unique("quota"), "admin")
        for k in range(4):
            values = [random.randrange(10**9) for _ in range(20_000)]
            answer = post_step(server, page, {f"filters/f{k}": brushed(values)}, "admin")
            if answer["t"] == "refused":
                refused = answer
                break
            kept += len(str(values))
        if refused:
            break
    assert refused and refused["slug"] == "quota-exceeded" and "account-bytes" in refused["message"], refused
    assert kept < 5 * MIB, kept
    gone = post_step(server, page, {"filters/f0": None}, "admin")
    assert gone["t"] == "done" or "filters/f0" not in page.document, "what takes something away fits"


def test_kills_amid_steps_lose_none_that_was_acknowledged(tmp_path):
    rng = random.Random(11)
    server = Server(tmp_path / "data").start()
    dataset = upload(server.api())
    # `asked` has what was sent last to each path: what was not answered may or may not be there.
    session, acked, asked = unique("kill"), {}, {}
    for round_no in range(KILLS):
        page = Page(server, dataset, session, "admin")
        page.until(lambda: page.graph)
        lost = {path: (value, page.document.get(path)) for path, value in acked.items()
                if page.document.get(path) not in (value, asked[path])}
        assert not lost, (round_no, lost)

        def work():
            try:
                for k in range(10_000):
                    name = f"{round_no}-{k}"
                    steps = {
                        f"filters/f{k % 50}": {"kind": "filter", "name": name, "on": True, "order": 0.0,
                                               "rule": {"expr": f"x > {k % 40}"}},
                        f"pins/{k % 40}": [k, round_no],
                        # Large ones now and then, for which the record is written anew.
                        **({f"filters/large{k % 3}": {**brushed(list(range(20_000))), "kind": "filter", "name": name,
                                                      "order": 0.0}} if k % 20 == 7 else {}),
                    }
                    asked.update(steps)
                    if post_step(server, page, steps, "admin")["t"] != "done":
                        return
                    acked.update(steps)
            except (requests.RequestException, ValueError):
                return  # The server is gone; what was not answered may or may not be there.

        worker = threading.Thread(target=work)
        worker.start()
        wanted = len(acked) and rng.randrange(1, 40)
        end = time.monotonic() + HANG_S
        begun = page.asked
        while worker.is_alive() and time.monotonic() < end:
            done = sum(1 for v in acked.values() if isinstance(v, dict) and v["name"].startswith(f"{round_no}-"))
            if done >= max(3, wanted):
                break
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.02))
        server.kill()
        worker.join()
        assert begun == page.asked
        page.close()
        server.start()
    assert len(acked) > 10
    # In memory and on the disk it is the same document.
    page = Page(server, dataset, session, "admin")
    assert all(page.document.get(path) in (value, asked[path]) for path, value in acked.items())
    page.close()
    assert server.stop() == 0


def test_long_rules_of_a_stranger_hold_up_nobody(serve, pages):
    server = serve("--query-seconds", "20")
    page = pages(server, "karate", unique("turns"))
    page.until(lambda: page.graph)
    long = {"query": "MATCH (a),(b),(c),(d),(e),(f) WHERE id(a)+id(b)+id(c)+id(d)+id(e)+id(f) = -1 RETURN a"}
    ended, stop = [], threading.Event()

    def ask():
        answer = requests.post(f"{server.url}/viz/{page.session}/find?dataset=karate", json={"rule": long}, timeout=HANG_S)
        ended.append((answer.status_code, answer.json().get("slug")))

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(40)]
    for thread in threads:
        thread.start()
    # So many are under way, and none has ended but by being refused.
    while server.metric("queries_waiting") is not None and server.metric("queries_waiting") < 2 and not stop.is_set():
        if all(not t.is_alive() for t in threads):
            break
        time.sleep(0.01)
    for _ in range(20):
        card = requests.get(f"{server.url}/viz/{page.session}/node/3?dataset=karate", timeout=HANG_S)
        assert card.status_code == 200
        assert requests.get(f"{server.url}/api/v2/datasets/", timeout=HANG_S).status_code == 401, "nobody is shed"
    token = server.token()
    # Another caller has his turn beside them.
    found = requests.post(f"{server.url}/viz/{page.session}/find?dataset=karate", timeout=HANG_S,
                          json={"rule": {"query": "MATCH (n) RETURN n"}},
                          headers={"Authorization": f"Bearer {token}"})
    assert found.status_code == 200 and found.json()["node_count"] == 34, found.text
    assert not any(status == 200 for status, _ in ended), ended
    assert any(t.is_alive() for t in threads), "what they ask takes longer than all this"
    for thread in threads:
        thread.join()
    assert {status for status, _ in ended} <= {408, 422, 429, 504}, ended


def test_filters_of_one_page_are_those_that_were_asked(server, pages):
    page = pages(server, "karate", unique("order"))
    page.until(lambda: page.graph)
    assert page.do({"collapsed/b": {"name": "B", "order": 2, "rule": {"expr": "degree > 9"}},
                    "collapsed/a": {"name": "A", "order": 1, "rule": {"expr": "degree > 5"}},
                    "filters/f": expr("degree > 2")})["t"] == "done"
    page.until(lambda: page.counts and page.counts["filters"]["f"]["nodes"] == 22)
    assert list(page.document) == ["collapsed/a", "collapsed/b", "filters/f"] or set(page.document) == {
        "collapsed/a", "collapsed/b", "filters/f"}
    assert page.ask(t="undo")["t"] == "done"
    page.until(lambda: page.document == {})
