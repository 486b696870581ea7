// Weakly connected components: union-find by atomic hooking of the larger root onto the smaller
// (Jaiganesh and Burtscher, HPDC 2018), with the first neighbours linked before the rest so that
// the nodes of the giant component can be left out (Sutton, Ben-Nun and Barak, IPDPS 2018). The
// root of a component is its smallest node in the end, whatever the order of the links.
#include "graph.cuh"

// Out-edges of each node that are linked before the giant component is looked for.
#define CC_SAMPLE 2u
// Nodes with more edges left than this get a warp, with more than GRAPH_BIG whole blocks.
#define CC_THREAD_MAX 16u

// The root of `v`; halves the path on the way. Parents never exceed their children, and what
// another thread writes meanwhile is an ancestor too.
GL_DEVICE u32 cc_root(u32* parent, u32 v) {
  u32 above = parent[v];
  if (above != v) {
    u32 below = v, next = parent[above];
    while (above > next) {
      parent[below] = next;
      below = above;
      above = next;
      next = parent[above];
    }
  }
  return above;
}

// Joins the trees of `a` and `b`.
GL_DEVICE void cc_link(u32* parent, u32 a, u32 b) {
  a = cc_root(parent, a);
  b = cc_root(parent, b);
  while (a != b) {
    const u32 high = max(a, b), low = min(a, b);
    const u32 held = atomicCAS(parent + high, high, low);
    // Hooked, unless another thread hooked `high` first: then its new parent has to be joined.
    a = low;
    b = held == high ? low : cc_root(parent, held);
  }
}

// Every node hangs below the smallest of itself and its first neighbours. 24 bytes and up to two
// sectors a node. Any grid.
//@ out_offsets: n + 1, out_dst: *, in_offsets: n + 1, in_src: *, parent: n
GL_KERNEL void GL_BOUNDS(256) cc_init(u32 n, const u32* GL_RESTRICT out_offsets,
                                      const u32* GL_RESTRICT out_dst,
                                      const u32* GL_RESTRICT in_offsets,
                                      const u32* GL_RESTRICT in_src, u32* parent) {
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    u32 least = (u32)v;
    if (out_offsets[v] < out_offsets[v + 1]) least = min(least, out_dst[out_offsets[v]]);
    if (in_offsets[v] < in_offsets[v + 1]) least = min(least, in_src[in_offsets[v]]);
    parent[v] = least;
  }
}

// Links every node with its first CC_SAMPLE out-neighbours. About 16 bytes and three sectors a
// node. Any grid.
//@ out_offsets: n + 1, out_dst: *, parent: n
GL_KERNEL void GL_BOUNDS(256) cc_sample(u32 n, const u32* GL_RESTRICT out_offsets,
                                        const u32* GL_RESTRICT out_dst, u32* parent) {
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    const u32 begin = out_offsets[v];
    const u32 count = min(out_offsets[v + 1] - begin, CC_SAMPLE);
    for (u32 k = 0; k < count; ++k) cc_link(parent, (u32)v, out_dst[begin + k]);
  }
}

// Hangs every node directly below its root. 8 bytes and a sector or two a node. Any grid.
//@ parent: n
GL_KERNEL void GL_BOUNDS(256) cc_compress(u32 n, u32* parent) {
  for (u64 v = gl_first(); v < n; v += gl_step()) parent[v] = cc_root(parent, (u32)v);
}

// The root that most of 256 nodes, chosen by hash, hang below; the smallest of several. One block
// of 256 threads.
//@ parent: n, giant: 1
GL_KERNEL void GL_BOUNDS(256) cc_giant(u32 n, const u32* GL_RESTRICT parent,
                                       u32* GL_RESTRICT giant) {
  __shared__ u32 roots[256];
  __shared__ u64 best[8];
  roots[threadIdx.x] = parent[hash64(1, 0, threadIdx.x) % n];
  __syncthreads();
  const u32 own = roots[threadIdx.x];
  u32 same = 0;
  for (u32 i = 0; i < 256; ++i) same += roots[i] == own ? 1 : 0;
  const u64 top = warp_max((u64)same << 32 | (0xffffffffu - own));
  if (gl_lane() == 0) best[gl_warp()] = top;
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    u64 most = best[0];
    for (u32 w = 1; w < 8; ++w) most = max(most, best[w]);
    giant[0] = 0xffffffffu - (u32)most;
  }
}

// The `k`-th of the edges of a node that have not been linked yet: its out-edges past the sample,
// then its in-edges.
struct CcRest {
  u32 outs, ins, out_begin, in_begin;
};
GL_DEVICE CcRest cc_rest(u32 v, const u32* GL_RESTRICT out_offsets,
                         const u32* GL_RESTRICT in_offsets) {
  const u32 begin = out_offsets[v], degree = out_offsets[v + 1] - begin;
  const u32 sampled = min(degree, CC_SAMPLE);
  const u32 ins = in_offsets[v + 1] - in_offsets[v];
  return CcRest{degree - sampled, ins, begin + sampled, in_offsets[v]};
}
GL_DEVICE void cc_link_rest(u32* parent, u32 v, const CcRest& rest, u64 first, u64 step,
                            const u32* GL_RESTRICT out_dst, const u32* GL_RESTRICT in_src) {
  for (u64 k = first; k < rest.outs; k += step) cc_link(parent, v, out_dst[rest.out_begin + k]);
  for (u64 k = first; k < rest.ins; k += step) cc_link(parent, v, in_src[rest.in_begin + k]);
}

