#!/usr/bin/env python3
"""Graphlume and its peers on the same graph, the same cores and in the same minutes.

    peers.py fa2 --bin graphlume --graph edges.parquet [--rounds 3] [--iterations 20] [--out table.md]
    peers.py csv --bin graphlume --graph edges.csv
    peers.py pagerank --bin graphlume --graph edges.parquet      also wcc, bfs
    peers.py louvain --bin graphlume [--graphs FOLDER]           also leiden; without --graph on four graphs, made when missing
    peers.py sweep --bin graphlume --graphs FOLDER               ns an arc over R-MAT sizes, no peers
    peers.py calls --bin graphlume --graph small.parquet,other.parquet    what one call costs
    peers.py quality --bin graphlume --graph edges.parquet --iterations 300
                     layouts after equally many iterations: exact forces, ours, and ours from its own start;
                     with --starts N exact forces from N random starts against ours from N starts of its own,
                     after each of several counts: --iterations 10,30,100,300

Every run is a process of its own; engine and peers alternate round by round. The figure to read is CPU seconds
(user and system, all threads): wall seconds mean little on a shared machine. The ratio is peer / engine.

All layouts start from the same hashed positions with scaling 2, gravity 1 and Barnes-Hut theta 1.2 for the peers
(their default), 1.0 (ours, more exact) for the engine. Gephi is not a Python package: `--gephi CMD` names a command
that runs its ForceAtlas2 as `CMD EDGES.bin ITERATIONS` (int32 n, m, then m pairs, then n float pairs) and prints one
JSON object {"cpu_seconds": total, "seconds": total}.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import analytics  # noqa: E402
import quality  # noqa: E402


def start_positions(n):
    """The positions that `graphlume bench --start random` starts from, too."""
    unit = lambda stream: (quality_h64(1, stream, n) >> np.uint64(11)).astype(float) / 2**53
    return np.stack([unit(60), unit(61)], 1) * 1000 - 500


def mix(x):
    with np.errstate(over="ignore"):
        x = x + quality.GOLDEN
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        return x ^ (x >> np.uint64(31))


def quality_h64(seed, stream, count):
    key = mix(np.array([(seed << 32) + stream], np.uint64))[0]
    return mix(np.arange(count, dtype=np.uint64) ^ key)


def undirected(path):
    """Distinct pairs, as Gephi and the Python packages see the graph."""
    n, s, d = quality.read_graph(path)
    keep = s != d
    key = np.unique(np.minimum(s, d)[keep] * n + np.maximum(s, d)[keep])
    return n, key // n, key % n


def peer_fa2(args):
    from scipy.sparse import csr_matrix

    n, u, v = undirected(args.graph)
    a = csr_matrix((np.ones(2 * len(u)), (np.concatenate([u, v]), np.concatenate([v, u]))), shape=(n, n))
    start = start_positions(n)
    common = dict(outboundAttractionDistribution=False, linLogMode=False, adjustSizes=False, edgeWeightInfluence=1.0,
                  jitterTolerance=1.0, barnesHutOptimize=True, barnesHutTheta=1.2, scalingRatio=2.0,
                  strongGravityMode=False, gravity=1.0, verbose=False)
    if args.peer == "fa2":
        import fa2 as package

        common.pop("linLogMode"), common.pop("adjustSizes")
    else:
        import fa2_modified as package
    algorithm = package.ForceAtlas2(**common)
    # The first run pays for imports and conversions; the difference of two lengths is the cost of iterating.
    def timed(iterations):
        t, c = time.perf_counter(), time.process_time()
        out = algorithm.forceatlas2(a, pos=start.copy(), iterations=iterations)
        return time.perf_counter() - t, time.process_time() - c, out

    t1, c1, _ = timed(1)
    tk, ck, out = timed(1 + args.iterations)
    figures = quality.measure(n, u, v, np.array(out)) if args.quality else {}
    print(json.dumps({"seconds": (tk - t1) / args.iterations, "cpu_seconds": (ck - c1) / args.iterations,
                      "quality": figures}))


def peer_gephi(args, path):
    n, u, v = undirected(path)
    with tempfile.NamedTemporaryFile(suffix=".bin") as f:
        f.write(np.array([n, len(u)], "<i4").tobytes())
        f.write(np.stack([u, v], 1).astype("<i4").tobytes())
        f.write(start_positions(n).astype("<f4").tobytes())
        f.flush()
        run = lambda k: json.loads(subprocess.run([*args.gephi.split(), f.name, str(k)], check=True,
                                                  capture_output=True, text=True).stdout.strip().splitlines()[-1])
        one, many = run(1), run(1 + args.iterations)
    return {k: (many[k] - one[k]) / args.iterations for k in ("seconds", "cpu_seconds")}


def engine(args, task, threads, start="random", iterations=None, params=()):
    """One `graphlume bench` run; per-iteration seconds for layouts."""
    with tempfile.TemporaryDirectory() as tmp:
        out = Path(tmp) / "out.json"
        command = [args.bin, "bench", "--task", task, "--edges", str(args.graph), "--out", str(out), "--threads",
                   str(threads), "--repeat", "1", "--start", start]
        if iterations:
            command += ["--iterations", str(iterations)]
        for p in params:
            command += ["--param", p]
        subprocess.run(command, check=True, capture_output=True)
        doc = json.loads(out.read_text())
        result = doc["result"]
        per = iterations or 1
        row = {"seconds": min(doc["seconds"]) / per, "cpu_seconds": min(doc["cpu_seconds"]) / per,
               "load_s": doc["load_s"], "peak_bytes": result.get("peak_bytes"), "quality": {}}
        if args.quality and "layout_path" in result:
            n, s, d = quality.read_graph(args.graph)
            row["quality"] = quality.measure(n, s, d, quality.read_layout(result["layout_path"], n))
        return row


def quality_rows(args):
    """Quality of exact forces, of the approximation from the same start, and from our own start."""
    args.quality = True
    variants = {
        "exact forces, random start": ("random", ["barnes_hut_optimize=false"]),
        "graphlume, random start": ("random", []),
        "graphlume, own start": ("placed", []),
    }
    return {name: engine(args, "fa2", 0, start, args.iterations, params)["quality"]
            for name, (start, params) in variants.items()}


def compare_quality(args):
    rows = quality_rows(args)
    exact = rows["exact forces, random start"]
    lines = [f"### layout quality on {Path(args.graph).parent.name} after {args.iterations} iterations", "",
             f"| layout | {' | '.join(exact)} |", "|---|" + "---|" * len(exact)]
    for name, figures in rows.items():
        cells = [f"{v:.4f} ({100 * (v / exact[k] - 1):+.1f} %)" if exact[k] else f"{v:.4f}" for k, v in figures.items()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    publish(lines, args.out)


def laid_out(args, folder, iterations, seed, own):
    """One layout by `graphlume layout`: our own start, or exact forces from a random one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = quality.read_graph(args.graph)[0]
    out, start = folder / "out.parquet", folder / "start.parquet"
    command = [args.bin, "layout", "force_atlas2", str(args.graph), "--out", str(out), "--seed", str(seed),
               "--iterations", str(iterations), "--param", "outbound_attraction_distribution=false",
               "--param", "double_attraction=false"]
    if own:
        command += ["--param", "barnes_hut_theta=1.0"]
    else:
        xy = np.random.default_rng(seed).random((n, 2)) * 1000 - 500
        pq.write_table(pa.table({"id": np.arange(n), "x": xy[:, 0], "y": xy[:, 1]}), start)
        command += ["--param", "barnes_hut_optimize=false", "--start", str(start)]
    subprocess.run(command, check=True, capture_output=True)
    return quality.read_layout(out, n)


