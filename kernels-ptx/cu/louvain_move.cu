// Local moving. A round has sub-rounds: the nodes of one decide at once, by what was true before it, and then
// move together. Rows are decided by kernels after their length (see lv_class): 8 lanes, a warp with the lane
// matching of the hardware, a warp or a block with a hash table in shared memory, and several blocks with a
// table in global memory. Each entry of a row costs 4 bytes in order (12 with weights) and one 32-byte sector
// for the community of its end; each distinct community one more for its total.
#include "louvain.cuh"

// Lists the nodes of sub-round `part` that are awake (all of them when `all`) by class, in any order, and puts them
// to sleep; wide ones are marked 2 instead. `bases` are where the classes begin in `queue`; `counts` begin as 0.
// Reads 2 bytes a node and 8 a listed one.
//@ parts: n, offsets: n + 1, awake: n, bases: 6, counts: 6, queue: n
GL_KERNEL void GL_BOUNDS(256) lv_collect(u32 n, u32 part, u32 all, const u8* GL_RESTRICT parts,
                                         const u32* GL_RESTRICT offsets, u8* GL_RESTRICT awake,
                                         const u32* GL_RESTRICT bases, u32* GL_RESTRICT counts,
                                         u32* GL_RESTRICT queue) {
  for (u64 base = gl_first() - gl_lane(); base < n; base += gl_step()) {
    const u64 v = base + gl_lane();
    const bool listed = v < n && parts[v] == part && (all != 0 || awake[v] != 0);
    u32 kind = LV_NONE;
    if (listed) {
      kind = lv_class(offsets[v + 1] - offsets[v]);
      awake[v] = kind == LV_WIDE ? 2 : 0;
    }
    u32 rest = __ballot_sync(GL_FULL, listed && kind != LV_WIDE);
    while (rest != 0) {
      const int leader = __ffs((int)rest) - 1;
      const u32 now = __shfl_sync(GL_FULL, kind, leader);
      const u32 same = __ballot_sync(GL_FULL, kind == now);
      u32 at = 0;
      if ((int)gl_lane() == leader) at = atomicAdd(&counts[now], (u32)__popc(same));
      at = __shfl_sync(GL_FULL, at, leader);
      if (kind == now) queue[bases[now] + at + (u32)__popc(same & (1u << gl_lane()) - 1u)] = (u32)v;
      rest &= ~same;
    }
  }
}

// Rows of up to 8 entries, 8 lanes each: every lane sums the weights of the lanes with its community.
//@ count: 1, queue: most, offsets: n + 1, ends: *, weights: *, strengths: n, labels: n, totals: n,
//@ choice: most, gains: most
GL_KERNEL void GL_BOUNDS(256) lv_decide_tiny(
    u32 n, u32 most, u32 unit, f64 resolution, f64 twice, const u32* GL_RESTRICT count,
    const u32* GL_RESTRICT queue, const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
    const u64* GL_RESTRICT weights, const u64* GL_RESTRICT strengths, const u32* GL_RESTRICT labels,
    const u64* GL_RESTRICT totals, u32* GL_RESTRICT choice, u64* GL_RESTRICT gains) {
  const LvState s = {resolution, twice, unit, offsets, ends, weights, strengths, labels, totals};
  const u32 listed = *count, member = gl_lane() & 7u, group = gl_lane() & 24u;
  for (u64 base = gl_first_warp() * 4; base < listed; base += gl_step_warps() * 4) {
    const u64 i = base + (gl_lane() >> 3);
    const bool here = i < listed;
    const u32 v = queue[here ? i : base], first = offsets[v], degree = offsets[v + 1] - first;
    u32 label = LV_NONE;
    u64 w = 0, sum = 0;
    if (member < degree) w = lv_entry(s, (u64)first + member, &label);
#pragma unroll
    for (u32 j = 0; j < 8; ++j) {
      const u32 other = __shfl_sync(GL_FULL, label, group + j);
      const u64 weight = __shfl_sync(GL_FULL, w, group + j);
      if (other == label) sum += weight;
    }
    u64 inside = label == labels[v] ? sum : 0;
    LvBest best = lv_nowhere();
    if (label != LV_NONE && label != labels[v]) {
      lv_improve(&best, lv_score(sum, totals[label], lv_pull(s, strengths[v])), label);
    }
    lv_meet(&best, &inside, 8);
    if (here && member == 0) choice[i] = lv_settle(s, v, best, inside, &gains[i]);
  }
}

