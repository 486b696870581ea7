// What the Louvain sources share: degree classes, hash tables of weight by community, and the comparison
// of moves. Weights are whole numbers and every sum is exact, so no result depends on the order in which
// lanes, warps or blocks come; the comparison is written with operations that no compiler fuses, so that
// the host's twin gets the same bits.
#pragma once
#include "common.cuh"

// No node, no community, a free slot.
#define LV_NONE 0xffffffffu
// The longest row of each class; longer ones are wide and go to tables in global memory.
#define LV_TINY_MAX 8u
#define LV_NARROW_MAX 32u
#define LV_WARP_MAX 192u
#define LV_BLOCK_MAX 768u
#define LV_LARGE_MAX 3072u
// Slots of the tables in shared memory, at 12 bytes: more than 5 for 4 entries of the longest row.
#define LV_WARP_SLOTS 256u
#define LV_BLOCK_SLOTS 1024u
#define LV_LARGE_SLOTS 4000u
#define LV_CLASSES 6u
#define LV_WIDE 5u
// Units of gain: a whole number of these is added up, so that the sum over a round is exact.
#define LV_GAIN_UNITS 1024.0

GL_DEVICE u32 lv_class(u32 degree) {
  if (degree <= LV_TINY_MAX) return 0;
  if (degree <= LV_NARROW_MAX) return 1;
  if (degree <= LV_WARP_MAX) return 2;
  if (degree <= LV_BLOCK_MAX) return 3;
  return degree <= LV_LARGE_MAX ? 4 : LV_WIDE;
}

// Slots of a table for up to `keys` keys: a quarter more and at least one free, so that a search ends.
GL_DEVICE u32 lv_slots(u32 keys, u32 most) {
  const u32 slots = keys + keys / 4 + 32u & ~31u;
  return slots < most ? slots : most;
}

// The slot of `key` by open addressing; taken for it when it is new. Fibonacci hashing scaled to any
// table size: neighbouring communities land far apart.
GL_DEVICE u32 lv_slot(u32* keys, u32 slots, u32 key) {
  u32 at = __umulhi(key * 0x9E3779B1u, slots);
  while (true) {
    if (keys[at] == key) return at;
    const u32 old = atomicCAS(&keys[at], LV_NONE, key);
    if (old == LV_NONE || old == key) return at;
    at = at + 1 == slots ? 0 : at + 1;
  }
}

// Adds to a 64-bit sum kept as two words: shared memory has native atomics on 32 bits only.
GL_DEVICE void lv_add(u32* low, u32* high, u64 w) {
  const u32 part = (u32)w, old = atomicAdd(low, part);
  const u32 more = (u32)(w >> 32) + (old + part < old ? 1u : 0u);
  if (more != 0) atomicAdd(high, more);
}

// For each lane the sum of the weights of the lanes with the same label. All 32 lanes take part.
GL_DEVICE u64 lv_sum_of_peers(u32 peers, u64 w, u32 unit) {
  if (unit) return (u64)__popc(peers);
  u64 sum = 0;
  for (u32 rest = peers; __any_sync(GL_FULL, rest != 0); rest &= rest - 1u) {
    const u64 other = __shfl_sync(GL_FULL, w, rest ? __ffs((int)rest) - 1 : 0);
    if (rest) sum += other;
  }
  return sum;
}

// Adds one entry a lane to a table in global memory; lanes with the same label add once. All 32 lanes
// take part, those without an entry with LV_NONE.
GL_DEVICE void lv_pour(u32* keys, u64* sums, u32 slots, u32 label, u64 w, u32 unit) {
  const u32 peers = __match_any_sync(GL_FULL, label);
  const u64 sum = lv_sum_of_peers(peers, w, unit);
  if (label != LV_NONE && gl_lane() == (u32)__ffs((int)peers) - 1u) {
    atomicAdd(&sums[lv_slot(keys, slots, label)], sum);
  }
}

// A community that a node could join. Of equal scores the smaller label is better.
struct LvBest {
  f64 score;
  u32 label;
};

GL_DEVICE LvBest lv_nowhere() {
  LvBest best;
  best.score = -1.0e300;
  best.label = LV_NONE;
  return best;
}

GL_DEVICE void lv_improve(LvBest* best, f64 score, u32 label) {
  if (score > best->score || (score == best->score && label < best->label)) {
    best->score = score;
    best->label = label;
  }
}

// Weight of the edges to a community less the share of it that chance explains.
GL_DEVICE f64 lv_score(u64 sum, u64 total, f64 pull) {
  return __dsub_rn(__ull2double_rn(sum), __dmul_rn(pull, __ull2double_rn(total)));
}

// The best of `width` neighbouring lanes, and the largest of `sum`, in all of them.
GL_DEVICE void lv_meet(LvBest* best, u64* sum, int width) {
  for (int d = width / 2; d > 0; d >>= 1) {
    const f64 score = __shfl_xor_sync(GL_FULL, best->score, d);
    const u32 label = __shfl_xor_sync(GL_FULL, best->label, d);
    const u64 other = __shfl_xor_sync(GL_FULL, *sum, d);
    lv_improve(best, score, label);
    *sum = other > *sum ? other : *sum;
  }
}

// What the deciding kernels read: a level's graph and where everybody is.
struct LvState {
  f64 resolution;
  f64 twice;
  u32 unit;
  const u32* offsets;
  const u32* ends;
  const u64* weights;
  const u64* strengths;
  const u32* labels;
  const u64* totals;
};

GL_DEVICE f64 lv_pull(const LvState& s, u64 strength) {
  return __ddiv_rn(__dmul_rn(s.resolution, __ull2double_rn(strength)), s.twice);
}

// Entry `at` of an adjacency list: its weight, and the community of its end or LV_NONE for weight 0.
GL_DEVICE u64 lv_entry(const LvState& s, u64 at, u32* label) {
  const u64 w = s.unit ? 1 : s.weights[at];
  *label = w ? s.labels[s.ends[at]] : LV_NONE;
  return w;
}

// Where `v` goes, given the best other community and the weight of its edges into its own: a label, or
// LV_NONE to stay. Two nodes that are alone would swap for ever, so only the one with the larger label goes.
GL_DEVICE u32 lv_settle(const LvState& s, u32 v, const LvBest& best, u64 inside, u64* gain) {
  const u32 own = s.labels[v];
  const u64 strength = s.strengths[v], total = s.totals[own];
  const f64 stay = lv_score(inside, total - strength, lv_pull(s, strength));
  *gain = 0;
  if (best.label == LV_NONE || !(best.score > __dadd_rn(stay, 1e-9))) return LV_NONE;
  const bool alone = total == strength;
  if (alone && best.label > own && s.labels[best.label] == best.label &&
      s.totals[best.label] == s.strengths[best.label]) {
    return LV_NONE;
  }
  *gain = __double2ull_rz(__dmul_rn(__dsub_rn(best.score, stay), LV_GAIN_UNITS));
  return best.label;
}
