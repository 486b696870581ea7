// PageRank in pull form. The rows (nodes with the list of what points at them) are sorted into four
// classes by degree once for a graph:
//   hubs     more than PR_WARP_MAX arcs: cut into chunks of PR_CHUNK arcs, a block a chunk;
//   warps    PR_OCT_MAX + 1 ..= PR_WARP_MAX: a warp a row;
//   octs     PR_THREAD_MAX + 1 ..= PR_OCT_MAX: eight lanes a row;
//   threads  the rest, those without arcs included: a thread a row.
// An iteration moves per arc 4 bytes of index (8 with weights) and one 32-byte sector of what the
// neighbour sends, and per node 28 bytes (40 in double precision). All sums are in a fixed order.
#include "common.cuh"

#define PR_THREAD_MAX 8u
#define PR_OCT_MAX 64u
#define PR_WARP_MAX 1024u
#define PR_CHUNK 2048u

// What the device knows of the run: f64 state[4].
#define PR_BASE 0    // What every node gets, before personalization.
#define PR_CHANGE 1  // Change of the last iteration, summed over all nodes.
#define PR_DONE 2    // Iterations.
#define PR_STATUS 3  // 0 running, 1 converged, 2 out of iterations.

// A list entry is read once in an iteration: it should not push the ranks out of the cache.
template <class T>
GL_DEVICE T pr_stream(const T* p) {
#ifdef GL_HOST
  return *p;
#else
  return __ldcs(p);
#endif
}

// The class of every row (0 hubs, 1 warps, 2 octs, 3 threads), and the row itself: keys and values
// of a stable sort. 16 bytes a node. Any grid.
//@ offsets: n + 1, classes: n, rows: n
GL_KERNEL void GL_BOUNDS(256) pr_classes(u32 n, const u32* GL_RESTRICT offsets,
                                         u32* GL_RESTRICT classes, u32* GL_RESTRICT rows) {
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    const u32 degree = offsets[v + 1] - offsets[v];
    classes[v] = degree > PR_WARP_MAX    ? 0u
                 : degree > PR_OCT_MAX    ? 1u
                 : degree > PR_THREAD_MAX ? 2u
                                          : 3u;
    rows[v] = (u32)v;
  }
}

