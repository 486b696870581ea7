// One hop of a query: from the nodes on a list along the edges that a mask allows to the nodes that
// a mask allows. What is reached and which edges were used come out as masks, equal on every
// device; the list of newly reached nodes, in order of arrival, feeds the next hop without a look
// from the host. counts[2 h] is the length of hop h's list, counts[2 h + 1] that of its long lists.
// Per edge: 4 bytes of index, 4 of row when edges are filtered or marked, and a sector of each
// mask.
#include "graph.cuh"

#define FR_FORWARD 1u   // Along the out-edges.
#define FR_BACKWARD 2u  // Along the in-edges.
#define FR_NODES 4u     // Only to nodes in `nodes`.
#define FR_EDGES 8u     // Only along edges in `edges`, by row.
#define FR_MARK 16u     // Mark the edges used in `used`, by row.
#define FR_LAST 32u     // No hop follows: what is reached is counted and not listed.

// The nodes of a mask as a list. The list's length is counts[0]. 4 bytes a node at most. Any grid
// of whole warps.
//@ mask: div_up(n, 32), list: n, counts: 1
GL_KERNEL void GL_BOUNDS(256) fr_list(u32 n, const u32* GL_RESTRICT mask, u32* GL_RESTRICT list,
                                      u32* GL_RESTRICT counts) {
  for (u64 w = gl_first_warp(); w < (n + 31ull) / 32; w += gl_step_warps()) {
    const u32 v = (u32)w * 32 + gl_lane();
    graph_append(v < n && (mask[w] >> gl_lane() & 1u), v, list, counts);
  }
}

// Seeds as a list without repeats; those that are not below `n` are left out. `seen` is a mask of
// zeros that is used up. Any grid of whole warps.
//@ seeds: num_seeds, seen: div_up(n, 32), list: n, counts: 1
GL_KERNEL void GL_BOUNDS(256)
    fr_seeds(u32 n, u32 num_seeds, const u32* GL_RESTRICT seeds, u32* seen, u32* GL_RESTRICT list,
             u32* GL_RESTRICT counts) {
  for (u64 base = gl_first() - gl_lane(); base < num_seeds; base += gl_step()) {
    const u64 i = base + gl_lane();
    const u32 v = i < num_seeds ? seeds[i] : n;
    graph_append(v < n && graph_set_bit(seen, v), v, list, counts);
  }
}

struct FrHop {
  u32 flags;
  const u32* GL_RESTRICT nodes;
  const u32* GL_RESTRICT edges;
  u32* reached;
  u32* used;
  u32* next;
  u32* next_count;
  u32 found;  // By this lane, on a last hop.
};

// Follows the edge at position `p` of a direction's lists. All 32 lanes must take part. A last hop counts what it
// reaches and lists nothing: nobody goes on from there, and a place in the list costs an atomic that is waited for.
GL_DEVICE void fr_follow(FrHop& hop, const u32* GL_RESTRICT ends,
                         const u32* GL_RESTRICT rows, u32 p, bool active) {
  u32 v = 0;
  bool fresh = false;
  if (active) {
    v = ends[p];
    const u32 row = hop.flags & (FR_EDGES | FR_MARK) ? rows[p] : 0;
    if ((!(hop.flags & FR_NODES) || graph_bit(hop.nodes, v)) &&
        (!(hop.flags & FR_EDGES) || graph_bit(hop.edges, row))) {
      if (hop.flags & FR_MARK) graph_set_bit(hop.used, row);
      fresh = graph_set_bit(hop.reached, v);
    }
  }
  if (hop.flags & FR_LAST) {
    hop.found += fresh ? 1u : 0u;
    return;
  }
  graph_append(fresh, v, hop.next, hop.next_count);
}

// Adds what the lanes of a last hop have found. All 32 lanes must take part.
GL_DEVICE void fr_end(const FrHop& hop) {
  if (hop.flags & FR_LAST) {
    const u32 found = warp_sum(hop.found);
    if (gl_lane() == 0 && found != 0) atomicAdd(hop.next_count, found);
  }
}

