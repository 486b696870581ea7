#!/usr/bin/env python3
"""Records what NetworKit computes on real graphs, for tests/e2e/test_networkit.py.

    python tests/data/record_networkit.py FOLDER | gzip -9n > tests/data/networkit.json.gz

FOLDER holds the graphs as they are published: cugraph/datasets (Apache-2.0), networkit (MIT), snap (MIT). Needs networkit
11.3. Graphs are made simple and undirected, their nodes numbered by first appearance; of a large one the values
of some nodes are kept."""

import json
import sys
from pathlib import Path

import networkit as nk

GRAPHS = {
    "dolphins": "cugraph/datasets/dolphins.csv",
    "polbooks": "cugraph/datasets/polbooks.csv",
    "netscience": "cugraph/datasets/netscience.csv",
    "email-Eu-core": "cugraph/datasets/email-Eu-core.csv",
    "jazz": "networkit/jazz.graph",
    "celegans-metabolic": "networkit/celegans_metabolic.graph",
    "power": "networkit/power.graph",
    "ca-GrQc": "snap/grqc/edges.csv",
}
NODES_KEPT = 200


def pairs(path):
    if path.suffix == ".graph":
        # METIS: a line a node, its neighbours counted from 1.
        for v, line in enumerate(path.read_text().splitlines()[1:]):
            yield from ((v, int(u) - 1) for u in line.split())
    else:
        for line in path.read_text().splitlines():
            a, b = line.replace(",", " ").split()[:2]
            yield a, b


def weight(a, b):
    """A weight that the test makes too: a multiple of a quarter, so that sums are exact."""
    return 1 + (7 * a + 13 * b) % 10 / 4


def record(path):
    number, edges = {}, set()
    for a, b in pairs(path):
        a, b = (number.setdefault(v, len(number)) for v in (a, b))
        if a != b:
            edges.add((min(a, b), max(a, b)))
    edges, n = sorted(edges), len(number)
    g, heavy, one_way = nk.Graph(n), nk.Graph(n, weighted=True), nk.Graph(n, directed=True)
    for a, b in edges:
        g.addEdge(a, b)
        heavy.addEdge(a, b, weight(a, b))
        one_way.addEdge(a, b)
    # Node 0 leads to higher numbers alone; with edges back there are strong components.
    for x, y in edges:
        if (x + y) % 3 == 0:
            one_way.addEdge(y, x)
    g.indexEdges()
    kept = sorted(set(range(0, n, max(1, n // NODES_KEPT))))
    run = lambda algorithm: algorithm.run()
    some = lambda values: [float(f"{values[v]:.12g}") for v in kept]
    both = run(nk.centrality.Betweenness(g, False, True))
    edge_scores, places = both.edgeScores(), sorted({i * len(edges) // min(len(edges), NODES_KEPT) for i in range(min(len(edges), NODES_KEPT))})
    parts = run(nk.components.ConnectedComponents(g))
    strong = run(nk.components.StronglyConnectedComponents(one_way))
    triangles = [0] * n
    scores = run(nk.sparsification.TriangleEdgeScore(g)).scores()
    for x, y in edges:
        for v in (x, y):
            triangles[v] += scores[g.edgeId(x, y)]
    quality = nk.community.Modularity()
    nk.setSeed(1, False)
    reached = lambda algorithm: quality.getQuality(run(algorithm).getPartition(), g)
    ranks = nk.centrality.PageRank(g, damp=0.85, tol=1e-14)
    # What leaves nodes without edges is lost there; the others divide it up.
    ranks = run(ranks).scores()
    whole = sum(ranks)
    ranks = [x / whole for x in ranks]
    return {
        "n": n,
        "edges": edges,
        "nodes": kept,
        "edge_places": places,
        "betweenness": some(both.scores()),
        "edge_betweenness": [float(f"{edge_scores[g.edgeId(*edges[i])]:.12g}") for i in places],
        "harmonic": some(run(nk.centrality.HarmonicCloseness(g, normalized=False)).scores()),
        "eigenvector": some(run(nk.centrality.EigenvectorCentrality(g, tol=1e-13)).scores()),
        "pagerank": some(ranks),
        "coreness": [int(x) for x in some(run(nk.centrality.CoreDecomposition(g)).scores())],
        "components": parts.numberOfComponents(),
        "component_sizes": sorted(parts.getComponentSizes().values()),
        "strong_sizes": sorted(strong.getComponentSizes().values()),
        "bfs": [None if d > 1e300 else int(d) for d in (run(nk.distance.BFS(g, 0)).getDistances()[v] for v in kept)],
        "sssp": [None if d > 1e300 else d for d in (run(nk.distance.Dijkstra(heavy, 0)).getDistances()[v] for v in kept)],
        "triangles": [triangles[v] // 2 for v in kept],
        "clustering": some(run(nk.centrality.LocalClusteringCoefficient(g)).scores()),
        "louvain": reached(nk.community.PLM(g, refine=True)),
        "leiden": reached(nk.community.ParallelLeiden(g, iterations=20)),
    }


def main():
    folder = Path(sys.argv[1])
    print(json.dumps({name: record(folder / path) for name, path in GRAPHS.items()}, separators=(",", ":")))


if __name__ == "__main__":
    main()
