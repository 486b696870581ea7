"""What `scripts/bench.sh --large` measures: sizes that people have, in time, in peak memory and in quality.

The figures have the form that pair_figures.py describes, and more: `each` says that every measure of `deciding` has to be
fine by itself, for a search that is as fast as before and takes twice the memory, or finds worse communities, is worse.
Quality is the inverse of what is found, so that more is worse as with seconds and bytes. `round` pairs make a round.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import queries
import query_suite
import upload_stages
from pair_figures import Inputs, Servers, children_of, low

SIDES = ("old", "new")
# The least number of pairs whose interval has an end.
PAIRS = 6
FIRST_PAIR = 60.0
# What threads hold at one moment differs from run to run.
SERVERS_SCATTER = {"memory": 10.0}


class Large:
    """What the figures have in common."""

    each, round, first_pair = True, PAIRS, FIRST_PAIR
    # Per cent by which a measure scatters beyond the bound, by itself.
    scatter = {}

    def __init__(self, name, measure, deciding, run=None):
        self.name, self.measure, self.deciding, self.run = name, measure, deciding, run

    def pair(self, binaries, first):
        order = SIDES if first == "old" else SIDES[::-1]
        return {side: self.run(binaries[side]) for side in order}


# Algorithms, each in a process of its own on all cores, as `graphlume compute` runs them.

def ran(command):
    """CPU seconds of a process, and what it said on standard error. Its memory is not asked of the system, which counts what this
    process held when it began the other; the programs tell it themselves, as `peak_bytes`."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=said.encode())
    return used.ru_utime + used.ru_stime, said


def modularity(edges, labels):
    """Of the labels of nodes in the graph that the search sees: each pair of nodes once, and loops left out."""
    ends = pq.read_table(edges, columns=["src", "dst"])
    src, dst = (ends[name].to_numpy() for name in ("src", "dst"))
    pairs = np.unique(np.stack([np.minimum(src, dst), np.maximum(src, dst)]).astype(np.uint64).T @ np.array([1 << 32, 1], np.uint64))
    src, dst = (pairs >> np.uint64(32)).astype(np.int64), (pairs & np.uint64(0xFFFFFFFF)).astype(np.int64)
    table = pq.read_table(labels)
    nodes, found = table.column(0).to_numpy().astype(np.int64), table.column(1).to_numpy().astype(np.int64)
    of = np.zeros(int(max(nodes.max(), src.max(), dst.max())) + 1, np.int64)
    of[nodes] = found
    keep = src != dst
    a, b = of[src[keep]], of[dst[keep]]
    inside = np.bincount(a[a == b], minlength=int(of.max()) + 1)
    degrees = np.bincount(a, minlength=len(inside)) + np.bincount(b, minlength=len(inside))
    m = keep.sum()
    return float(inside.sum() / m - ((degrees / (2 * m)) ** 2).sum())


def algorithm(name, graphs, repeat, has_quality=False):
    """A run of an algorithm on each of `graphs`, {part: path of the edges}; the file is read once for `repeat` runs."""
    def run(binary):
        made = {"cpu": {}, "memory": {}, **({"quality": {}} if has_quality else {})}
        with tempfile.TemporaryDirectory() as tmp:
            for part, edges in graphs.items():
                out = Path(tmp) / "out.parquet"
                made["cpu"][part], said = ran(
                    [binary, "compute", name, edges, "--repeat", repeat, "--backend", "cpu", "--out", out, "--timings"])
                made["memory"][part] = json.loads(said.splitlines()[-1])["peak_bytes"]
                if has_quality:
                    made["quality"][part] = 1 / modularity(edges, out)
        return made
    return run


def layout(graphs, iterations):
    def run(binary):
        made = {"cpu": {}, "memory": {}}
        with tempfile.TemporaryDirectory() as tmp:
            for part, edges in graphs.items():
                out = Path(tmp) / "out.json"
                ran([binary, "bench", "--task", "fa2", "--edges", edges, "--out", out, "--repeat", 1, "--iterations", iterations])
                said = json.loads(out.read_text())
                made["cpu"][part], made["memory"][part] = low(said["cpu_seconds"]), said["result"]["peak_bytes"]
        return made
    return run