// A hop from every node on hop `h`'s list, a lane a node and then all lanes on their lists
// together; nodes with a list longer than GRAPH_BIG are put on `big`. Any grid of whole warps.
//@ list: n, out_offsets: n + 1, out_dst: *, out_row: *, in_offsets: n + 1, in_src: *, in_row: *,
//@ nodes: *, edges: *, reached: div_up(n, 32), used: *, next: n, big: n, counts: 2 * h + 3
GL_KERNEL void GL_BOUNDS(256)
    fr_push(u32 n, u32 h, u32 flags, const u32* GL_RESTRICT list,
            const u32* GL_RESTRICT out_offsets, const u32* GL_RESTRICT out_dst,
            const u32* GL_RESTRICT out_row, const u32* GL_RESTRICT in_offsets,
            const u32* GL_RESTRICT in_src, const u32* GL_RESTRICT in_row,
            const u32* GL_RESTRICT nodes, const u32* GL_RESTRICT edges, u32* reached, u32* used,
            u32* next, u32* big, u32* counts) {
  FrHop hop = {flags, nodes, edges, reached, used, next, counts + 2 * h + 2, 0};
  const u32 count = counts[2 * h];
  const u32 share = graph_share(count);
  for (u64 base = gl_first_warp() * share; base < count; base += gl_step_warps() * share) {
    const bool own = gl_lane() < share && base + gl_lane() < count;
    const u32 u = own ? list[base + gl_lane()] : 0;
    u32 out_length = own && (flags & FR_FORWARD) ? out_offsets[u + 1] - out_offsets[u] : 0;
    u32 in_length = own && (flags & FR_BACKWARD) ? in_offsets[u + 1] - in_offsets[u] : 0;
    const bool later = out_length > GRAPH_BIG || in_length > GRAPH_BIG;
    graph_append(later, u, big, counts + 2 * h + 1);
    if (later) out_length = in_length = 0;
    graph_each_of_warp(out_offsets[u], out_length, [&](u32, u32 p, bool active) {
      fr_follow(hop, out_dst, out_row, p, active);
    });
    graph_each_of_warp(in_offsets[u], in_length, [&](u32, u32 p, bool active) {
      fr_follow(hop, in_src, in_row, p, active);
    });
  }
  fr_end(hop);
}

// The same for the nodes on `big`, a block or several a node. Any grid of whole warps.
//@ big: n, out_offsets: n + 1, out_dst: *, out_row: *, in_offsets: n + 1, in_src: *, in_row: *,
//@ nodes: *, edges: *, reached: div_up(n, 32), used: *, next: n, counts: 2 * h + 3
GL_KERNEL void GL_BOUNDS(256)
    fr_push_big(u32 n, u32 h, u32 flags, const u32* GL_RESTRICT big,
                const u32* GL_RESTRICT out_offsets, const u32* GL_RESTRICT out_dst,
                const u32* GL_RESTRICT out_row, const u32* GL_RESTRICT in_offsets,
                const u32* GL_RESTRICT in_src, const u32* GL_RESTRICT in_row,
                const u32* GL_RESTRICT nodes, const u32* GL_RESTRICT edges, u32* reached, u32* used,
                u32* next, u32* counts) {
  FrHop hop = {flags, nodes, edges, reached, used, next, counts + 2 * h + 2, 0};
  graph_each_big(counts[2 * h + 1], [&](u32 item, u32 part, u32 parts) {
    const u32 u = big[item];
    const u64 step = (u64)parts * blockDim.x, first = (u64)part * blockDim.x;
    const u32 out_length = flags & FR_FORWARD ? out_offsets[u + 1] - out_offsets[u] : 0;
    for (u64 base = first; base < out_length; base += step) {
      const u64 k = base + threadIdx.x;
      fr_follow(hop, out_dst, out_row, out_offsets[u] + (u32)k, k < out_length);
    }
    const u32 in_length = flags & FR_BACKWARD ? in_offsets[u + 1] - in_offsets[u] : 0;
    for (u64 base = first; base < in_length; base += step) {
      const u64 k = base + threadIdx.x;
      fr_follow(hop, in_src, in_row, in_offsets[u] + (u32)k, k < in_length);
    }
  });
  fr_end(hop);
}
