// Aggregation: communities are numbered by first appearance, nodes are grouped by community, and the rows of
// each community are folded into one by the hash tables that the moves use. Rows of communities with few
// entries go through shared memory (a warp or a block each) to a preliminary place; wide ones are added up in
// tables of global memory by all nodes at once. Then all rows are brought together without gaps.
#include "louvain.cuh"

// Communities with more entries than this are wide however few neighbours they have: one block would take long.
#define LV_FOLD_MAX (1u << 18)
// Rows of a member longer than this are read by the whole block.
#define LV_LONG_MAX 1024u
#define LV_LONG_ROWS (LV_FOLD_MAX / LV_LONG_MAX)

// Finds each community's first node; `first` begins as 0 and holds the node's complement. Reads 4 bytes a node.
//@ labels: n, first: n
GL_KERNEL void GL_BOUNDS(256) lv_first(u32 n, const u32* GL_RESTRICT labels, u32* GL_RESTRICT first) {
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    // Most nodes find a smaller one there already: the atomics of a large community do not queue up.
    if (first[labels[v]] < ~(u32)v) atomicMax(&first[labels[v]], ~(u32)v);
  }
}

// Marks each community's first node. Moves 12 bytes a node.
//@ labels: n, first: n, heads: n
GL_KERNEL void GL_BOUNDS(256) lv_heads(u32 n, const u32* GL_RESTRICT labels, const u32* GL_RESTRICT first,
                                       u32* GL_RESTRICT heads) {
  for (u64 v = gl_first(); v < n; v += gl_step()) heads[v] = first[labels[v]] == ~(u32)v ? 1 : 0;
}

// Gives each node its community's number and adds up, by community, the members, their entries and their
// loops; the three begin as 0. Moves 40 bytes a node.
//@ labels: n, first: n, numbers: n, offsets: n + 1, loops: n, fresh: n, sizes: k, entries: k, folded: k
GL_KERNEL void GL_BOUNDS(256) lv_rename(u32 n, u32 k, const u32* GL_RESTRICT labels,
                                        const u32* GL_RESTRICT first, const u32* GL_RESTRICT numbers,
                                        const u32* GL_RESTRICT offsets, const u64* GL_RESTRICT loops,
                                        u32* GL_RESTRICT fresh, u32* GL_RESTRICT sizes,
                                        u32* GL_RESTRICT entries, u64* GL_RESTRICT folded) {
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    const u32 c = numbers[~first[labels[v]]];
    fresh[v] = c;
    atomicAdd(&sizes[c], 1u);
    atomicAdd(&entries[c], offsets[v + 1] - offsets[v]);
    if (loops[v] != 0) atomicAdd(&folded[c], loops[v]);
  }
}

// labels[v] = map[labels[v]]. Moves 12 bytes a node.
//@ map: k, labels: n
GL_KERNEL void GL_BOUNDS(256) lv_compose(u32 n, u32 k, const u32* GL_RESTRICT map,
                                         u32* GL_RESTRICT labels) {
  for (u64 v = gl_first(); v < n; v += gl_step()) labels[v] = map[labels[v]];
}

// Groups the nodes by community, in any order within one; `cursors` begin where the groups do.
//@ fresh: n, cursors: k, members: n
GL_KERNEL void GL_BOUNDS(256) lv_place(u32 n, u32 k, const u32* GL_RESTRICT fresh,
                                       u32* GL_RESTRICT cursors, u32* GL_RESTRICT members) {
  for (u64 v = gl_first(); v < n; v += gl_step()) members[atomicAdd(&cursors[fresh[v]], 1u)] = (u32)v;
}