def compare_starts(args):
    """Exact forces from several random starts against our own starts: means, standard errors, differences."""
    graph = quality.read_graph(args.graph)
    # Between layouts at rest the stress differs by less than the error of the usual sample of pairs.
    pairs = quality.sampled_pairs(*graph, pivots=1000)
    cells = lambda rows: " | ".join(
        f"{statistics.mean(c):.5f} ± {statistics.stdev(c) / len(c) ** 0.5:.5f}" for c in zip(*rows))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for k in args.curve:
            run = lambda own: [quality.measure(*graph, laid_out(args, Path(folder), k, seed, own), pairs)
                               for seed in range(args.starts)]
            exact, ours = run(False), run(True)
            keys = list(ours[0])
            exact, ours = ([list(row.values()) for row in rows] for rows in (exact, ours))
            less = [[b - a for a, b in zip(*pair)] for pair in zip(exact, ours)]
            lines += [f"| {k} | exact forces, random starts | {cells(exact)} |",
                      f"| | graphlume, own starts | {cells(ours)} |", f"| | own less exact | {cells(less)} |"]
    name = Path(args.graph).parent.name
    head = [f"### layout quality on {name}, {args.starts} starts each, mean ± standard error", "",
            f"| iterations | layout | {' | '.join(keys)} |", "|---|---|" + "---|" * len(keys)]
    publish(head + lines, args.out)


def publish(lines, path):
    text = "\n".join(lines) + "\n"
    print(text)
    if path:
        with open(path, "a", encoding="utf-8") as f:
            f.write(text + "\n")


def peer_csv(args):
    path = str(args.graph)
    if args.peer == "pandas":
        import pandas

        read = lambda: pandas.read_csv(path)
    else:
        import pyarrow.csv

        read = lambda: pyarrow.csv.read_csv(path)
    best = None
    for _ in range(5):
        t, c = time.perf_counter(), time.process_time()
        read()
        row = {"seconds": time.perf_counter() - t, "cpu_seconds": time.process_time() - c}
        best = row if best is None or row["cpu_seconds"] < best["cpu_seconds"] else best
    print(json.dumps({**best, "quality": {}}))