# Queries inside the engine.

def asked(edges, wanted, repeat, nodes=None):
    """A run of queries, parts by their names.

    The peak is that of a process that answers one query only: what an allocator keeps between several differs by tens of
    MiB with their order, and says nothing of any of them. It is the same in each run to a fraction of a per cent, so that
    each binary is measured once.
    """
    peaks = {}

    def peak(binary, query):
        return queries.report(binary, edges, [query], repeat, nodes, threads=1)["result"]["peak_bytes"]

    def run(binary):
        if binary not in peaks:
            peaks[binary] = {q["name"]: peak(binary, q) for q in wanted}
        doc = queries.report(binary, edges, wanted, repeat, nodes, threads=1)
        cpu = {q["name"]: low(doc["cpu_seconds"][i * repeat:(i + 1) * repeat]) for i, q in enumerate(wanted)}
        work = {name: row["size"] for name, row in doc["result"].items() if isinstance(row, dict) and "size" in row}
        return {"cpu": cpu, "memory": peaks[binary], "work": work}
    return run


SCANS = {
    "range": "MATCH ()-[e]->() WHERE e.amount > 2500 AND e.amount < 7500 RETURN count(*)",
    "text": "MATCH ()-[e]->() WHERE e.name CONTAINS '77' RETURN count(*)",
    "groups": "MATCH ()-[e]->() RETURN e.kind AS kind, count(*) AS n, avg(e.amount) AS mean ORDER BY kind",
    "first": "MATCH ()-[e]->() RETURN e.name AS name, e.ts AS ts ORDER BY ts DESC LIMIT 100",
}


# Through a server.

def peak_of(pid):
    """Peak bytes of a server and of the workers that it has."""
    def one(process):
        try:
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)
    return sum(one(process) for process in [pid, *children_of(pid)])


class Uploads(Large):
    """45 MB from the first byte to the first positions, in each format, on servers of their own for every pair."""

    TIMES, scatter = 2, SERVERS_SCATTER

    def __init__(self, bodies):
        super().__init__("uploads", "to first positions", ("cpu", "memory"))
        self.bodies = bodies

    def pair(self, binaries, first):
        cpu, number = {side: {} for side in SIDES}, 0
        with Servers(binaries, first) as both:
            for kind, (address, body) in self.bodies.items():
                for side in SIDES:
                    cpu[side][kind] = []
                for _ in range(self.TIMES):
                    for side in both.turn(number):
                        spent = both.spent(side)
                        upload_stages.once(both.servers[side], both.apis[side], body, address, f"large-{number}")
                        cpu[side][kind].append(spent.seconds())
                    number += 1
            peak = {side: peak_of(both.servers[side].process.pid) for side in SIDES}
        return {side: {"cpu": {kind: low(s) for kind, s in cpu[side].items()}, "memory": {"all": peak[side]}} for side in SIDES}


class Pictures(Large):
    """What the server draws of a graph whose nodes have places: every node, and communities in their place."""

    ASKED = {"nodes": {"superGraph": "false"}, "communities": {}}
    TIMES, scatter = 2, SERVERS_SCATTER

    def __init__(self, nodes, edges):
        super().__init__("picture", "one picture", ("cpu", "memory"))
        self.bodies = [path.read_bytes() for path in (nodes, edges)]

    def opened(self, server, api, session):
        from live import Viewer

        nodes, edges = (api.file(body, "parquet")["file_id"] for body in self.bodies)
        bound = {"node": "node", "node_x": "x", "node_y": "y"}
        dataset = api.dataset([edges], [nodes], edges={"source": "src", "destination": "dst"}, nodes=bound)
        viewer = Viewer(server, dataset, session)
        viewer.until(lambda: viewer.frames)
        return dataset, viewer

    def pair(self, binaries, first):
        took = {side: {part: [] for part in self.ASKED} for side in SIDES}
        with Servers(binaries, first) as both:
            pages = {side: self.opened(both.servers[side], both.apis[side], "large") for side in both.order}
            for number in range(self.TIMES + 1):
                for part, query in self.ASKED.items():
                    for side in both.turn(number):
                        spent = both.spent(side)
                        r = both.apis[side]("GET", "/viz/large/picture.png", params={"dataset": pages[side][0], "wait": 0, **query})
                        assert r.status_code == 200, r.text
                        # The first one finds the communities that the others use.
                        if number:
                            took[side][part].append(spent.seconds())
            for _, viewer in pages.values():
                viewer.close()
            peak = {side: peak_of(both.servers[side].process.pid) for side in SIDES}
        return {side: {"cpu": {part: low(s) for part, s in took[side].items()}, "memory": {"all": peak[side]}} for side in SIDES}


