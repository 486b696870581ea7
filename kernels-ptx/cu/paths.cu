// Shortest paths: breadth-first search that changes direction (Beamer, Asanovic and Patterson, SC
// 2012), and weighted distances by a work list of near nodes (Davidson, Baxter, Garland and Owens,
// IPDPS 2014). Levels and rounds follow each other without a look from the host: the state on the
// device says which of the launches have work. Predecessors are the least among equals, distances
// do not depend on order.
#include "graph.cuh"

#define PATH_UNREACHED 0xffffffffu
// Longer lists than this are left to whole blocks in a pull: most end after a few entries.
#define BFS_PULL_BIG 4096u
// Nodes and list entries up to which one block walks on alone, and levels that it does in one
// launch.
#define BFS_NARROW_NODES 1024u
#define BFS_NARROW_LIST 64u
#define BFS_NARROW_LEVELS 512u

// u32 state[8] of the search.
#define BFS_DEPTH 0  // Of the nodes on the frontier.
#define BFS_LIST 1   // Nodes on the frontier's list, when there is one.
#define BFS_NEXT 2   // Nodes found by a push.
#define BFS_BIG 3    // Nodes put off to whole blocks.
#define BFS_PULL 4   // Whether this level is a pull.
#define BFS_TURN 5   // Whether the frontier has to be turned from a list into a mask or back.
#define BFS_DONE 6
#define BFS_FOUND 7  // Nodes found by a pull.
// u64 arcs[2]: edges of the nodes found by a push; edges of nodes not on a frontier yet.

// Nothing reached but the source, which is the list of the first level. 8 bytes a node. Any grid.
//@ out_offsets: n + 1, in_offsets: n + 1, distance: n, predecessor: n, lists: 2 * n, state: 8,
//@ arcs: 2
GL_KERNEL void GL_BOUNDS(256)
    bfs_start(u32 n, u32 m, u32 source, u32 limit, u32 both, const u32* GL_RESTRICT out_offsets,
              const u32* GL_RESTRICT in_offsets, u32* GL_RESTRICT distance,
              u32* GL_RESTRICT predecessor, u32* GL_RESTRICT lists, u32* GL_RESTRICT state,
              u64* GL_RESTRICT arcs) {
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    distance[v] = v == source ? 0 : PATH_UNREACHED;
    predecessor[v] = PATH_UNREACHED;
  }
  if (gl_first() == 0) {
    const bool there = source < n;
    for (u32 i = 0; i < 8; ++i) state[i] = 0;
    state[BFS_LIST] = there ? 1 : 0;
    state[BFS_DONE] = !there || limit == 0 ? 1 : 0;
    arcs[0] = 0;
    if (there) {
      lists[0] = source;
      u64 own = out_offsets[source + 1] - out_offsets[source];
      if (both) own += in_offsets[source + 1] - in_offsets[source];
      arcs[1] = (both ? 2 * (u64)m : m) - own;
    }
  }
}

// Before a pull that follows a push: the mask of the frontier; before a push that follows a pull:
// its list. A warp a mask word; 4 bytes a node. Any grid of whole warps.
//@ distance: n, lists: 2 * n, fronts: 2 * div_up(n, 32), state: 8
GL_KERNEL void GL_BOUNDS(256) bfs_turn(u32 n, const u32* GL_RESTRICT distance, u32* lists,
                                       u32* fronts, u32* state) {
  const u32 words = (u32)((n + 31ull) / 32);
  const u32 depth = state[BFS_DEPTH];
  const u32 end = state[BFS_TURN] && !state[BFS_DONE] ? words : 0;
  u32* const list = lists + (u64)(depth & 1) * n;
  u32* const front = fronts + (u64)(depth & 1) * words;
  for (u64 w = gl_first_warp(); w < end; w += gl_step_warps()) {
    const u32 v = (u32)w * 32 + gl_lane();
    const bool on = v < n && distance[v] == depth;
    if (state[BFS_PULL]) {
      const u32 word = __ballot_sync(GL_FULL, on);
      if (gl_lane() == 0) front[w] = word;
    } else {
      graph_append(on, v, list, state + BFS_LIST);
    }
  }
}

struct BfsStep {
  u32 next, both;
  const u32* GL_RESTRICT out_offsets;
  const u32* GL_RESTRICT in_offsets;
  u32* distance;
  u32* predecessor;
  u32* found;
  u32* state;
};

