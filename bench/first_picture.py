#!/usr/bin/env python3
"""Times how soon a page on a slow link shows a graph of a million nodes and three million edges, through a server of its own.

    first_picture.py --bin graphlume [--nodes 1000000] [--mbit 10] [--runs 3] [--data FOLDER]

Prints one line of JSON a run, of shell/web/bench/first-picture.mjs. A folder that is named keeps the server's data for the next
run. The Python packages are those of tests/requirements.txt."""

import argparse
import io
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as parquet  # noqa: E402

EDGES_PER_NODE = 3
KINDS = 12


def packed(columns):
    table = io.BytesIO()
    parquet.write_table(pa.table(columns), table)
    return table.getvalue()


def uploaded(server, nodes):
    """Clouds of nodes with a kind each; most edges stay within a cloud."""
    api, draw = server.api(), np.random.default_rng(1)
    kind = draw.integers(0, KINDS, nodes)
    middle = draw.normal(size=(KINDS, 2)) * 6
    xy = middle[kind] + draw.normal(size=(nodes, 2))
    order = np.argsort(kind, kind="stable")
    src = draw.integers(0, nodes, EDGES_PER_NODE * nodes)
    near = np.clip(np.searchsorted(kind[order], kind[src]) + draw.integers(0, nodes // KINDS // 2, len(src)), 0, nodes - 1)
    dst = np.where(draw.random(len(src)) < 0.95, order[near], draw.integers(0, nodes, len(src)))
    edges = api.file(packed({"src": src, "dst": dst}), "parquet")
    text = pa.array([f"kind {k}" for k in kind])
    rows = api.file(packed({"id": np.arange(nodes), "kind": text, "x": xy[:, 0], "y": xy[:, 1]}), "parquet")
    return api.dataset([edges["file_id"]], [rows["file_id"]], edges={"source": "src", "destination": "dst"},
                       nodes={"node": "id", "node_x": "x", "node_y": "y"}, name="first picture")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bin", required=True)
    options.add_argument("--nodes", type=int, default=1_000_000)
    options.add_argument("--mbit", type=float, default=10)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--data")
    args = options.parse_args()
    os.environ["GRAPHLUME_BIN"] = args.bin
    import conftest

    folder = pathlib.Path(args.data or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    known = folder / "first-picture-dataset"
    server = conftest.Server(folder / "data").start()
    try:
        dataset = known.read_text() if known.exists() else uploaded(server, args.nodes)
        known.write_text(dataset)
        address = f"{server.url}/graph/graph.html?dataset={dataset}&play=0&splashAfter=False"
        # The first run has the server load the graph.
        for mbit in [10_000, *[args.mbit] * args.runs]:
            command = ["node", "bench/first-picture.mjs", address, str(mbit)]
            subprocess.run(command, cwd=ROOT / "shell/web", check=True)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