// Sorts communities into three lists, in any order: those for a warp, those for a block, and wide ones, with their
// number of entries. `counts` begin as 0. `room` is the length of the preliminary row, none for wide ones;
// `rows` is the place in the wide list.
//@ entries: k, room: k, rows: k, counts: 3, narrow: k, broad: k, wide: most, wide_entries: most
GL_KERNEL void GL_BOUNDS(256) lv_sort_communities(u32 k, u32 most, const u32* GL_RESTRICT entries,
                                                  u32* GL_RESTRICT room, u32* GL_RESTRICT rows,
                                                  u32* GL_RESTRICT counts, u32* GL_RESTRICT narrow,
                                                  u32* GL_RESTRICT broad, u32* GL_RESTRICT wide,
                                                  u32* GL_RESTRICT wide_entries) {
  for (u64 c = gl_first(); c < k; c += gl_step()) {
    const u32 count = entries[c];
    room[c] = count;
    rows[c] = LV_NONE;
    if (count == 0) continue;
    if (count <= LV_WARP_MAX) {
      narrow[atomicAdd(&counts[0], 1u)] = (u32)c;
    } else if ((count <= LV_LARGE_MAX || k <= LV_LARGE_MAX) && count <= LV_FOLD_MAX) {
      broad[atomicAdd(&counts[1], 1u)] = (u32)c;
    } else {
      const u32 row = atomicAdd(&counts[2], 1u);
      room[c] = 0;
      rows[c] = row;
      if (row < most) {
        wide[row] = (u32)c;
        wide_entries[row] = count;
      }
    }
  }
}

// A level's graph and the communities in it.
struct LvFold {
  u32 unit;
  const u32* offsets;
  const u32* ends;
  const u64* weights;
  const u32* fresh;
};

// Adds the row of `v`, a member of `c`, to a table of shared memory, as thread `me` of `step`; answers the weight that
// stays inside.
GL_DEVICE u64 lv_fold_row(const LvFold& g, u32 c, u32 v, u32* keys, u32* low, u32* high, u32 slots,
                          u32 me, u32 step) {
  const u32 last = g.offsets[v + 1];
  u64 inside = 0;
  for (u64 at = (u64)g.offsets[v] + me; at < last; at += step) {
    const u64 w = g.unit ? 1 : g.weights[at];
    const u32 d = g.fresh[g.ends[at]];
    if (d == c) {
      inside += w;
    } else if (w != 0) {
      const u32 slot = lv_slot(keys, slots, d);
      lv_add(&low[slot], &high[slot], w);
    }
  }
  return inside;
}

// Communities of up to 192 entries, a warp each, 8 lanes a member. Moves 8 bytes an entry (16 with weights) and a
// sector; 12 bytes an entry of the result.
//@ list: k, count: 1, offsets: n + 1, ends: *, weights: *, fresh: n, members: n, starts: k + 1, entries: k,
//@ places: k + 1, degrees: k, folded: k, out_ends: *, out_weights: *
GL_KERNEL void GL_BOUNDS(256) lv_fold_warp(
    u32 n, u32 k, u32 unit, const u32* GL_RESTRICT list, const u32* GL_RESTRICT count,
    const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends, const u64* GL_RESTRICT weights,
    const u32* GL_RESTRICT fresh, const u32* GL_RESTRICT members, const u32* GL_RESTRICT starts,
    const u32* GL_RESTRICT entries, const u32* GL_RESTRICT places, u32* GL_RESTRICT degrees,
    u64* GL_RESTRICT folded, u32* GL_RESTRICT out_ends, u64* GL_RESTRICT out_weights) {
  __shared__ u32 all_keys[8][LV_WARP_SLOTS];
  __shared__ u32 all_low[8][LV_WARP_SLOTS];
  __shared__ u32 all_high[8][LV_WARP_SLOTS];
  u32* const keys = all_keys[gl_warp()];
  u32* const low = all_low[gl_warp()];
  u32* const high = all_high[gl_warp()];
  const LvFold g = {unit, offsets, ends, weights, fresh};
  const u32 listed = *count;
  for (u64 i = gl_first_warp(); i < listed; i += gl_step_warps()) {
    const u32 c = list[i], slots = lv_slots(entries[c], LV_WARP_SLOTS);
    for (u32 at = gl_lane(); at < slots; at += GL_WARP) {
      keys[at] = LV_NONE;
      low[at] = 0;
      high[at] = 0;
    }
    __syncwarp();
    u64 inside = 0;
    for (u64 at = (u64)starts[c] + (gl_lane() >> 3); at < starts[c + 1]; at += 4) {
      inside += lv_fold_row(g, c, members[at], keys, low, high, slots, gl_lane() & 7u, 8);
    }
    inside = warp_sum(inside);
    __syncwarp();
    u32 done = 0;
    for (u32 at = gl_lane(); at < slots; at += GL_WARP) {  // A whole number of warps.
      const u32 d = keys[at], kept = __ballot_sync(GL_FULL, d != LV_NONE);
      if (d != LV_NONE) {
        const u64 to = (u64)places[c] + done + (u32)__popc(kept & (1u << gl_lane()) - 1u);
        out_ends[to] = d;
        out_weights[to] = (u64)high[at] << 32 | low[at];
      }
      done += (u32)__popc(kept);
    }
    if (gl_lane() == 0) {
      degrees[c] = done;
      folded[c] += inside;
    }
    __syncwarp();
  }
}