// Rows of up to 32 entries, a warp each: lanes with the same community find each other in one instruction.
//@ count: 1, queue: most, offsets: n + 1, ends: *, weights: *, strengths: n, labels: n, totals: n,
//@ choice: most, gains: most
GL_KERNEL void GL_BOUNDS(256) lv_decide_narrow(
    u32 n, u32 most, u32 unit, f64 resolution, f64 twice, const u32* GL_RESTRICT count,
    const u32* GL_RESTRICT queue, const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
    const u64* GL_RESTRICT weights, const u64* GL_RESTRICT strengths, const u32* GL_RESTRICT labels,
    const u64* GL_RESTRICT totals, u32* GL_RESTRICT choice, u64* GL_RESTRICT gains) {
  const LvState s = {resolution, twice, unit, offsets, ends, weights, strengths, labels, totals};
  const u32 listed = *count;
  for (u64 i = gl_first_warp(); i < listed; i += gl_step_warps()) {
    const u32 v = queue[i], first = offsets[v], degree = offsets[v + 1] - first;
    u32 label = LV_NONE;
    u64 w = 0;
    if (gl_lane() < degree) w = lv_entry(s, (u64)first + gl_lane(), &label);
    const u64 sum = lv_sum_of_peers(__match_any_sync(GL_FULL, label), w, unit);
    u64 inside = label == labels[v] ? sum : 0;
    LvBest best = lv_nowhere();
    if (label != LV_NONE && label != labels[v]) {
      lv_improve(&best, lv_score(sum, totals[label], lv_pull(s, strengths[v])), label);
    }
    lv_meet(&best, &inside, 32);
    if (gl_lane() == 0) choice[i] = lv_settle(s, v, best, inside, &gains[i]);
  }
}

// Empties the first `slots` slots of a table, thread `me` of `step`.
GL_DEVICE void lv_clear(u32* keys, u32* low, u32* high, u32 slots, u32 me, u32 step) {
  for (u32 at = me; at < slots; at += step) {
    keys[at] = LV_NONE;
    low[at] = 0;
    high[at] = 0;
  }
}

// Adds up the row of `v` by community in a table of shared memory.
GL_DEVICE void lv_tabulate(const LvState& s, u32 v, u32* keys, u32* low, u32* high, u32 slots, u32 me,
                           u32 step) {
  const u32 last = s.offsets[v + 1];
  for (u64 at = (u64)s.offsets[v] + me; at < last; at += step) {
    u32 label;
    const u64 w = lv_entry(s, at, &label);
    if (label == LV_NONE) continue;
    const u32 slot = lv_slot(keys, slots, label);
    lv_add(&low[slot], &high[slot], w);
  }
}

// The best community among the slots of thread `me` of `step`, and the sum of the node's own.
GL_DEVICE LvBest lv_search(const LvState& s, u32 v, const u32* keys, const u32* low, const u32* high,
                           u32 slots, u32 me, u32 step, u64* inside) {
  const u32 own = s.labels[v];
  const f64 pull = lv_pull(s, s.strengths[v]);
  LvBest best = lv_nowhere();
  *inside = 0;
  for (u32 at = me; at < slots; at += step) {
    const u32 label = keys[at];
    if (label == LV_NONE) continue;
    const u64 sum = (u64)high[at] << 32 | low[at];
    if (label == own) {
      *inside = sum;
    } else {
      lv_improve(&best, lv_score(sum, s.totals[label], pull), label);
    }
  }
  return best;
}

