"""What pairs.py measures: ten figures, each of which runs two binaries directly one after the other.

A figure has `name`, `measure` (words for the table), `deciding` (the measures that may decide) and
`pair(binaries, first)`, which gives {"old": sample, "new": sample}. A sample has the seconds of each measure by part, such
as {"cpu": {"q1": 0.1}}, and what was worked on, so that two binaries that did different work are noticed.

The functions that drive the product are those of the other benches: queries.py, query_suite.py, ingest.py and
upload_stages.py.
"""

import ctypes
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[1] / "tests/e2e")]

import numpy as np
import pyarrow.parquet as pq

import ingest
import queries
import query_suite
import upload_stages

SIDES = ("old", "new")
# Facts of a report that tell whether two runs did the same work.
WORK = ("iterations", "levels", "visits", "groups", "rows", "cols", "matched", "edges")


def clock_is_fine():
    """Whether the CPU clock of a process steps by less than 10 microseconds; some systems count it in ticks of 10 ms."""
    steps, last, end = [], time.process_time(), time.perf_counter() + 0.05
    while time.perf_counter() < end:
        now = time.process_time()
        if now != last:
            steps.append(now - last)
        last = now
    return bool(steps) and statistics.median(steps) < 1e-5


def low(seconds):
    """The lower tenth of repeats, the least of fewer than ten: other work on the machine only ever adds."""
    return sorted(seconds)[len(seconds) // 10]


# The files that both binaries read.

class Inputs:
    """Files by their parameters, made once and kept in `folder`."""

    def __init__(self, folder, binary):
        self.folder, self.binary = Path(folder), binary
        self.folder.mkdir(parents=True, exist_ok=True)

    def made(self, name, make):
        """The path of a file that `make(path)` writes; another run never sees a half of it."""
        path = self.folder / name
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=self.folder) as tmp:
                make(Path(tmp) / name)
                os.replace(Path(tmp) / name, path)
        return path

    def rmat(self, scale, kind):
        """R-MAT with the columns src, dst, ts, amount, kind and name."""
        command = [self.binary, "generate", "rmat", "--scale", str(scale), "--attrs", "--out"]
        return self.made(f"rmat-{scale}-attrs.{kind}", lambda path: subprocess.run([*command, path], check=True, capture_output=True))

    def parquet(self, scale):
        """The same table, written by pyarrow with its defaults."""
        edges = self.rmat(scale, "parquet")
        return self.made(f"rmat-{scale}-attrs-pyarrow.parquet", lambda path: pq.write_table(pq.read_table(edges), path))

    def social(self, persons):
        """Nodes and edges of the social graph."""
        tables = {}

        def make(which):
            if not tables:
                tables["nodes"], tables["edges"] = query_suite.social(persons)
            return lambda path: tables[which].to_parquet(path)

        names = {which: f"social-{persons}-{which}.parquet" for which in ("nodes", "edges")}
        return [self.made(name, lambda path, which=which: make(which)(path)) for which, name in names.items()]


# Inside `graphlume bench`.

class Engine:
    """`run(binary)` starts one process and gives the sample that it makes."""

    def __init__(self, name, measure, run, fine):
        # On a coarse clock only the wall is left.
        self.deciding = ("cpu",) if fine else ("wall",)
        self.name, self.measure, self.run = name, f"{'CPU' if fine else 'wall'} ms, {measure}", run

    def pair(self, binaries, first):
        order = SIDES if first == "old" else SIDES[::-1]
        return {side: self.run(binaries[side]) for side in order}


def asked(edges, wanted, repeat, nodes=None, whole=None):
    """A run of queries: parts by the name of the query, or all of them together under the name `whole`."""
    def run(binary):
        doc = queries.report(binary, edges, wanted, repeat, nodes, threads=1)

        def parts(seconds):
            each = [low(seconds[i * repeat:(i + 1) * repeat]) for i in range(len(wanted))]
            return {whole: sum(each)} if whole else {q["name"]: s for q, s in zip(wanted, each)}

        work = {name: row["size"] for name, row in doc["result"].items() if isinstance(row, dict) and "size" in row}
        return {"cpu": parts(doc["cpu_seconds"]), "wall": parts(doc["seconds"]), "work": work}
    return run


