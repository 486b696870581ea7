"""Live sessions over the websocket."""

import json
import os
import struct
import threading
import time

import numpy as np
import pytest
import requests
from websockets.exceptions import ConnectionClosed, InvalidStatus

from conftest import run_cli, unique
from live import COLOR, LABELS, POS_DELTA, POS_KEY, SIZE, Frame, Viewer, until_at_rest


@pytest.fixture(scope="module")
def community_graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("graphs") / "sbm.csv"
    run_cli("generate", "sbm", "--nodes", 3000, "--edges", 12000, "--communities", 12, "--out", path)
    return path.read_bytes()


@pytest.fixture
def dataset(alice, community_graph):
    f = alice.file(community_graph, "csv")
    return alice.dataset([f["file_id"]], edges={"source": "src", "destination": "dst"})


def session_of(server, dataset, query=""):
    r = requests.get(f"{server.url}/graph/graph.html?dataset={dataset}{query}", allow_redirects=False)
    assert r.status_code == 302, r.text
    return r.headers["Location"].rsplit("session=", 1)[1]


class Mover:
    """Drags a node to and fro, so that a layout never comes to rest."""

    def __init__(self, server, dataset, session):
        self.viewer, self.stop = Viewer(server, dataset, session), threading.Event()
        self.viewer.until(lambda: self.viewer.frames)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        turn = 0
        while not self.stop.is_set():
            turn += 1
            if turn % 10 == 1:
                x = 2000 * (turn // 10 % 2)
                self.viewer.ws.send(json.dumps({"t": "pin", "index": 0, "x": x, "y": 0}))
                self.viewer.ws.send(json.dumps({"t": "play", "on": True, "ms": 10_000}))
            try:
                self.viewer.step(0.05)
            except TimeoutError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.viewer.close()


def test_a_page_without_websockets_is_told_what_a_socket_tells(server, dataset):
    session = session_of(server, dataset, "&play=0")
    viewer = Viewer(server, dataset, session)
    at = f"{server.url}/viz/{session}"

    def shown():
        """The newest legend of the socket; the first may be another one, until the communities are known."""
        legends = [m["legend"] for m in viewer.messages if m["t"] in ("graph", "legend")]
        return legends[-1] if legends and viewer.frames else None

    viewer.until(lambda: shown() and shown()["node_color"]["title"] == "community")
    told = requests.get(f"{at}/graph", params={"dataset": dataset}).json()
    by_kind = {m["t"]: m for m in told["messages"]}
    hello = next(m for m in viewer.messages if m["t"] == "hello")
    assert {k: v for k, v in hello.items() if k not in ("steers", "key", "viewer", "state", "detail")} == {
        k: v for k, v in by_kind["hello"].items() if k not in ("state", "detail")}
    assert by_kind["graph"]["legend"] == shown() and by_kind["graph"]["epoch"] == viewer.graph["epoch"]
    kinds = []
    for k in range(told["scene_frames"]):
        r = requests.get(f"{at}/scene/{k}", params={"dataset": dataset})
        assert r.status_code == 200, r.text
        frame = Frame(r.content)
        assert frame.epoch == viewer.graph["epoch"]
        kinds.append(frame.kind)
    assert set(kinds) >= {COLOR, SIZE, LABELS}, kinds
    past = requests.get(f"{at}/scene/{told['scene_frames']}", params={"dataset": dataset})
    assert past.status_code == 404 and "from 0 on" in past.json()["message"]
    viewer.close()


def test_a_poll_gets_the_steps_from_the_keyframe_that_the_page_has(server, dataset):
    session = session_of(server, dataset, "&play=10000")

    def poll(after):
        r = requests.get(f"{server.url}/viz/{session}/frame", params={"after": after, "dataset": dataset})
        assert r.status_code == 200, r.text
        return Frame(r.content), len(r.content)

    with Mover(server, dataset, session):
        key, whole = poll(0)
        assert key.kind == POS_KEY
        after, steps = key.seq, []
        while len(steps) < 3:
            frame, bytes_ = poll(after)
            assert after < frame.seq < 2_000, "the frames of a few minutes"
            after = frame.seq
            if frame.kind == POS_KEY:
                key = frame
            else:
                assert (frame.kind, frame.base_seq) == (POS_DELTA, key.seq), "steps from what the page was sent"
                steps.append(bytes_)
        assert all(bytes_ < 0.6 * whole for bytes_ in steps), (whole, steps)
        # Who has lost the keyframe gets one.
        assert poll(0)[0].kind == POS_KEY


def test_the_layout_is_watched_from_first_positions_to_rest(server, dataset):
    viewer = Viewer(server, dataset, session_of(server, dataset, "&play=1500"))
    viewer.until(lambda: viewer.graph)
    assert viewer.messages[0]["t"] == "hello" and viewer.messages[0]["protocol_max"] >= 1
    assert viewer.graph["node_count"] > 2900 and viewer.graph["edge_count"] > 10900
    viewer.until(lambda: viewer.frames >= 1)
    first = viewer.positions.copy()
    assert np.isfinite(first).all() and np.ptp(first, 0).min() > 0
    viewer.until(lambda: viewer.frames >= 4)
    assert np.abs(viewer.positions - first).max() > 0
    viewer.until(lambda: viewer.state["state"] in ("settled", "stopped"), 60)
    viewer.until(lambda: viewer.colors >= 1)
    # Numbers of frames only grow.
    assert viewer.seqs == sorted(set(viewer.seqs))
    viewer.close()


def test_a_graph_that_was_loaded_for_a_query_is_placed_when_it_is_opened(fresh, community_graph):
    api = fresh.api("admin")
    dataset = api.dataset([api.file(community_graph, "csv")["file_id"]], edges={"source": "src", "destination": "dst"})
    fresh.stop()
    fresh.start()
    api = fresh.api("admin")
    counted = api("POST", f"/api/v2/etl/datasets/{dataset}/gfql/shape", json={"gfql_query": []})
    assert counted.json()[1]["rows"] > 10900
    viewer = Viewer(fresh, dataset, session_of(fresh, dataset))
    viewer.until(lambda: viewer.frames >= 1)
    assert np.isfinite(viewer.positions).all() and np.ptp(viewer.positions, 0).min() > 0
    viewer.close()


def test_edges_positions_cards_and_search_come_over_http(server, dataset):
    session = session_of(server, dataset, "&play=0")
    viewer = Viewer(server, dataset, session)
    viewer.until(lambda: viewer.graph and viewer.frames)
    epoch, n, m = viewer.graph["epoch"], viewer.graph["node_count"], viewer.graph["edge_count"]
    base = f"{server.url}/viz/{session}"
    edges = requests.get(f"{base}/{epoch}/edges.bin")
    assert edges.status_code == 200 and len(edges.content) == 8 * m
    pairs = np.frombuffer(edges.content, "<u4").reshape(-1, 2)
    assert pairs.max() < n
    part = requests.get(f"{base}/{epoch}/edges.bin", headers={"Range": "bytes=80-159"})
    assert part.status_code == 206 and part.content == edges.content[80:160]
    assert part.headers["Content-Range"] == f"bytes 80-159/{8 * m}"
    exact = requests.get(f"{base}/{epoch}/positions.bin").content
    positions = np.frombuffer(exact[48:], "<f4").reshape(-1, 2)
    assert np.abs(positions - viewer.positions).max() <= np.ptp(positions, 0).max() / 65000
    card = requests.get(f"{base}/node/0").json()
    assert card["title"] and card["degree"] == card["degree_in"] + card["degree_out"]
    assert card["degree"] == int((pairs == 0).sum())
    edge = requests.get(f"{base}/edge/5").json()
    assert edge["properties"] is not None
    found = requests.get(f"{base}/search", params={"q": card["title"], "limit": 5}).json()["results"]
    assert any(r["index"] == 0 for r in found), found
    for path in ("node/999999", "edge/99999999", "nonsense"):
        assert requests.get(f"{base}/{path}").status_code == 404, path
    assert requests.get(f"{base}/{epoch + 7}/edges.bin").status_code in (404, 410)
    viewer.close()


def test_play_pause_settings_and_pins(server, dataset):
    viewer = Viewer(server, dataset, session_of(server, dataset))
    viewer.ws.send(json.dumps({"t": "play", "on": True, "ms": 600_000}))
    viewer.until(lambda: viewer.frames >= 2)
    viewer.ws.send(json.dumps({"t": "play", "on": False}))
    viewer.until(lambda: viewer.state["state"] == "paused")
    viewer.ws.send(json.dumps({"t": "pin", "index": 3, "x": 1e4, "y": -1e4}))
    viewer.ws.send(json.dumps({"t": "settings", "gravity": 5, "linLog": True}))
    viewer.ws.send(json.dumps({"t": "play", "on": True, "ms": 3000}))
    viewer.until(lambda: viewer.state["state"] == "running")
    seen = viewer.frames
    viewer.until(lambda: viewer.frames > seen + 3)
    span = np.ptp(viewer.positions, 0).max() / 60000
    assert np.abs(viewer.positions[3] - [1e4, -1e4]).max() <= max(2 * span, 1.0)
    viewer.ws.send(json.dumps({"t": "settings", "gravvity": 5}))
    viewer.until(lambda: any(m["t"] == "error" and "gravvity" in m["message"] for m in viewer.messages))
    viewer.close()


def test_a_late_joiner_and_a_reconnect_see_the_current_picture(server, dataset):
    session = session_of(server, dataset, "&play=800")
    first = Viewer(server, dataset, session)
    # The state is told when it is decided; the frame that ends the motion comes after the slice on its way.
    until_at_rest(first)
    late = Viewer(server, dataset, session)
    late.until(lambda: late.frames >= 1 and late.colors >= 1)
    tolerance = np.ptp(late.positions, 0).max() / 30000
    exact = requests.get(f"{server.url}/viz/{session}/{late.graph['epoch']}/positions.bin").content
    positions = np.frombuffer(exact[48:], "<f4").reshape(-1, 2)
    assert np.abs(late.positions - positions).max() <= tolerance
    late.close()
    again = Viewer(server, dataset, session)
    again.until(lambda: again.frames >= 1)
    assert np.abs(again.positions - positions).max() <= tolerance
    for v in (first, again):
        v.close()


def test_a_slow_viewer_skips_frames_and_never_holds_up_others(server, dataset):
    session = session_of(server, dataset, "&play=8000")
    with Mover(server, dataset, session) as quick:
        slow = Viewer(server, dataset, session, ack=False)
        slow.until(lambda: slow.frames >= 1)
        seen = quick.viewer.frames
        # The other one is not held up.
        while quick.viewer.frames <= seen + 20:
            assert quick.thread.is_alive()
            try:
                slow.step(0.2)
            except TimeoutError:
                pass
        # Unacknowledged, the slow one got two frames and no more.
        assert slow.frames <= 2, slow.frames
        slow.ack = True
        last = slow.seqs[-1]
        slow.ws.send(json.dumps({"t": "ack", "seq": last}))
        slow.until(lambda: slow.frames >= 3)
        assert slow.seqs[-1] > last + 3, "frames in between were skipped"
        slow.close()


def test_a_dataset_without_data_waits_and_opens_when_data_arrive(server, alice, community_graph):
    dataset = alice.dataset(edges={"source": "src", "destination": "dst"})
    viewer = Viewer(server, dataset, session_of(server, dataset, "&play=500"))
    viewer.until(lambda: viewer.state and viewer.state["state"] == "waiting")
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/edges/csv", data=community_graph)
    assert r.status_code == 200
    viewer.until(lambda: viewer.frames >= 1)
    viewer.close()


def test_unusable_graphs_are_states_with_an_explanation(server, alice):
    f = alice.file(b"s,d\n", "csv")
    dataset = alice.dataset([f["file_id"]])
    viewer = Viewer(server, dataset, session_of(server, dataset))
    viewer.until(lambda: viewer.graph)
    assert (viewer.graph["node_count"], viewer.graph["edge_count"]) == (0, 0)
    viewer.close()
    dataset = alice.dataset(edges={"source": "nope", "destination": "d"})
    r = alice("POST", f"/api/v2/upload/datasets/{dataset}/edges/csv", data=b"s,d\n1,2\n")
    assert r.status_code == 400 and "nope" in r.json()["message"], r.text
    viewer = Viewer(server, dataset, session_of(server, dataset))
    viewer.until(lambda: viewer.state and viewer.state["state"] == "waiting")
    viewer.close()


def test_private_and_absent_graphs_do_not_open(server, alice, dataset):
    alice("POST", "/api/v2/share/link/", json={"obj_pk": dataset, "obj_type": "dataset", "mode": "private"})
    token = alice.session.headers["Authorization"]
    for target in (dataset, "0" * 32):
        with pytest.raises((ConnectionClosed, InvalidStatus)) as caught:
            Viewer(server, target, unique("s")).until(lambda: False)
        if isinstance(caught.value, ConnectionClosed):
            assert caught.value.rcvd.code in (4401, 4404)
    mine = Viewer(server, dataset, unique("s"), headers={"Authorization": token})
    mine.until(lambda: mine.frames >= 1)
    mine.close()


def test_a_deleted_dataset_ends_its_sessions(server, alice, dataset):
    viewer = Viewer(server, dataset, session_of(server, dataset))
    viewer.until(lambda: viewer.frames >= 1)
    assert alice("DELETE", f"/api/v2/datasets/{dataset}").status_code == 204
    with pytest.raises(ConnectionClosed) as caught:
        viewer.until(lambda: False)
    assert caught.value.rcvd.code == 4410


def test_garbage_from_a_viewer_is_answered_and_survived(server, dataset):
    viewer = Viewer(server, dataset, session_of(server, dataset))
    viewer.until(lambda: viewer.graph)
    for text in ("", "{", "[]", "null", '{"t":"nope"}', '{"t":"ack"}', '{"t":"ack","seq":-1}',
                 '{"t":"pin","index":1e99,"x":null}', '{"t":"play","on":"maybe"}', '{"t":"ack","seq":99999999999}'):
        viewer.ws.send(text)
    viewer.ws.send(json.dumps({"t": "play", "on": True, "ms": 500}))
    # Frames of the running layout may overtake the answers.
    seen = viewer.frames
    viewer.until(lambda: viewer.frames > seen and sum(m["t"] == "error" for m in viewer.messages) >= 6)
    # Binary messages are no part of the protocol: the connection is closed, and says so.
    viewer.ws.send(struct.pack("<I", 7) * 1000)
    # Says it even when the goodbye came first; nothing after it is answered.
    viewer.say({"t": "visible"})
    with pytest.raises(ConnectionClosed) as caught:
        viewer.until(lambda: False)
    assert caught.value.rcvd.code == 1003


# Frames that each of fifty viewers takes; the long checks (scripts/long.sh) take ten times as many.
FRAMES_EACH = 600 if os.environ.get("GRAPHLUME_LONG") else 60


def test_fifty_viewers_share_the_frames_and_memory_stays_flat(server, dataset):
    """No disconnects, frames keep coming to all, memory stays flat."""
    session = session_of(server, dataset)
    counts, failures = [0] * 50, []
    gaps = [0.0] * 50

    def watch(i):
        try:
            viewer = Viewer(server, dataset, session)
            last = None
            while counts[i] < FRAMES_EACH:
                viewer.step()
                if viewer.frames > counts[i]:
                    now = time.monotonic()
                    if last is not None:
                        gaps[i] = max(gaps[i], now - last)
                    last, counts[i] = now, viewer.frames
            viewer.close()
        except Exception as e:  # noqa: BLE001  (any failure of any viewer fails the test below)
            failures.append(f"viewer {i}: {type(e).__name__} {e}")

    threads = [threading.Thread(target=watch, args=(i,), daemon=True) for i in range(50)]
    with Mover(server, dataset, session):
        for t in threads:
            t.start()
        while sum(counts) < 50 * FRAMES_EACH // 4 and any(t.is_alive() for t in threads):
            time.sleep(0.1)
        early = server.rss_bytes()
        for t in threads:
            t.join(900)
    late = server.rss_bytes()
    print(f"50 viewers: {min(counts)} to {max(counts)} frames each, longest gap {max(gaps):.2f} s, "
          f"memory {early / 2**20:.0f} -> {late / 2**20:.0f} MiB")
    assert not failures, failures[:3]
    assert min(counts) >= FRAMES_EACH, f"the slowest viewer took {min(counts)} frames"
    assert late < early * 1.05 + 8 * 2**20, (early, late)