// Rows in each of the four classes. One warp.
//@ classes: n, counts: 4
GL_KERNEL void GL_BOUNDS(32) pr_class_counts(u32 n, const u32* GL_RESTRICT classes,
                                             u32* GL_RESTRICT counts) {
  u32 low = 0, high = n;  // Each lane looks for the end of its class.
  while (low < high) {
    const u32 middle = low + (high - low) / 2;
    if (classes[middle] <= gl_lane()) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const u32 before = __shfl_up_sync(GL_FULL, low, 1);
  if (blockIdx.x == 0 && gl_lane() < 4) counts[gl_lane()] = low - (gl_lane() == 0 ? 0 : before);
}

// Chunks of each hub. Any grid.
//@ offsets: *, rows: hubs, lengths: hubs
GL_KERNEL void GL_BOUNDS(256) pr_chunk_lengths(u32 hubs, const u32* GL_RESTRICT offsets,
                                               const u32* GL_RESTRICT rows,
                                               u32* GL_RESTRICT lengths) {
  for (u64 h = gl_first(); h < hubs; h += gl_step()) {
    const u32 row = rows[h];
    lengths[h] = (offsets[row + 1] - offsets[row] + PR_CHUNK - 1) / PR_CHUNK;
  }
}

// The hub that each chunk belongs to: a warp a hub. Any grid.
//@ starts: hubs + 1, chunk_hub: *
GL_KERNEL void GL_BOUNDS(256) pr_chunks(u32 hubs, const u32* GL_RESTRICT starts,
                                        u32* GL_RESTRICT chunk_hub) {
  for (u64 h = gl_first_warp(); h < hubs; h += gl_step_warps()) {
    for (u32 c = starts[h] + gl_lane(); c < starts[h + 1]; c += 32) chunk_hub[c] = (u32)h;
  }
}

// One over the weight that leaves each node, 0 where none does, in both precisions. With `weighted`
// the weights are those of the node's list; without, each entry counts 1. A warp a node; lists
// longer than PR_WARP_MAX are summed by the whole block. 20 bytes a node and 4 an arc. Any grid of
// whole warps.
//@ offsets: n + 1, weights: *, inverse: n, inverse_f32: n
GL_KERNEL void GL_BOUNDS(256) pr_inverse(u32 n, u32 weighted, const u32* GL_RESTRICT offsets,
                                         const f32* GL_RESTRICT weights,
                                         f64* GL_RESTRICT inverse,
                                         f32* GL_RESTRICT inverse_f32) {
  const u64 step = (u64)gridDim.x * gl_warps();
  for (u64 first = (u64)blockIdx.x * gl_warps(); first < n; first += step) {
    const u64 v = first + gl_warp();
    const u32 degree = v < n ? offsets[v + 1] - offsets[v] : 0;
    f64 leaving = degree;
    if (weighted && degree <= PR_WARP_MAX) {
      leaving = 0.0;
      for (u32 i = gl_lane(); i < degree; i += 32) leaving += weights[offsets[v] + i];
      leaving = warp_sum(leaving);
    }
    if (weighted) {
      for (u32 w = 0; w < gl_warps(); ++w) {
        const u64 row = first + w;
        if (row >= n || offsets[row + 1] - offsets[row] <= PR_WARP_MAX) continue;
        f64 sum = 0.0;
        for (u32 i = offsets[row] + threadIdx.x; i < offsets[row + 1]; i += blockDim.x) {
          sum += weights[i];
        }
        sum = block_sum(sum);
        if (w == gl_warp()) leaving = sum;
      }
    }
    if (v < n && gl_lane() == 0) {
      inverse[v] = leaving > 0.0 ? 1.0 / leaving : 0.0;
      inverse_f32[v] = leaving > 0.0 ? (f32)(1.0 / leaving) : 0.0f;
    }
  }
}

// Writes this block's sums of change and dangling rank where pr_close finds them.
GL_DEVICE void pr_note(f64 change, f64 dangling, f64* GL_RESTRICT partials, u32 slot) {
  change = block_sum(change);
  dangling = block_sum(dangling);
  if (threadIdx.x == 0) {
    partials[2 * (u64)slot] = change;
    partials[2 * (u64)slot + 1] = dangling;
  }
}

// Equal ranks, and what each node sends. 12 bytes a node. Any grid of whole warps; partials of
// every block.
//@ inverse: n, ranks: n, sent: n, partials: 2 * blocks
GL_KERNEL void GL_BOUNDS(256) pr_start(u32 n, const f32* GL_RESTRICT inverse,
                                       f32* GL_RESTRICT ranks, f32* GL_RESTRICT sent,
                                       f64* GL_RESTRICT partials) {
  f64 dangling = 0.0;
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    const f32 rank = (f32)(1.0 / n);
    ranks[v] = rank;
    sent[v] = rank * inverse[v];
    if (inverse[v] == 0.0f) dangling += 1.0 / n;
  }
  pr_note(0.0, dangling, partials, blockIdx.x);
}

// Single-precision ranks taken over into double precision. 28 bytes a node. As pr_start.
//@ inverse: n, narrow: n, ranks: n, sent: n, partials: 2 * blocks
GL_KERNEL void GL_BOUNDS(256) pr_widen(u32 n, const f64* GL_RESTRICT inverse,
                                       const f32* GL_RESTRICT narrow, f64* GL_RESTRICT ranks,
                                       f64* GL_RESTRICT sent, f64* GL_RESTRICT partials) {
  f64 dangling = 0.0;
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    const f64 rank = narrow[v];
    ranks[v] = rank;
    sent[v] = rank * inverse[v];
    if (inverse[v] == 0.0) dangling += rank;
  }
  pr_note(0.0, dangling, partials, blockIdx.x);
}

// The arrays of an iteration in one precision.
template <class F>
struct PrArrays {
  const u32* GL_RESTRICT offsets;
  const u32* GL_RESTRICT ends;
  const f32* GL_RESTRICT weights;
  const F* GL_RESTRICT inverse;
  const F* GL_RESTRICT sent;
  const f64* GL_RESTRICT personal;
  F* GL_RESTRICT ranks;
  F* GL_RESTRICT next_sent;
  u32 weighted, personalized;
  f64 alpha, base;
};

