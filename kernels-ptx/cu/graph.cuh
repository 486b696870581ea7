// What the graph kernels share: finding the row of a list position, appending to lists, and walking
// the lists of many nodes with all lanes busy.
#pragma once
#include "common.cuh"

// List positions of a tile: a block walks a tile of consecutive positions, so that a node of any
// degree is spread over as many blocks as it fills tiles.
#define GRAPH_TILE 2048u
// Lists longer than this are left to whole blocks.
#define GRAPH_BIG 1024u

// The last row that starts at or before `position`: the row that `position` lies in. `offsets`
// starts with 0 and ascends; a warp probes 32 rows at a time. Every lane gets the answer.
GL_DEVICE u32 graph_warp_row(const u32* GL_RESTRICT offsets, u32 rows, u32 position) {
  u32 low = 0, left = rows;
  while (left > 1) {
    const u32 step = (left + 31) / 32;
    const u32 ahead = gl_lane() * step;
    const bool starts = ahead < left && offsets[low + ahead] <= position;
    const u32 skip = (u32)__popc(__ballot_sync(GL_FULL, starts)) - 1;
    low += skip * step;
    left = min(step, left - skip * step);
  }
  return low;
}

// The same for one thread, when the row is known to lie in [low, high].
GL_DEVICE u32 graph_row_between(const u32* GL_RESTRICT offsets, u32 low, u32 high, u32 position) {
  while (low < high) {
    const u32 middle = low + (high - low + 1) / 2;
    if (offsets[middle] <= position) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// The first item of ends[begin, end) that is not below `value`, as a position.
GL_DEVICE u32 graph_lower_bound(const u32* GL_RESTRICT ends, u32 begin, u32 end, u32 value) {
  while (begin < end) {
    const u32 middle = begin + (end - begin) / 2;
    if (ends[middle] < value) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

// Calls `visit(row, position, active)` for every list position of a graph, a block a tile of
// positions; all lanes of a warp call it together, those past the end with `active` false and no
// row. All threads of the block must come here; any number of blocks.
template <class Visit>
GL_DEVICE void graph_each_arc(u32 rows, u32 arcs, const u32* GL_RESTRICT offsets, Visit visit) {
  __shared__ u32 range[2];
  for (u64 tile = (u64)blockIdx.x * GRAPH_TILE; tile < arcs; tile += (u64)gridDim.x * GRAPH_TILE) {
    const u32 end = (u32)min((u64)arcs, tile + GRAPH_TILE);
    if (gl_warp() == 0) {
      const u32 first = graph_warp_row(offsets, rows, (u32)tile);
      const u32 last = graph_warp_row(offsets, rows, end - 1);
      if (gl_lane() == 0) {
        range[0] = first;
        range[1] = last;
      }
    }
    __syncthreads();
    for (u64 base = tile; base < end; base += blockDim.x) {
      const u64 at = base + threadIdx.x;
      const bool active = at < end;
      visit(active ? graph_row_between(offsets, range[0], range[1], (u32)at) : 0u, (u32)at, active);
    }
    __syncthreads();
  }
}

// Bit `i` of a mask.
GL_DEVICE bool graph_bit(const u32* words, u32 i) { return words[i >> 5] >> (i & 31) & 1u; }

// Sets bit `i` of a mask; whether it was this call that did. Looks first: most bits are set already
// when a traversal is under way, and a read is cheaper than an atomic.
GL_DEVICE bool graph_set_bit(u32* words, u32 i) {
  const u32 bit = 1u << (i & 31);
  return !(words[i >> 5] & bit) && !(atomicOr(words + (i >> 5), bit) & bit);
}

// Appends `item` of every lane that has `take` to `list`, whose length is `count`: one atomic a
// warp. All 32 lanes must take part. The order in the list is that of arrival.
GL_DEVICE void graph_append(bool take, u32 item, u32* list, u32* count) {
  const u32 takers = __ballot_sync(GL_FULL, take);
  if (takers == 0) return;
  u32 base = 0;
  if (gl_lane() == 0) base = atomicAdd(count, (u32)__popc(takers));
  base = __shfl_sync(GL_FULL, base, 0);
  if (take) list[base + (u32)__popc(takers & ((1u << gl_lane()) - 1))] = item;
}

// Walks the lists of one node a lane, lane by lane's list laid end to end, so that all lanes are
// busy whatever the degrees: `visit(owner, position, active)` gets the lane that owns the position,
// and is called by all 32 lanes together, those without work with `active` false. `length` is at
// most GRAPH_BIG. All 32 lanes must take part.
template <class Visit>
GL_DEVICE void graph_each_of_warp(u32 begin, u32 length, Visit visit) {
  const u32 ends = warp_scan_inclusive_u32(length);
  const u32 total = __shfl_sync(GL_FULL, ends, 31);
  const u32 starts = ends - length;
  for (u32 base = 0; base < total; base += 32) {
    const u32 t = base + gl_lane();
    // The owner is the first lane whose end lies beyond t.
    u32 owner = 0;
#pragma unroll
    for (u32 d = 16; d > 0; d >>= 1) {
      const u32 before = __shfl_sync(GL_FULL, ends, owner + d - 1);
      if (before <= t) owner += d;
    }
    const u32 first = __shfl_sync(GL_FULL, begin, owner);
    const u32 skipped = __shfl_sync(GL_FULL, starts, owner);
    visit(owner, first + (t - skipped), t < total);
  }
}

// Nodes that a warp takes at a time from a list of `count`: few when there are few, so that all
// warps of the grid get work.
GL_DEVICE u32 graph_share(u32 count) {
  const u64 warps = gl_step_warps();
  const u64 share = (count + warps - 1) / warps;
  return share < 1 ? 1u : (share > 32 ? 32u : (u32)share);
}

// Calls `visit(item, part, parts)` with whole blocks for each item of a list of `count`: several
// blocks an item when there are more blocks than items. All threads of the block get the same.
template <class Visit>
GL_DEVICE void graph_each_big(u32 count, Visit visit) {
  if (count > 0) {
    const u32 parts = max(1u, gridDim.x / count);
    const u64 end = (u64)count * parts;
    for (u64 i = blockIdx.x; i < end; i += gridDim.x) {
      visit((u32)(i / parts), (u32)(i % parts), parts);
    }
  }
}