// Rows of up to 192 entries, a warp each, with a table of 256 slots in shared memory (24 KB a block).
//@ count: 1, queue: most, offsets: n + 1, ends: *, weights: *, strengths: n, labels: n, totals: n,
//@ choice: most, gains: most
GL_KERNEL void GL_BOUNDS(256) lv_decide_warp(
    u32 n, u32 most, u32 unit, f64 resolution, f64 twice, const u32* GL_RESTRICT count,
    const u32* GL_RESTRICT queue, const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
    const u64* GL_RESTRICT weights, const u64* GL_RESTRICT strengths, const u32* GL_RESTRICT labels,
    const u64* GL_RESTRICT totals, u32* GL_RESTRICT choice, u64* GL_RESTRICT gains) {
  __shared__ u32 all_keys[8][LV_WARP_SLOTS];
  __shared__ u32 all_low[8][LV_WARP_SLOTS];
  __shared__ u32 all_high[8][LV_WARP_SLOTS];
  u32* const keys = all_keys[gl_warp()];
  u32* const low = all_low[gl_warp()];
  u32* const high = all_high[gl_warp()];
  const LvState s = {resolution, twice, unit, offsets, ends, weights, strengths, labels, totals};
  const u32 listed = *count;
  for (u64 i = gl_first_warp(); i < listed; i += gl_step_warps()) {
    const u32 v = queue[i], slots = lv_slots(offsets[v + 1] - offsets[v], LV_WARP_SLOTS);
    lv_clear(keys, low, high, slots, gl_lane(), GL_WARP);
    __syncwarp();
    lv_tabulate(s, v, keys, low, high, slots, gl_lane(), GL_WARP);
    __syncwarp();
    u64 inside;
    LvBest best = lv_search(s, v, keys, low, high, slots, gl_lane(), GL_WARP, &inside);
    lv_meet(&best, &inside, 32);
    if (gl_lane() == 0) choice[i] = lv_settle(s, v, best, inside, &gains[i]);
    __syncwarp();
  }
}

// The best of all threads of a block and the largest of `sum`, in thread 0. Every thread takes part.
GL_DEVICE void lv_meet_block(LvBest* best, u64* sum) {
  __shared__ f64 scores[32];
  __shared__ u32 labels[32];
  __shared__ u64 sums[32];
  lv_meet(best, sum, 32);
  __syncthreads();  // An earlier call may still be reading.
  if (gl_lane() == 0) {
    scores[gl_warp()] = best->score;
    labels[gl_warp()] = best->label;
    sums[gl_warp()] = *sum;
  }
  __syncthreads();
  if (gl_warp() == 0) {
    *best = lv_nowhere();
    *sum = 0;
    if (gl_lane() < gl_warps()) {
      best->score = scores[gl_lane()];
      best->label = labels[gl_lane()];
      *sum = sums[gl_lane()];
    }
    lv_meet(best, sum, 32);
  }
}

template <u32 SLOTS>
GL_DEVICE void lv_decide_by_block(const LvState& s, const u32* count, const u32* queue, u32* choice,
                                  u64* gains) {
  __shared__ u32 keys[SLOTS];
  __shared__ u32 low[SLOTS];
  __shared__ u32 high[SLOTS];
  const u32 listed = *count;
  for (u64 i = blockIdx.x; i < listed; i += gridDim.x) {
    const u32 v = queue[i], slots = lv_slots(s.offsets[v + 1] - s.offsets[v], SLOTS);
    lv_clear(keys, low, high, slots, threadIdx.x, blockDim.x);
    __syncthreads();
    lv_tabulate(s, v, keys, low, high, slots, threadIdx.x, blockDim.x);
    __syncthreads();
    u64 inside;
    LvBest best = lv_search(s, v, keys, low, high, slots, threadIdx.x, blockDim.x, &inside);
    lv_meet_block(&best, &inside);  // Its barriers also end the reading of the table.
    if (threadIdx.x == 0) choice[i] = lv_settle(s, v, best, inside, &gains[i]);
  }
}

