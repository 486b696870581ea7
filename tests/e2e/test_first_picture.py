"""The first picture of a large graph: a page that puts stripes together gets one, the colours, and then the others."""

import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from live import COLOR, LABELS, POS_DELTA, POS_F32, POS_KEY, SIZE, Frame, stream
from conftest import HANG_S
from test_live import session_of

NODES = 120_000
LAST_STRIPE = 8


@pytest.fixture(scope="module")
def dataset(server):
    def file(columns):
        table = io.BytesIO()
        parquet.write_table(pa.table(columns), table)
        return api.file(table.getvalue(), "parquet")["file_id"]

    api, draw = server.api(), np.random.default_rng(3)
    edges = file({"s": np.arange(NODES - 1), "d": np.arange(1, NODES)})
    nodes = file({"id": np.arange(NODES), "kind": pa.array([f"k{v % 5}" for v in range(NODES)]),
                  "x": draw.normal(size=NODES), "y": draw.normal(size=NODES)})
    return api.dataset([edges], [nodes], nodes={"node": "id", "node_x": "x", "node_y": "y"})


def frames(server, dataset, session, query, until, resume=None):
    """The binary frames that come, until one is the last wanted; the page may say first what it has."""
    address = f"ws://{server.server}/viz/{session}/ws?dataset={dataset}{query}"
    found = []
    with stream(address, subprotocols=["graph-viz.v1"], compression=None, max_size=None) as socket:
        if resume:
            socket.send(json.dumps({"t": "resume", **resume}))
        while not found or not until(found):
            data = socket.recv(timeout=HANG_S)
            if not isinstance(data, str):
                found.append((Frame(data), len(data)))
    return found


def pairs(frame):
    return np.frombuffer(frame.payload, "<u2", count=2 * frame.count).reshape(-1, 2)


def test_stripes_are_a_whole_keyframe_and_colours_come_after_the_first(server, dataset):
    session = session_of(server, dataset, "&play=0")
    whole = frames(server, dataset, session, "", lambda all_: all_[-1][0].kind == LABELS)
    [key] = [f for f, _ in whole if f.kind == POS_KEY]
    assert (key.stride, key.count) == (1, NODES)
    cut = frames(server, dataset, session, "&stripes=1", lambda all_: all_[-1][0].flags & LAST_STRIPE)
    kinds = [f.kind for f, _ in cut]
    stripes = [f for f, _ in cut if f.kind == POS_KEY]
    number = stripes[0].stride
    assert len(stripes) == number and number > 5
    assert kinds[:4] == [POS_KEY, COLOR, SIZE, LABELS] and kinds[4:] == [POS_KEY] * (number - 1)
    assert [f.first for f in stripes] == list(range(number)) and {f.seq for f in stripes} == {key.seq}
    put = np.zeros((NODES, 2), "<u2")
    for f in stripes:
        put[f.first::number] = pairs(f)
        assert (f.x0, f.y0, f.sx, f.sy) == (key.x0, key.y0, key.sx, key.sy)
    assert (put == pairs(key)).all()
    # Each is a sample of the whole picture.
    for f in stripes:
        assert np.abs(np.quantile(pairs(f), [0.1, 0.5, 0.9], axis=0) - np.quantile(put, [0.1, 0.5, 0.9], axis=0)).max() < 700
    # Five colours of 120,000 nodes take next to nothing.
    colors = next(size for f, size in cut if f.kind == COLOR)
    assert colors < NODES, colors


def test_while_the_layout_moves_what_follows_refers_to_the_keyframe_of_the_stripes(server, dataset):
    session = session_of(server, dataset, "&play=60000")
    positions = (POS_KEY, POS_DELTA, POS_F32)
    found = frames(server, dataset, session, "&stripes=1", lambda all_: sum(f.kind in positions for f, _ in all_) > 13)
    order = [f for f, _ in found if f.kind in positions]
    number = order[0].stride
    assert [f.first for f in order[:number]] == list(range(number))
    assert len({f.seq for f in order[:number]}) == 1
    for f in order[number:]:
        assert f.stride == 1 and f.seq > order[0].seq
        assert f.kind != POS_DELTA or f.base_seq == order[0].seq


def test_a_page_that_lost_the_connection_within_the_stripes_gets_the_keyframe(server, dataset):
    session = session_of(server, dataset, "&play=0")
    first = frames(server, dataset, session, "&stripes=1", lambda all_: True)[0][0]
    assert first.kind == POS_KEY and first.stride > 1
    # It has said goodbye to what it had in part.
    again = frames(server, dataset, session, "&stripes=1", lambda all_: any(f.kind == POS_KEY and (
        f.stride == 1 or f.flags & LAST_STRIPE) for f, _ in all_), resume={"epoch": first.epoch, "seq": 0})
    assert sum(f.count for f, _ in again if f.kind == POS_KEY) >= NODES