// Follows an edge from `u` to the node at `p`; returns the edges of the node if it is newly found.
// All 32 lanes must take part.
GL_DEVICE u64 bfs_follow(const BfsStep& s, const u32* GL_RESTRICT ends, u32 u, u32 p, bool active) {
  u32 v = 0;
  bool fresh = false;
  if (active) {
    v = ends[p];
    const u32 d = s.distance[v];
    if (d == PATH_UNREACHED || d == s.next) {
      if (d == PATH_UNREACHED) {
        fresh = atomicCAS(s.distance + v, PATH_UNREACHED, s.next) == PATH_UNREACHED;
      }
      atomicMin(s.predecessor + v, u);
    }
  }
  graph_append(fresh, v, s.found, s.state + BFS_NEXT);
  if (!fresh) return 0;
  u64 arcs = s.out_offsets[v + 1] - s.out_offsets[v];
  if (s.both) arcs += s.in_offsets[v + 1] - s.in_offsets[v];
  return arcs;
}

GL_DEVICE void bfs_add_arcs(u64 mine, u64* arcs) {
  mine = warp_sum(mine);
  if (gl_lane() == 0 && mine > 0) atomicAdd(arcs, mine);
}

// A level from its list: a lane a node, then all lanes on their lists together; nodes with a list
// longer than GRAPH_BIG are put on `big`. 4 bytes and a sector or two an edge. Any grid of whole
// warps.
//@ out_offsets: n + 1, out_dst: *, in_offsets: n + 1, in_src: *, distance: n, predecessor: n,
//@ lists: 2 * n, big: n, state: 8, arcs: 2
GL_KERNEL void GL_BOUNDS(256)
    bfs_push(u32 n, u32 both, const u32* GL_RESTRICT out_offsets, const u32* GL_RESTRICT out_dst,
             const u32* GL_RESTRICT in_offsets, const u32* GL_RESTRICT in_src, u32* distance,
             u32* predecessor, u32* lists, u32* big, u32* state, u64* arcs) {
  const u32 depth = state[BFS_DEPTH];
  const u32* const list = lists + (u64)(depth & 1) * n;
  const BfsStep s = {depth + 1, both,        out_offsets,
                     in_offsets, distance, predecessor, lists + (u64)(~depth & 1) * n, state};
  const u32 count = state[BFS_DONE] || state[BFS_PULL] ? 0 : state[BFS_LIST];
  const u32 share = graph_share(count);
  u64 mine = 0;
  for (u64 base = gl_first_warp() * share; base < count; base += gl_step_warps() * share) {
    const bool own = gl_lane() < share && base + gl_lane() < count;
    const u32 u = own ? list[base + gl_lane()] : 0;
    u32 out_length = own ? out_offsets[u + 1] - out_offsets[u] : 0;
    u32 in_length = own && both ? in_offsets[u + 1] - in_offsets[u] : 0;
    const bool later = out_length > GRAPH_BIG || in_length > GRAPH_BIG;
    graph_append(later, u, big, state + BFS_BIG);
    if (later) out_length = in_length = 0;
    graph_each_of_warp(out_offsets[u], out_length, [&](u32 owner, u32 p, bool active) {
      mine += bfs_follow(s, out_dst, __shfl_sync(GL_FULL, u, owner), p, active);
    });
    graph_each_of_warp(in_offsets[u], in_length, [&](u32 owner, u32 p, bool active) {
      mine += bfs_follow(s, in_src, __shfl_sync(GL_FULL, u, owner), p, active);
    });
  }
  bfs_add_arcs(mine, arcs);
}

