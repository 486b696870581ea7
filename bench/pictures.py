#!/usr/bin/env python3
"""CPU seconds of a server's pictures of 40 megapixels: 4,000 placed nodes with as many edges as said, a window in which nothing
lies, and a small picture beside them.

    pictures.py --bin graphlume [--edges 0,4000,16000] [--rounds 5]

An edge joins two nodes drawn at random, so that edges cross the whole picture; 0 is one edge, for a graph has one.

A row is the least and the median of the rounds, over the CPU seconds of the server and the workers that it started, and the bytes
of the answer. The Python packages are those of tests/requirements.txt."""

import argparse
import io
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/e2e"))

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as parquet  # noqa: E402

NODES = 4_000
SIZE = {"width": 8_000, "height": 5_000}
ASKED = {
    "4,000 nodes, 40 megapixels": SIZE,
    "an empty window, 40 megapixels": {**SIZE, "left": 1000, "right": 1001, "bottom": 1000, "top": 1001},
    "4,000 nodes, 1440 by 900": {"width": 1_440, "height": 900},
}


def table(columns):
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out)
    return out.getvalue()


def opened(server, api, edges):
    """A session whose nodes lie in a disc of radius 1."""
    from live import Viewer

    draw = np.random.default_rng(1)
    radius, angle = np.sqrt(draw.random(NODES)), 2 * np.pi * draw.random(NODES)
    nodes = table({"id": np.arange(NODES), "x": radius * np.cos(angle), "y": radius * np.sin(angle)})
    ends = draw.integers(0, NODES, (2, max(edges, 1)))
    rows = table({"src": ends[0], "dst": ends[1]})
    files = [[api.file(body, "parquet")["file_id"]] for body in (rows, nodes)]
    bound = {"node": "id", "node_x": "x", "node_y": "y"}
    dataset = api.dataset(*files, edges={"source": "src", "destination": "dst"}, nodes=bound)
    viewer = Viewer(server, dataset, f"pictures-{edges}")
    viewer.until(lambda: viewer.frames)
    return dataset, viewer


def measure(server, api, edges, rounds):
    """The rows of one graph."""
    from pair_figures import Spent

    dataset, viewer = opened(server, api, edges)
    for name, query in ASKED.items():
        took = []
        asked = {"dataset": dataset, "wait": 0, "superGraph": "false", **query}
        for _ in range(rounds):
            spent = Spent(server.process.pid)
            answer = api("GET", f"/viz/pictures-{edges}/picture.png", params=asked)
            assert answer.status_code == 200, answer.text
            took.append(spent.seconds())
        print(f"| {edges} | {name} | {min(took):.2f} | {statistics.median(took):.2f} | {len(answer.content) / 1e6:.2f} |", flush=True)
    viewer.close()


def main():
    from conftest import Server

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--edges", default="0,4000,16000")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ["GRAPHLUME_BIN"] = options.bin
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "data")
        try:
            api = server.start().api()
            print("| edges | picture | least CPU s | median CPU s | MB |\n|---|---|---|---|---|")
            for edges in map(int, options.edges.split(",")):
                measure(server, api, edges, options.rounds)
        finally:
            if server.process and server.process.poll() is None:
                server.stop()


if __name__ == "__main__":
    main()