def run_peer(args, name):
    r = subprocess.run([sys.executable, __file__, args.task, "--peer", name, "--graph", str(args.graph), "--iterations",
                        str(args.peer_iterations), "--bin", "-", *(["--quality"] if args.quality else [])],
                       capture_output=True, text=True, env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    if r.returncode:
        return {"error": r.stderr.strip().splitlines()[-1][:100]}
    return json.loads(r.stdout.strip().splitlines()[-1])


def rounds(args):
    """{who: [seconds of each round]}: engine and peers in turn."""
    rows = {}
    add = lambda name, row: rows.setdefault(name, []).append(row)
    for _ in range(args.rounds):
        if args.task == "fa2":
            add("graphlume, 1 thread", engine(args, "fa2", 1, "random", args.iterations))
            add("graphlume, 2 threads", engine(args, "fa2", 2, "random", args.iterations))
            add("graphlume, own start", engine(args, "fa2", 1, "placed", args.iterations))
            for name in args.peers.split(",") if args.peers else ():
                add(name, run_peer(args, name))
            if args.gephi:
                args.iterations, keep = args.peer_iterations, args.iterations
                add("Gephi ForceAtlas2", peer_gephi(args, args.graph))
                args.iterations = keep
        else:
            add("graphlume, 1 thread", engine(args, "csv", 1))
            for name in ("pandas", "pyarrow"):
                add(name, run_peer(args, name))
    return rows


def compare(args):
    rows = rounds(args)
    base = statistics.median(r["cpu_seconds"] for r in rows["graphlume, 1 thread"])
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    unit = "iteration" if args.task == "fa2" else "file"
    keys = sorted({k for rs in rows.values() for r in rs for k in r.get("quality", {})})
    lines = [f"### {args.task} on {Path(args.graph).parent.name or args.graph} (load {load}, {args.rounds} rounds, "
             f"medians, per {unit})", "",
             f"| who | CPU s | wall s | peer / engine (CPU) | {' | '.join(keys)} |",
             "|---|---|---|---|" + "---|" * len(keys)]
    for name, rs in rows.items():
        ok = [r for r in rs if "cpu_seconds" in r]
        if not ok:
            lines.append(f"| {name} | {rs[0].get('error')} | | |" + " |" * len(keys))
            continue
        cpu, wall = (statistics.median(r[k] for r in ok) for k in ("cpu_seconds", "seconds"))
        cells = [f"{ok[-1]['quality'][k]:.4f}" if k in ok[-1].get("quality", {}) else "" for k in keys]
        lines.append(f"| {name} | {cpu:.4g} | {wall:.4g} | {cpu / base:.1f} | {' | '.join(cells)} |")
    publish(lines, args.out)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("task", choices=["fa2", "csv", "quality", "sweep", "calls", *analytics.TASKS])
    p.add_argument("--graph", help="edge table; several with commas between for calls")
    p.add_argument("--graphs", default="graphs", help="folder of the graphs of sweep, louvain and leiden, made when missing")
    p.add_argument("--scale-max", type=int, default=20, help="largest R-MAT scale of the sweep")
    p.add_argument("--threads", type=int, default=2, help="threads of the peers")
    p.add_argument("--repeat", type=int, default=3, help="runs in each process, of which the best counts")
    p.add_argument("--reference", help=argparse.SUPPRESS)
    p.add_argument("--bin", required=True, help="the graphlume binary")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--iterations", default="20", help="iterations of the engine; quality with --starts takes a list")
    p.add_argument("--peer-iterations", type=int, default=3, help="iterations of the slow peers")
    p.add_argument("--peers", default="fa2,fa2_modified")
    p.add_argument("--gephi", help="command that runs Gephi's ForceAtlas2, see above")
    p.add_argument("--starts", type=int, help="for quality: starts of each kind, two or more")
    p.add_argument("--quality", action="store_true", help="also measure the layouts")
    p.add_argument("--out", help="file to append the table to")
    p.add_argument("--peer", help=argparse.SUPPRESS)
    args = p.parse_args()
    args.curve = [int(k) for k in args.iterations.split(",")]
    args.iterations = args.curve[0]
    if args.task == "sweep":
        return analytics.sweep(args, publish)
    if args.task in analytics.COMMUNITIES and not args.graph:
        return analytics.each_graph(args, publish)
    if not args.graph:
        p.error("--graph is needed")
    if args.task == "calls":
        return analytics.calls(args, publish)
    if args.task in analytics.TASKS:
        return analytics.peer(args, quality_h64) if args.peer else analytics.compare(args, publish)
    if args.peer:
        (peer_fa2 if args.task == "fa2" else peer_csv)(args)
    elif args.task == "quality":
        (compare_starts if args.starts else compare_quality)(args)
    else:
        compare(args)


if __name__ == "__main__":
    main()