// The nodes that a push put off, a block or several a node. Any grid of whole warps.
//@ out_offsets: n + 1, out_dst: *, in_offsets: n + 1, in_src: *, distance: n, predecessor: n,
//@ lists: 2 * n, big: n, state: 8, arcs: 2
GL_KERNEL void GL_BOUNDS(256)
    bfs_push_big(u32 n, u32 both, const u32* GL_RESTRICT out_offsets,
                 const u32* GL_RESTRICT out_dst, const u32* GL_RESTRICT in_offsets,
                 const u32* GL_RESTRICT in_src, u32* distance, u32* predecessor, u32* lists,
                 const u32* GL_RESTRICT big, u32* state, u64* arcs) {
  const u32 depth = state[BFS_DEPTH];
  const BfsStep s = {depth + 1, both,        out_offsets,
                     in_offsets, distance, predecessor, lists + (u64)(~depth & 1) * n, state};
  u64 mine = 0;
  graph_each_big(state[BFS_PULL] ? 0 : state[BFS_BIG], [&](u32 item, u32 part, u32 parts) {
    const u32 u = big[item];
    const u64 step = (u64)parts * blockDim.x, first = (u64)part * blockDim.x;
    const u32 out_length = out_offsets[u + 1] - out_offsets[u];
    for (u64 base = first; base < out_length; base += step) {
      const u64 k = base + threadIdx.x;
      mine += bfs_follow(s, out_dst, u, out_offsets[u] + (u32)k, k < out_length);
    }
    const u32 in_length = both ? in_offsets[u + 1] - in_offsets[u] : 0;
    for (u64 base = first; base < in_length; base += step) {
      const u64 k = base + threadIdx.x;
      mine += bfs_follow(s, in_src, u, in_offsets[u] + (u32)k, k < in_length);
    }
  });
  bfs_add_arcs(mine, arcs);
}

// The first of ends[begin, end) that is on the frontier, or PATH_UNREACHED, for every lane that has
// `wanted`: the lane looks at the first entries itself, then the warp at the rest of each open
// list. All 32 lanes must take part.
GL_DEVICE u32 bfs_first(const u32* GL_RESTRICT front, const u32* GL_RESTRICT ends, u32 begin,
                        u32 end, bool wanted) {
  u32 found = PATH_UNREACHED, at = begin;
  const u32 stop = wanted ? begin + min(end - begin, 16u) : begin;
  while (at < stop && found == PATH_UNREACHED) {
    const u32 u = ends[at];
    if (graph_bit(front, u)) found = u;
    ++at;
  }
  u32 open = __ballot_sync(GL_FULL, wanted && found == PATH_UNREACHED && stop < end);
  while (open != 0) {
    const u32 owner = (u32)__ffs((int)open) - 1;
    open &= open - 1;
    const u32 length = __shfl_sync(GL_FULL, end - stop, owner);
    const u32 first = __shfl_sync(GL_FULL, stop, owner);
    u32 hits = 0, u = 0;
    for (u32 base = 0; base < length && hits == 0; base += 32) {
      const bool inside = base + gl_lane() < length;
      u = inside ? ends[first + base + gl_lane()] : 0;
      hits = __ballot_sync(GL_FULL, inside && graph_bit(front, u));
    }
    const u32 hit = __shfl_sync(GL_FULL, u, hits ? (u32)__ffs((int)hits) - 1 : 0u);
    if (gl_lane() == owner && hits != 0) found = hit;
  }
  return found;
}

// A level from the other side: every node that is not reached looks for its first neighbour on the
// frontier, a lane a node, a warp a word of the next mask. Nodes with a list longer than
// BFS_PULL_BIG are put on `big`. 4 bytes a node, 4 bytes and a cached bit an edge looked at. Any
// grid of whole warps.
//@ out_offsets: n + 1, out_dst: *, in_offsets: n + 1, in_src: *, distance: n, predecessor: n,
//@ fronts: 2 * div_up(n, 32), big: n, state: 8
GL_KERNEL void GL_BOUNDS(256)
    bfs_pull(u32 n, u32 both, const u32* GL_RESTRICT out_offsets, const u32* GL_RESTRICT out_dst,
             const u32* GL_RESTRICT in_offsets, const u32* GL_RESTRICT in_src,
             u32* GL_RESTRICT distance, u32* GL_RESTRICT predecessor, u32* fronts, u32* big,
             u32* state) {
  const u32 words = (u32)((n + 31ull) / 32);
  const u32 depth = state[BFS_DEPTH];
  const u32* const front = fronts + (u64)(depth & 1) * words;
  u32* const next = fronts + (u64)(~depth & 1) * words;
  const u32 end = state[BFS_PULL] && !state[BFS_DONE] ? words : 0;
  u32 mine = 0;
  for (u64 w = gl_first_warp(); w < end; w += gl_step_warps()) {
    const u32 v = (u32)w * 32 + gl_lane();
    const bool open = v < n && distance[v] == PATH_UNREACHED;
    u32 out_begin = 0, out_end = 0, in_begin = 0, in_end = 0;
    if (open) {
      in_begin = in_offsets[v];
      in_end = in_offsets[v + 1];
      if (both) {
        out_begin = out_offsets[v];
        out_end = out_offsets[v + 1];
      }
    }
    const bool later = in_end - in_begin > BFS_PULL_BIG || out_end - out_begin > BFS_PULL_BIG;
    graph_append(later, v, big, state + BFS_BIG);
    u32 first = bfs_first(front, in_src, in_begin, in_end, open && !later);
    if (both) first = min(first, bfs_first(front, out_dst, out_begin, out_end, open && !later));
    if (first != PATH_UNREACHED) {
      distance[v] = depth + 1;
      predecessor[v] = first;
    }
    const u32 word = __ballot_sync(GL_FULL, first != PATH_UNREACHED);
    if (gl_lane() == 0) {
      next[w] = word;
      mine += (u32)__popc(word);
    }
  }
  if (mine > 0) atomicAdd(state + BFS_FOUND, mine);
}

