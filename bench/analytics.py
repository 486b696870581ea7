"""PageRank, communities, components and searches: the peers' side, and the tables. Run through peers.py."""

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

# What is compared, in words: printed above each table.
TASKS = {
    "pagerank": "alpha 0.85, until the ranks change by less than 1e-6 in total (L1); nodes without out-edges spread "
                "their rank over all; from a graph in memory to ranks of all nodes. igraph goes to a smaller error.",
    "louvain": "undirected, unweighted; from a graph in memory to a community of every node. Modularity by one code.",
    "leiden": "undirected, unweighted, for modularity; each with the number of iterations that it takes by default (graphlume, igraph and "
              "leidenalg 2, NetworKit 3); from a graph in memory to a community of every node. Modularity by one code.",
    "wcc": "undirected; from a graph in memory to the component of every node.",
    "bfs": "undirected, from 8 hashed nodes; distances, and for graphlume predecessors too.",
}
PEERS = {
    "pagerank": ("networkit", "igraph", "scipy"),
    "louvain": ("networkit", "igraph"),
    "leiden": ("networkit", "igraph", "leidenalg"),
    "wcc": ("networkit", "igraph", "scipy"),
    "bfs": ("networkit", "igraph", "scipy"),
}
COMMUNITIES = ("louvain", "leiden")
SOURCES = 8
# Graphs that communities are searched on: folder, and what `graphlume generate` is told.
GRAPHS = {
    "R-MAT 16": ("rmat16", "rmat", "--scale", "16"),
    "R-MAT 18": ("rmat18", "rmat", "--scale", "18"),
    "LFR 100,000": ("lfr100k", "lfr", "--nodes", "100000"),
    "planted partition 100,000": ("sbm100k", "sbm", "--nodes", "100000"),
}


def simple(path, directed):
    """Distinct edges without loops."""
    n, s, d = quality.read_graph(path)
    s, d = s.astype(np.int64), d.astype(np.int64)
    keep = s != d
    s, d = s[keep], d[keep]
    if not directed:
        s, d = np.minimum(s, d), np.maximum(s, d)
    key = np.unique(s * n + d)
    return n, key // n, key % n


def csr(n, u, v, both):
    from scipy.sparse import csr_matrix

    if both:
        u, v = np.concatenate([u, v]), np.concatenate([v, u])
    return csr_matrix((np.ones(len(u)), (u, v)), shape=(n, n))


def modularity(n, u, v, labels):
    """Newman and Girvan 2004."""
    labels = np.unique(labels, return_inverse=True)[1]
    degree = np.bincount(u, minlength=n) + np.bincount(v, minlength=n)
    total = np.bincount(labels, weights=degree)
    return (labels[u] == labels[v]).mean() - ((total / degree.sum()) ** 2).sum()


def power(n, u, v, tol, most=10_000):
    """PageRank by SciPy's sparse product in double precision: a peer, and with a small `tol` the reference."""
    a = csr(n, v, u, False)
    out = np.bincount(u, minlength=n).astype(float)
    inverse, dangling = np.where(out > 0, 1 / np.maximum(out, 1), 0), out == 0

    def run():
        x = np.full(n, 1 / n)
        for k in range(most):
            y = 0.85 * (a @ (x * inverse) + x[dangling].sum() / n) + 0.15 / n
            change, x = np.abs(y - x).sum(), y
            if change < tol:
                break
        return x, k + 1

    return run


def hashed_sources(n, u, v, h64):
    """The nodes that `graphlume bench --task bfs` starts from."""
    nodes = np.unique(np.concatenate([u, v]))
    return nodes[(h64(7, 70, SOURCES) % np.uint64(len(nodes))).astype(np.int64)]


def build(name, n, u, v, directed, threads):
    if name == "networkit":
        import networkit as nk

        nk.setNumberOfThreads(threads)
        edges = (u.astype(np.uint64), v.astype(np.uint64))
        return nk.GraphFromCoo((np.ones(len(u)), edges), n=n, weighted=False, directed=directed)
    if name in ("igraph", "leidenalg"):
        import igraph

        return igraph.Graph(n=n, edges=np.stack([u, v], 1), directed=directed)
    return csr(n, u, v, not directed)


