#!/usr/bin/env python3
"""Times steps of a session's document through a server of its own, as a page sees them: from sending a step to its masks and
numbers, or to the colours of a collection.

    document_steps.py --bin graphlume [--nodes 1000000] [--data FOLDER]

The graph is a preferential-attachment one with five edges a node, nine columns of the nodes and bound positions. A folder that is
named keeps the server's data for the next run. The Python packages are those of tests/requirements.txt."""

import argparse
import io
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/e2e"))

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as parquet  # noqa: E402
import requests  # noqa: E402

COLUMNS, SELECTED = 10, 100_000


def uploaded(server, binary, nodes):
    """A dataset of so many nodes whose column `a` is numbered from 0."""
    api, draw = server.api(), np.random.default_rng(1)
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        subprocess.run([binary, "generate", "ba", "--nodes", str(nodes), "--out", file.name], check=True, capture_output=True)
        edges = api.file(pathlib.Path(file.name).read_bytes(), "parquet", name="edges")
    text = lambda kinds: pa.array([f"kind {k}" for k in draw.integers(0, kinds, nodes)])  # noqa: E731
    columns = {
        "id": np.arange(nodes), "a": np.arange(nodes), "b": draw.integers(0, 100, nodes), "c": draw.normal(size=nodes),
        "d": draw.exponential(size=nodes), "kind": text(12), "city": text(5_000), "active": draw.random(nodes) < 0.5,
        "seen": pa.array(draw.integers(1_577_836_800_000, 1_735_689_600_000, nodes), pa.timestamp("ms")),
        "x": draw.normal(size=nodes), "y": draw.normal(size=nodes),
    }
    table = io.BytesIO()
    parquet.write_table(pa.table(columns), table)
    rows = api.file(table.getvalue(), "parquet", name="nodes")
    return api.dataset([edges["file_id"]], [rows["file_id"]], edges={"source": "src", "destination": "dst"},
                       nodes={"node": "id", "node_x": "x", "node_y": "y"}, name="steps")


class Bench:
    def __init__(self, server, dataset):
        from test_document import Page

        self.server, self.dataset, self.session = server, dataset, f"steps-{time.time_ns()}"
        self.headers = {"Authorization": f"Bearer {server.token()}"}
        requests.get(f"{server.url}/graph/graph.html?dataset={dataset}&workbook={self.session}&play=0",
                     headers=self.headers, allow_redirects=False).raise_for_status()
        self.page = Page(server, dataset, self.session, "admin")
        self.page.until(lambda: self.page.graph and self.page.frames)
        self.times = {}

    def ask(self, method, path, **more):
        params = {"dataset": self.dataset, "viewer": self.page.messages[0]["viewer"], **more.pop("params", {})}
        answer = requests.request(method, f"{self.server.url}/viz/{self.session}/{path}", params=params,
                                  headers=self.headers, **more)
        answer.raise_for_status()
        return answer.json()

    def timed(self, what, act, until=lambda: True):
        begun = time.perf_counter()
        answer = act()
        assert answer.get("t", "done") == "done", answer
        self.page.until(until)
        self.times.setdefault(what, []).append(1_000 * (time.perf_counter() - begun))

    def shown(self):
        """Whether masks and numbers newer than those of now are there."""
        counts = self.page.counts
        return lambda: self.page.counts is not counts

    def painted(self, frames):
        """Whether so many frames of colours came after now."""
        colors = self.page.colors
        return lambda: self.page.colors >= colors + frames

    def do(self, changes):
        changes = [{"path": path, "value": value} for path, value in changes.items()]
        return self.ask("POST", "do", json={"label": "step", "changes": changes})

    def undo(self):
        return self.page.ask(t="undo")

    def run(self):
        from live import bits

        nodes = self.page.graph["node_count"]
        columns = [c["name"] for c in self.ask("GET", "columns")["columns"] if c["axis"] == "node"][:COLUMNS]
        named = {"columns": ",".join(f"node:{name}" for name in columns)}
        self.timed(f"first question of {len(columns)} histograms", lambda: self.ask("GET", "bins", params=named))
        for k in range(8):
            brush = {"axis": "node", "column": "a", "range": [k, k + nodes // 2]}
            self.timed("brush moves" if k else "first brush", lambda: self.do({"filters/b": {"rule": {"brush": brush}}}), self.shown())
            self.timed(f"then {len(columns)} histograms", lambda: self.ask("GET", "bins", params=named))
            self.timed("brush taken back", self.undo, self.shown())
        draw = np.random.default_rng(1)
        for _ in range(5):
            rule = {"nodes": bits(draw.choice(nodes, SELECTED, replace=False), nodes)}
            self.timed("selection to a filter", lambda: self.do({"filters/s": {"rule": rule}}), self.shown())
            self.timed("filter taken back", self.undo, self.shown())
            own = {"name": "C", "node_color": "#ff0000", "rule": rule}
            self.timed("selection to a collection, painted", lambda: self.do({"collections/c": own}), self.painted(2))
            self.timed("collection taken back, painted", self.undo, self.painted(2))
        for what, times in self.times.items():
            print(f"{what}: median {statistics.median(times):.1f}, most {max(times):.1f} ms ({len(times)})")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", required=True)
    p.add_argument("--nodes", type=int, default=1_000_000)
    p.add_argument("--data", type=pathlib.Path)
    args = p.parse_args()
    os.environ["GRAPHLUME_BIN"] = args.bin
    from conftest import Server

    with tempfile.TemporaryDirectory() as tmp:
        folder = args.data or pathlib.Path(tmp) / "data"
        named = folder.parent / f"{folder.name}-steps-{args.nodes}"
        server = Server(folder).start()
        if not named.exists():
            named.write_text(uploaded(server, args.bin, args.nodes))
            # Of a graph that was just uploaded much is in memory already.
            server.stop()
            server.start()
        Bench(server, named.read_text()).run()
        server.stop()


if __name__ == "__main__":
    main()