// The sum over list entries first, first + STEP, ... below `end`.
template <class F, u32 STEP>
GL_DEVICE F pr_gather(const PrArrays<F>& a, u32 first, u32 end) {
  F sum = F(0);
  // Four entries at a time, all indices before the first gather, keep four sectors on their way.
  // Past the end the first entry stands in with weight 0.
  for (u32 i = first; i < end; i += 4 * STEP) {
    const u32 left = end - i;
    u32 at[4];
    F part[4];
#pragma unroll
    for (u32 k = 0; k < 4; ++k) at[k] = left > k * STEP ? i + k * STEP : i;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) part[k] = a.weighted ? (F)pr_stream(a.weights + at[k]) : F(1);
#pragma unroll
    for (u32 k = 0; k < 4; ++k) at[k] = pr_stream(a.ends + at[k]);
#pragma unroll
    for (u32 k = 0; k < 4; ++k) part[k] *= left > k * STEP ? a.sent[at[k]] : F(0);
    sum += (part[0] + part[1]) + (part[2] + part[3]);
  }
  return sum;
}

// The new rank of a row whose list sums to `sum`.
template <class F>
GL_DEVICE void pr_finish(const PrArrays<F>& a, u32 row, f64 sum, f64* change, f64* dangling) {
  const f64 base = a.personalized ? a.base * a.personal[row] : a.base;
  const F next = (F)(base + a.alpha * sum);
  const F inverse = a.inverse[row];
  const f64 moved = (f64)next - (f64)a.ranks[row];
  *change += moved < 0.0 ? -moved : moved;
  a.ranks[row] = next;
  a.next_sent[row] = next * inverse;
  if (inverse == F(0)) *dangling += next;
}

// One pass over all rows but the ends of the hubs. The blocks of work stand in the order hubs'
// chunks, warps, octs, threads, so that the long rows begin first, and are dealt out to the blocks
// of the grid.
template <class F>
GL_DEVICE void pr_pull_rows(const PrArrays<F>& a, u32 hubs, u32 warps, u32 octs, u32 threads,
                            u32 chunks, const u32* GL_RESTRICT rows,
                            const u32* GL_RESTRICT chunk_hub, const u32* GL_RESTRICT chunk_starts,
                            bool running, f64* GL_RESTRICT chunk_sums,
                            f64* GL_RESTRICT partials) {
  const u32 warp_work = chunks + (warps + 7) / 8;
  const u32 oct_work = warp_work + (octs + 31) / 32;
  const u64 work = running ? (u64)oct_work + (threads + 255) / 256 : 0;
  f64 change = 0.0, dangling = 0.0;
  for (u64 turn = blockIdx.x; turn < work; turn += gridDim.x) {
    const u32 w = (u32)turn;
    if (w < chunks) {
      const u32 hub = chunk_hub[w];
      const u32 row = rows[hub];
      const u32 begin = a.offsets[row] + (w - chunk_starts[hub]) * PR_CHUNK;
      const u32 end = min(a.offsets[row + 1] - begin, PR_CHUNK) + begin;
      const f64 sum = block_sum((f64)pr_gather<F, 256>(a, begin + threadIdx.x, end));
      if (threadIdx.x == 0) chunk_sums[w] = sum;
    } else if (w < warp_work) {
      const u32 slot = (w - chunks) * 8 + gl_warp();
      const u32 row = slot < warps ? rows[hubs + slot] : 0;
      F sum = F(0);
      if (slot < warps) {
        sum = pr_gather<F, 32>(a, a.offsets[row] + gl_lane(), a.offsets[row + 1]);
      }
      sum = warp_sum(sum);
      if (slot < warps && gl_lane() == 0) pr_finish(a, row, sum, &change, &dangling);
    } else if (w < oct_work) {
      const u32 slot = (w - warp_work) * 32 + threadIdx.x / 8;
      const u32 row = slot < octs ? rows[hubs + warps + slot] : 0;
      F sum = F(0);
      if (slot < octs) {
        sum = pr_gather<F, 8>(a, a.offsets[row] + threadIdx.x % 8, a.offsets[row + 1]);
      }
#pragma unroll
      for (int d = 4; d > 0; d >>= 1) sum += __shfl_xor_sync(GL_FULL, sum, d);
      if (slot < octs && threadIdx.x % 8 == 0) pr_finish(a, row, sum, &change, &dangling);
    } else {
      const u32 slot = (w - oct_work) * 256 + threadIdx.x;
      if (slot < threads) {
        const u32 row = rows[hubs + warps + octs + slot];
        const f64 sum = pr_gather<F, 1>(a, a.offsets[row], a.offsets[row + 1]);
        pr_finish(a, row, sum, &change, &dangling);
      }
    }
  }
  pr_note(change, dangling, partials, blockIdx.x);
}