def task(name, edges, repeat, *more):
    """A run of any other task of `graphlume bench`."""
    def run(binary):
        with tempfile.TemporaryDirectory() as tmp:
            out = Path(tmp) / "out.json"
            subprocess.run([binary, "bench", "--task", name, "--edges", edges, "--out", out, "--threads", "1",
                            "--repeat", str(repeat), *more], check=True, stdout=subprocess.DEVNULL)
            doc = json.loads(out.read_text())
        work = {fact: doc["result"][fact] for fact in WORK if fact in doc["result"]}
        return {"cpu": {name: low(doc["cpu_seconds"])}, "wall": {name: low(doc["seconds"])}, "work": work}
    return run


def parse(path, repeat):
    """A run that reads a file, as ingest.py does."""
    def run(binary):
        got = ingest.engine(SimpleNamespace(repeat=repeat), binary, path, 1)
        return {"cpu": {"parse": got["cpu"]}, "wall": {"parse": got["wall"]}, "work": {"rows": got["rows"]}}
    return run


# Through a server.

libc = ctypes.CDLL(None, use_errno=True)


def cpu_of(pid):
    """CPU seconds of a process with all its threads, ended ones too, to the nanosecond; None when it is gone."""
    clock = ctypes.c_int()
    if libc.clock_getcpuclockid(pid, ctypes.byref(clock)):
        return None
    try:
        return time.clock_gettime(clock.value)
    except OSError:
        return None


def children_of(pid):
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(word) for word in path.read_text().split()]
        except OSError:
            pass  # A thread that has just ended.
    return found


class Spent:
    """CPU seconds of a server and its parse workers since this was made; a worker that ends meanwhile is not counted."""

    def __init__(self, pid):
        self.pid, self.before = pid, self.now(pid)

    @staticmethod
    def now(pid):
        return {p: s for p in [pid, *children_of(pid)] if (s := cpu_of(p)) is not None}

    def seconds(self):
        return sum(s - self.before.get(p, 0.0) for p, s in self.now(self.pid).items())


class Servers:
    """Both binaries at once, each a server, started and asked in `order`. Every pair has servers of its own: what a server
    got by chance, such as its places in memory, stays with it, and would be taken for a difference of the binaries. So
    would places on disk: data folders are fresh, too, unless `kept` names a folder in which each side keeps its own."""

    def __init__(self, binaries, first, kept=None):
        self.order, self.binaries, self.kept = SIDES if first == "old" else SIDES[::-1], binaries, kept

    def __enter__(self):
        from conftest import Server

        self.folder, self.servers, self.apis = tempfile.TemporaryDirectory(), {}, {}
        try:
            for name, side in zip(("a", "b"), self.order):
                folder = Path(self.kept or self.folder.name) / (side if self.kept else name)
                folder.mkdir(parents=True, exist_ok=True)
                self.servers[side] = Server(folder / "data")
                os.environ["GRAPHLUME_BIN"] = str(self.binaries[side])
                self.apis[side] = self.servers[side].start().api()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for server in self.servers.values():
            if server.process and server.process.poll() is None:
                server.stop()
        self.folder.cleanup()

    def turn(self, number):
        """The sides in the order of a turn, which alternates."""
        return self.order if number % 2 == 0 else self.order[::-1]

    def spent(self, side):
        return Spent(self.servers[side].process.pid)