# The files.

class LargeInputs(Inputs):
    def plain(self, name, *kind):
        """A graph of `graphlume generate`, ends of edges only."""
        make = lambda path: subprocess.run([self.binary, "generate", *kind, "--out", path], check=True, capture_output=True)
        return self.made(f"{name}.parquet", make)

    def lines(self, scale):
        """The table with attributes, one record a line."""
        edges = self.rmat(scale, "parquet")
        return self.made(f"rmat-{scale}-attrs.jsonl",
                         lambda path: pq.read_table(edges).to_pandas().to_json(path, orient="records", lines=True))

    def placed(self, count):
        """Nodes and edges of communities that lie on a ring."""
        nodes, edges = (self.folder / f"placed-{count}-{which}.parquet" for which in ("nodes", "edges"))
        if not (nodes.exists() and edges.exists()):
            with tempfile.TemporaryDirectory(dir=self.folder) as tmp:
                made = [Path(tmp) / "edges.parquet", Path(tmp) / "nodes.parquet"]
                subprocess.run([self.binary, "generate", "sbm", "--nodes", str(count), "--edges", str(5 * count),
                                "--communities", "120", "--out", made[0], "--node-file", made[1]], check=True, capture_output=True)
                table, draw = pd.read_parquet(made[1]), np.random.default_rng(3)
                turn = 2 * np.pi * table["community"] / 120
                for axis, of in (("x", np.cos), ("y", np.sin)):
                    table[axis] = 1000 * of(turn) + draw.normal(0, 20, len(table))
                table.to_parquet(made[1])
                os.replace(made[0], edges)
                os.replace(made[1], nodes)
        return nodes, edges


def figures(names, cache, old, folder):
    """The figures of these names, in order; `folder` is not used, as servers keep nothing here."""
    inputs = LargeInputs(cache, old)
    graphs = lambda: {"rmat 18": inputs.plain("rmat-18", "rmat", "--scale", "18"),
                      "lfr": inputs.plain("lfr-100000", "lfr", "--nodes", "100000")}
    of = ("cpu", "memory")

    def social():
        nodes, links = inputs.social(100_000)
        wanted = [{"name": name, "cypher": text} for name, text in query_suite.CYPHER.items()]
        return Large("social", "nine questions, 100,000 persons", of, asked(links, wanted, 10, nodes))

    def scans():
        wanted = [{"name": name, "cypher": text} for name, text in SCANS.items()]
        return Large("scans", "a million edges", of, asked(inputs.rmat(16, "parquet"), wanted, 20))

    def uploads():
        kinds = {"csv": ("csv", inputs.rmat(16, "csv")), "parquet": ("parquet", inputs.parquet(16)),
                 "json lines": ("json?lines=true", inputs.lines(16))}
        return Uploads({kind: (address, path.read_bytes()) for kind, (address, path) in kinds.items()})

    made = {
        "pagerank": lambda: Large("pagerank", "", of, algorithm("pagerank", graphs(), 3)),
        "components": lambda: Large("components", "", of, algorithm("connected_components", graphs(), 20)),
        "louvain": lambda: Large("louvain", "", (*of, "quality"), algorithm("louvain", graphs(), 2, True)),
        "leiden": lambda: Large("leiden", "", (*of, "quality"), algorithm("leiden", graphs(), 1, True)),
        "force_atlas2": lambda: Large("force_atlas2", "4 iterations", of, layout(graphs(), 4)),
        "social": social,
        "scans": scans,
        "uploads": uploads,
        "picture": lambda: Pictures(*inputs.placed(60_000)),
    }
    return [made[name]() for name in names]