// Communities of up to 3,072 entries or neighbours, a block each, a warp a member; long rows of members
// are kept for the end and read by the whole block. As lv_fold_warp.
//@ list: k, count: 1, offsets: n + 1, ends: *, weights: *, fresh: n, members: n, starts: k + 1, entries: k,
//@ places: k + 1, degrees: k, folded: k, out_ends: *, out_weights: *
GL_KERNEL void GL_BOUNDS(512) lv_fold_block(
    u32 n, u32 k, u32 unit, const u32* GL_RESTRICT list, const u32* GL_RESTRICT count,
    const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends, const u64* GL_RESTRICT weights,
    const u32* GL_RESTRICT fresh, const u32* GL_RESTRICT members, const u32* GL_RESTRICT starts,
    const u32* GL_RESTRICT entries, const u32* GL_RESTRICT places, u32* GL_RESTRICT degrees,
    u64* GL_RESTRICT folded, u32* GL_RESTRICT out_ends, u64* GL_RESTRICT out_weights) {
  __shared__ u32 keys[LV_LARGE_SLOTS - 256];
  __shared__ u32 low[LV_LARGE_SLOTS - 256];
  __shared__ u32 high[LV_LARGE_SLOTS - 256];
  __shared__ u32 long_rows[LV_LONG_ROWS];
  __shared__ u32 long_count, done;
  const LvFold g = {unit, offsets, ends, weights, fresh};
  const u32 listed = *count;
  for (u64 i = blockIdx.x; i < listed; i += gridDim.x) {
    const u32 c = list[i], distinct = entries[c] < k ? entries[c] : k;
    const u32 slots = lv_slots(distinct, LV_LARGE_SLOTS - 256);
    for (u32 at = threadIdx.x; at < slots; at += blockDim.x) {
      keys[at] = LV_NONE;
      low[at] = 0;
      high[at] = 0;
    }
    if (threadIdx.x == 0) long_count = done = 0;
    __syncthreads();
    u64 inside = 0;
    for (u64 at = (u64)starts[c] + gl_warp(); at < starts[c + 1]; at += gl_warps()) {
      const u32 v = members[at];
      if (offsets[v + 1] - offsets[v] > LV_LONG_MAX) {
        if (gl_lane() == 0) long_rows[atomicAdd(&long_count, 1u)] = v;
      } else {
        inside += lv_fold_row(g, c, v, keys, low, high, slots, gl_lane(), GL_WARP);
      }
    }
    __syncthreads();
    for (u32 at = 0; at < long_count; ++at) {
      inside += lv_fold_row(g, c, long_rows[at], keys, low, high, slots, threadIdx.x, blockDim.x);
    }
    inside = block_sum(inside);  // Its barriers end the filling of the table.
    for (u32 at = threadIdx.x; at < slots; at += blockDim.x) {
      if (keys[at] == LV_NONE) continue;
      const u64 to = (u64)places[c] + atomicAdd(&done, 1u);
      out_ends[to] = keys[at];
      out_weights[to] = (u64)high[at] << 32 | low[at];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      degrees[c] = done;
      folded[c] += inside;
    }
    __syncthreads();
  }
}

