"""Until the picture stands: Graphlume beside `fa2_modified` and igraph's drl on the same graphs, in one run.

    layouts.py settled --bin BIN [--graphs lfr60k,tree100k,tree1m] [--limit 240] [--threads 2] [--rounds 3] [--write FILE]

Ours is `graphlume layout force_atlas2` without a number of iterations: the start and the rule of ending of a session. Seconds are
those of the layout with its start, CPU seconds those of the whole process. Each peer is a process of its own, with the parameters
of its package, and ends at `--limit` seconds.

Stress and `atedge`, the mean length of an edge over the mean distance of nodes, are those of quality.py. Stress alone does not say that
anything was drawn: where nearly all nodes are three or four hops apart, random places have about the least that the plane allows. So a
peer's picture is as good as ours when its stress is at most 1 % and its edges at most 5 % above ours. `fa2_modified` goes on until
then, looked at after each eighth of the time more, and the time until then counts; where it never comes, the ratio is "at least". drl gives no
positions on the way: it counts as a whole, and its ratio is "at least" where it ends with a worse picture or not at all.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import quality

# The graphs, and whether peers take part.
GRAPHS = {
    "lfr60k": (["lfr", "--nodes", "60000", "--mixing", "30"], True),
    "tree100k": (["tree", "--nodes", "100000", "--edges", "900000"], True),
    "tree1m": (["tree", "--nodes", "1000000", "--edges", "5000000"], False),
}
# The most iterations that `graphlume layout` does by itself.
ITERATIONS_MAX = 500
# How much worse the picture of a peer may be: its stress, and the length of its edges.
EQUAL = {"stress": 1.01, "atedge": 1.05}
PEERS = ("fa2_modified", "drl")
HEAD = ["graph", "nodes", "edges", "layout", "s", "CPU s", "iterations", "stress", "atedge", "times the s", "times the CPU s"]


def ours(program, graph, threads, folder):
    """Seconds, CPU seconds, iterations and positions of one run."""
    out = folder / "ours.parquet"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, "layout", "force_atlas2", graph, "--threads", str(threads), "--timings", "--out", out],
                          capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    facts = json.loads((done.stdout + done.stderr).strip().splitlines()[-1])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return facts["run_s"], cpu, facts["iterations"], quality.read_layout(out, facts["nodes"])


class Picture:
    """Measures of layouts of one graph."""

    def __init__(self, path):
        n, src, dst = quality.read_graph(path)
        keep = src != dst
        self.ends, self.pairs = (src[keep], dst[keep]), quality.sampled_pairs(n, src, dst)
        self.distant = quality.distant_ends(quality.adjacency(n, src, dst))

    def measured(self, positions):
        positions = np.asarray(positions, float)
        return {"stress": quality.stress(positions, self.pairs),
                "atedge": quality.edge_length(positions, *self.ends, self.distant)}


class Watch:
    """Clocks that stand still while a picture is measured, and the ending of a peer."""

    def __init__(self, picture, goal, limit):
        self.picture, self.goal, self.limit, self.next, self.iterations = picture, goal, limit, 1.0, 0
        self.begin()

    def begin(self, wall=0.0, cpu=0.0):
        self.wall, self.cpu = time.perf_counter() - wall, time.process_time() - cpu

    def look(self, positions, last=False):
        wall, cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu
        if not last and wall < self.next:
            return
        row = {"seconds": wall, "cpu_seconds": cpu, "iterations": self.iterations, **self.picture.measured(positions())}
        row["equal"] = all(row[key] <= above * self.goal[key] for key, above in EQUAL.items())
        print(json.dumps(row), flush=True)
        if row["equal"] or wall >= self.limit:
            os._exit(0)
        self.next = 1.125 * wall
        self.begin(wall, cpu)


def pairs_of(path):
    """Node count and the distinct undirected pairs, as the packages see the graph."""
    n, src, dst = quality.read_graph(path)
    keep = src != dst
    key = np.unique(np.minimum(src, dst)[keep] * n + np.maximum(src, dst)[keep])
    return n, np.stack([key // n, key % n], 1)


def run_fa2_modified(path, watch):
    from types import SimpleNamespace

    import fa2_modified.forceatlas2 as package
    from scipy.sparse import csr_matrix

    n, pairs = pairs_of(path)
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    matrix = csr_matrix((np.ones(len(ends)), ends.T), shape=(n, n))
    step = package.fa2util.adjustSpeedAndApplyForces

    def watched(nodes, *rest):
        values = step(nodes, *rest)
        watch.iterations += 1
        watch.look(lambda: [(node.x, node.y) for node in nodes])
        return values

    package.fa2util = SimpleNamespace(**{**vars(package.fa2util), "adjustSpeedAndApplyForces": watched})
    start = np.random.default_rng(1).random((n, 2))
    watch.begin()
    package.ForceAtlas2(verbose=False).forceatlas2(matrix, pos=start, iterations=1_000_000)


def run_drl(path, watch):
    import random

    import igraph

    random.seed(1)
    n, pairs = pairs_of(path)
    graph = igraph.Graph(n, pairs.tolist())
    watch.begin()
    made = graph.layout_drl()
    watch.look(lambda: made.coords, last=True)


def peer(name, path, goal, limit):
    """The last look at a peer, or None when it had none until the limit, and how it failed."""
    command = [sys.executable, Path(__file__).resolve(), name, path, json.dumps(goal), str(limit)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1.5 * limit + 60 if name == PEERS[0] else limit + 30)
        text = done.stdout
        if done.returncode:
            return None, done.stderr.strip().splitlines()[-1]
    except subprocess.TimeoutExpired as e:
        text = (e.stdout or b"").decode()
    lines = text.strip().splitlines()
    return (json.loads(lines[-1]) if lines else None), None


def cells(facts, name, of, mine, least=""):
    """A row of the table."""
    times = lambda key: f"{least}{of[key] / mine[key]:.1f}" if of is not mine else ""
    shown = lambda key, digits: f"{of[key]:.{digits}f}" if key in of else ""
    return [*facts, name, shown("seconds", 2), shown("cpu_seconds", 2), of["iterations"], shown("stress", 4), shown("atedge", 3),
            times("seconds"), times("cpu_seconds") if "cpu_seconds" in of else ""]


def peer_row(facts, name, path, mine, limit):
    """What became of one peer, and its row."""
    found, failed = peer(name, path, {key: mine[key] for key in EQUAL}, limit)
    if failed:
        return [*facts, f"{name}: {failed}", *[""] * 7]
    if found is None:
        return cells(facts, name, {"seconds": limit, "iterations": "not at its end"}, mine, "at least ")
    found["iterations"] = found["iterations"] or "its own"
    return cells(facts, name, found, mine, "" if found["equal"] else "at least ")


def rows_of(options, name, folder):
    kind, has_peers = GRAPHS[name]
    path = folder / f"{name}.parquet"
    subprocess.run([options.bin, "generate", *kind, "--out", path], check=True, capture_output=True)
    n, src, _ = quality.read_graph(path)
    facts = [name, n, len(src)]
    runs = [ours(options.bin, path, options.threads, folder) for _ in range(options.rounds if has_peers else 1)]
    count = runs[0][2]
    mine = {"seconds": statistics.median(r[0] for r in runs), "cpu_seconds": statistics.median(r[1] for r in runs),
            "iterations": count if count < ITERATIONS_MAX else f"{count}, still moving",
            **Picture(path).measured(runs[0][3])}
    yield cells(facts, "Graphlume", mine, mine)
    for other in PEERS if has_peers and not options.no_peer else ():
        yield peer_row(facts, other, path, mine, options.limit)


def main(arguments):
    from layouts import table

    parser = argparse.ArgumentParser(prog="layouts.py settled", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--limit", type=float, default=240)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="runs of ours, of which the median counts")
    parser.add_argument("--no-peer", action="store_true", help="only ours")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args(arguments)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.graphs.split(","):
            for row in rows_of(options, name, Path(folder)):
                rows.append(row)
                print("\t".join(map(str, row)), flush=True)
    text = table(HEAD, rows)
    print(text)
    if options.write:
        load = f"load {os.getloadavg()[1]:.1f}"
        took = f"`bench/layouts.py settled`, {options.threads} threads, peers ended at {options.limit:g} s, {load}, {time.strftime('%Y-%m-%d')}"
        options.write.write_text(f"# Until the picture stands\n\n{took}\n\n{text}\n")


def run_peer(name, path, goal, limit):
    watch = Watch(Picture(path), json.loads(goal), float(limit))
    {"fa2_modified": run_fa2_modified, "drl": run_drl}[name](path, watch)


if __name__ == "__main__":
    run_peer(*sys.argv[1:])