def call(task, name, n, u, v, threads, h64):
    """A function to time, and one that turns its result into facts and a column."""
    if task == "pagerank" and name == "scipy":
        return power(n, u, v, 1e-6), lambda r: ({"iterations": r[1]}, r[0])
    g = build(name, n, u, v, task == "pagerank", threads)
    if name == "networkit":
        import networkit as nk

        if task == "pagerank":
            def run():
                p = nk.centrality.PageRank(g, damp=0.85, tol=1e-6, normalized=False,
                                           distributeSinks=nk.centrality.SinkHandling.DistributeSinks)
                p.norm = nk.centrality.Norm.L1_NORM
                p.run()
                return p

            return run, lambda p: ({"iterations": p.numberOfIterations()}, np.array(p.scores()))
        if task == "louvain":
            run = lambda: nk.community.PLM(g, refine=False).run().getPartition()
            return run, lambda p: ({}, np.array(p.getVector()))
        if task == "leiden":
            run = lambda: nk.community.ParallelLeiden(g).run().getPartition()
            return run, lambda p: ({}, np.array(p.getVector()))
        if task == "wcc":
            run = lambda: nk.components.ParallelConnectedComponents(g, False).run()
            return run, lambda c: ({"groups": c.numberOfComponents()}, None)
        sources = hashed_sources(n, u, v, h64)
        return lambda: [nk.distance.BFS(g, int(s), False).run() for s in sources], lambda r: ({}, None)
    if name == "leidenalg":
        import leidenalg

        run = lambda: leidenalg.find_partition(g, leidenalg.ModularityVertexPartition, seed=1).membership
        return run, lambda r: ({}, np.array(r))
    if name == "igraph":
        if task == "pagerank":
            return lambda: g.pagerank(damping=0.85), lambda r: ({}, np.array(r))
        if task == "louvain":
            return lambda: g.community_multilevel().membership, lambda r: ({}, np.array(r))
        if task == "leiden":
            run = lambda: g.community_leiden(objective_function="modularity").membership
            return run, lambda r: ({}, np.array(r))
        if task == "wcc":
            return lambda: g.connected_components(mode="weak"), lambda c: ({"groups": len(c)}, None)
        sources = hashed_sources(n, u, v, h64)
        return lambda: [g.bfs(int(s)) for s in sources], lambda r: ({}, None)
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    if task == "wcc":
        return lambda: connected_components(g, directed=False), lambda r: ({"groups": int(r[0])}, None)
    sources = hashed_sources(n, u, v, h64)
    return (lambda: [breadth_first_order(g, int(s), return_predecessors=False) for s in sources],
            lambda r: ({}, None))


def cpu_now():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peer(args, h64):
    """One peer in this process: the best of a few runs, as JSON on standard output."""
    n, u, v = simple(args.graph, args.task == "pagerank")
    run, facts = call(args.task, args.peer, n, u, v, args.threads, h64)
    best = None
    for _ in range(args.repeat):
        wall, cpu = time.perf_counter(), cpu_now()
        result = run()
        row = {"seconds": time.perf_counter() - wall, "cpu_seconds": cpu_now() - cpu}
        best = row if best is None or row["cpu_seconds"] < best["cpu_seconds"] else best
    found, column = facts(result)
    print(json.dumps({**best, **found, **judge(args.task, n, u, v, column, args.reference)}))


def judge(task, n, u, v, column, reference):
    """Quality by one code for all."""
    if task in COMMUNITIES:
        return {"modularity": round(float(modularity(n, u, v, column)), 4), "groups": int(len(np.unique(column)))}
    if task == "pagerank":
        exact = np.load(reference) if reference else power(n, u, v, 1e-13)()[0]
        ranks = column / column.sum()
        best = lambda x: set(np.argsort(-x, kind="stable")[:100].tolist())
        return {"L1 error": float(np.abs(ranks - exact).sum()), "top 100": len(best(ranks) & best(exact))}
    return {}


