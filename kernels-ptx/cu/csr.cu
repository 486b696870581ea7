// Adjacency built and reshaped on the device: lists from an edge table, the lists of both
// directions in one, and weights in list order. Everything here is done once for a graph.
#include "graph.cuh"

// Sort keys `source << shift | destination` of `m` edges, with their positions as values.
// Moves 20 bytes an edge. Any grid.
//@ src: m, dst: m, keys: m, rows: m
GL_KERNEL void GL_BOUNDS(256) csr_keys(u32 m, u32 shift, const u32* GL_RESTRICT src,
                                       const u32* GL_RESTRICT dst, u64* GL_RESTRICT keys,
                                       u32* GL_RESTRICT rows) {
  for (u64 i = gl_first(); i < m; i += gl_step()) {
    keys[i] = (u64)src[i] << shift | dst[i];
    rows[i] = (u32)i;
  }
}

// The two halves of sorted keys: sources and destinations. Moves 16 bytes an edge. Any grid.
//@ keys: m, src: m, dst: m
GL_KERNEL void GL_BOUNDS(256) csr_split(u32 m, u32 shift, const u64* GL_RESTRICT keys,
                                        u32* GL_RESTRICT src, u32* GL_RESTRICT dst) {
  const u64 low = ((u64)1 << shift) - 1;
  for (u64 i = gl_first(); i < m; i += gl_step()) {
    const u64 key = keys[i];
    src[i] = (u32)(key >> shift);
    dst[i] = (u32)(key & low);
  }
}

// Where the list of each of `n` nodes starts among `m` sorted keys; offsets[n] is `m`. A thread a
// node searches by halving: about log2(m) cached reads a node. Any grid.
//@ sorted: m, offsets: n + 1
GL_KERNEL void GL_BOUNDS(256) csr_offsets(u32 n, u32 m, const u32* GL_RESTRICT sorted,
                                          u32* GL_RESTRICT offsets) {
  for (u64 v = gl_first(); v <= n; v += gl_step()) {
    offsets[v] = v == n ? m : graph_lower_bound(sorted, 0, m, (u32)v);
  }
}

// Edges that leave or enter each node, a self-loop twice; saturates. 12 bytes a node. Any grid.
//@ out_offsets: n + 1, in_offsets: n + 1, degrees: n
GL_KERNEL void GL_BOUNDS(256) csr_degrees(u32 n, const u32* GL_RESTRICT out_offsets,
                                          const u32* GL_RESTRICT in_offsets,
                                          u32* GL_RESTRICT degrees) {
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    const u32 outs = out_offsets[v + 1] - out_offsets[v];
    const u32 ins = in_offsets[v + 1] - in_offsets[v];
    degrees[v] = outs + ins < outs ? 0xffffffffu : outs + ins;
  }
}

// How long each node's list of both directions is, and twice the number of its self-loops, which
// are left out of the list unless `keep_loops`. A thread a node finds the loops by halving. Any
// grid.
//@ out_offsets: n + 1, out_dst: *, in_offsets: n + 1, lengths: n, loops: n
GL_KERNEL void GL_BOUNDS(256) csr_both_lengths(u32 n, u32 keep_loops,
                                               const u32* GL_RESTRICT out_offsets,
                                               const u32* GL_RESTRICT out_dst,
                                               const u32* GL_RESTRICT in_offsets,
                                               u32* GL_RESTRICT lengths, u32* GL_RESTRICT loops) {
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    const u32 begin = out_offsets[v], end = out_offsets[v + 1];
    const u32 first = graph_lower_bound(out_dst, begin, end, (u32)v);
    const u32 own = graph_lower_bound(out_dst, first, end, (u32)v + 1) - first;
    lengths[v] = end - begin + (in_offsets[v + 1] - in_offsets[v]) - (keep_loops ? 0 : 2 * own);
    loops[v] = 2 * own;
  }
}

// Copies the lists of one direction (`incoming` or not) into the lists of both directions: each
// node's out-edges come first, then its in-edges, in list order, self-loops left out unless
// `keep_loops`. With `with_rows` the edge rows go along. A block a tile of positions: reads 4 (8)
// and writes 4 (8) bytes an edge, a cached search for the row apart. 256 threads a block, any
// number of blocks.
//@ offsets: n + 1, ends: m, rows: with_rows * m, out_offsets: n + 1, loops: n, both_offsets: n + 1,
//@ both_ends: *, both_rows: *
GL_KERNEL void GL_BOUNDS(256)
    csr_both_fill(u32 n, u32 m, u32 keep_loops, u32 incoming, u32 with_rows,
                  const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
                  const u32* GL_RESTRICT rows, const u32* GL_RESTRICT out_offsets,
                  const u32* GL_RESTRICT loops, const u32* GL_RESTRICT both_offsets,
                  u32* GL_RESTRICT both_ends, u32* GL_RESTRICT both_rows) {
  graph_each_arc(n, m, offsets, [&](u32 v, u32 p, bool active) {
    if (!active) return;
    const u32 u = ends[p];
    if (u == v && !keep_loops) return;
    const u32 own = keep_loops ? 0 : loops[v] / 2;
    u32 to = both_offsets[v] + (p - offsets[v]) - (u > v ? own : 0);
    if (incoming) to += out_offsets[v + 1] - out_offsets[v] - own;
    both_ends[to] = u;
    if (with_rows) both_rows[to] = rows[p];
  });
}

// Weights in list order: by_row[rows[i]], 1 where that is missing or not a number, 0 where
// negative. 8 bytes and one 32-byte sector an edge. Any grid.
//@ rows: m, by_row: given, weights: m
GL_KERNEL void GL_BOUNDS(256) csr_weights(u32 m, u32 given, const u32* GL_RESTRICT rows,
                                          const f32* GL_RESTRICT by_row,
                                          f32* GL_RESTRICT weights) {
  for (u64 i = gl_first(); i < m; i += gl_step()) {
    const u32 row = rows[i];
    const f32 w = row < given ? by_row[row] : 1.0f;
    weights[i] = w != w ? 1.0f : (w < 0.0f ? 0.0f : w);
  }
}