// The nodes that a pull put off, a block or several a node; bfs_close takes note of those found.
// Any grid.
//@ out_offsets: n + 1, out_dst: *, in_offsets: n + 1, in_src: *, predecessor: n,
//@ fronts: 2 * div_up(n, 32), big: n, state: 8
GL_KERNEL void GL_BOUNDS(256)
    bfs_pull_big(u32 n, u32 both, const u32* GL_RESTRICT out_offsets,
                 const u32* GL_RESTRICT out_dst, const u32* GL_RESTRICT in_offsets,
                 const u32* GL_RESTRICT in_src, u32* predecessor, const u32* GL_RESTRICT fronts,
                 const u32* GL_RESTRICT big, const u32* GL_RESTRICT state) {
  const u32 words = (u32)((n + 31ull) / 32);
  const u32* const front = fronts + (u64)(state[BFS_DEPTH] & 1) * words;
  graph_each_big(state[BFS_PULL] ? state[BFS_BIG] : 0, [&](u32 item, u32 part, u32 parts) {
    const u32 v = big[item];
    const u64 step = (u64)parts * blockDim.x, first = (u64)part * blockDim.x + threadIdx.x;
    for (u32 side = 0; side < (both ? 2u : 1u); ++side) {
      const u32* const ends = side == 0 ? in_src : out_dst;
      const u32 begin = side == 0 ? in_offsets[v] : out_offsets[v];
      const u32 length = (side == 0 ? in_offsets[v + 1] : out_offsets[v + 1]) - begin;
      for (u64 k = first; k < length; k += step) {
        const u32 u = ends[begin + (u32)k];
        // Lists ascend: once something smaller is known, the rest cannot matter.
        if (u >= predecessor[v]) break;
        if (graph_bit(front, u)) {
          atomicMin(predecessor + v, u);
          break;
        }
      }
    }
  });
}

// Whether a push that found `found` nodes with `arcs` edges is followed by a pull, when `left`
// edges leave nodes that are not reached: when looking at those is likely to be cheaper.
GL_DEVICE bool bfs_better_pull(u32 found, u64 arcs, u64 left) {
  return found >= 32 && arcs > left / 14;
}

// Ends a level: takes note of what bfs_pull_big found, and decides the direction of the next level.
// One block.
//@ distance: n, predecessor: n, fronts: 2 * div_up(n, 32), big: n, state: 8, arcs: 2
GL_KERNEL void GL_BOUNDS(256)
    bfs_close(u32 n, u32 limit, u32* distance, const u32* GL_RESTRICT predecessor, u32* fronts,
              const u32* GL_RESTRICT big, u32* state, u64* arcs) {
  const u32 words = (u32)((n + 31ull) / 32);
  const u32 depth = state[BFS_DEPTH];
  const bool running = !state[BFS_DONE] && blockIdx.x == 0;
  const bool pulled = state[BFS_PULL];
  const u32 end = running && pulled ? state[BFS_BIG] : 0;
  u32 late = 0;
  for (u32 i = threadIdx.x; i < end; i += blockDim.x) {
    const u32 v = big[i];
    if (predecessor[v] != PATH_UNREACHED) {
      distance[v] = depth + 1;
      atomicOr(fronts + (u64)(~depth & 1) * words + (v >> 5), 1u << (v & 31));
      ++late;
    }
  }
  late = block_sum(late);
  if (running && threadIdx.x == 0) {
    const u32 found = pulled ? state[BFS_FOUND] + late : state[BFS_NEXT];
    bool pull = pulled;
    if (pulled) {
      // Few nodes: their edges are fewer than those of all that is left.
      if (found < n / 24) pull = false;
    } else {
      arcs[1] -= min(arcs[1], arcs[0]);
      pull = bfs_better_pull(found, arcs[0], arcs[1]);
    }
    state[BFS_DEPTH] = depth + 1;
    state[BFS_LIST] = pulled ? 0 : found;
    state[BFS_NEXT] = state[BFS_FOUND] = state[BFS_BIG] = 0;
    state[BFS_TURN] = pull != pulled ? 1 : 0;
    state[BFS_PULL] = pull ? 1 : 0;
    state[BFS_DONE] = found == 0 || depth + 1 >= limit ? 1 : 0;
    arcs[0] = 0;
  }
}

