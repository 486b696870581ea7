"""How good a layout is: sampled, deterministic, independent of scale.

stress    mean over sampled pairs of ((a |xi-xj| - d) / d)^2 with graph distance d and the best scale a   (0 best)
np1, np2  mean Jaccard overlap of a node's 1-hop (2-hop) neighbours with as many nearest points           (1 best)
crossings share of sampled edge pairs that cross                                                         (0 best)
atedge    mean edge length / mean distance of random node pairs (Noack 2009)                     (lower = clustered)

Command: quality.py EDGES.parquet LAYOUT.parquet... prints one line per layout.
"""

import sys

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def hashed(stream, count):
    """`count` repeatable 64-bit numbers."""
    with np.errstate(over="ignore"):
        x = (np.arange(count, dtype=np.uint64) ^ (np.uint64(stream) * GOLDEN)) + GOLDEN
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        return x ^ (x >> np.uint64(31))


def adjacency(n, src, dst):
    """Symmetric 0/1 adjacency without loops and copies."""
    keep = src != dst
    s, d = np.concatenate([src[keep], dst[keep]]), np.concatenate([dst[keep], src[keep]])
    a = csr_matrix((np.ones(len(s), np.int8), (s, d)), shape=(n, n))
    a.data[:] = 1
    return a


def linked_nodes(a, stream, count):
    """`count` repeatable picks among the nodes that have neighbours."""
    linked = np.flatnonzero(np.diff(a.indptr))
    return linked[(hashed(stream, count) % np.uint64(len(linked))).astype(int)]


def sampled_pairs(n, src, dst, pivots=64, targets=2000):
    """Pairs of nodes and their distance in hops: each pivot with each target that it reaches."""
    a = adjacency(n, src, dst)
    roots, ends = (np.unique(linked_nodes(a, s, k)) for s, k in ((1, pivots), (2, targets)))
    parts = []
    for p in roots:
        hops = dijkstra(a, directed=False, unweighted=True, indices=p)[ends]
        ok = np.isfinite(hops) & (hops > 0)
        parts.append((np.full(ok.sum(), p), ends[ok], hops[ok]))
    return [np.concatenate(column) for column in zip(*parts)]


def stress(positions, pairs):
    """Of the pairs and distances of `sampled_pairs`, at the best scale."""
    i, j, d = pairs
    x = np.linalg.norm(positions[i] - positions[j], axis=1)
    scale = (x / d).sum() / max(((x / d) ** 2).sum(), 1e-300)
    return float(np.mean((scale * x / d - 1) ** 2))


def distant_ends(a):
    """The pairs of nodes whose mean distance `edge_length` is a share of."""
    return linked_nodes(a, 5, 200_000), linked_nodes(a, 6, 200_000)


def edge_length(positions, src, dst, distant):
    """Mean length of an edge over the mean distance of the nodes `distant`."""
    mean = lambda i, j: np.linalg.norm(positions[i] - positions[j], axis=1).mean()
    return float(mean(src, dst) / mean(*distant))


def measure(n, src, dst, positions, pairs=None):
    """All figures of one layout as a dict. `pairs` are those of `sampled_pairs` that the stress is taken over."""
    positions = np.asarray(positions, float)
    if not np.isfinite(positions).all():
        return {"nonfinite": int((~np.isfinite(positions)).any(1).sum())}
    a = adjacency(n, src, dst)
    sample = np.unique(linked_nodes(a, 2, 2000))
    out = {"stress": stress(positions, sampled_pairs(n, src, dst) if pairs is None else pairs)}
    tree = cKDTree(positions)
    for hops in (1, 2):
        overlap = []
        for v in sample[:1000]:
            around = a.indices[a.indptr[v]:a.indptr[v + 1]]
            if hops == 2:
                if len(around) > 200:
                    continue
                around = np.unique(np.concatenate([around] + [a.indices[a.indptr[u]:a.indptr[u + 1]] for u in around]))
                around = around[around != v]
            k = len(around)
            if not 0 < k <= 5000:
                continue
            nearest = np.atleast_1d(tree.query(positions[v], k=min(k + 1, n))[1])
            common = len(np.intersect1d(nearest[nearest != v][:k], around))
            overlap.append(common / (2 * k - common))
        out[f"np{hops}"] = float(np.mean(overlap)) if overlap else 0.0
    keep = src != dst
    u, v = src[keep], dst[keep]
    m = len(u)
    if m <= 2000:
        i, j = np.triu_indices(m, 1)
    else:
        i, j = ((hashed(s, 1_000_000) % np.uint64(m)).astype(int) for s in (3, 4))
    ok = (u[i] != u[j]) & (u[i] != v[j]) & (v[i] != u[j]) & (v[i] != v[j])
    p, q, r, s = (positions[e[k[ok]]] for e, k in ((u, i), (v, i), (u, j), (v, j)))
    side = lambda o, a, b: (a[:, 0] - o[:, 0]) * (b[:, 1] - o[:, 1]) - (a[:, 1] - o[:, 1]) * (b[:, 0] - o[:, 0])
    cross = (side(p, q, r) * side(p, q, s) < 0) & (side(r, s, p) * side(r, s, q) < 0)
    out["crossings"] = float(cross.mean()) if len(cross) else 0.0
    out["atedge"] = edge_length(positions, u, v, distant_ends(a))
    return out


def read_graph(path):
    """Node count and the two integer columns src, dst of a Parquet file."""
    import pyarrow.parquet as pq

    t = pq.read_table(path, columns=["src", "dst"])
    src, dst = (t[c].to_numpy().astype(np.int64) for c in ("src", "dst"))
    return int(max(src.max(), dst.max())) + 1, src, dst


def read_layout(path, n):
    """Positions by node id of a layout file with columns node, x, y."""
    import pyarrow.parquet as pq

    t = pq.read_table(path)
    xy = np.zeros((n, 2))
    xy[t["node"].to_numpy().astype(np.int64)] = np.stack([t["x"].to_numpy(), t["y"].to_numpy()], 1)
    return xy


if __name__ == "__main__":
    size, source, target = read_graph(sys.argv[1])
    for name in sys.argv[2:]:
        figures = measure(size, source, target, read_layout(name, size))
        print(name, " ".join(f"{k}={v:.4f}" for k, v in figures.items()))
