"""A viewer in Python: decodes what the page decodes."""

import base64
import json
import struct
import zlib

import numpy as np
from conftest import HANG_S
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

HEADER = struct.Struct("<IBBHIIIIIIffff")
MAGIC = 0x315A5647  # "GVZ1"
POS_KEY, POS_DELTA, POS_F32, COLOR, SIZE, LABELS, ICONS = 1, 2, 3, 17, 18, 19, 20
RUNNING = 2


def stream(address, **options):
    """A websocket that ends when somebody closes it and not by the clock: the client's own keepalive, which gives up after
    20 seconds, would end it on a machine that is busy for so long."""
    return connect(address, ping_interval=None, **options)


class Frame:
    """One binary message."""

    def __init__(self, data):
        (magic, version, self.kind, self.flags, self.epoch, self.seq, self.base_seq, self.first, self.count,
         self.stride, self.x0, self.y0, self.sx, self.sy) = HEADER.unpack_from(data)
        assert HEADER.size == 48 and magic == MAGIC and version == 1, data[:48]
        self.payload = data[48:]
        if self.flags & 1:
            self.payload = zlib.decompress(self.payload, -15)


class Viewer:
    """Follows one session; `positions` is the current picture in graph coordinates."""

    def __init__(self, server, dataset, session, ack=True, headers=None):
        self.ack, self.messages, self.frames = ack, [], 0
        self.key, self.positions, self.graph, self.state, self.colors = {}, None, None, None, 0
        self.seqs, self.icons = [], []
        # Whether the newest frame ended the motion, or shows one that had ended.
        self.at_rest = False
        # How far the shown positions may be from the true ones, by axis.
        self.error = None
        self.ws = stream(f"ws://{server.server}/viz/{session}/ws?dataset={dataset}", subprotocols=["graph-viz.v1"],
                         compression=None, max_size=None, additional_headers=headers or {})

    def close(self):
        self.ws.close()

    def say(self, message):
        """Sends a message. When the server has said goodbye it is lost; what came before can still be read."""
        try:
            self.ws.send(json.dumps(message))
        except ConnectionClosed:
            pass

    def step(self, timeout=HANG_S):
        """Takes one message; returns it decoded."""
        data = self.ws.recv(timeout=timeout)
        if isinstance(data, str):
            m = json.loads(data)
            self.messages.append(m)
            if m["t"] == "graph":
                self.graph = m
            if m["t"] in ("hello", "state"):
                self.state = m
            return m
        f = Frame(data)
        if f.kind in (POS_KEY, POS_DELTA, POS_F32):
            self.frames += 1
            self.seqs.append(f.seq)
            self.at_rest = not f.flags & RUNNING
            self.apply(f)
            if self.ack:
                self.say({"t": "ack", "seq": f.seq})
        elif f.kind == COLOR:
            self.colors += 1
        elif f.kind == ICONS:
            self.icons.append(json.loads(f.payload[16 + 2 * f.count:]))
        return f

    def apply(self, f):
        if f.kind == POS_F32:
            self.key, self.error = {}, np.zeros(2)
            self.positions = np.frombuffer(f.payload, "<f4", count=2 * f.count).reshape(-1, 2).astype(float)
            return
        if f.kind == POS_KEY:
            q = np.frombuffer(f.payload, "<u2", count=2 * f.count).reshape(-1, 2).astype(np.int64)
            self.key = {f.seq: q}
            self.error = np.array([f.sx, f.sy])
        else:
            # A delta refers to a key frame that this viewer has seen, however many deltas it skipped.
            base = self.key[f.base_seq]
            step, over = struct.unpack_from("<fI", f.payload)
            d = np.frombuffer(f.payload, "i1", count=2 * f.count, offset=8).reshape(2, -1).T
            q = base + np.rint(d * step).astype(np.int64)
            self.error = np.array([f.sx, f.sy]) * max(step, 1.0)
            at = 8 + 2 * f.count
            for i, x, y in struct.iter_unpack("<IHH", f.payload[at:at + 8 * over]):
                q[i] = (x, y)
        self.positions = np.stack([f.x0 + q[:, 0] * f.sx, f.y0 + q[:, 1] * f.sy], 1)

    def until(self, condition, deadline_s=HANG_S):
        """Steps until `condition()` holds."""
        import time

        end = time.monotonic() + deadline_s
        while not condition():
            left = end - time.monotonic()
            assert left > 0, f"not within {deadline_s} s; state {self.state}, {self.frames} frames"
            try:
                self.step(left)
            except TimeoutError:
                pass
        return self


def bits(nodes, n=40):
    """A set of nodes among `n`, as rules name it."""
    mask = np.zeros(n, bool)
    mask[list(nodes)] = True
    packed = zlib.compressobj(wbits=-15)
    return base64.b64encode(packed.compress(np.packbits(mask, bitorder="little").tobytes()) + packed.flush()).decode()


def until_at_rest(viewer):
    """Steps until the frame that ends the motion, because the layout has settled or has done its iterations."""
    viewer.until(lambda: viewer.at_rest and viewer.state["state"] in ("settled", "stopped"))