// Levels in one launch while the frontier is narrow, as on paths and grids, where a launch for
// every level would take longer than the level. Stops before a level with many nodes or a long
// list, before a pull, and after BFS_NARROW_LEVELS. One block.
//@ out_offsets: n + 1, out_dst: *, in_offsets: n + 1, in_src: *, distance: n, predecessor: n,
//@ lists: 2 * n, state: 8, arcs: 2
GL_KERNEL void GL_BOUNDS(256)
    bfs_narrow(u32 n, u32 limit, u32 both, const u32* GL_RESTRICT out_offsets,
               const u32* GL_RESTRICT out_dst, const u32* GL_RESTRICT in_offsets,
               const u32* GL_RESTRICT in_src, u32* distance, u32* predecessor, u32* lists,
               u32* state, u64* arcs) {
  __shared__ u32 found;
  u32 depth = state[BFS_DEPTH], count = state[BFS_LIST], levels = 0;
  u64 left = arcs[1];
  // Before a frontier has been turned into a list there is none to walk on from.
  bool pull = state[BFS_PULL] || state[BFS_TURN], done = state[BFS_DONE];
  // All of these are the same in every thread of the block.
  while (blockIdx.x == 0 && !pull && !done && count <= BFS_NARROW_NODES &&
         levels < BFS_NARROW_LEVELS) {
    const u32* const list = lists + (u64)(depth & 1) * n;
    u32* const next = lists + (u64)(~depth & 1) * n;
    u32 longer = 0;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
      const u32 u = list[i];
      if (out_offsets[u + 1] - out_offsets[u] > BFS_NARROW_LIST) longer = 1;
      if (both && in_offsets[u + 1] - in_offsets[u] > BFS_NARROW_LIST) longer = 1;
    }
    if (block_sum(longer) > 0) break;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    u64 mine = 0;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
      const u32 u = list[i];
      const u32 outs = out_offsets[u + 1] - out_offsets[u];
      const u32 all = outs + (both ? in_offsets[u + 1] - in_offsets[u] : 0);
      for (u32 k = 0; k < all; ++k) {
        const u32 v = k < outs ? out_dst[out_offsets[u] + k] : in_src[in_offsets[u] + k - outs];
        const u32 d = distance[v];
        if (d != PATH_UNREACHED && d != depth + 1) continue;
        if (d == PATH_UNREACHED &&
            atomicCAS(distance + v, PATH_UNREACHED, depth + 1) == PATH_UNREACHED) {
          next[atomicAdd(&found, 1u)] = v;
          mine += out_offsets[v + 1] - out_offsets[v];
          if (both) mine += in_offsets[v + 1] - in_offsets[v];
        }
        atomicMin(predecessor + v, u);
      }
    }
    mine = block_sum(mine);
    count = found;
    left -= min(left, mine);
    pull = bfs_better_pull(count, mine, left);
    ++depth;
    ++levels;
    done = count == 0 || depth >= limit;
  }
  if (levels > 0 && threadIdx.x == 0) {
    state[BFS_DEPTH] = depth;
    state[BFS_LIST] = count;
    state[BFS_TURN] = state[BFS_PULL] = pull ? 1 : 0;
    state[BFS_DONE] = done ? 1 : 0;
    arcs[1] = left;
  }
}

// u32 state[6] of the weighted search.
#define SP_ROUND 0   // The list in use is that of the round's parity.
#define SP_LIST 1    // Nodes on it.
#define SP_NEXT 2    // Nodes on the other.
#define SP_BIG 3     // Nodes put off to whole blocks.
#define SP_BUCKET 4  // Whether the near nodes are used up.
#define SP_DONE 5
// u64 bounds[4], the bits of: the distance below which nodes are near; the least of the others; the
// width of a bucket; the longest distance that counts.