// Rows of up to 768 entries, a block each, with a table of 1,024 slots in shared memory (12 KB).
//@ count: 1, queue: most, offsets: n + 1, ends: *, weights: *, strengths: n, labels: n, totals: n,
//@ choice: most, gains: most
GL_KERNEL void GL_BOUNDS(128) lv_decide_block(
    u32 n, u32 most, u32 unit, f64 resolution, f64 twice, const u32* GL_RESTRICT count,
    const u32* GL_RESTRICT queue, const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
    const u64* GL_RESTRICT weights, const u64* GL_RESTRICT strengths, const u32* GL_RESTRICT labels,
    const u64* GL_RESTRICT totals, u32* GL_RESTRICT choice, u64* GL_RESTRICT gains) {
  const LvState s = {resolution, twice, unit, offsets, ends, weights, strengths, labels, totals};
  lv_decide_by_block<LV_BLOCK_SLOTS>(s, count, queue, choice, gains);
}

// Rows of up to 3,072 entries, a block each, with a table of 4,000 slots in shared memory (47 KB).
//@ count: 1, queue: most, offsets: n + 1, ends: *, weights: *, strengths: n, labels: n, totals: n,
//@ choice: most, gains: most
GL_KERNEL void GL_BOUNDS(512) lv_decide_large(
    u32 n, u32 most, u32 unit, f64 resolution, f64 twice, const u32* GL_RESTRICT count,
    const u32* GL_RESTRICT queue, const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
    const u64* GL_RESTRICT weights, const u64* GL_RESTRICT strengths, const u32* GL_RESTRICT labels,
    const u64* GL_RESTRICT totals, u32* GL_RESTRICT choice, u64* GL_RESTRICT gains) {
  const LvState s = {resolution, twice, unit, offsets, ends, weights, strengths, labels, totals};
  lv_decide_by_block<LV_LARGE_SLOTS>(s, count, queue, choice, gains);
}

// Wide rows, first half: adds the rows of the nodes marked 2 up in tables of global memory, `team` blocks a row.
// Row r has the slots places[r] .. places[r + 1], all free before.
//@ nodes: rows, places: rows + 1, awake: n, offsets: n + 1, ends: *, weights: *, labels: n, keys: *, sums: *
GL_KERNEL void GL_BOUNDS(256) lv_wide_fill(u32 n, u32 rows, u32 team, u32 unit,
                                           const u32* GL_RESTRICT nodes, const u32* GL_RESTRICT places,
                                           const u8* GL_RESTRICT awake, const u32* GL_RESTRICT offsets,
                                           const u32* GL_RESTRICT ends, const u64* GL_RESTRICT weights,
                                           const u32* GL_RESTRICT labels, u32* GL_RESTRICT keys,
                                           u64* GL_RESTRICT sums) {
  for (u64 part = blockIdx.x; part < (u64)rows * team; part += gridDim.x) {
    const u32 row = (u32)(part / team), member = (u32)(part % team), v = nodes[row];
    if (awake[v] != 2) continue;
    const u32 last = offsets[v + 1], slots = places[row + 1] - places[row];
    const u64 first = (u64)offsets[v] + (u64)member * blockDim.x + gl_warp() * GL_WARP;
    for (u64 base = first; base < last; base += (u64)team * blockDim.x) {
      const u64 at = base + gl_lane();
      u32 label = LV_NONE;
      u64 w = 0;
      if (at < last) {
        w = unit ? 1 : weights[at];
        if (w != 0) label = labels[ends[at]];
      }
      lv_pour(keys + places[row], sums + places[row], slots, label, w, unit);
    }
  }
}

