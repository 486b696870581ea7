#!/usr/bin/env python3
"""Speed of the algorithms against igraph, NetworKit and SciPy on the same graph, each by its own measure of the
computation alone.

    python bench/algorithms.py BINARY EDGES [NAME ...]
    python bench/algorithms.py BINARY --scales EDGES EDGES ... [NAME ...]
    python bench/algorithms.py BINARY --quality EDGES EDGES ...

EDGES has integer columns src and dst. A peer is ended after 10 s, which then count as 10 s; one that is not installed
has no column. Prints a table for bench/results. Graphlume computes with two threads, as NetworKit does. Its first call
makes the view of the graph, which a server keeps and peers have made before their clock starts; ratios are of the calls
after it. --scales gives nanoseconds an arc of the first call for each of several graphs.
--quality gives time and modularity of the searches for communities, each with less and more effort."""

import json
import multiprocessing
import queue
import subprocess
import sys
import time

LIMIT_S = 10.0
REPEAT = 7
OWN_LIMIT_S = 60
LIBRARIES = ["igraph", "networkit", "scipy"]
SIMPLE, OUT = "/tmp/graphlume-bench-algorithms.csv", "/tmp/graphlume-bench-algorithms-out.csv"
LINEAR = ["coreness", "clusters", "strongly_connected_components", "articulation_points", "spanning_tree", "bfs", "sssp"]
PEERS = {
    ("igraph", "betweenness"): lambda g: g.betweenness(),
    ("cugraph", "edge_betweenness_centrality"): lambda g: g.edge_betweenness(),
    ("igraph", "closeness"): lambda g: g.closeness(),
    ("igraph", "harmonic_centrality"): lambda g: g.harmonic_centrality(),
    ("igraph", "eccentricity"): lambda g: g.eccentricity(),
    ("igraph", "authority_score"): lambda g: g.authority_score(),
    ("igraph", "hub_score"): lambda g: g.hub_score(),
    ("igraph", "eigenvector_centrality"): lambda g: g.eigenvector_centrality(),
    ("igraph", "pagerank"): lambda g: g.pagerank(),
    ("igraph", "constraint"): lambda g: g.constraint(),
    ("igraph", "coreness"): lambda g: g.coreness(),
    ("igraph", "clusters"): lambda g: g.connected_components(),
    ("cugraph", "strongly_connected_components"): lambda g: g.connected_components(mode="strong"),
    ("igraph", "articulation_points"): lambda g: g.articulation_points(),
    ("igraph", "spanning_tree"): lambda g: g.spanning_tree(),
    ("cugraph", "bfs"): lambda g: g.bfs(0),
    ("cugraph", "sssp"): lambda g: g.distances(source=0),
    ("cugraph", "jaccard"): lambda g: g.similarity_jaccard(pairs=g.get_edgelist()),
    ("cugraph", "triangle_count"): lambda g: g.transitivity_local_undirected(mode="zero"),
    ("igraph", "community_multilevel"): lambda g: g.community_multilevel(),
    ("igraph", "community_leiden"): lambda g: g.community_leiden(objective_function="modularity"),
    ("igraph", "community_label_propagation"): lambda g: g.community_label_propagation(),
    ("igraph", "community_infomap"): lambda g: g.community_infomap(trials=1),
    ("igraph", "community_fastgreedy"): lambda g: g.community_fastgreedy(),
    ("igraph", "community_leading_eigenvector"): lambda g: g.community_leading_eigenvector(clusters=8),
    ("igraph", "community_walktrap"): lambda g: g.community_walktrap(),
}