// Links the other edges of the nodes outside the giant component, a thread a node; nodes with many
// are put on the lists `mid` and `big`, whose lengths are counts[0] and counts[1]. An edge between
// the giant component and the rest is met from the outside. 20 bytes a node, 4 and two sectors an
// edge. Any grid of whole warps.
//@ giant: 1, out_offsets: n + 1, out_dst: *, in_offsets: n + 1, in_src: *, parent: n, mid: n, big:
//@ n, counts: 2
GL_KERNEL void GL_BOUNDS(256)
    cc_link_low(u32 n, const u32* GL_RESTRICT giant, const u32* GL_RESTRICT out_offsets,
                const u32* GL_RESTRICT out_dst, const u32* GL_RESTRICT in_offsets,
                const u32* GL_RESTRICT in_src, u32* parent, u32* mid, u32* big, u32* counts) {
  const u32 root = giant[0];
  const u64 step = gl_step();
  for (u64 base = gl_first() - gl_lane(); base < n; base += step) {
    const u32 v = (u32)base + gl_lane();
    const bool outside = base + gl_lane() < n && parent[v] != root;
    CcRest rest = {0, 0, 0, 0};
    if (outside) rest = cc_rest(v, out_offsets, in_offsets);
    const u64 left = (u64)rest.outs + rest.ins;
    graph_append(left > CC_THREAD_MAX && left <= GRAPH_BIG, v, mid, counts);
    graph_append(left > GRAPH_BIG, v, big, counts + 1);
    if (left <= CC_THREAD_MAX) cc_link_rest(parent, v, rest, 0, 1, out_dst, in_src);
  }
}

// The same for the nodes on the list `mid`, a warp a node. Any grid of whole warps.
//@ counts: 2, mid: n, out_offsets: n + 1, out_dst: *, in_offsets: n + 1, in_src: *, parent: n
GL_KERNEL void GL_BOUNDS(256)
    cc_link_mid(u32 n, const u32* GL_RESTRICT counts, const u32* GL_RESTRICT mid,
                const u32* GL_RESTRICT out_offsets, const u32* GL_RESTRICT out_dst,
                const u32* GL_RESTRICT in_offsets, const u32* GL_RESTRICT in_src, u32* parent) {
  for (u64 i = gl_first_warp(); i < counts[0]; i += gl_step_warps()) {
    const u32 v = mid[i];
    const CcRest rest = cc_rest(v, out_offsets, in_offsets);
    cc_link_rest(parent, v, rest, gl_lane(), 32, out_dst, in_src);
  }
}

// The same for the nodes on the list `big`, a block or several a node. Any grid.
//@ counts: 2, big: n, out_offsets: n + 1, out_dst: *, in_offsets: n + 1, in_src: *, parent: n
GL_KERNEL void GL_BOUNDS(256)
    cc_link_big(u32 n, const u32* GL_RESTRICT counts, const u32* GL_RESTRICT big,
                const u32* GL_RESTRICT out_offsets, const u32* GL_RESTRICT out_dst,
                const u32* GL_RESTRICT in_offsets, const u32* GL_RESTRICT in_src, u32* parent) {
  graph_each_big(counts[1], [&](u32 item, u32 part, u32 parts) {
    const u32 v = big[item];
    const CcRest rest = cc_rest(v, out_offsets, in_offsets);
    cc_link_rest(parent, v, rest, (u64)part * blockDim.x + threadIdx.x, (u64)parts * blockDim.x,
                 out_dst, in_src);
  });
}

// 1 for every root, else 0. 8 bytes a node. Any grid.
//@ parent: n, flags: n
GL_KERNEL void GL_BOUNDS(256) cc_flags(u32 n, const u32* GL_RESTRICT parent,
                                       u32* GL_RESTRICT flags) {
  for (u64 v = gl_first(); v < n; v += gl_step()) flags[v] = parent[v] == v ? 1 : 0;
}

// The number of each node's root among the roots: since a root is the smallest node of its
// component, that is the order of first appearance. 8 bytes and a sector a node. Any grid.
//@ parent: n, numbers: n, labels: n
GL_KERNEL void GL_BOUNDS(256) cc_labels(u32 n, const u32* GL_RESTRICT parent,
                                        const u32* GL_RESTRICT numbers, u32* GL_RESTRICT labels) {
  for (u64 v = gl_first(); v < n; v += gl_step()) labels[v] = numbers[parent[v]];
}
