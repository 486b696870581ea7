#!/usr/bin/env python3
"""Layouts of Graphlume beside igraph's: seconds, stress and neighbourhood preservation on ten graphs a size.

    layouts.py settled --bin BIN [...]     until the picture stands, see settled.py
    layouts.py BIN [NAMES] [--sizes 100,1000,10000] [--graphs NAMES] [--limit 60] [--threads 2] [--write FILE] [--append]

NAMES are igraph's names of layouts, separated by commas. Each igraph layout runs in a process of its own and is ended at
`--limit` seconds, which then count as its time; it has no positions to compare then. Ours runs by the command line, whose
timings count, without reading the file. Both run to the end that their default parameters set, so that where ours takes
less time, the comparison of quality favours igraph.

Stress is the mean over connected pairs (of 500 sampled sources above 2,000 nodes) of ((a |xi - xj| - d) / d)^2 with hop
distances d and the best scale a. Neighbourhood preservation is the share of a node's 15 nearest points that are among its
15 nearest nodes by hops, where nodes as far as the fifteenth all count.
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

NAMES = "kk,kk_3d,fr,fr_3d,drl,drl_3d,lgl,graphopt,dh"
NEAREST = 15
SOURCES = 500


def rmat(n, m, seed):
    """Skewed degrees (Chakrabarti 2004)."""
    rng = np.random.default_rng(seed)
    bits = int(np.ceil(np.log2(n)))
    ends = np.zeros((2, m), np.int64)
    for _ in range(bits):
        draw = rng.random(m)
        ends[0] = 2 * ends[0] + (draw >= 0.76)
        ends[1] = 2 * ends[1] + (((draw >= 0.57) & (draw < 0.76)) | (draw >= 0.95))
    return n, (ends % n).T


def groups(n, size, inside, across, seed):
    """Groups of `size` nodes with `inside` edges a node among them, and `across` edges a node between any two."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, n, int(n * inside))
    b = np.minimum(a // size * size + rng.integers(0, size, len(a)), n - 1)
    more = rng.integers(0, n, (int(n * across), 2))
    return n, np.concatenate([np.stack([a, b], 1), more])


def path_of_groups(n, seed):
    """Groups of 20 nodes in a row, one edge between two that follow each other."""
    _, inner = groups(n, 20, 4, 0, seed)
    joints = np.arange(0, n - 20, 20)
    return n, np.concatenate([inner, np.stack([joints, joints + 20], 1)])


def grid(n):
    side = int(np.sqrt(n))
    v = np.arange(side * side)
    right, down = v[v % side < side - 1], v[v < side * (side - 1)]
    return side * side, np.concatenate([np.stack([right, right + 1], 1), np.stack([down, down + side], 1)])


def tree(n, seed):
    rng = np.random.default_rng(seed)
    v = np.arange(1, n)
    return n, np.stack([(rng.random(n - 1) * np.minimum(v, 1 + v)).astype(np.int64), v], 1)


def preferential(n, m, seed):
    """Each node joins `m` ends of earlier edges (Barabasi and Albert 1999)."""
    rng = np.random.default_rng(seed)
    ends = list(range(m))
    rows = []
    for v in range(m, n):
        chosen = {ends[int(rng.integers(len(ends)))] for _ in range(m)}
        rows += [(u, v) for u in sorted(chosen)]
        ends += [*sorted(chosen), *[v] * len(chosen)]
    return n, np.array(rows)


def small_world(n, seed):
    """A ring in which each node is joined to four nearest ones, a twentieth of the edges drawn anew."""
    rng = np.random.default_rng(seed)
    v = np.arange(n)
    rows = np.concatenate([np.stack([v, (v + 1) % n], 1), np.stack([v, (v + 2) % n], 1)])
    drawn = rng.random(len(rows)) < 0.05
    rows[drawn, 1] = rng.integers(0, n, drawn.sum())
    return n, rows


def two_parts(n, seed):
    _, first = grid(int(n * 0.6))
    at = int(np.sqrt(int(n * 0.6))) ** 2
    _, second = preferential(n - at, 2, seed)
    return n, np.concatenate([first, second + at])


def bipartite(n, seed):
    rng = np.random.default_rng(seed)
    half = n // 3
    left = rng.integers(0, half, 2 * n)
    right = half + (left * 2 + rng.integers(0, 12, 2 * n)) % (n - half)
    return n, np.stack([left, right], 1)


def graphs(size):
    """Ten graphs of about `size` nodes, by name: number of nodes, and pairs of ends."""
    return {
        "rmat": lambda: rmat(size, 4 * size, 1),
        "sbm": lambda: groups(size, max(size // 10, 10), 5, 0.5, 2),
        "groups": lambda: groups(size, 25, 4, 0.3, 3),
        "path_of_groups": lambda: path_of_groups(size, 4),
        "grid": lambda: grid(size),
        "tree": lambda: tree(size, 5),
        "preferential": lambda: preferential(size, 3, 6),
        "small_world": lambda: small_world(size, 7),
        "two_parts": lambda: two_parts(size, 8),
        "bipartite": lambda: bipartite(size, 9),
    }


def hops(n, pairs, sources):
    one = np.ones(len(pairs))
    matrix = coo_matrix((one, (pairs[:, 0], pairs[:, 1])), shape=(n, n)).tocsr()
    return dijkstra(matrix, directed=False, indices=sources, unweighted=True)


def quality(points, distance, sources):
    """Stress, and share of the 15 nearest points that are nearest nodes."""
    n = len(points)
    ratios = []
    for row, v in enumerate(sources):
        far = np.linalg.norm(points - points[v], axis=1)
        counts = np.isfinite(distance[row]) & (distance[row] > 0)
        ratios.append(far[counts] / distance[row][counts])
    ratio = np.concatenate(ratios)
    scale = ratio.sum() / max((ratio * ratio).sum(), 1e-300)
    stress = float(((scale * ratio - 1) ** 2).mean()) if len(ratio) else 0.0
    k = min(NEAREST, n - 1)
    _, near = cKDTree(points).query(points[sources], k=k + 1)
    kept = []
    for row, v in enumerate(sources):
        own = [u for u in near[row] if u != v][:k]
        limit = np.partition(np.delete(distance[row], v), k - 1)[k - 1]
        if np.isfinite(limit):
            kept.append(np.mean(distance[row][own] <= limit))
    return stress, float(np.mean(kept)) if kept else 1.0


PEER = """
import random, sys, time
import igraph, numpy as np
random.seed(1)
data = np.load(sys.argv[1])
graph = igraph.Graph(int(data["n"]), data["pairs"].tolist())
if sys.argv[2] == "bipartite":
    graph.vs["type"] = graph.is_bipartite(return_types=True)[1]
begin = time.perf_counter()
made = graph.layout(sys.argv[2])
seconds = time.perf_counter() - begin
np.savez(sys.argv[3], points=np.array(made.coords), seconds=seconds)
"""


def peer(folder, name, limit):
    out = folder / "peer.npz"
    try:
        subprocess.run([sys.executable, "-c", PEER, folder / "graph.npz", name, out], timeout=limit + 5, check=True,
                       capture_output=True)
    except subprocess.TimeoutExpired:
        return None, limit
    except subprocess.CalledProcessError:
        return None, None
    made = np.load(out)
    return made["points"], float(made["seconds"])


def ours(program, folder, name, threads):
    out = folder / "ours.csv"
    done = subprocess.run([program, "layout", name, folder / "edges.csv", "--nodes", folder / "nodes.csv", "--threads",
                           str(threads), "--timings", "--out", out], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1]
    seconds = json.loads((done.stdout + done.stderr).strip().splitlines()[-1])["run_s"]
    with out.open() as file:
        rows = list(csv.reader(file))[1:]
    rows.sort(key=lambda row: int(row[0]))
    return np.array([[float(v) for v in row[1:]] for row in rows]), seconds


def row_of(program, folder, name, graph, n, pairs, options, distance, sources):
    made, seconds = ours(program, folder, name, options.threads)
    theirs, their_seconds = (None, None) if options.no_peer else peer(folder, name, options.limit)
    row = {"layout": name, "graph": graph, "n": n, "m": len(pairs)}
    if made is None:
        return {**row, "refused": seconds}
    row["seconds"], row["igraph_seconds"] = seconds, their_seconds
    row["stress"], row["kept"] = quality(made, distance, sources)
    if theirs is not None:
        row["igraph_stress"], row["igraph_kept"] = quality(theirs, distance, sources)
    return row


def shown(value, digits=3):
    return "" if value is None else f"{value:.{digits}f}" if isinstance(value, float) else str(value)


HEAD = ["layout", "graph", "n", "m", "ours s", "igraph s", "times", "stress", "igraph", "kept", "igraph"]


def line(row):
    if "refused" in row:
        return [row["layout"], row["graph"], row["n"], row["m"], "refused: " + row["refused"], *[""] * 6]
    theirs = row["igraph_seconds"]
    times = f"{theirs / row['seconds']:.0f}" if theirs else ""
    ended = theirs is not None and "igraph_stress" not in row
    return [row["layout"], row["graph"], row["n"], row["m"], shown(row["seconds"]),
            (">" if ended else "") + shown(theirs, 2), (">" if ended else "") + times, shown(row["stress"]),
            shown(row.get("igraph_stress")), shown(row["kept"]), shown(row.get("igraph_kept"))]


def summary(rows, size):
    made = [r for r in rows if "refused" not in r]
    if not made:
        return None
    both = [r for r in made if "igraph_stress" in r]
    times = [r["igraph_seconds"] / r["seconds"] for r in made if r["igraph_seconds"]]
    return [rows[0]["layout"], size, len(made), len(both),
            f"{statistics.median(times):.0f}" if times else "", f"{min(times):.1f}" if times else "",
            f"{sum(r['stress'] <= r['igraph_stress'] * 1.05 + 0.005 for r in both)} of {len(both)}",
            f"{sum(r['kept'] >= r['igraph_kept'] - 0.01 for r in both)} of {len(both)}"]


SUMMARY = ["layout", "size", "graphs", "igraph ended in time", "median times", "least times",
           "stress no worse (5 % + 0.005)", "kept no worse (0.01)"]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("names", nargs="?", default=NAMES)
    parser.add_argument("--sizes", default="100,1000,10000")
    parser.add_argument("--graphs", default="")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-peer", action="store_true", help="only ours")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--append", action="store_true", help="add to the file instead of beginning it anew")
    options = parser.parse_args()
    details, short = [], []
    for size in map(int, options.sizes.split(",")):
        by_name = {}
        for graph, make in graphs(size).items():
            if options.graphs and graph not in options.graphs.split(","):
                continue
            n, pairs = make()
            rng = np.random.default_rng(0)
            sources = np.arange(n) if n <= 2000 else np.sort(rng.choice(n, SOURCES if n < 50000 else 50, replace=False))
            distance = hops(n, pairs, sources)
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                np.savez(folder / "graph.npz", n=n, pairs=pairs)
                np.savetxt(folder / "edges.csv", pairs, "%d", ",", header="src,dst", comments="")
                np.savetxt(folder / "nodes.csv", np.arange(n), "%d", header="id", comments="")
                for layout in options.names.split(","):
                    row = row_of(options.program, folder, layout, graph, n, pairs, options, distance, sources)
                    by_name.setdefault(layout, []).append(row)
                    print("\t".join(map(str, line(row))), flush=True)
        for rows in by_name.values():
            details += map(line, rows)
            found = summary(rows, size)
            short += [found] if found else []
    print(table(SUMMARY, short))
    if options.write:
        text = table(SUMMARY, short) + "\n\n" + table(HEAD, details) + "\n"
        took = f"`bench/layouts.py {options.names} --sizes {options.sizes}`, {options.threads} threads, igraph ended at {options.limit:g} s, {time.strftime('%Y-%m-%d')}"
        with options.write.open("a" if options.append else "w") as out:
            out.write(f"\n## {took}\n\n{text}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["settled"]:
        import settled

        settled.main(sys.argv[2:])
    else:
        main()
