"""Positions of live sessions survive the server: killed, stopped in order, and with damaged files.

The size of the quota, the order of eviction, every torn length and every flipped byte are held by
`storage/src/tests/snapshots.rs`, the times of the copies and eviction by `engine/core/src/tests/checkpoints.rs`.
"""

import json
import re
import signal
import threading
import time

import numpy as np
import pytest
from conftest import HANG_S, Server, until
from live import Viewer, until_at_rest
from test_collections_page import Browsers
from websockets.exceptions import ConnectionClosed

SIDE = 30
SESSION = "kept"
# How a layout ends by itself: at rest, or after its iterations.
RESTS = ("settled", "stopped")


@pytest.fixture
def server(tmp_path):
    s = Server(tmp_path / "data").start()
    yield s
    s.stop()


@pytest.fixture
def dataset(server):
    rows = [(y * SIDE + x, v) for y in range(SIDE) for x in range(SIDE)
            for v in ([y * SIDE + x + 1] if x + 1 < SIDE else []) + ([(y + 1) * SIDE + x] if y + 1 < SIDE else [])]
    api = server.api()
    record = api.file(("s,d\n" + "".join(f"{s},{d}\n" for s, d in rows)).encode(), "csv")
    return api.dataset([record["file_id"]])


class Recorder:
    """A viewer that keeps the layout moving and remembers every frame with the time at which it came."""

    def __init__(self, server, dataset):
        headers = {"Authorization": f"Bearer {server.token()}"}
        self.viewer = Viewer(server, dataset, SESSION, headers=headers)
        self.viewer.until(lambda: self.viewer.frames)
        self.frames, self.turn = [], 0
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.restless = True
        self.thread.start()

    def stir(self):
        """Drags a corner of the grid to and fro, so that nothing comes to rest."""
        self.turn += 1
        x = 3000.0 * (self.turn % 2)
        self.viewer.say({"t": "pin", "index": 0, "x": x, "y": 0})
        self.viewer.say({"t": "play", "on": True, "ms": 600_000})

    def read(self):
        stirred = 0.0
        while True:
            try:
                if self.restless and time.monotonic() - stirred > 0.5:
                    self.stir()
                    stirred = time.monotonic()
                count = self.viewer.frames
                self.viewer.step(0.1)
            except TimeoutError:
                continue
            except (ConnectionClosed, OSError):
                return
            if self.viewer.frames > count:
                self.frames.append((time.time_ns(), self.viewer.positions, self.viewer.error))

    def until_moving(self, count=8):
        until(lambda: len(self.frames) >= count, "frames of a layout that moves")

    def end(self):
        """The server has gone; every frame that it sent is read."""
        self.thread.join(HANG_S)
        assert not self.thread.is_alive()


def come_back(server, dataset):
    """The first picture of the session on the server that was started again, for its owner, who may go on."""
    viewer = Viewer(server, dataset, SESSION, headers={"Authorization": f"Bearer {server.token()}"})
    viewer.until(lambda: viewer.positions is not None and viewer.state["t"] == "state")
    return viewer


def file_of(server, dataset):
    return server.data / "positions" / dataset / SESSION


def is_frame(viewer, frame):
    _, positions, error = frame
    return (np.abs(viewer.positions - positions) <= error + viewer.error).all()


def test_a_killed_server_comes_back_with_positions_of_the_last_copy(server, dataset):
    """That a copy is made every four seconds is held by `keeping.rs`, with a clock that the test moves."""
    recorder = Recorder(server, dataset)
    path = file_of(server, dataset)
    until(path.exists, "a first copy")
    before = path.stat().st_mtime_ns
    until(lambda: path.stat().st_mtime_ns > before, "a later copy")
    seen = len(recorder.frames)
    until(lambda: len(recorder.frames) > seen + 3, "the layout moves on after it")
    server.kill()
    recorder.end()
    server.start()
    viewer = come_back(server, dataset)
    same = [came for came, *frame in recorder.frames if is_frame(viewer, (came, *frame))]
    assert same, "the positions are those of no frame that was shown"
    assert max(same) > before, "the positions are older than the copy before the last one"
    # Stopped, with what it takes to go on.
    assert viewer.state["state"] == "paused" and not viewer.state["playing"], viewer.state
    assert viewer.state["iterations"] > 0 and "resume" in viewer.state["detail"], viewer.state
    shown = viewer.positions
    viewer.ws.send(json.dumps({"t": "play", "on": True}))
    viewer.until(lambda: viewer.state["state"] == "running" and np.abs(viewer.positions - shown).max() > 1)
    viewer.close()