// Adds up to 32 entries of a member of the wide community `c` to its table; answers this lane's weight that stays
// inside. All 32 lanes take part.
GL_DEVICE u64 lv_fold_entry(const LvFold& g, u32 c, u64 at, u32 last, u32* keys, u64* sums, u32 slots) {
  u32 d = LV_NONE;
  u64 w = 0, inside = 0;
  if (at < last) {
    w = g.unit ? 1 : g.weights[at];
    d = w ? g.fresh[g.ends[at]] : LV_NONE;
  }
  if (d == c) {
    inside = w;
    d = LV_NONE;
  }
  if (__any_sync(GL_FULL, d != LV_NONE)) lv_pour(keys, sums, slots, d, w, g.unit);
  return inside;
}

// Wide communities, the rows of nodes that are not wide themselves: a warp a node.
//@ offsets: n + 1, ends: *, weights: *, fresh: n, rows: k, places: wide + 1, keys: *, sums: *, folded: k
GL_KERNEL void GL_BOUNDS(256) lv_fold_wide(u32 n, u32 k, u32 wide, u32 unit,
                                           const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
                                           const u64* GL_RESTRICT weights, const u32* GL_RESTRICT fresh,
                                           const u32* GL_RESTRICT rows, const u32* GL_RESTRICT places,
                                           u32* GL_RESTRICT keys, u64* GL_RESTRICT sums,
                                           u64* GL_RESTRICT folded) {
  const LvFold g = {unit, offsets, ends, weights, fresh};
  for (u64 v = gl_first_warp(); v < n; v += gl_step_warps()) {
    const u32 c = fresh[v], row = rows[c], first = offsets[v], last = offsets[v + 1];
    if (row == LV_NONE || lv_class(last - first) == LV_WIDE) continue;
    const u32 place = places[row], slots = places[row + 1] - place;
    u64 inside = 0;
    for (u64 base = first; base < last; base += GL_WARP) {
      inside += lv_fold_entry(g, c, base + gl_lane(), last, keys + place, sums + place, slots);
    }
    inside = warp_sum(inside);
    if (gl_lane() == 0 && inside != 0) atomicAdd(&folded[c], inside);
  }
}

// Wide communities, the rows of wide nodes: `team` blocks a node.
//@ nodes: hubs, offsets: n + 1, ends: *, weights: *, fresh: n, rows: k, places: wide + 1, keys: *, sums: *,
//@ folded: k
GL_KERNEL void GL_BOUNDS(256) lv_fold_hubs(u32 n, u32 k, u32 wide, u32 hubs, u32 team, u32 unit,
                                           const u32* GL_RESTRICT nodes, const u32* GL_RESTRICT offsets,
                                           const u32* GL_RESTRICT ends, const u64* GL_RESTRICT weights,
                                           const u32* GL_RESTRICT fresh, const u32* GL_RESTRICT rows,
                                           const u32* GL_RESTRICT places, u32* GL_RESTRICT keys,
                                           u64* GL_RESTRICT sums, u64* GL_RESTRICT folded) {
  const LvFold g = {unit, offsets, ends, weights, fresh};
  for (u64 part = blockIdx.x; part < (u64)hubs * team; part += gridDim.x) {
    const u32 v = nodes[part / team], c = fresh[v], row = rows[c], last = offsets[v + 1];
    if (row == LV_NONE) continue;
    const u32 place = places[row], slots = places[row + 1] - place;
    u64 inside = 0;
    const u64 first = (u64)offsets[v] + part % team * blockDim.x + gl_warp() * GL_WARP;
    for (u64 base = first; base < last; base += (u64)team * blockDim.x) {
      inside += lv_fold_entry(g, c, base + gl_lane(), last, keys + place, sums + place, slots);
    }
    inside = warp_sum(inside);
    if (gl_lane() == 0 && inside != 0) atomicAdd(&folded[c], inside);
  }
}

