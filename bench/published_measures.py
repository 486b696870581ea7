"""How each published figure is measured: by the other benches, a few rounds of ours and of every peer in turn.

A measure takes the arguments of published.py and gives {"value", "least", "most", "rounds", "peers"}, in the unit of its
figure; a peer has the same with its ratio to ours. A peer that fails makes the measure fail. Ratios are of one round each: their median, least and most.
"""

import importlib.metadata
import json
import statistics
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import analytics
import ingest
import peers
import queries
import query_suite
import settled as until

NAMES = {"networkit": "NetworKit", "scipy": "SciPy", "fa2": "`fa2`", "fa2_modified": "`fa2_modified`"}
PACKAGES = {"GFQL": "graphistry", "Ladybug": "ladybug", "`fa2`": "fa2", "`fa2_modified`": "fa2_modified", "NetworKit": "networkit",
            "SciPy": "scipy"}
HOP_SOURCES, HOP_PEER_SOURCES = 300, 3
# Seconds after which a peer ends whose picture is not as good.
SETTLED_LIMIT = 240


def spread(values):
    return {"value": statistics.median(values), "least": min(values), "most": max(values), "rounds": len(values)}


def beside(ours, others, quality=None):
    """A measurement from our value of each round and {peer: its values}."""
    quality = quality or {}
    found = {**spread(ours), "quality": quality.get("graphlume", {}), "peers": {}}
    for name, values in others.items():
        ratios = [theirs / own for theirs, own in zip(values, ours)]
        peer = {"value": statistics.median(values), "ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios),
                "rounds": len(ratios), "quality": quality.get(name, {})}
        found["peers"][name] = {**peer, "version": version(name)}
    return found


def version(name):
    """The release of a peer that is a Python package."""
    try:
        return importlib.metadata.version(PACKAGES.get(name, name))
    except importlib.metadata.PackageNotFoundError:
        return None


def of_rows(rows, key, scale, fact=None):
    """`beside` of {who: [facts of each round]}; `fact` names what was found beside the time."""
    ours = rows["graphlume, 1 thread"]
    others, quality = {}, {}
    for who, runs in {"graphlume": ours, **{who: r for who, r in rows.items() if not who.startswith("graphlume")}}.items():
        name = NAMES.get(who, who)
        if failed := [r["error"] for r in runs if "error" in r]:
            raise RuntimeError(f"{name}: {failed[0]} (the peers are in bench/requirements.txt)")
        others[name] = [scale * r[key] for r in runs]
        quality[name] = {fact: runs[-1][fact]} if fact and fact in runs[-1] else {}
    return beside(others.pop("graphlume"), others, quality)


def arguments(args, **more):
    """The arguments that the other benches read."""
    base = {"bin": args.bin, "rounds": args.rounds, "threads": args.threads, "repeat": 3, "graphs": str(args.data), "quality": False,
            "gephi": args.gephi, "iterations": 50, "peer_iterations": 4, "peers": "fa2,fa2_modified", "reference": None, "before": None}
    return SimpleNamespace(**{**base, **more})


def generated(args, name, *kind):
    """The path of the edges of a graph, made when missing."""
    path = args.data / name / "edges.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([args.bin, "generate", *kind, "--out", path], check=True, capture_output=True)
    return path


# Layouts.

def force_atlas2(args):
    """CPU milliseconds of an iteration on the planted partition of 100,000 nodes."""
    asked = arguments(args, task="fa2", graph=generated(args, "sbm100k", "sbm", "--nodes", "100000"))
    return of_rows(peers.rounds(asked), "cpu_seconds", 1e3)


def force_atlas2_rate(args):
    """Iterations a second by the wall, on two threads."""
    asked = arguments(args, graph=generated(args, "sbm100k", "sbm", "--nodes", "100000"))
    return beside([1 / peers.engine(asked, "fa2", 2, iterations=asked.iterations)["seconds"] for _ in range(args.rounds)], {})


def settled(args, name):
    """CPU seconds until the picture stands, and those of `fa2_modified` until its picture is as good, which is run once."""
    path = generated(args, name, *until.GRAPHS[name][0])
    runs = [until.ours(args.bin, path, arguments(args).threads, args.data) for _ in range(args.rounds)]
    mine = until.Picture(path).measured(runs[0][3])
    found, failed = until.peer("fa2_modified", path, mine, SETTLED_LIMIT)
    if failed or not found or not found["equal"]:
        raise RuntimeError(f"fa2_modified: {failed or f'its picture is not as good after {SETTLED_LIMIT} s'}")
    quality = {"graphlume": mine, "`fa2_modified`": {key: found[key] for key in mine}}
    return beside([run[1] for run in runs], {"`fa2_modified`": [found["cpu_seconds"]]}, quality)


def stress(args):
    """Stress after 300 iterations beside that of exact forces; the same at every run, so one round."""
    graph = generated(args, "sbm10k", "sbm", "--nodes", "10000", "--edges", "100000", "--communities", "100")
    rows = peers.quality_rows(arguments(args, graph=graph, iterations=300))
    found = {name: [row["stress"]] for name, row in rows.items()}
    return beside(found["graphlume, random start"], {"exact forces": found["exact forces, random start"]})