def of_networkit(name):
    """A call of NetworKit's, by the name of ours."""
    import networkit as nk
    nk.setNumberOfThreads(2)
    calls = {
        "betweenness": lambda g: nk.centrality.Betweenness(g).run(),
        "edge_betweenness_centrality": lambda g: nk.centrality.Betweenness(g, computeEdgeCentrality=True).run(),
        "closeness": lambda g: nk.centrality.Closeness(g, False, nk.centrality.ClosenessVariant.GENERALIZED).run(),
        "harmonic_centrality": lambda g: nk.centrality.HarmonicCloseness(g).run(),
        "eigenvector_centrality": lambda g: nk.centrality.EigenvectorCentrality(g).run(),
        "pagerank": lambda g: nk.centrality.PageRank(g, tol=1e-10).run(),
        "coreness": lambda g: nk.centrality.CoreDecomposition(g).run(),
        "clusters": lambda g: nk.components.ConnectedComponents(g).run(),
        "articulation_points": lambda g: nk.components.BiconnectedComponents(g).run(),
        "bfs": lambda g: nk.distance.BFS(g, 0).run(),
        "sssp": lambda g: nk.distance.Dijkstra(g, 0).run(),
        "triangle_count": lambda g: nk.centrality.LocalClusteringCoefficient(g, True).run(),
        "community_multilevel": lambda g: nk.community.PLM(g).run(),
        "community_leiden": lambda g: nk.community.ParallelLeiden(g).run(),
        "community_label_propagation": lambda g: nk.community.PLP(g).run(),
    }
    return calls[name]


def of_scipy(name):
    """A call of SciPy's, by the name of ours."""
    from scipy.sparse import csgraph
    calls = {
        "clusters": lambda a: csgraph.connected_components(a, directed=False),
        "strongly_connected_components": lambda a: csgraph.connected_components(a, connection="strong"),
        "bfs": lambda a: csgraph.breadth_first_order(a, 0),
        "sssp": lambda a: csgraph.dijkstra(a, indices=0),
        "spanning_tree": lambda a: csgraph.minimum_spanning_tree(a),
    }
    return calls[name]


PARAMS = {"community_infomap": ["trials=1"], "community_leading_eigenvector": ["clusters=8"],
          "community_leiden": ['objective_function="modularity"'], "bfs": ["start=0"], "sssp": ["source=0"]}


def peer(library, key, edges, n, out):
    """Puts the seconds of a peer's call, or why there are none."""
    try:
        if library == "igraph":
            import igraph
            work, graph = PEERS[key], igraph.Graph(n, edges)
        elif library == "networkit":
            import networkit as nk
            import numpy as np
            work, (a, b) = of_networkit(key[1]), np.array(edges, dtype=np.uint64).T
            graph = nk.GraphFromCoo((np.ones(len(a)), (a, b)), n=n, weighted=False, directed=False)
            graph.indexEdges()
        else:
            import numpy as np
            from scipy.sparse import coo_array
            work, (a, b) = of_scipy(key[1]), np.array(edges).T
            graph = coo_array((np.ones(2 * len(a)), (np.r_[a, b], np.r_[b, a])), shape=(n, n)).tocsr()
    except (KeyError, ImportError):
        out.put(None)
        return
    out.put("ready")
    # The queue writes on a thread of its own, which a call that never gives the interpreter up would keep waiting.
    time.sleep(0.2)
    least = LIMIT_S
    for _ in range(REPEAT):
        began = time.perf_counter()
        try:
            work(graph)
        except Exception as e:
            out.put(str(e)[:40])
            return
        seconds = time.perf_counter() - began
        least = min(least, seconds)
        if seconds > 1:
            break
    out.put(least)


def timed(library, key, edges, n):
    """Seconds of a peer; the limit where it was ended; a text where it failed; None where it has no such call."""
    out = multiprocessing.Queue()
    process = multiprocessing.Process(target=peer, args=(library, key, edges, n, out))
    process.start()
    try:
        if out.get(timeout=120) is None:
            return None
        # Some calls hold the interpreter until they end; those that are repeated are short.
        return out.get(timeout=LIMIT_S + 1)
    except queue.Empty:
        return LIMIT_S
    finally:
        process.kill()