// Distances are never negative, so that their bits order as they do.
GL_DEVICE u64 sp_bits(f64 x) { return (u64)__double_as_longlong(x); }
GL_DEVICE f64 sp_value(u64 bits) { return __longlong_as_double((i64)bits); }
#define SP_INFINITE 0x7ff0000000000000ull

// All distances infinite but that of the source, which is the list of the first round. 24 bytes a
// node. Any grid.
//@ distance: n, predecessor: n, levels: n, stamps: n, pending: n, lists: 2 * n, state: 6, bounds: 4
GL_KERNEL void GL_BOUNDS(256)
    sp_start(u32 n, u32 source, f64 width, f64 cutoff, u64* GL_RESTRICT distance,
             u32* GL_RESTRICT predecessor, u32* GL_RESTRICT levels, u32* GL_RESTRICT stamps,
             u32* GL_RESTRICT pending, u32* GL_RESTRICT lists, u32* GL_RESTRICT state,
             u64* GL_RESTRICT bounds) {
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    distance[v] = v == source ? 0 : SP_INFINITE;
    predecessor[v] = levels[v] = PATH_UNREACHED;
    stamps[v] = pending[v] = 0;
  }
  if (gl_first() == 0) {
    if (source < n) lists[0] = source;
    for (u32 i = 0; i < 6; ++i) state[i] = 0;
    state[SP_LIST] = source < n ? 1 : 0;
    state[SP_DONE] = source < n ? 0 : 1;
    bounds[0] = bounds[2] = sp_bits(width);
    bounds[1] = SP_INFINITE;
    bounds[3] = sp_bits(cutoff);
  }
}

struct SpStep {
  u32 stamp;
  u64 near, cutoff;
  u64* distance;
  u32* stamps;
  u32* pending;
  u32* next;
  u32* state;
};

// Offers the node at `p` the way over a node at distance `from`. All 32 lanes must take part.
GL_DEVICE void sp_relax(const SpStep& s, const u32* GL_RESTRICT ends,
                        const f32* GL_RESTRICT weights, f64 from, u32 p, bool active) {
  u32 v = 0;
  bool fresh = false;
  if (active) {
    v = ends[p];
    const u64 bits = sp_bits(from + (f64)weights[p]);
    if (bits <= s.cutoff && bits < s.distance[v] && bits < atomicMin(s.distance + v, bits)) {
      if (bits < s.near) {
        fresh = atomicExch(s.stamps + v, s.stamp) != s.stamp;
      } else {
        s.pending[v] = 1;
      }
    }
  }
  graph_append(fresh, v, s.next, s.state + SP_NEXT);
}

// A round: the edges of every node on the list, a lane a node and then all lanes on their lists
// together. A node whose distance falls below the bound joins the next round's list, one that stays
// above is left pending. 12 bytes and a sector an edge. Any grid of whole warps.
//@ out_offsets: n + 1, out_dst: *, out_weights: *, in_offsets: n + 1, in_src: *, in_weights: *,
//@ distance: n, stamps: n, pending: n, lists: 2 * n, big: n, state: 6, bounds: 4
GL_KERNEL void GL_BOUNDS(256)
    sp_push(u32 n, u32 both, const u32* GL_RESTRICT out_offsets, const u32* GL_RESTRICT out_dst,
            const f32* GL_RESTRICT out_weights, const u32* GL_RESTRICT in_offsets,
            const u32* GL_RESTRICT in_src, const f32* GL_RESTRICT in_weights, u64* distance,
            u32* stamps, u32* pending, u32* lists, u32* big, u32* state,
            const u64* GL_RESTRICT bounds) {
  const u32 round = state[SP_ROUND];
  const u32* const list = lists + (u64)(round & 1) * n;
  const SpStep s = {round + 1, bounds[0], bounds[3], distance,
                    stamps,    pending,   lists + (u64)(~round & 1) * n, state};
  const u32 count = state[SP_DONE] ? 0 : state[SP_LIST];
  const u32 share = graph_share(count);
  for (u64 base = gl_first_warp() * share; base < count; base += gl_step_warps() * share) {
    const bool own = gl_lane() < share && base + gl_lane() < count;
    const u32 u = own ? list[base + gl_lane()] : 0;
    const f64 from = sp_value(distance[u]);
    u32 out_length = own ? out_offsets[u + 1] - out_offsets[u] : 0;
    u32 in_length = own && both ? in_offsets[u + 1] - in_offsets[u] : 0;
    const bool later = out_length > GRAPH_BIG || in_length > GRAPH_BIG;
    graph_append(later, u, big, state + SP_BIG);
    if (later) out_length = in_length = 0;
    graph_each_of_warp(out_offsets[u], out_length, [&](u32 owner, u32 p, bool active) {
      sp_relax(s, out_dst, out_weights, __shfl_sync(GL_FULL, from, owner), p, active);
    });
    graph_each_of_warp(in_offsets[u], in_length, [&](u32 owner, u32 p, bool active) {
      sp_relax(s, in_src, in_weights, __shfl_sync(GL_FULL, from, owner), p, active);
    });
  }
}

