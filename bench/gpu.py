"""The GPU's table: every task on generated graphs, with its share of the floor and the goal.

    gpu.py --bin graphlume --out table.md            on a machine with a GPU
    gpu.py --predict --out table.md                  what the floors say of an H200, without one

Each row is one `graphlume bench --backend cuda` process that also measures the card's copy bandwidth, gather rate and
launch time, from which it computes the floor: the least time for the bytes and cells that the task cannot do without.
Beside it the same task on the machine's processor cores, and CuPy's sparse product where CuPy is installed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# The goals: (task, graph) -> (text, key of the result, least or most).
GOALS = {
    "pagerank": "at least 80 G arcs/s an iteration",
    "louvain": "at least 1 G arcs/s at modularity within 0.005 of the processor's",
    "fa2": "at least 600 iterations/s at 1 M nodes, 5 M edges; 120 at 4 M / 35 M",
    "wcc": "at least 20 G arcs/s",
    "hop2": "at most 5 ms for two hops from 50 nodes",
    "filter": "at most 0.6 ms for 100 M rows",
}
# Graphs by name: the generator's arguments.
GRAPHS = {
    "rmat20": ["rmat", "--scale", "20"],
    "rmat22": ["rmat", "--scale", "22", "--attrs"],
    "rmat24": ["rmat", "--scale", "24"],
    "sbm1m": ["sbm", "--nodes", "1000000", "--edges", "10000000", "--communities", "3162"],
    "tree1m": ["tree", "--nodes", "1000000", "--edges", "5000000"],
    "tree4m": ["tree", "--nodes", "4000000", "--edges", "35000000"],
}
# What is run: task, graph, options. In the order of worth, since time may run out.
ROWS = [
    ("pagerank", "rmat22", []), ("fa2", "tree1m", ["--iterations", "300", "--start", "placed"]),
    ("louvain", "rmat22", []), ("louvain", "sbm1m", []), ("wcc", "rmat22", []), ("bfs", "rmat22", []),
    ("hop2", "rmat22", []), ("filter", "rmat22", []), ("pagerank", "sbm1m", []),
    ("pagerank", "rmat20", []), ("fa2", "tree4m", ["--iterations", "100"]), ("pagerank", "rmat24", []),
]
H200 = {"copy": 4.3e12, "gather": 172e9, "launch": 2.5e-6}


def fa2_floor(nodes, arcs, card):
    """Seconds of one iteration: attraction, sort, tree, repulsion, update."""
    visits = nodes / 32 * 140 * 2.5
    return (max((4 * arcs + 16 * nodes) / card["copy"], arcs / card["gather"]) + 128 * nodes / card["copy"]
            + 9 * card["launch"] + 96 * nodes / card["copy"] + 12 * card["launch"]
            + max(visits / card["gather"], visits * 32 * 14 / 45e12) + 64 * nodes / card["copy"])


def predict():
    """The floors at an H200's assumed rates, and what the goal is of each."""
    yield "| task | graph | floor | at the floor | goal | goal's share of the floor |"
    yield "|---|---|---|---|---|---|"
    for scale in (20, 22, 24):
        n = 2 ** scale
        arcs = 15.6 * n
        table_fits = 4 * n < 0.8 * 60e6
        dram = 4 * arcs + 28 * n + (0 if table_fits else 0.5 * 32 * arcs)
        t = max(dram / H200["copy"], arcs / H200["gather"])
        yield (f"| pagerank | R-MAT {scale}, {arcs / 1e6:.0f} M arcs | {t * 1e3:.3f} ms/iteration | "
               f"{arcs / t / 1e9:.0f} G arcs/s | 80 G arcs/s | {80e9 / (arcs / t):.0%} |")
    for arcs in (20e6, 138e6, 530e6):
        visits = 4 * arcs
        t = max(4 * visits / H200["copy"], 2 * visits / H200["gather"]) + 32 * arcs / H200["copy"] + 288 * H200["launch"]
        yield (f"| louvain | {arcs / 1e6:.0f} M arcs | {t * 1e3:.2f} ms | {arcs / t / 1e9:.1f} G arcs/s | 1 G arcs/s | "
               f"{1e9 / (arcs / t):.0%} |")
    for nodes, edges, goal in ((100_000, 1e6, None), (1e6, 5e6, 600), (4e6, 35e6, 120)):
        t = fa2_floor(nodes, 2 * edges, H200)
        yield (f"| fa2 | {nodes / 1e6:g} M nodes, {edges / 1e6:g} M edges | {t * 1e3:.3f} ms/iteration | {1 / t:.0f} it/s | "
               + (f"{goal} it/s | {goal * t:.0%} |" if goal else "| |"))
    t = 69e6 * 4 / H200["copy"] + 69e6 / H200["gather"]
    yield f"| hop2 | 50 nodes, 69 M arcs met | {t * 1e3:.2f} ms | | 5 ms | {t / 5e-3:.0%} |"
    t = 100e6 * 12.125 / H200["copy"]
    yield f"| filter | 100 M rows, 12 bytes each | {t * 1e3:.2f} ms | | 0.6 ms | {t / 0.6e-3:.0%} |"


