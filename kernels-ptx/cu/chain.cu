// One hop of a pattern from many nodes: all edges are looked at in the order of the adjacency, so that what is kept of them
// comes out in that order, without a list of nodes and without the in-lists. The semi-join passes of a chain (forward,
// backward, and the ends of what is left) are this kernel with other masks.
#include "graph.cuh"

#define CHAIN_FORWARD 1u   // From sources to destinations.
#define CHAIN_BACKWARD 2u  // From destinations to sources.
#define CHAIN_EDGES 4u     // Only the edges in `edges`.
#define CHAIN_FROM 8u      // Only from the nodes in `from`.
#define CHAIN_TO 16u       // Only to the nodes in `to`.
#define CHAIN_KEPT 32u     // Add the edges that are followed to `kept`.
#define CHAIN_LEFT 64u     // Add the nodes that they are followed from to `left`.
#define CHAIN_REACHED 128u // Add the nodes that they lead to to `reached`.

// Follows every edge that the masks allow, each way that the flags name. The masks of edges have bit p for position p. A
// warp has 32 positions that begin at a multiple of 32, so each word of `kept` has one writer. 4 bytes an edge, a bit for
// each mask of edges and a cached sector for each mask of nodes. 256 threads a block, any number of blocks.
//@ offsets: n + 1, ends: m, edges: *, from: *, to: *, kept: *, left: *, reached: *
GL_KERNEL void GL_BOUNDS(256)
    chain_follow(u32 n, u32 m, u32 flags, const u32* GL_RESTRICT offsets,
                 const u32* GL_RESTRICT ends, const u32* GL_RESTRICT edges,
                 const u32* GL_RESTRICT from, const u32* GL_RESTRICT to, u32* kept, u32* left,
                 u32* reached) {
  graph_each_arc(n, m, offsets, [&](u32 s, u32 p, bool active) {
    const bool given = active && (!(flags & CHAIN_EDGES) || graph_bit(edges, p));
    bool ahead = false, back = false;
    if (given) {
      const u32 d = ends[p];
      const bool any_from = !(flags & CHAIN_FROM), any_to = !(flags & CHAIN_TO);
      ahead = (flags & CHAIN_FORWARD) && (any_from || graph_bit(from, s)) &&
              (any_to || graph_bit(to, d));
      back = (flags & CHAIN_BACKWARD) && (any_from || graph_bit(from, d)) &&
             (any_to || graph_bit(to, s));
      if (flags & CHAIN_LEFT) {
        if (ahead) graph_set_bit(left, s);
        if (back) graph_set_bit(left, d);
      }
      if (flags & CHAIN_REACHED) {
        if (ahead) graph_set_bit(reached, d);
        if (back) graph_set_bit(reached, s);
      }
    }
    if (flags & CHAIN_KEPT) {
      const u32 word = __ballot_sync(GL_FULL, ahead || back);
      if (gl_lane() == 0 && word != 0) kept[p >> 5] |= word;
    }
  });
}