def computed(args, name, graph, threads, params=()):
    """An algorithm by `graphlume compute`, for those without a task: what one run more on the loaded graph takes.

    The graph is that of the peers: distinct edges without loops.
    """
    from large_figures import ran
    import pyarrow as pa
    import pyarrow.parquet as pq

    n, u, v = simple(graph, False)
    with tempfile.TemporaryDirectory() as tmp:
        edges, out = Path(tmp) / "edges.parquet", Path(tmp) / "out.parquet"
        pq.write_table(pa.table({"src": u, "dst": v}), edges)
        command = [args.bin, "compute", name, edges, "--library", "igraph", "--backend", "cpu", "--timings", "--threads", threads,
                   "--out", out, *(word for p in params for word in ("--param", p)), "--repeat"]
        least, (cpu, said) = ran([*command, 1])[0], ran([*command, args.repeat + 3])
        facts = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
        table = pq.read_table(out)
    # A node without edges is a community of its own, as it is for the peers.
    column = -1.0 - np.arange(n)
    column[table.column(0).to_numpy().astype(np.int64)] = table.column(1).to_numpy()
    return {"seconds": facts["run_s"], "cpu_seconds": (cpu - least) / (args.repeat + 2), "nodes": facts["nodes"],
            "edges": facts["edges"], "peak_bytes": facts["peak_bytes"], **judge(name.removeprefix("community_"), n, u, v, column, None)}


def engine(args, task, graph, threads, extra=(), columns=True):
    """One `graphlume bench` run: the best repeat, and all that its report says."""
    if task == "leiden":
        return computed(args, "community_leiden", graph, threads, ['objective_function="modularity"'])
    with tempfile.TemporaryDirectory() as tmp:
        out = Path(tmp) / "out.json"
        command = [args.bin, "bench", "--task", task, "--edges", str(graph), "--out", str(out), "--threads",
                   str(threads), "--repeat", str(args.repeat + 2), *extra]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
        doc = json.loads(out.read_text())
        result = doc["result"]
        row = {**result, "seconds": min(doc["seconds"]), "cpu_seconds": min(doc["cpu_seconds"])}
        path = result.get("ranks_path") or result.get("labels_path")
        if columns and path:
            import pyarrow.parquet as pq

            table = pq.read_table(path)
            column = np.zeros(table.num_rows)
            column[table["node"].to_numpy()] = table.column(1).to_numpy()
            n, u, v = simple(graph, task == "pagerank")
            row.update(judge(task, n, u, v, column, args.reference))
        return row


def compare(args, publish):
    """Engine and peers in turn; the figure is CPU seconds of the best run of each process."""
    publish(table(args, rounds(args)), args.out)


def rounds(args, others=None):
    """{who: [facts of each round]}: engine and peers (all, or these) in turn, each run a process of its own."""
    rows = {}
    with tempfile.TemporaryDirectory() as tmp:
        args.reference = None
        if args.task == "pagerank":
            n, u, v = simple(args.graph, True)
            args.reference = str(Path(tmp) / "reference.npy")
            np.save(args.reference, power(n, u, v, 1e-13)()[0])
        for _ in range(args.rounds):
            for threads in (1, 2):
                name = f"graphlume, {threads} thread{'s' if threads > 1 else ''}"
                rows.setdefault(name, []).append(engine(args, args.task, args.graph, threads))
            for name in others or PEERS[args.task]:
                rows.setdefault(name, []).append(run_peer(args, name))
    return rows


def made(args, name):
    """The edges of a graph of GRAPHS, made when missing."""
    folder, *kind = GRAPHS[name]
    path = Path(args.graphs) / folder / "edges.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([args.bin, "generate", *kind, "--out", str(path)], check=True, capture_output=True)
    return path


def each_graph(args, publish):
    """The task on every graph of GRAPHS, a table each, and one line a graph at the end."""
    lines = []
    for name in GRAPHS:
        args.graph = made(args, name)
        rows = rounds(args)
        publish(table(args, rows), args.out)
        lines.append(f"| {name} | {' | '.join(short(rows, PEERS[args.task]))} |")
    heads = ["graph", "graphlume, 1 thread: CPU ms", "modularity",
             *(f"{peer}: CPU ms, times ours (least and most), modularity" for peer in PEERS[args.task])]
    publish([f"### {args.task} on {len(GRAPHS)} graphs", "", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *lines],
            args.out)


def short(rows, peers):
    """The cells of a graph: ours, then each peer's."""
    base = rows["graphlume, 1 thread"]
    cells = [f"{1e3 * statistics.median(r['cpu_seconds'] for r in base):.1f}", f"{base[-1]['modularity']:.4f}"]
    for name in peers:
        pairs = [(r, b) for r, b in zip(rows[name], base) if "cpu_seconds" in r]
        if not pairs:
            cells.append(str(rows[name][0].get("error")))
            continue
        times = [r["cpu_seconds"] / b["cpu_seconds"] for r, b in pairs]
        cells.append(f"{1e3 * statistics.median(r['cpu_seconds'] for r, _ in pairs):.1f}, {statistics.median(times):.2f} "
                     f"({min(times):.2f} to {max(times):.2f}), {pairs[-1][0]['modularity']:.4f}")
    return cells