def bench(binary, task, graph, backend, options):
    """One process; its JSON."""
    with tempfile.TemporaryDirectory() as tmp:
        out = Path(tmp) / "out.json"
        run = subprocess.run([binary, "bench", "--backend", backend, "--task", task, "--edges", str(graph), "--out",
                              str(out), "--repeat", "5", *options], capture_output=True, text=True)
        if run.returncode:
            return {"error": (run.stderr.strip().splitlines() or ["no message"])[-1]}
        return json.loads(out.read_text())


def cupy_pagerank(path, iterations):
    """Milliseconds an iteration of PageRank by CuPy's sparse product in single precision."""
    try:
        import cupy
        import cupyx.scipy.sparse as sparse
        import pyarrow.parquet as pq
    except ImportError as e:
        return None, f"{e.name} is not installed"
    t = pq.read_table(path, columns=["src", "dst"])
    s, d = (cupy.asarray(t[c].to_numpy().astype("int64")) for c in ("src", "dst"))
    n = int(max(s.max(), d.max())) + 1
    key = cupy.unique((s * n + d)[s != d])
    s, d = key // n, key % n
    a = sparse.csr_matrix((cupy.ones(len(s), "f4"), (d, s)), shape=(n, n))
    out = cupy.bincount(s, minlength=n).astype("f4")
    inverse, dangling = cupy.where(out > 0, 1 / cupy.maximum(out, 1), 0).astype("f4"), out == 0
    x = cupy.full(n, 1 / n, "f4")
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    for k in range(iterations + 3):
        if k == 3:
            begin.record()
        y = 0.85 * (a @ (x * inverse)) + (0.85 * x[dangling].sum() + 0.15) / n
        x = y
    end.record()
    end.synchronize()
    return cupy.cuda.get_elapsed_time(begin, end) / iterations, None


def cells(task, doc):
    """The figures of one row."""
    r = doc["result"]
    best = min(r["device_ms"])
    rounds = r.get("iterations") or 1
    rate = ""
    if task == "fa2":
        rate = f"{1e3 * rounds / best:.0f} it/s"
    elif task == "filter":
        rate = f"{best * 100e6 / r['rows']:.3f} ms per 100 M rows"
    elif "arcs_per_s" in r and task != "hop2":
        rate = f"{r['arcs_per_s'] / 1e9:.2f} G arcs/s"
    extra = [f"{k} {r[k]:.5f}" for k in ("modularity",) if k in r]
    extra += [f"off the processor's by {r[k]:.1e}" for k in ("distance_to_cpu",) if k in r]
    each = r.get("iteration_ms") or (best / rounds if task == "fa2" else best)
    return f"{each:.3f}", rate, f"{r['share_of_floor']:.0%}", f"{r['device_peak_bytes'] / 2**20:.0f}", "; ".join(extra)


def measure(args):
    folder = Path(args.graphs or tempfile.mkdtemp())
    deadline = time.monotonic() + args.seconds
    rates, failed = None, []
    yield ("| task | graph | device ms (an iteration of pagerank and fa2) | rate | share of the floor | peak MiB | quality | "
           "processor, s | goal |")
    yield "|---|---|---|---|---|---|---|---|---|"
    for task, graph, options in ROWS:
        if args.only and task not in args.only.split(","):
            continue
        if time.monotonic() > deadline:
            yield f"| {task} | {graph} | NOT RUN: the time was over | | | | | | |"
            failed.append(f"{task} {graph}: not run")
            continue
        path = folder / f"{graph}.parquet"
        if not path.exists():
            subprocess.run([args.bin, "generate", *GRAPHS[graph], "--out", str(path)], check=True, capture_output=True)
        doc = bench(args.bin, task, path, "cuda", options)
        if "error" in doc:
            yield f"| {task} | {graph} | FAILED: {doc['error']} | | | | | | |"
            failed.append(f"{task} {graph}: {doc['error']}")
            continue
        rates = doc["result"]["rates"]
        host = bench(args.bin, task, path, "cpu", options if task != "fa2" else ["--iterations", "20"])
        # The GPU walks from all nodes at once; the processor's own figure is the sum of walks from each.
        on_host = host.get("error") or f"{host['result'].get('together_s', min(host['seconds'])):.4g}" + (
            f"; modularity {host['result']['modularity']:.5f}" if task == "louvain" else "")
        yield f"| {task} | {graph} | {' | '.join(cells(task, doc))} | {on_host} | {GOALS.get(task, '')} |"
        if task == "pagerank" and graph != "rmat24":
            ms, why = cupy_pagerank(path, 20)
            yield f"| pagerank by CuPy | {graph} | {why or f'{ms:.3f}'} | | | | | | |"
    yield ""
    yield f"Rates measured in the same run: {json.dumps(rates)}."
    if failed:
        print("\n".join(failed), file=sys.stderr)
        args.failed = True


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", help="the graphlume binary")
    p.add_argument("--out", help="file for the table")
    p.add_argument("--graphs", help="folder for the generated graphs; they are reused")
    p.add_argument("--only", help="tasks, separated by commas")
    p.add_argument("--seconds", type=float, default=500, help="no row is begun after this")
    p.add_argument("--predict", action="store_true", help="print what the floors say, without a GPU")
    args = p.parse_args()
    args.failed = False
    if not args.predict and not args.bin:
        p.error("--bin is needed")
    out = open(args.out, "w", encoding="utf-8") if args.out else None
    for line in predict() if args.predict else measure(args):
        print(line, flush=True)
        if out:
            out.write(line + "\n")
            out.flush()
    sys.exit(args.failed)


if __name__ == "__main__":
    main()