class Http:
    """Small queries, one client after the other, in blocks that alternate between the servers. Their data folders are kept in
    `folder`: the work that a server does after an upload would be among the first requests."""

    name, measure, deciding = "http small", "ms a request", ("cpu", "wall")
    BLOCKS, REQUESTS = 12, 100

    def __init__(self, edges, folder):
        self.body, self.folder, self.datasets = edges.read_bytes(), folder, {}
        sources = np.unique(pq.read_table(edges, columns=["src"])["src"].to_numpy())
        self.asked = [[queries.node(id=int(v)), queries.edge(1), queries.node()]
                      for v in np.random.default_rng(11).choice(sources, self.REQUESTS)]

    def upload(self, api):
        file = api.file(self.body, "parquet")["file_id"]
        return api.dataset([file], edges={"source": "src", "destination": "dst"})

    def pair(self, binaries, first):
        if not self.datasets:
            with Servers(binaries, first, self.folder) as both:
                self.datasets = {side: self.upload(both.apis[side]) for side in both.order}
        with Servers(binaries, first, self.folder) as both:
            login = lambda side: both.apis[side].session.headers["Authorization"]
            requests = {side: [queries.shape_request(self.datasets[side], login(side), q) for q in self.asked] for side in SIDES}
            took = {side: {"cpu": [], "wall": []} for side in SIDES}
            for number in range(self.BLOCKS + 1):
                for side in both.turn(number):
                    cpu, answers = both.spent(side), queue.SimpleQueue()
                    queries.client(both.servers[side].port, requests[side], answers)
                    # The first block of a process makes what the others use.
                    if number:
                        took[side]["cpu"].append(cpu.seconds() / self.REQUESTS)
                        took[side]["wall"] += answers.get()
        return {side: {m: {"request": low(took[side][m])} for m in ("cpu", "wall")} for side in SIDES}


class Upload:
    """A six-column CSV from the first byte to the first positions, alternating between the servers."""

    name, measure, deciding = "upload", "ms, to first positions", ("cpu", "wall")
    UPLOADS = 20

    def __init__(self, edges):
        self.body = edges.read_bytes()

    def pair(self, binaries, first):
        with Servers(binaries, first) as both:
            took = {side: {"cpu": [], "wall": []} for side in SIDES}
            for number in range(self.UPLOADS + 1):
                for side in both.turn(number):
                    cpu = both.spent(side)
                    stages = upload_stages.once(both.servers[side], both.apis[side], self.body, "csv", f"pair-{number:02}")
                    # The first one of a process makes what the others use.
                    if number:
                        took[side]["cpu"].append(cpu.seconds())
                        took[side]["wall"].append(stages["total"])
        return {side: {m: {"upload": low(took[side][m])} for m in ("cpu", "wall")} for side in SIDES}


def figures(names, cache, old, folder):
    """The figures of these names of pairs.NAMES, in order; their files lie in `cache`, what servers keep lies in `folder`."""
    inputs, fine = Inputs(cache, old), clock_is_fine()
    # What the algorithms walk over at random fits the cache of a core, which no other work on the machine shares.
    edges, small = inputs.rmat(16, "parquet"), inputs.rmat(14, "parquet")

    def social():
        nodes, links = inputs.social(20_000)
        wanted = [{"name": name, "cypher": text} for name, text in query_suite.CYPHER.items()]
        return Engine("social", "nine queries", asked(links, wanted, 60, nodes), fine)

    def hops():
        ends = pq.read_table(edges, columns=["src", "dst"])
        nodes = np.union1d(ends["src"].to_numpy(), ends["dst"].to_numpy())
        wanted = [{"name": "hops", "shape": True, "gfql": [queries.node(id=int(v)), queries.edge(2, "undirected"), queries.node()]}
                  for v in np.random.default_rng(7).choice(nodes, 400)]
        return Engine("hops", "2 hops from 400 nodes", asked(edges, wanted, 5, whole="hops"), fine)

    def filtered():
        wire = {"kind": "ssh", "amount": {"type": "GT", "val": 5000.0}}
        wanted = [{"name": "filter", "shape": True, "gfql": [queries.edge(**wire)]}]
        return Engine("filter", "two predicates", asked(edges, wanted, 300), fine)

    made = {
        "social": social,
        "hops": hops,
        "filter": filtered,
        "http small": lambda: Http(inputs.rmat(12, "parquet"), Path(folder) / "http"),
        "pagerank": lambda: Engine("pagerank", "to 1e-6", task("pagerank", small, 200), fine),
        "louvain": lambda: Engine("louvain", "one search", task("louvain", small, 40), fine),
        "force_atlas2": lambda: Engine("force_atlas2", "5 iterations", task("fa2", small, 30, "--iterations", "5"), fine),
        "csv": lambda: Engine("csv", "six columns", parse(inputs.rmat(16, "csv"), 10), fine),
        "parquet": lambda: Engine("parquet", "six columns", parse(inputs.parquet(16), 10), fine),
        "upload": lambda: Upload(inputs.rmat(13, "csv")),
    }
    return [made[name]() for name in names]