def run_peer(args, name):
    command = [sys.executable, str(Path(__file__).with_name("peers.py")), args.task, "--peer", name, "--graph",
               str(args.graph), "--bin", "-", "--threads", str(args.threads), "--repeat", str(args.repeat)]
    if args.reference:
        command += ["--reference", args.reference]
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": str(args.threads)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1][:100]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def table(args, rows):
    engines = [name for name in rows if name.startswith("graphlume")]
    base = rows[engines[0]]
    first = base[0]
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    shown = [k for k in ("modularity", "groups", "iterations", "L1 error", "top 100")
             if any(k in r for rs in rows.values() for r in rs)]
    lines = [f"### {args.task} on {Path(args.graph).parent.name}: {first['nodes']:,} nodes, {first['edges']:,} edges "
             f"(load {load}, {args.rounds} rounds, medians)", "", TASKS[args.task], "",
             f"| who | CPU ms | wall ms | M edges / CPU s | peer / engine, CPU (worst round) | {' | '.join(shown)} |",
             "|---|---|---|---|---|" + "---|" * len(shown)]
    for name, rs in rows.items():
        ok = [(r, b) for r, b in zip(rs, base) if "cpu_seconds" in r]
        if not ok:
            lines.append(f"| {name} | {rs[0].get('error')} |" + " |" * (3 + len(shown)))
            continue
        cpu = statistics.median(r["cpu_seconds"] for r, _ in ok)
        wall = statistics.median(r["seconds"] for r, _ in ok)
        ratios = [r["cpu_seconds"] / b["cpu_seconds"] for r, b in ok]
        cells = [fact(ok[-1][0].get(k)) for k in shown]
        rounds = first.get("iterations", 1) if args.task == "bfs" else 1
        lines.append(f"| {name} | {1e3 * cpu:.2f} | {1e3 * wall:.2f} | {rounds * first['edges'] / cpu / 1e6:.1f} | "
                     f"{statistics.median(ratios):.1f} ({min(ratios):.1f}) | {' | '.join(cells)} |")
    lines += ["", traffic(base[-1])]
    return lines


def fact(value):
    return "" if value is None else f"{value:.1e}" if isinstance(value, float) and abs(value) < 1e-3 else f"{value:,}"


def traffic(row):
    """One line on memory: what the task moved against what the memory gave in the same run, and the peak."""
    text = f"Peak memory of the engine's process {row['peak_bytes'] / 2**20:.0f} MiB"
    if "peak_bytes_per_arc" in row:
        text += f", {row['peak_bytes_per_arc']:.1f} bytes an arc with the graph and the program"
    if "rates" in row:
        r = row["rates"]
        text += (f". Moved {row['bytes_moved'] / 2**20:.1f} MiB; in the same run one core read "
                 f"{r['stream_gb_s']:.1f} GB/s in order and {r['gather_g_s']:.2f} G cells/s at random from "
                 f"{r['table_bytes'] / 2**20:.2f} MiB, which makes {1e3 * row['floor_cpu_s']:.2f} ms; taken "
                 f"{row['cpu_seconds'] / row['floor_cpu_s']:.2f} times that (less than 1 where reads are not as random "
                 "as the probe's)")
    return text + "."


LAYOUT_ROUNDS = 30
PARTS = ["scale", "arcs a node", "table KiB", "ns an arc", "near pairs a body", "translations a leaf", "repulsion ns a body",
         "moving ns a body", "attraction ns an arc", "gather ns", "sorts", "one sort, ns a body", "renamings",
         "one renaming, ns an arc", "sorts and renamings ns an arc"]


