// What a level begins with. The lists of both directions come joined and without loops; here their weights
// become whole numbers.
#include "louvain.cuh"

// The weight of an edge table row as the CPU reads it: what is not a number counts as 1, a negative one as 0.
GL_DEVICE f64 lv_clean(f32 w) {
  if (w != w) return 1.0;
  return (f64)(w < 0.0f ? 0.0f : w > 3.402823466e38f ? 3.402823466e38f : w);
}

// The weight of a row; rows beyond those given count as 1.
GL_DEVICE f32 lv_weight(const f32* weights, u32 given, u32 row) {
  return row < given ? weights[row] : 1.0f;
}

GL_DEVICE u64 lv_units(f32 w, f64 scale) {
  return __double2ull_rz(__dadd_rn(__dmul_rn(lv_clean(w), scale), 0.5));
}

// Partial sums of the weights of all edges, one a block. Moves 4 bytes an edge in order and 4 at random.
//@ rows: m, weights: given, sums: blocks
GL_KERNEL void GL_BOUNDS(256) lv_weight_sums(u32 m, u32 given, const u32* GL_RESTRICT rows,
                                             const f32* GL_RESTRICT weights, f64* GL_RESTRICT sums) {
  f64 sum = 0.0;
  for (u64 i = gl_first(); i < m; i += gl_step()) sum += lv_clean(lv_weight(weights, given, rows[i]));
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Weights of the entries of the joined lists as whole numbers. Moves 12 bytes an entry in order and 4 at random.
//@ rows: entries, weights: given, units: entries
GL_KERNEL void GL_BOUNDS(256) lv_weigh(u32 entries, u32 given, f64 scale, const u32* GL_RESTRICT rows,
                                       const f32* GL_RESTRICT weights, u64* GL_RESTRICT units) {
  for (u64 i = gl_first(); i < entries; i += gl_step()) {
    units[i] = lv_units(lv_weight(weights, given, rows[i]), scale);
  }
}

// Twice the weight of each node's loops, from their number when there are no weights (`unit`), else from the
// out-lists of the nodes that have any: a warp a node.
//@ counts: n, out_offsets: n + 1, out_dst: *, out_row: *, weights: given, loops: n
GL_KERNEL void GL_BOUNDS(256) lv_weigh_loops(u32 n, u32 given, u32 unit, f64 scale,
                                             const u32* GL_RESTRICT counts,
                                             const u32* GL_RESTRICT out_offsets,
                                             const u32* GL_RESTRICT out_dst,
                                             const u32* GL_RESTRICT out_row,
                                             const f32* GL_RESTRICT weights, u64* GL_RESTRICT loops) {
  for (u64 v = gl_first_warp(); v < n; v += gl_step_warps()) {
    u64 weight = counts[v];
    if (!unit && weight != 0) {
      u64 sum = 0;
      const u32 last = out_offsets[v + 1];
      for (u64 at = (u64)out_offsets[v] + gl_lane(); at < last; at += GL_WARP) {
        if (out_dst[at] == v) sum += lv_units(lv_weight(weights, given, out_row[at]), scale);
      }
      weight = 2 * warp_sum(sum);
    }
    if (gl_lane() == 0) loops[v] = weight;
  }
}

// Begins a level: everybody is alone and awake, and gets the sub-round of its hash. Adds the strengths into
// `twice`, and counts the classes. A warp a row. Reads 8 bytes an arc with weights, none without; writes 26 bytes
// a node.
//@ offsets: n + 1, weights: *, loops: n, strengths: n, totals: n, labels: n, awake: n, parts: n,
//@ twice: 1, classes: 6
GL_KERNEL void GL_BOUNDS(256) lv_open(u32 n, u32 unit, u64 seed, u32 part_count,
                                      const u32* GL_RESTRICT offsets, const u64* GL_RESTRICT weights,
                                      const u64* GL_RESTRICT loops, u64* GL_RESTRICT strengths,
                                      u64* GL_RESTRICT totals, u32* GL_RESTRICT labels,
                                      u8* GL_RESTRICT awake, u8* GL_RESTRICT parts,
                                      u64* GL_RESTRICT twice, u32* GL_RESTRICT classes) {
  __shared__ u32 counts[LV_CLASSES];
  if (threadIdx.x < LV_CLASSES) counts[threadIdx.x] = 0;
  __syncthreads();
  u64 all = 0;
  for (u64 v = gl_first_warp(); v < n; v += gl_step_warps()) {
    const u32 first = offsets[v], last = offsets[v + 1];
    u64 sum = 0;
    if (!unit) {
      for (u64 at = (u64)first + gl_lane(); at < last; at += GL_WARP) sum += weights[at];
      sum = warp_sum(sum);
    }
    if (gl_lane() == 0) {
      const u64 strength = loops[v] + (unit ? (u64)(last - first) : sum);
      all += strength;
      strengths[v] = strength;
      totals[v] = strength;
      labels[v] = (u32)v;
      awake[v] = 1;
      parts[v] = (u8)(hash64(seed, 78, v) % part_count);
      atomicAdd(&counts[lv_class(last - first)], 1u);
    }
  }
  all = block_sum(all);
  if (threadIdx.x == 0 && all != 0) atomicAdd(twice, all);
  __syncthreads();
  if (threadIdx.x < LV_CLASSES && counts[threadIdx.x] != 0) {
    atomicAdd(&classes[threadIdx.x], counts[threadIdx.x]);
  }
}

// Lists the nodes whose rows are wide with their lengths, in any order; `count` begins as 0. Reads 4 bytes a node.
//@ offsets: n + 1, nodes: most, lengths: most, count: 1
GL_KERNEL void GL_BOUNDS(256) lv_list_wide(u32 n, u32 most, const u32* GL_RESTRICT offsets,
                                           u32* GL_RESTRICT nodes, u32* GL_RESTRICT lengths,
                                           u32* GL_RESTRICT count) {
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    const u32 length = offsets[v + 1] - offsets[v];
    if (lv_class(length) != LV_WIDE) continue;
    const u32 at = atomicAdd(count, 1u);
    if (at >= most) continue;
    nodes[at] = (u32)v;
    lengths[at] = length;
  }
}