// The nodes that sp_push put off, a block or several a node. Any grid of whole warps.
//@ out_offsets: n + 1, out_dst: *, out_weights: *, in_offsets: n + 1, in_src: *, in_weights: *,
//@ distance: n, stamps: n, pending: n, lists: 2 * n, big: n, state: 6, bounds: 4
GL_KERNEL void GL_BOUNDS(256)
    sp_push_big(u32 n, u32 both, const u32* GL_RESTRICT out_offsets,
                const u32* GL_RESTRICT out_dst, const f32* GL_RESTRICT out_weights,
                const u32* GL_RESTRICT in_offsets, const u32* GL_RESTRICT in_src,
                const f32* GL_RESTRICT in_weights, u64* distance, u32* stamps, u32* pending,
                u32* lists, const u32* GL_RESTRICT big, u32* state,
                const u64* GL_RESTRICT bounds) {
  const u32 round = state[SP_ROUND];
  const SpStep s = {round + 1, bounds[0], bounds[3], distance,
                    stamps,    pending,   lists + (u64)(~round & 1) * n, state};
  graph_each_big(state[SP_BIG], [&](u32 item, u32 part, u32 parts) {
    const u32 u = big[item];
    const f64 from = sp_value(distance[u]);
    const u64 step = (u64)parts * blockDim.x, first = (u64)part * blockDim.x;
    const u32 out_length = out_offsets[u + 1] - out_offsets[u];
    for (u64 base = first; base < out_length; base += step) {
      const u64 k = base + threadIdx.x;
      sp_relax(s, out_dst, out_weights, from, out_offsets[u] + (u32)k, k < out_length);
    }
    const u32 in_length = both ? in_offsets[u + 1] - in_offsets[u] : 0;
    for (u64 base = first; base < in_length; base += step) {
      const u64 k = base + threadIdx.x;
      sp_relax(s, in_src, in_weights, from, in_offsets[u] + (u32)k, k < in_length);
    }
  });
}

// Ends a round: on to the next list, or to the next bucket when that is empty. One thread.
//@ state: 6, bounds: 4
GL_KERNEL void GL_BOUNDS(32) sp_turn(u32* state, u64* bounds) {
  if (blockIdx.x == 0 && threadIdx.x == 0 && !state[SP_DONE]) {
    state[SP_ROUND] += 1;
    state[SP_LIST] = state[SP_NEXT];
    state[SP_BUCKET] = state[SP_NEXT] == 0 ? 1 : 0;
    state[SP_NEXT] = state[SP_BIG] = 0;
    bounds[1] = SP_INFINITE;
  }
}

// When the near nodes are used up: the least distance of a pending node. Those that have come near
// since are pending no more. 4 bytes a node and 8 a pending one. Any grid of whole warps.
//@ distance: n, pending: n, state: 6, bounds: 4
GL_KERNEL void GL_BOUNDS(256) sp_least(u32 n, const u64* GL_RESTRICT distance,
                                       u32* GL_RESTRICT pending, const u32* GL_RESTRICT state,
                                       u64* bounds) {
  const u64 end = state[SP_BUCKET] ? n : 0;
  const u64 near = bounds[0];
  u64 least = SP_INFINITE;
  for (u64 v = gl_first(); v < end; v += gl_step()) {
    if (!pending[v]) continue;
    if (distance[v] < near) {
      pending[v] = 0;
    } else {
      least = min(least, distance[v]);
    }
  }
  least = warp_min(least);
  if (gl_lane() == 0 && least < SP_INFINITE) atomicMin(bounds + 1, least);
}