// Neighbours of each wide community, `team` blocks each; `degrees` begin as 0. Reads 4 bytes a slot.
//@ list: wide, places: wide + 1, keys: *, degrees: k
GL_KERNEL void GL_BOUNDS(256) lv_count_wide(u32 k, u32 wide, u32 team, const u32* GL_RESTRICT list,
                                            const u32* GL_RESTRICT places, const u32* GL_RESTRICT keys,
                                            u32* GL_RESTRICT degrees) {
  for (u64 part = blockIdx.x; part < (u64)wide * team; part += gridDim.x) {
    const u32 row = (u32)(part / team), last = places[row + 1];
    u32 count = 0;
    const u64 first = (u64)places[row] + part % team * blockDim.x + threadIdx.x;
    for (u64 at = first; at < last; at += (u64)team * blockDim.x) count += keys[at] != LV_NONE ? 1 : 0;
    count = warp_sum(count);
    if (gl_lane() == 0 && count != 0) atomicAdd(&degrees[list[row]], count);
  }
}

// Brings the preliminary rows to their final places, a warp a community. Moves 24 bytes an entry.
//@ places: k + 1, rows: k, offsets: k + 1, from_ends: *, from_weights: *, ends: *, weights: *
GL_KERNEL void GL_BOUNDS(256) lv_copy_rows(u32 k, const u32* GL_RESTRICT places,
                                           const u32* GL_RESTRICT rows, const u32* GL_RESTRICT offsets,
                                           const u32* GL_RESTRICT from_ends,
                                           const u64* GL_RESTRICT from_weights, u32* GL_RESTRICT ends,
                                           u64* GL_RESTRICT weights) {
  for (u64 c = gl_first_warp(); c < k; c += gl_step_warps()) {
    if (rows[c] != LV_NONE) continue;
    const u64 to = offsets[c], from = places[c];
    const u32 count = offsets[c + 1] - offsets[c];
    for (u32 at = gl_lane(); at < count; at += GL_WARP) {
      ends[to + at] = from_ends[from + at];
      weights[to + at] = from_weights[from + at];
    }
  }
}

// Brings the tables of wide communities to their final places, `team` blocks each. `cursors` begin as 0.
//@ list: wide, places: wide + 1, keys: *, sums: *, offsets: k + 1, cursors: wide, ends: *, weights: *
GL_KERNEL void GL_BOUNDS(256) lv_emit_wide(u32 k, u32 wide, u32 team, const u32* GL_RESTRICT list,
                                           const u32* GL_RESTRICT places, const u32* GL_RESTRICT keys,
                                           const u64* GL_RESTRICT sums, const u32* GL_RESTRICT offsets,
                                           u32* GL_RESTRICT cursors, u32* GL_RESTRICT ends,
                                           u64* GL_RESTRICT weights) {
  for (u64 part = blockIdx.x; part < (u64)wide * team; part += gridDim.x) {
    const u32 row = (u32)(part / team), last = places[row + 1], start = offsets[list[row]];
    const u64 first = (u64)places[row] + part % team * blockDim.x + gl_warp() * GL_WARP;
    for (u64 base = first; base < last; base += (u64)team * blockDim.x) {
      const u64 at = base + gl_lane();
      const u32 d = at < last ? keys[at] : LV_NONE;
      const u32 kept = __ballot_sync(GL_FULL, d != LV_NONE);
      if (kept == 0) continue;
      u32 to = 0;
      if (gl_lane() == 0) to = atomicAdd(&cursors[row], (u32)__popc(kept));
      to = start + __shfl_sync(GL_FULL, to, 0) + (u32)__popc(kept & (1u << gl_lane()) - 1u);
      if (d != LV_NONE) {
        ends[to] = d;
        weights[to] = sums[at];
      }
    }
  }
}

// Makes every slot of a range of tables free. Writes 12 bytes a slot.
//@ keys: slots, sums: slots
GL_KERNEL void GL_BOUNDS(256) lv_free_slots(u64 slots, u32* GL_RESTRICT keys, u64* GL_RESTRICT sums) {
  for (u64 at = gl_first(); at < slots; at += gl_step()) {
    keys[at] = LV_NONE;
    sums[at] = 0;
  }
}