// Wide rows, second half: each block of a row's team finds the best of its share of the slots and frees them.
//@ nodes: rows, places: rows + 1, awake: n, strengths: n, labels: n, totals: n, keys: *, sums: *,
//@ scores: rows * team, bests: rows * team, insides: rows * team
GL_KERNEL void GL_BOUNDS(256) lv_wide_search(
    u32 n, u32 rows, u32 team, f64 resolution, f64 twice, const u32* GL_RESTRICT nodes,
    const u32* GL_RESTRICT places, const u8* GL_RESTRICT awake, const u64* GL_RESTRICT strengths,
    const u32* GL_RESTRICT labels, const u64* GL_RESTRICT totals, u32* GL_RESTRICT keys,
    u64* GL_RESTRICT sums, f64* GL_RESTRICT scores, u32* GL_RESTRICT bests, u64* GL_RESTRICT insides) {
  const LvState s = {resolution, twice, 0, nullptr, nullptr, nullptr, strengths, labels, totals};
  for (u64 part = blockIdx.x; part < (u64)rows * team; part += gridDim.x) {
    const u32 row = (u32)(part / team), member = (u32)(part % team), v = nodes[row];
    if (awake[v] != 2) continue;  // The whole block leaves.
    const u32 own = labels[v];
    const f64 pull = lv_pull(s, strengths[v]);
    LvBest best = lv_nowhere();
    u64 inside = 0;
    const u64 first = (u64)places[row] + (u64)member * blockDim.x + threadIdx.x;
    for (u64 at = first; at < places[row + 1]; at += (u64)team * blockDim.x) {
      const u32 label = keys[at];
      if (label == LV_NONE) continue;
      const u64 sum = sums[at];
      keys[at] = LV_NONE;
      sums[at] = 0;
      if (label == own) {
        inside = sum;
      } else {
        lv_improve(&best, lv_score(sum, totals[label], pull), label);
      }
    }
    lv_meet_block(&best, &inside);
    if (threadIdx.x == 0) {
      scores[part] = best.score;
      bests[part] = best.label;
      insides[part] = inside;
    }
  }
}

// Wide rows, the end: brings the findings of each team together and appends the moves of class 5 to the queue.
//@ nodes: rows, strengths: n, labels: n, totals: n, scores: rows * team, bests: rows * team,
//@ insides: rows * team, awake: n, count: 1, queue: most, choice: most, gains: most
GL_KERNEL void GL_BOUNDS(128) lv_wide_settle(
    u32 n, u32 rows, u32 team, u32 most, f64 resolution, f64 twice, const u32* GL_RESTRICT nodes,
    const u64* GL_RESTRICT strengths, const u32* GL_RESTRICT labels, const u64* GL_RESTRICT totals,
    const f64* GL_RESTRICT scores, const u32* GL_RESTRICT bests, const u64* GL_RESTRICT insides,
    u8* GL_RESTRICT awake, u32* GL_RESTRICT count, u32* GL_RESTRICT queue, u32* GL_RESTRICT choice,
    u64* GL_RESTRICT gains) {
  const LvState s = {resolution, twice, 0, nullptr, nullptr, nullptr, strengths, labels, totals};
  for (u64 row = gl_first(); row < rows; row += gl_step()) {
    const u32 v = nodes[row];
    if (awake[v] != 2) continue;
    awake[v] = 0;
    LvBest best = lv_nowhere();
    u64 inside = 0;
    for (u64 at = row * team; at < (row + 1) * team; ++at) {
      if (bests[at] != LV_NONE) lv_improve(&best, scores[at], bests[at]);
      inside = insides[at] > inside ? insides[at] : inside;
    }
    u64 gain;
    const u32 to = lv_settle(s, v, best, inside, &gain);
    if (to == LV_NONE) continue;
    const u32 at = atomicAdd(count, 1u);
    queue[at] = v;
    choice[at] = to;
    gains[at] = gain;
  }
}