// The hubs: the sums of their chunks, a warp a hub. Their blocks follow those of the pull in
// `partials`.
template <class F>
GL_DEVICE void pr_hub_rows(const PrArrays<F>& a, u32 hubs, u32 before, bool running,
                           const u32* GL_RESTRICT rows, const u32* GL_RESTRICT chunk_starts,
                           const f64* GL_RESTRICT chunk_sums, f64* GL_RESTRICT partials) {
  f64 change = 0.0, dangling = 0.0;
  const u64 end = running ? hubs : 0;
  for (u64 h = gl_first_warp(); h < end; h += gl_step_warps()) {
    f64 sum = 0.0;
    for (u32 c = chunk_starts[h] + gl_lane(); c < chunk_starts[h + 1]; c += 32) {
      sum += chunk_sums[c];
    }
    sum = warp_sum(sum);
    if (gl_lane() == 0) pr_finish(a, rows[h], sum, &change, &dangling);
  }
  pr_note(change, dangling, partials, before + blockIdx.x);
}

// Single-precision iteration over the rows: all four classes, in one launch of 256 threads a block
// and any number of blocks. Does nothing unless the state is running. `personal` has n entries or
// is not read.
//@ offsets: n + 1, ends: *, weights: *, rows: n, chunk_hub: chunks, chunk_starts: hubs + 1,
//@ inverse: n, sent: n, personal: personalized * n, state: 4, ranks: n, next_sent: n,
//@ chunk_sums: chunks, partials: 2 * blocks
GL_KERNEL void GL_BOUNDS(256)
    pr_pull_f32(u32 n, u32 hubs, u32 warps, u32 octs, u32 chunks, u32 weighted, u32 personalized,
                f64 alpha, const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
                const f32* GL_RESTRICT weights, const u32* GL_RESTRICT rows,
                const u32* GL_RESTRICT chunk_hub, const u32* GL_RESTRICT chunk_starts,
                const f32* GL_RESTRICT inverse, const f32* GL_RESTRICT sent,
                const f64* GL_RESTRICT personal, const f64* GL_RESTRICT state,
                f32* GL_RESTRICT ranks, f32* GL_RESTRICT next_sent, f64* GL_RESTRICT chunk_sums,
                f64* GL_RESTRICT partials) {
  const PrArrays<f32> a = {offsets, ends,      weights,  inverse,      sent,  personal,
                           ranks,   next_sent, weighted, personalized, alpha, state[PR_BASE]};
  pr_pull_rows(a, hubs, warps, octs, n - hubs - warps - octs, chunks, rows, chunk_hub,
               chunk_starts, state[PR_STATUS] == 0.0, chunk_sums, partials);
}

// Double-precision iteration over the rows: as pr_pull_f32.
//@ offsets: n + 1, ends: *, weights: *, rows: n, chunk_hub: chunks, chunk_starts: hubs + 1,
//@ inverse: n, sent: n, personal: personalized * n, state: 4, ranks: n, next_sent: n,
//@ chunk_sums: chunks, partials: 2 * blocks
GL_KERNEL void GL_BOUNDS(256)
    pr_pull_f64(u32 n, u32 hubs, u32 warps, u32 octs, u32 chunks, u32 weighted, u32 personalized,
                f64 alpha, const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
                const f32* GL_RESTRICT weights, const u32* GL_RESTRICT rows,
                const u32* GL_RESTRICT chunk_hub, const u32* GL_RESTRICT chunk_starts,
                const f64* GL_RESTRICT inverse, const f64* GL_RESTRICT sent,
                const f64* GL_RESTRICT personal, const f64* GL_RESTRICT state,
                f64* GL_RESTRICT ranks, f64* GL_RESTRICT next_sent, f64* GL_RESTRICT chunk_sums,
                f64* GL_RESTRICT partials) {
  const PrArrays<f64> a = {offsets, ends,      weights,  inverse,      sent,  personal,
                           ranks,   next_sent, weighted, personalized, alpha, state[PR_BASE]};
  pr_pull_rows(a, hubs, warps, octs, n - hubs - warps - octs, chunks, rows, chunk_hub,
               chunk_starts, state[PR_STATUS] == 0.0, chunk_sums, partials);
}