# Analytics.

def pagerank(args):
    asked = arguments(args, task="pagerank", graph=analytics.made(arguments(args), "R-MAT 16"))
    return of_rows(analytics.rounds(asked), "cpu_seconds", 1e3, "L1 error")


def communities(args, task, graph):
    asked = arguments(args, task=task, graph=analytics.made(arguments(args), graph), repeat=1 if task == "leiden" else 3)
    # leidenalg takes minutes for a search on the largest graph.
    others = [name for name in analytics.PEERS[task] if (name, graph) != ("leidenalg", "R-MAT 18")]
    return of_rows(analytics.rounds(asked, others), "cpu_seconds", 1e3, "modularity")


# Files.

def reading(args, task):
    """CPU milliseconds of reading a file on one thread."""
    asked = arguments(args, repeat=2 if task == "xlsx" else 5)
    path = ingest.make_files(args.bin, args.data / "files", [task])[task]
    rows = {who: runs for (who, _), runs in ingest.rounds(asked, task, path, counts=(1,)).items()}
    return of_rows({("graphlume, 1 thread" if who == "graphlume" else who): runs for who, runs in rows.items()}, "cpu", 1e3)


def upload(args, kind):
    """Seconds from the first byte of a million edges with six columns to the first positions."""
    import upload_stages

    (_, _, _, stages), = upload_stages.measured(args.bin, 16, max(5, args.rounds), [(kind, True)])
    return beside([s["total"] for s in stages], {})


def memory(args):
    """Bytes an edge of a resident graph."""
    path = generated(args, "rmat16", "rmat", "--scale", "16")
    with tempfile.TemporaryDirectory() as tmp:
        out = Path(tmp) / "out.json"
        subprocess.run([args.bin, "bench", "--task", "build", "--edges", path, "--out", out, "--repeat", "1"], check=True,
                       capture_output=True)
        facts = json.loads(out.read_text())["result"]
    return beside([facts["topology_bytes"] / facts["edges"]], {})


# Queries.

def social(args):
    """Geometric mean of the CPU milliseconds of nine questions; each of them stands among the parts."""
    import social_peer

    made = social_peer.rounds(args, 100_000)
    mean = lambda row: 1e3 * statistics.geometric_mean(row.values())
    found = beside([mean(ours) for ours, _ in made], {"Ladybug": [mean(theirs) for _, theirs in made]})
    parts = {name: beside([1e3 * ours[name] for ours, _ in made], {"Ladybug": [1e3 * theirs[name] for _, theirs in made]})
             for name in query_suite.CYPHER}
    ratio = lambda name: parts[name]["peers"]["Ladybug"]["ratio"]
    least = min(parts, key=ratio)
    found["peers"]["Ladybug"]["part"] = {"name": least, "ratio": ratio(least)}
    return {**found, "parts": {name: {"value": p["value"], "Ladybug": p["peers"]["Ladybug"]["value"], "ratio": ratio(name)}
                               for name, p in parts.items()}}


def hops(args):
    """Microseconds by the wall of two undirected hops from a node: ours and GFQL's engine for pandas."""
    import pyarrow.parquet as pq

    path = generated(args, "rmat20", "rmat", "--scale", "20")
    ends = pq.read_table(path, columns=["src", "dst"])
    nodes = np.union1d(ends["src"].to_numpy(), ends["dst"].to_numpy())
    chosen = [int(v) for v in np.random.default_rng(7).choice(nodes, HOP_SOURCES)]
    asked = queries.hop_queries([("undirected", 2)], chosen)
    ask = gfql_hops(ends, chosen[:HOP_PEER_SOURCES])
    ours, theirs = [], []
    for _ in range(args.rounds):
        ours.append(1e6 * queries.engine(args, path, asked, 3)["undirected 2"]["p50"])
        theirs.append(1e6 * statistics.median(ask()))
    return beside(ours, {"GFQL": theirs})


def gfql_hops(ends, chosen):
    """A function that gives the seconds of GFQL's two hops from each of some nodes, its frames made before."""
    import graphistry

    graph = graphistry.edges(ends.to_pandas(), "src", "dst").materialize_nodes()
    node, edge = graphistry.n, graphistry.e_undirected
    return lambda: [query_suite.clocked(lambda: graph.gfql([node({"id": v}), edge(hops=2), node()], engine="pandas")) for v in chosen]


def hops_http(args):
    """Milliseconds of a request for two hops among eight clients, median."""
    path = generated(args, "rmat18", "rmat", "--scale", "18")
    asked = SimpleNamespace(bin=args.bin, sources=HOP_SOURCES)
    return beside([float(np.quantile(took, 0.5)) for _ in range(args.rounds)
                   for _, name, clients, took, _ in queries.http_runs(asked, path) if (name, clients) == ("2 hops", 8)], {})