// The pending nodes of the next bucket become the list. 4 bytes a node. Any grid of whole warps.
//@ distance: n, pending: n, lists: 2 * n, state: 6, bounds: 4
GL_KERNEL void GL_BOUNDS(256) sp_bucket(u32 n, const u64* GL_RESTRICT distance,
                                        u32* GL_RESTRICT pending, u32* GL_RESTRICT lists,
                                        u32* state, const u64* GL_RESTRICT bounds) {
  const u64 end = state[SP_BUCKET] && bounds[1] < SP_INFINITE ? n : 0;
  const u64 near = sp_bits(sp_value(bounds[1]) + sp_value(bounds[2]));
  u32* const list = lists + (u64)(state[SP_ROUND] & 1) * n;
  for (u64 base = gl_first() - gl_lane(); base < end; base += gl_step()) {
    const u64 v = base + gl_lane();
    // The least itself belongs to the bucket even when the width is lost in rounding.
    const bool take = v < n && pending[v] && (distance[v] < near || distance[v] == bounds[1]);
    if (take) pending[v] = 0;
    graph_append(take, (u32)v, list, state + SP_LIST);
  }
}

// Moves the bound up behind sp_bucket, or ends the search. One thread.
//@ state: 6, bounds: 4
GL_KERNEL void GL_BOUNDS(32) sp_close(u32* state, u64* bounds) {
  if (blockIdx.x == 0 && threadIdx.x == 0 && !state[SP_DONE] && state[SP_BUCKET]) {
    if (bounds[1] == SP_INFINITE) {
      state[SP_DONE] = 1;
    } else {
      const u64 near = sp_bits(sp_value(bounds[1]) + sp_value(bounds[2]));
      bounds[0] = max(near, bounds[1] + 1);
    }
    state[SP_BUCKET] = 0;
  }
}

// Of an edge from `u` to `v`: notes `u` as a predecessor of `v` if the way over `u` is as short as
// any. With `level` 0 only nodes nearer than `v` count; later, among nodes at the same distance,
// those of the level before.
GL_DEVICE void sp_note(const u64* GL_RESTRICT distance, const u32* GL_RESTRICT levels, u32 level,
                       u32 u, u32 v, f32 weight, u32* predecessor) {
  const u64 from = distance[u], to = distance[v];
  if (from > to || to == SP_INFINITE || sp_bits(sp_value(from) + (f64)weight) != to) return;
  const bool fits = level == 0 ? from < to
                               : from == to && levels[v] == PATH_UNREACHED &&
                                     levels[u] == level - 1;
  if (fits) atomicMin(predecessor + v, u);
}

// The predecessors of one level, from all edges. 8 bytes an edge, two sectors, and those of the
// matches. 256 threads a block, any number of blocks.
//@ out_offsets: n + 1, out_dst: m, out_weights: m, distance: n, levels: n, predecessor: n
GL_KERNEL void GL_BOUNDS(256)
    sp_predecessors(u32 n, u32 m, u32 both, u32 level, const u32* GL_RESTRICT out_offsets,
                    const u32* GL_RESTRICT out_dst, const f32* GL_RESTRICT out_weights,
                    const u64* GL_RESTRICT distance, const u32* GL_RESTRICT levels,
                    u32* predecessor) {
  graph_each_arc(n, m, out_offsets, [&](u32 u, u32 p, bool active) {
    if (!active) return;
    const u32 v = out_dst[p];
    sp_note(distance, levels, level, u, v, out_weights[p], predecessor);
    if (both) sp_note(distance, levels, level, v, u, out_weights[p], predecessor);
  });
}

// Gives `level` to the nodes that have just got a predecessor (level 0: and to the source), and
// counts those that are reached and still have none: only edges without length lead to them. 16
// bytes a node. Any grid of whole warps.
//@ distance: n, predecessor: n, levels: n, open: 1
GL_KERNEL void GL_BOUNDS(256) sp_levels(u32 n, u32 source, u32 level,
                                        const u64* GL_RESTRICT distance,
                                        const u32* GL_RESTRICT predecessor,
                                        u32* GL_RESTRICT levels, u32* open) {
  u32 mine = 0;
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    if (distance[v] == SP_INFINITE) continue;
    if (level > 0 && levels[v] != PATH_UNREACHED) continue;
    if (v == source || predecessor[v] != PATH_UNREACHED) {
      levels[v] = level;
    } else {
      ++mine;
    }
  }
  mine = warp_sum(mine);
  if (gl_lane() == 0 && mine > 0) atomicAdd(open, mine);
}