def test_a_server_that_is_told_to_stop_comes_back_with_the_last_picture(server, dataset):
    recorder = Recorder(server, dataset)
    recorder.until_moving(25)
    assert server.stop(signal.SIGTERM) == 0, server.output()
    recorder.end()
    assert recorder.viewer.state["state"] == "paused", "the viewers saw it stop"
    server.start()
    viewer = come_back(server, dataset)
    assert is_frame(viewer, recorder.frames[-1]), "the last frame"
    first = recorder.frames[0]
    assert not is_frame(viewer, first), "which differs from the first"
    assert viewer.state["state"] == "paused", viewer.state
    viewer.close()


def test_a_layout_that_had_settled_is_shown_settled(server, dataset):
    recorder = Recorder(server, dataset)
    recorder.until_moving()
    recorder.restless = False
    recorder.viewer.ws.send(json.dumps({"t": "play", "on": True, "ms": 1500}))
    until(lambda: recorder.viewer.state["state"] in RESTS, "rest")
    path = file_of(server, dataset)
    until(lambda: path.exists() and re.search(rb'"(settled|stopped)":true', path.read_bytes()), "the file of what came to rest")
    server.kill()
    recorder.end()
    server.start()
    viewer = come_back(server, dataset)
    assert viewer.state["state"] in RESTS and is_frame(viewer, recorder.frames[-1])
    viewer.close()


@pytest.mark.parametrize("damage", ["torn", "empty", "flipped", "other nodes"])
def test_damaged_positions_begin_the_layout_anew_without_a_word_to_the_user(server, dataset, damage):
    recorder = Recorder(server, dataset)
    recorder.until_moving()
    assert server.stop(signal.SIGTERM) == 0, server.output()
    recorder.end()
    path = file_of(server, dataset)
    whole = path.read_bytes()
    at = len(whole) // 2
    path.write_bytes({
        "torn": whole[:at],
        "empty": b"",
        "flipped": whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:],
        "other nodes": whole[:32] + (7).to_bytes(4, "little") + whole[36:],
    }[damage])
    server.start()
    viewer = Viewer(server, dataset, SESSION)
    viewer.until(lambda: viewer.frames > 1 and viewer.state["state"] in ("running", "settled"))
    assert not [m for m in viewer.messages if m["t"] == "error"], viewer.messages
    assert not is_frame(viewer, recorder.frames[-1])
    assert "kept positions cannot be used" in server.output()
    viewer.close()
    # The new layout is kept in its place.
    assert server.stop(signal.SIGTERM) == 0, server.output()
    assert path.stat().st_size > len(whole) // 2


def test_positions_go_with_their_dataset_and_leftovers_are_swept(server, dataset):
    recorder = Recorder(server, dataset)
    recorder.until_moving()
    recorder.restless = False
    recorder.viewer.ws.send(json.dumps({"t": "play", "on": False}))
    path = file_of(server, dataset)
    until(path.exists, "a file when the layout is paused")
    left = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert server.api()("DELETE", f"/api/v2/datasets/{dataset}").status_code == 204
    until(lambda: not path.exists(), "it to be removed")
    recorder.end()
    server.kill()
    # As a crash between the two would leave it.
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(left)
    (path.parent / f"{SESSION}.new").write_bytes(left[:100])
    server.start()
    assert not path.exists() and not (path.parent / f"{SESSION}.new").exists()


def test_a_session_without_an_account_keeps_its_positions_too(server, dataset):
    viewer = Viewer(server, dataset, SESSION)
    until_at_rest(viewer)
    path = file_of(server, dataset)
    until(path.exists, "the file of what came to rest")
    shown = (0, viewer.positions, viewer.error)
    viewer.close()
    server.kill()
    server.start()
    viewer = come_back(server, dataset)
    assert is_frame(viewer, shown) and viewer.state["state"] in RESTS
    viewer.close()


def test_a_page_that_stays_open_offers_to_resume(server, dataset):
    browsers = Browsers(server)
    try:
        browsers("open", page="here", query=f"dataset={dataset}&session={SESSION}", token=server.token())
        before = file_of(server, dataset).stat().st_mtime_ns
        recorder = Recorder(server, dataset)
        assert browsers("button", page="here", words="Layout") == "running"
        until(lambda: file_of(server, dataset).stat().st_mtime_ns > before, "a copy while it moves")
        server.kill()
        recorder.end()
        server.start()
        # By itself: nobody loads the page again.
        assert browsers("button", page="here", words="Resume layout") == "paused"
    finally:
        browsers.close()