def layout_parts(r):
    """The parts of an iteration of ForceAtlas2, from a report of the task `fa2`: cells of a row under PARTS."""
    p, degree = r["phases"], r["arcs"] / r["nodes"]
    each = lambda value, times: f"{value * LAYOUT_ROUNDS / times:.1f}" if times else "-"
    return [f"{degree:.1f}", f"{8 * r['nodes'] / 1024:.0f}", f"{r['ns_per_arc']:.2f}", f"{p['near_per_body']:.0f}",
            f"{p['far_per_leaf']:.0f}", f"{p['repulse_ns_per_body']:.1f}",
            f"{p['refit_ns_per_body'] + p['step_ns_per_body']:.1f}", f"{p['attract_ns_per_arc']:.2f}",
            f"{p['position_gather_ns']:.2f}", f"{p['sorts']}", each(p["sort_ns_per_body"], p["sorts"]),
            f"{p['relabels']}", each(p["relabel_ns_per_arc"], p["relabels"]),
            f"{p['sort_ns_per_body'] / degree + p['relabel_ns_per_arc']:.2f}"]


def sweep(args, publish):
    """Nanoseconds an arc on R-MAT graphs of edge factor 16, one thread: level but for the steps of the caches."""
    heads = ["scale", "nodes", "edges", "table KiB", "gather ns", "PageRank ns", "Louvain ns a visit",
             "Louvain ns an arc, whole run", "visits an arc", "ForceAtlas2 ns an arc", "components ns an arc"]
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    lines = [f"### R-MAT 12 to {args.scale_max}, edge factor 16, one thread (load {load})", "",
             "ns of CPU. PageRank and ForceAtlas2 for an arc and iteration; PageRank follows edges one way (one arc), "
             "the others both ways (two). `gather` is one random 4-byte read from a table of 4 bytes a node.", "",
             f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    parts = [f"### The parts of an iteration of ForceAtlas2 on the same graphs, mean of {LAYOUT_ROUNDS} from a random start", "",
             "One more run on one thread with a clock in it; ns of CPU. A near pair is one body on one body, a translation one "
             "cell on one cell; `gather` is one random 8-byte read from a table of 8 bytes a node, as many in a row as there "
             "are arcs. Moving: cells, gravity, swing and step. What a sort and a renaming of the arcs take is for one of them; "
             "the share of an arc is over all iterations.", "",
             f"| {' | '.join(PARTS)} |", "|" + "---|" * len(PARTS)]
    args.reference = None
    for scale in range(12, args.scale_max + 1):
        path = Path(args.graphs) / f"rmat{scale}" / "edges.parquet"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([args.bin, "generate", "rmat", "--scale", str(scale), "--out", str(path)], check=True,
                           capture_output=True)
        run = lambda task, *extra: engine(args, task, path, 1, extra, columns=False)
        pagerank, louvain, components = run("pagerank"), run("louvain"), run("wcc")
        layout = run("fa2", "--iterations", str(LAYOUT_ROUNDS))
        parts.append(f"| {scale} | {' | '.join(layout_parts(layout))} |")
        cells = [scale, f"{pagerank['nodes']:,}", f"{pagerank['edges']:,}", f"{4 * pagerank['nodes'] / 1024:.0f}",
                 f"{1 / pagerank['rates']['gather_g_s']:.2f}", f"{pagerank['ns_per_arc']:.2f}",
                 f"{louvain['ns_per_visit']:.2f}", f"{louvain['ns_per_arc']:.1f}",
                 f"{louvain['visits'] / louvain['arcs']:.1f}", f"{layout['ns_per_arc']:.2f}",
                 f"{components['ns_per_arc']:.2f}"]
        lines.append(f"| {' | '.join(str(c) for c in cells)} |")
        print(lines[-1], parts[-1], sep="\n", file=sys.stderr, flush=True)
    publish([*lines, "", *parts], args.out)


def calls(args, publish):
    """Microseconds of one call of each algorithm inside the engine."""
    args.reference = None
    lines = ["### one call on a small graph, microseconds, median and 9th tenth of 101 calls, 2 threads", ""]
    graphs = args.graph.split(",")
    args.repeat = 99
    rows = [engine(args, "calls", g, 2) for g in graphs]
    names = [k for k, v in rows[0].items() if isinstance(v, dict) and "p50_us" in v]
    heads = [f"{Path(g).parent.name} ({r['edges']:,} edges)" for g, r in zip(graphs, rows)]
    lines += [f"| algorithm | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for name in names:
        cells = [f"{r[name]['p50_us']:.0f} ({r[name]['p90_us']:.0f})" for r in rows]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    publish(lines, args.out)