def simple_edges(path):
    with open(path) as f:
        next(f)
        pairs = {tuple(sorted(map(int, line.split(",")[:2]))) for line in f}
    edges = sorted(p for p in pairs if p[0] != p[1])
    # Peers see the nodes that have edges, as we do, without gaps between their numbers.
    number = {v: i for i, v in enumerate(sorted({v for p in edges for v in p}))}
    edges = [(number[a], number[b]) for a, b in edges]
    with open(SIMPLE, "w") as f:
        f.write("src,dst\n" + "".join(f"{a},{b}\n" for a, b in edges))
    return edges


def own_seconds(binary, library, name):
    """Seconds of the first call and the least of the others, or why there are none."""
    call = [binary, "compute", name, SIMPLE, "--library", library, "--timings", "--threads", "2", "--out", OUT,
            *(a for p in PARAMS.get(name, []) for a in ("-p", p))]
    first = []
    for repeat in (1, REPEAT):
        try:
            r = subprocess.run([*call, "--repeat", str(repeat)], capture_output=True, text=True, timeout=OWN_LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"over {OWN_LIMIT_S} s"
        lines = [line for line in r.stderr.splitlines() if line.startswith("{")]
        if not lines:
            return (r.stderr.strip().splitlines() or [f"status {r.returncode}"])[-1][:60]
        timings = json.loads(lines[-1])
        first.append(timings["first_s"])
        if first[-1] > 1:
            break
    return min(first), timings["run_s"]


def scales(binary, rest):
    paths = [p for p in rest if p.endswith(".csv")]
    wanted = [p for p in rest if not p.endswith(".csv")] or LINEAR
    table = {name: [] for name in wanted}
    arcs = []
    for path in paths:
        arcs.append(2 * len(simple_edges(path)))
        for key in PEERS:
            if key[1] in table:
                s = own_seconds(binary, *key)
                table[key[1]].append(s if isinstance(s, str) else f"{s[0] / arcs[-1] * 1e9:.1f}")
    print("nanoseconds an arc, two threads, of the first call, which makes the view\n")
    print("| name | " + " | ".join(f"{a:,} arcs" for a in arcs) + " |\n|---" + "|---" * len(arcs) + "|")
    for name, row in table.items():
        print(f"| {name} | " + " | ".join(row) + " |")


def modularity(edges, labels):
    inside, total = 0, {}
    for a, b in edges:
        inside += labels[a] == labels[b]
        for v in (a, b):
            total[labels[v]] = total.get(labels[v], 0) + 1
    return inside / len(edges) - sum((t / (2 * len(edges))) ** 2 for t in total.values())


def seconds_at(points, mean):
    """Seconds that a search takes for a modularity, between its two settings next to it; none where none reaches it."""
    better = sorted((s, q) for q, s in points if q >= mean)
    if not better:
        return None
    worse = [(s, q) for q, s in points if q < mean and s < better[0][0]]
    if not worse:
        return better[0][0]
    (s0, q0), (s1, q1) = max(worse, key=lambda w: w[1]), better[0]
    return s0 + (s1 - s0) * (mean - q0) / (q1 - q0)


def quality(binary, paths):
    """Searches of the same graph with less and more effort, and how long NetworKit's Leiden takes for the modularity of ours."""
    import igraph
    import networkit as nk
    import numpy as np
    seeds = range(8)
    nk.setNumberOfThreads(2)

    def own(name, *params):
        def search(edges, _, seed):
            call = [binary, "compute", name, SIMPLE, "--library", "igraph", "--timings", "--threads", "2", "--repeat", "5", "--out", OUT,
                    "-p", f"random_state={seed}", *(a for p in params for a in ("-p", p))]
            r = subprocess.run(call, capture_output=True, text=True, check=True)
            seconds = json.loads([line for line in r.stderr.splitlines() if line.startswith("{")][-1])["run_s"]
            with open(OUT) as f:
                next(f)
                rows = (line.split(",") for line in f)
                return seconds, {int(v): label for v, label in rows}
        return search

    def of_nk(make):
        def search(edges, graphs, seed):
            nk.setSeed(seed, True)
            made = make(graphs["networkit"])
            began = time.perf_counter()
            made.run()
            return time.perf_counter() - began, made.getPartition().getVector()
        return search

    def of_igraph(call):
        def search(edges, graphs, seed):
            began = time.perf_counter()
            found = call(graphs["igraph"])
            return time.perf_counter() - began, found.membership
        return search

    leiden = ("community_leiden", 'objective_function="modularity"')
    searches = [(f"Leiden, {i} iterations", own(*leiden, f"n_iterations={i}")) for i in (1, 2, 3, 4)]
    searches += [(f"NetworKit ParallelLeiden, {i} iterations", of_nk(lambda g, i=i: nk.community.ParallelLeiden(g, iterations=i)))
                 for i in (1, 2, 3, 4, 5, 6, 8, 10)]
    searches += [("igraph Leiden, 2 iterations", of_igraph(lambda g: g.community_leiden(objective_function="modularity"))),
                 ("Louvain", own("community_multilevel")), ("NetworKit PLM", of_nk(lambda g: nk.community.PLM(g))),
                 ("igraph multilevel", of_igraph(lambda g: g.community_multilevel()))]
    for path in paths:
        edges = simple_edges(path)
        n = max(max(e) for e in edges) + 1
        a, b = np.array(edges, dtype=np.uint64).T
        graphs = {"igraph": igraph.Graph(n, edges),
                  "networkit": nk.GraphFromCoo((np.ones(len(a)), (a, b)), n=n, weighted=False, directed=False)}
        print(f"\n{n} nodes, {len(edges)} edges; least seconds and mean modularity of {len(seeds)} seeds, two threads\n")
        print("| search | seconds | modularity |\n|---|---|---|")
        points = {}
        for name, search in searches:
            found = [search(edges, graphs, seed) for seed in seeds]
            least = min(s for s, _ in found)
            mean = sum(modularity(edges, labels) for _, labels in found) / len(found)
            print(f"| {name} | {least:.4f} | {mean:.5f} |", flush=True)
            points.setdefault(name.split(",")[0], []).append((mean, least))
        print()
        for mean, least in points["Leiden"]:
            peer = seconds_at(points["NetworKit ParallelLeiden"], mean)
            print(f"- modularity {mean:.5f}: NetworKit " + ("does not reach it" if peer is None else f"{peer / least:.1f} times as long"))


def main():
    binary, path = sys.argv[1:3]
    if path == "--scales":
        return scales(binary, sys.argv[3:])
    if path == "--quality":
        return quality(binary, sys.argv[3:])
    wanted = sys.argv[3:]
    edges = simple_edges(path)
    n = max(max(e) for e in edges) + 1
    print(f"{n} nodes, {len(edges)} edges, undirected; seconds, least of {REPEAT} calls in one process (1 where it takes longer than 1 s);")
    print("in brackets how many times as long as Graphlume's\n")
    print("| name | graphlume, first | graphlume | " + " | ".join(LIBRARIES) + " |\n|---|---|---" + "|---" * len(LIBRARIES) + "|")
    for key in PEERS:
        library, name = key
        if wanted and name not in wanted:
            continue
        mine = own_seconds(binary, library, name)
        cells = []
        for other in LIBRARIES:
            s = timed(other, key, edges, n)
            if isinstance(s, float):
                ended = s >= LIMIT_S
                ratio = "" if isinstance(mine, str) else f" ({'> ' if ended else ''}{s / mine[1]:.1f})"
                cells.append(f"{'ended' if ended else f'{s:.4f}'}{ratio}")
            else:
                cells.append(s or "")
        own = f"{mine} |" if isinstance(mine, str) else " | ".join(f"{s:.4f}" for s in mine)
        print(f"| {library}.{name} | {own} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
