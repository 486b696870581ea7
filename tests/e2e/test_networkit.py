"""Real graphs (SNAP, Newman's collections, power grid) against what NetworKit 11.3 computes of them, which
tests/data/record_networkit.py has recorded, and against igraph where that is fast."""

import csv
import gzip
import json
import math
import random
from collections import Counter
from pathlib import Path

import igraph
import pytest

from conftest import run_cli

RECORDED = json.loads(gzip.decompress((Path(__file__).parents[1] / "data/networkit.json.gz").read_bytes()))


class Real:
    """A graph in files, with the edges back that make strong components, and what was recorded of it."""

    def __init__(self, folder, name):
        self.known, self.name = RECORDED[name], name
        self.n, self.edges = self.known["n"], [tuple(e) for e in self.known["edges"]]
        back = [(b, a) for a, b in self.edges if (a + b) % 3 == 0]
        self.plain, self.one_way, self.nodes = (folder / f"{name}{end}.csv" for end in ("", "-one-way", "-nodes"))
        for path, edges in ((self.plain, self.edges), (self.one_way, self.edges + back)):
            path.write_text("src,dst,w\n" + "".join(f"{a},{b},{1 + (7 * a + 13 * b) % 10 / 4}\n" for a, b in edges))
        self.nodes.write_text("id\n" + "".join(f"{v}\n" for v in range(self.n)))
        self.out = folder / "out.csv"

    def computed(self, name, *args, library="igraph", edges=None):
        run_cli("compute", name, edges or self.plain, "--nodes", self.nodes, "--library", library, "--out", self.out, *args)
        with self.out.open() as f:
            return list(csv.reader(f))[1:]

    def values(self, name, *args, **kwargs):
        """The values of all nodes; None where there is none."""
        return [float(row[1]) if row[1] else None for row in self.computed(name, *args, **kwargs)]

    def compare(self, found, key, factor=1.0, tolerance=1e-6):
        for v, known in zip(self.known["nodes"], self.known[key]):
            if known is None:
                assert found[v] is None, f"{self.name}: {key} of node {v}"
                continue
            known *= factor
            assert abs(found[v] - known) <= tolerance * max(1.0, abs(known)), f"{self.name}: {key} of {v}: {found[v]}, not {known}"


@pytest.fixture(scope="module", params=sorted(RECORDED))
def real(request, tmp_path_factory):
    return Real(tmp_path_factory.mktemp("real"), request.param)


def test_shortest_paths_and_what_is_counted_by_them(real):
    real.compare(real.values("bfs", "-p", "start=0", "-p", "directed=false", library="cugraph"), "bfs")
    real.compare(real.values("sssp", "--weight", "w", "-p", "source=0", "-p", "directed=false", library="cugraph"), "sssp", 1.0, 0.0)
    # Libraries count a pair of nodes once or, as NetworKit, both ways.
    real.compare(real.values("betweenness"), "betweenness", 0.5)
    rows = real.computed("edge_betweenness_centrality", "-p", "normalized=false", library="cugraph")
    of_edge = {tuple(sorted(map(int, row[:2]))): float(row[-1]) for row in rows}
    for place, known in zip(real.known["edge_places"], real.known["edge_betweenness"]):
        assert math.isclose(of_edge[real.edges[place]], known / 2, rel_tol=1e-6, abs_tol=1e-6), f"{real.name}: {real.edges[place]}"
    real.compare(real.values("harmonic_centrality"), "harmonic", 1 / (real.n - 1))


def test_ranks_cores_and_triangles(real):
    real.compare(real.values("pagerank"), "pagerank", 1.0, 1e-7)
    real.compare(real.values("coreness"), "coreness", 1.0, 0.0)
    real.compare(real.values("core_number", library="cugraph"), "coreness", 1.0, 0.0)
    real.compare(real.values("triangle_count", library="cugraph"), "triangles", 1.0, 0.0)
    real.compare(real.values("lcc", "-p", "directed=false", library="cugraph"), "clustering")
    vector = real.values("eigenvector_centrality")
    length = math.sqrt(sum(x * x for x in vector))
    real.compare([x / length for x in vector], "eigenvector", 1.0, 1e-5)


def test_components_and_communities(real):
    for name, library, edges, key in (("clusters", "igraph", None, "component_sizes"),
                                      ("weakly_connected_components", "cugraph", None, "component_sizes"),
                                      ("strongly_connected_components", "cugraph", real.one_way, "strong_sizes")):
        args = ["-p", "directed=true"] if edges else []
        labels = real.values(name, *args, library=library, edges=edges)
        assert sorted(Counter(labels).values()) == real.known[key], f"{real.name}: {name}"
    g = igraph.Graph(real.n, real.edges)
    igraph.set_random_number_generator(random.Random(1))
    louvain = max(real.known["louvain"], *(g.community_multilevel().modularity for _ in range(3)))
    leiden = max(real.known["leiden"], g.community_leiden(objective_function="modularity", n_iterations=-1).modularity)
    for name, best, args in (("community_multilevel", louvain, []),
                             ("community_leiden", leiden, ["-p", "objective_function=modularity", "-p", "n_iterations=-1"])):
        labels = [int(x) for x in real.values(name, *args)]
        assert g.modularity(labels) >= best - 0.003, f"{real.name}: {name}"
        if name == "community_leiden":
            parts = [g.induced_subgraph([v for v in range(real.n) if labels[v] == c]) for c in set(labels)]
            assert all(part.is_connected() for part in parts), f"{real.name}: a community falls apart"


def test_published_counts(real):
    """What SNAP publishes of its graphs."""
    triangles = real.values("triangle_count", library="cugraph")
    published = {"email-Eu-core": 105_461, "ca-GrQc": 48_260}.get(real.name)
    if published is None:
        assert sum(triangles) % 3 == 0
    else:
        assert sum(triangles) == 3 * published