// Single-precision ends of the hubs: a warp a hub sums its chunks. The partial sums of its blocks
// come after those of `before` blocks. Any grid of whole warps.
//@ rows: hubs, chunk_starts: hubs + 1, chunk_sums: *, inverse: n, personal: personalized * n,
//@ state: 4, ranks: n, next_sent: n, partials: 2 * (before + blocks)
GL_KERNEL void GL_BOUNDS(256)
    pr_hubs_f32(u32 n, u32 hubs, u32 before, u32 personalized, f64 alpha,
                const u32* GL_RESTRICT rows, const u32* GL_RESTRICT chunk_starts,
                const f64* GL_RESTRICT chunk_sums, const f32* GL_RESTRICT inverse,
                const f64* GL_RESTRICT personal, const f64* GL_RESTRICT state,
                f32* GL_RESTRICT ranks, f32* GL_RESTRICT next_sent, f64* GL_RESTRICT partials) {
  const PrArrays<f32> a = {nullptr, nullptr,   nullptr, inverse,      nullptr, personal,
                           ranks,   next_sent, 0,       personalized, alpha,   state[PR_BASE]};
  pr_hub_rows(a, hubs, before, state[PR_STATUS] == 0.0, rows, chunk_starts, chunk_sums, partials);
}

// Double-precision ends of the hubs: as pr_hubs_f32.
//@ rows: hubs, chunk_starts: hubs + 1, chunk_sums: *, inverse: n, personal: personalized * n,
//@ state: 4, ranks: n, next_sent: n, partials: 2 * (before + blocks)
GL_KERNEL void GL_BOUNDS(256)
    pr_hubs_f64(u32 n, u32 hubs, u32 before, u32 personalized, f64 alpha,
                const u32* GL_RESTRICT rows, const u32* GL_RESTRICT chunk_starts,
                const f64* GL_RESTRICT chunk_sums, const f64* GL_RESTRICT inverse,
                const f64* GL_RESTRICT personal, const f64* GL_RESTRICT state,
                f64* GL_RESTRICT ranks, f64* GL_RESTRICT next_sent, f64* GL_RESTRICT partials) {
  const PrArrays<f64> a = {nullptr, nullptr,   nullptr, inverse,      nullptr, personal,
                           ranks,   next_sent, 0,       personalized, alpha,   state[PR_BASE]};
  pr_hub_rows(a, hubs, before, state[PR_STATUS] == 0.0, rows, chunk_starts, chunk_sums, partials);
}

// Ends an iteration (or, without `counts`, sets up the first): adds the blocks' partial sums in
// their order, decides whether to go on, and works out what every node gets. `uniform` is the share
// of one node. One block.
//@ partials: 2 * parts, state: 4
GL_KERNEL void GL_BOUNDS(256) pr_close(u32 parts, u32 counts, f64 alpha, f64 uniform, f64 tol,
                                       f64 max_iter, const f64* GL_RESTRICT partials,
                                       f64* GL_RESTRICT state) {
  f64 change = 0.0, dangling = 0.0;
  for (u32 i = threadIdx.x; i < parts; i += blockDim.x) {
    change += partials[2 * (u64)i];
    dangling += partials[2 * (u64)i + 1];
  }
  change = block_sum(change);
  dangling = block_sum(dangling);
  if (blockIdx.x == 0 && threadIdx.x == 0 && (!counts || state[PR_STATUS] == 0.0)) {
    state[PR_BASE] = (1.0 - alpha + alpha * dangling) * uniform;
    if (counts) {
      state[PR_CHANGE] = change;
      state[PR_DONE] += 1.0;
      state[PR_STATUS] = change < tol ? 1.0 : (state[PR_DONE] >= max_iter ? 2.0 : 0.0);
    } else {
      state[PR_STATUS] = 0.0;
    }
  }
}
