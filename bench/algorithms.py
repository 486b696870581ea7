#!/usr/bin/env python3
"""Speed of the algorithms against igraph on the same graph, each by its own measure of the computation alone.

    python bench/algorithms.py BINARY EDGES [NAME ...]

EDGES has integer columns src and dst. A peer is ended after 10 s, which then count as 10 s. Prints a table for
bench/results. `graphlume` is timed by --timings with two threads; the view of the graph that an algorithm makes counts."""

import json
import multiprocessing
import subprocess
import sys
import time

LIMIT_S = 10.0
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
PARAMS = {"community_infomap": ["trials=1"], "community_leading_eigenvector": ["clusters=8"],
          "community_leiden": ['objective_function="modularity"'], "bfs": ["start=0"], "sssp": ["source=0"]}


def peer(key, edges, n, out):
    import igraph
    g = igraph.Graph(n, edges)
    began = time.perf_counter()
    try:
        PEERS[key](g)
    except igraph.InternalError as e:
        out.put(str(e)[:40])
        return
    out.put(time.perf_counter() - began)


def main():
    binary, path = sys.argv[1:3]
    wanted = sys.argv[3:]
    with open(path) as f:
        next(f)
        pairs = {tuple(sorted(map(int, line.split(",")[:2]))) for line in f}
    edges = sorted(p for p in pairs if p[0] != p[1])
    simple = "/tmp/graphlume-bench-algorithms.csv"
    with open(simple, "w") as f:
        f.write("src,dst\n" + "".join(f"{a},{b}\n" for a, b in edges))
    n = max(max(e) for e in edges) + 1
    print(f"{n} nodes, {len(edges)} edges, undirected; seconds, least of 3 (1 where it takes longer than 3 s)\n")
    print("| name | graphlume | igraph | ratio |\n|---|---|---|---|")
    for key in PEERS:
        library, name = key
        if wanted and name not in wanted:
            continue
        own = []
        for _ in range(3):
            r = subprocess.run([binary, "compute", name, simple, "--library", library, "--timings", "--threads", "2", "--out",
                                "/tmp/graphlume-bench-algorithms-out.csv", *(a for p in PARAMS.get(name, []) for a in ("-p", p))],
                               capture_output=True, text=True)
            lines = [line for line in r.stderr.splitlines() if line.startswith("{")]
            if not lines:
                own = [r.stderr.strip().splitlines()[-1][:60]]
                break
            own.append(json.loads(lines[-1])["run_s"])
            if own[-1] > 3:
                break
        out = multiprocessing.Queue()
        process = multiprocessing.Process(target=peer, args=(key, edges, n, out))
        process.start()
        process.join(LIMIT_S + 2)
        ended = process.is_alive()
        process.kill()
        other = LIMIT_S if ended or out.empty() else out.get()
        both = all(isinstance(x, float) for x in (own[0], other))
        mine = min(own) if isinstance(own[0], float) else own[0]
        ratio = f"{'> ' if ended else ''}{other / mine:.1f}" if both else ""
        show = lambda x: f"{x:.4f}" if isinstance(x, float) else x
        print(f"| {library}.{name} | {show(mine)} | {'ended at ' if ended else ''}{show(other)} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
