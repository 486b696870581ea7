"""How many nodes hide each other in the picture of a session at rest, and how much of the screen it takes.

Runs `graphlume bench --task arrange` over five graphs for 1, 2 and 10 times the iterations of a page without settings, and
prints a table: the part of the nodes whose discs overlap another's, and the part of the stage that the box from the 5 to
the 95 percentiles takes, both before and after the picture is arranged, and how long that took.

    python bench/arrange.py --binary target/debug/graphlume [--graphs tree,debian-like] [--times 1,2,10]

Needs networkx, pandas and pyarrow.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import networkx as nx
import numpy as np
import pandas as pd

MILLIS = 5_000
ELEMENTS_PER_SECOND = 30_000_000
RATE_MIN, RATE_MAX = 20, 120
LIN_LOG_FROM = 500


def debian_like(nodes=60_000, orphans=3_000, pairs=40):
    """Preferential attachment with about five edges a node, nodes without edges, and components of two."""
    graph = nx.barabasi_albert_graph(nodes - orphans - 2 * pairs, 5, seed=1)
    tied = graph.number_of_nodes()
    graph.add_edges_from((tied + 2 * i, tied + 2 * i + 1) for i in range(pairs))
    # The orphans come first, because an edge table knows only of nodes up to its last one.
    return [(a + orphans, b + orphans) for a, b in graph.edges()]


def generated(binary, folder, name, *options):
    path = folder / f"{name}.parquet"
    subprocess.run([binary, "generate", *options, "--out", path], check=True, stdout=subprocess.DEVNULL)
    return path


GRAPHS = {
    "miserables": lambda b, d: list(nx.convert_node_labels_to_integers(nx.les_miserables_graph()).edges()),
    "tree": lambda b, d: list(nx.random_labeled_tree(5_000, seed=1).edges()),
    "balanced-tree": lambda b, d: list(nx.full_rary_tree(4, 5_000).edges()),
    "debian-like": lambda b, d: debian_like(),
    "rmat14": lambda b, d: generated(b, d, "rmat14", "rmat", "--scale", "14", "--edge-factor", "8"),
    "sbm": lambda b, d: generated(b, d, "sbm", "sbm", "--nodes", "10000", "--edges", "50000", "--communities", "32"),
}


def edges_of(binary, folder, name):
    """The edge table of a graph, written once."""
    path = folder / f"{name}.parquet"
    if not path.exists():
        made = GRAPHS[name](binary, folder)
        if isinstance(made, list):
            pd.DataFrame(np.array(made, dtype="int64"), columns=["src", "dst"]).to_parquet(path)
    return path


def measured(binary, edges, times):
    """The report of the bench task for `times` the iterations of a page."""
    table = pd.read_parquet(edges)
    nodes, many = int(table.max().max()) + 1, len(table)
    rate = min(RATE_MAX, max(RATE_MIN, ELEMENTS_PER_SECOND // (nodes + many)))
    out = edges.with_suffix(".json")
    lin_log = str(nodes >= LIN_LOG_FROM).lower()
    command = [binary, "bench", "--task", "arrange", "--edges", edges, "--repeat", "1", "--out", out]
    command += ["--iterations", str(MILLIS * rate // 1000 * times), "-p", f"lin_log_mode={lin_log}"]
    subprocess.run(command, check=True)
    return json.loads(out.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="target/debug/graphlume")
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--times", default="1,2,10")
    parser.add_argument("--folder", type=pathlib.Path, help="where the graphs are kept; a temporary folder if not given")
    options = parser.parse_args()
    folder = options.folder or pathlib.Path(tempfile.mkdtemp(prefix="arrange-"))
    folder.mkdir(exist_ok=True)
    print("| graph | nodes | times | iterations | overlapping | | share of the stage | | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in options.graphs.split(","):
        edges = edges_of(options.binary, folder, name)
        for times in map(int, options.times.split(",")):
            report = measured(options.binary, edges, times)
            result = report["result"]
            pairs = [result[state][figure] for figure in ("overlapping", "box_share") for state in ("before", "after")]
            cells = [f"{100 * x:.1f} %" for x in pairs]
            rounds = f"{result['rounds']}{'' if result['settled'] else ' (moving)'}"
            row = [name, result["nodes"], times, rounds, *cells, f"{report['seconds'][0]:.2f}"]
            print("|", " | ".join(map(str, row)), "|", flush=True)


if __name__ == "__main__":
    main()