// Moves everybody who chose to. Lists the movers, those with wide rows apart, and adds the gains and the number
// of moves to `round`. `counts` are the 6 classes' lengths, then those of the two lists, which begin as 0.
// Moves 16 bytes a listed node and 50 a mover, most of them at random.
//@ bases: 6, counts: 8, queue: n, choice: n, gains: n, strengths: n, labels: n, totals: n, movers: n,
//@ wide: most_wide, round: 2
GL_KERNEL void GL_BOUNDS(256) lv_apply(u32 n, u32 most_wide, const u32* GL_RESTRICT bases,
                                       u32* GL_RESTRICT counts, const u32* GL_RESTRICT queue,
                                       const u32* GL_RESTRICT choice, const u64* GL_RESTRICT gains,
                                       const u64* GL_RESTRICT strengths, u32* GL_RESTRICT labels,
                                       u64* GL_RESTRICT totals, u32* GL_RESTRICT movers,
                                       u32* GL_RESTRICT wide, u64* GL_RESTRICT round) {
  u64 gain = 0, moved = 0;
  for (u32 kind = 0; kind < LV_CLASSES; ++kind) {
    const u32 listed = counts[kind];
    u32* const list = kind == LV_WIDE ? wide : movers;
    u32* const length = counts + (kind == LV_WIDE ? 7 : 6);
    for (u64 base = gl_first() - gl_lane(); base < listed; base += gl_step()) {
      const u64 i = bases[kind] + base + gl_lane();
      const u32 to = base + gl_lane() < listed ? choice[i] : LV_NONE;
      const u32 going = __ballot_sync(GL_FULL, to != LV_NONE);
      if (going == 0) continue;
      u32 at = 0;
      if (gl_lane() == 0) at = atomicAdd(length, (u32)__popc(going));
      at = __shfl_sync(GL_FULL, at, 0) + (u32)__popc(going & (1u << gl_lane()) - 1u);
      if (to == LV_NONE) continue;
      const u32 v = queue[i];
      const u64 strength = strengths[v];
      atomicAdd(&totals[labels[v]], ~strength + 1ull);
      atomicAdd(&totals[to], strength);
      labels[v] = to;
      list[at] = v;
      gain += gains[i];
      ++moved;
    }
  }
  gain = block_sum(gain);
  moved = block_sum(moved);
  if (threadIdx.x == 0 && moved != 0) {
    atomicAdd(&round[0], gain);
    atomicAdd(&round[1], moved);
  }
}

// Wakes the neighbours of the movers that are not in the community moved to, a warp a mover. Moves 8 bytes an arc of
// a mover and as many sectors.
//@ count: 1, movers: *, offsets: n + 1, ends: *, labels: n, awake: n
GL_KERNEL void GL_BOUNDS(256) lv_wake(u32 n, const u32* GL_RESTRICT count, const u32* GL_RESTRICT movers,
                                      const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
                                      const u32* GL_RESTRICT labels, u8* GL_RESTRICT awake) {
  const u32 listed = *count;
  for (u64 i = gl_first_warp(); i < listed; i += gl_step_warps()) {
    const u32 v = movers[i], last = offsets[v + 1], label = labels[v];
    for (u64 at = (u64)offsets[v] + gl_lane(); at < last; at += GL_WARP) {
      const u32 u = ends[at];
      if (labels[u] != label) awake[u] = 1;
    }
  }
}

// The same for movers with wide rows, `team` blocks a mover.
//@ count: 1, movers: *, offsets: n + 1, ends: *, labels: n, awake: n
GL_KERNEL void GL_BOUNDS(256) lv_wake_wide(u32 n, u32 team, const u32* GL_RESTRICT count,
                                           const u32* GL_RESTRICT movers,
                                           const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
                                           const u32* GL_RESTRICT labels, u8* GL_RESTRICT awake) {
  const u64 parts = (u64)*count * team;
  for (u64 part = blockIdx.x; part < parts; part += gridDim.x) {
    const u32 v = movers[part / team], last = offsets[v + 1], label = labels[v];
    const u64 first = (u64)offsets[v] + part % team * blockDim.x + threadIdx.x;
    for (u64 at = first; at < last; at += (u64)team * blockDim.x) {
      const u32 u = ends[at];
      if (labels[u] != label) awake[u] = 1;
    }
  }
}
