// Numbers of paths to nodes, step by step along the relationships of some types: what a pattern of which only the number of
// matches counts is made of. A step pulls: each node adds up the paths to the nodes that its relationships come from, so that
// nothing is added by atomics but for nodes with long lists, whose chunks are added one by one. Integers, so any order of
// additions gives the same. A number that leaves 63 bits sets a word of `state`, and the host takes the whole over.
#include "graph.cuh"

#define TALLY_TO 1u      // Only the nodes in `to` are reached.
#define TALLY_ONE 2u     // One path leads to each node.
#define TALLY_MARKS 4u   // One path leads to each node in `from`; without both there are numbers in `paths`.
#define TALLY_BEFORE_ONE 8u
#define TALLY_BEFORE_MARKS 16u
#define TALLY_NEXT 32u   // Loops are taken out of the counts of nodes instead of the total.
#define TALLY_FLOATS 64u // Cells are floats of 64 bits, all of them whole numbers, instead of integers.
#define TALLY_VALID 128u // Only the nodes in `valid` have a cell.

// Words of `state`.
#define TALLY_TOTAL 0u
#define TALLY_LOOPED 1u
#define TALLY_BEYOND 2u
#define TALLY_LEAST 3u
#define TALLY_FOUND 4u

// Eight lanes have a node whose list is at most so long, a warp one whose list is no longer than a chunk.
#define TALLY_SHORT 256u
#define TALLY_CHUNK 2048u
// A number of 63 bits and more, which stays what it is.
#define TALLY_TOP 0x8000000000000000ull
#define TALLY_BUCKETS 2048u

GL_DEVICE u64 tally_add(u64 a, u64 b) {
  const u64 sum = a + b;
  return ((a | b | sum) & TALLY_TOP) ? TALLY_TOP : sum;
}

GL_DEVICE u64 tally_times(u64 a, u64 b) {
  const u64 product = a * b;
  return __umul64hi(a, b) != 0 || (product & TALLY_TOP) ? TALLY_TOP : product;
}

// The sum over groups of `lanes` lanes. All 32 lanes must take part.
GL_DEVICE u64 tally_lanes_sum(u64 v, int lanes) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) {
    const u64 other = __shfl_xor_sync(GL_FULL, v, d);
    if (d < lanes) v = tally_add(v, other);
  }
  return v;
}

// Adds to a number that several threads add to.
GL_DEVICE void tally_put(u64* number, u64 part, u64* state) {
  if (part == 0) return;
  u64 sum = part;
  // Neither addend has the highest bit, so the sum is seen before it wraps.
  if (!(part & TALLY_TOP)) sum = atomicAdd(number, part) + part;
  if (sum & TALLY_TOP) atomicOr(state + TALLY_BEYOND, 1ull);
}

// How many paths lead to a node, by the way that they are known.
GL_DEVICE u64 tally_at(bool one, bool marks, const u32* words, const u64* paths, u32 v) {
  return one ? 1ull : marks ? (u64)graph_bit(words, v) : paths[v];
}

// The sums of `value` over the lists of rows, four rows a warp: `done(row, sum)` is called by one lane of each. `takes(row)`
// says whether the list counts; those longer than a chunk are passed over, with a sum of 0. All threads must come here.
template <class Takes, class Value, class Done>
GL_DEVICE void tally_rows(u32 n, const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
                          Takes takes, Value value, Done done) {
  const u32 part = gl_lane() & 7u;
  for (u64 base = gl_first_warp() * 4; base < n; base += gl_step_warps() * 4) {
    const u64 v = base + gl_lane() / 8;
    u32 begin = 0, end = 0;
    if (v < n && takes((u32)v)) {
      begin = offsets[v];
      end = offsets[v + 1];
    }
    const u32 length = end - begin;
    u64 sum = 0;
    if (length <= TALLY_SHORT) {
#pragma unroll 4
      for (u32 p = begin + part; p < end; p += 8) sum = tally_add(sum, value(ends[p]));
    }
    sum = tally_lanes_sum(sum, 8);
    const bool is_long = length > TALLY_SHORT && length <= TALLY_CHUNK;
    u32 left = __ballot_sync(GL_FULL, is_long && part == 0);
    while (left != 0) {
      const u32 lane = (u32)__ffs((int)left) - 1u;
      left &= left - 1u;
      const u32 first = __shfl_sync(GL_FULL, begin, lane), last = __shfl_sync(GL_FULL, end, lane);
      u64 more = 0;
#pragma unroll 4
      for (u32 p = first + gl_lane(); p < last; p += 32) more = tally_add(more, value(ends[p]));
      more = tally_lanes_sum(more, 32);
      if (gl_lane() == lane) sum = more;
    }
    if (v < n && part == 0) done((u32)v, sum);
  }
}

// The sums of `value` over the chunks of lists longer than one, a warp a chunk: `done(row, sum)` is called by one lane of each.
template <class Value, class Done>
GL_DEVICE void tally_chunks(u32 chunks, const u32* GL_RESTRICT rows, const u32* GL_RESTRICT begins,
                            const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
                            Value value, Done done) {
  for (u64 c = gl_first_warp(); c < chunks; c += gl_step_warps()) {
    const u32 row = rows[c], begin = begins[c];
    const u32 end = min(offsets[row + 1], begin + TALLY_CHUNK);
    u64 sum = 0;
#pragma unroll 4
    for (u32 p = begin + gl_lane(); p < end; p += 32) sum = tally_add(sum, value(ends[p]));
    sum = tally_lanes_sum(sum, 32);
    if (gl_lane() == 0) done(row, sum);
  }
}

// Adds the number of relationships at the marked nodes to sum[0]: all `m`, where the marks leave none out. Bytes: 4 a node and
// a bit. 256 threads a block, any number of blocks.
//@ offsets: n + 1, marks: div_up(n, 32), sum: 1
GL_KERNEL void GL_BOUNDS(256)
    tally_covered(u32 n, const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT marks, u64* sum) {
  u64 own = 0;
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    if (graph_bit(marks, (u32)v)) own += offsets[v + 1] - offsets[v];
  }
  own = block_sum(own);
  if (threadIdx.x == 0 && own != 0) atomicAdd(sum, own);
}

// The paths to each node that one more step makes; `offsets` and `ends` are the lists of the nodes that the step comes from.
// Where a single path leads to each of these that has relationships (covered[0] is `m`, or TALLY_ONE), the length of its list
// is the number of a node. Lists longer than a chunk are left to tally_pull_chunks, but for such numbers. Bytes: 12 a node,
// and 4 and a cached sector for each relationship. 256 threads a block, any number of blocks.
//@ offsets: n + 1, ends: m, to: *, from: *, paths: *, covered: 1, counts: n, state: 8
GL_KERNEL void GL_BOUNDS(256)
    tally_pull(u32 n, u32 m, u32 flags, const u32* GL_RESTRICT offsets, const u32* GL_RESTRICT ends,
               const u32* GL_RESTRICT to, const u32* GL_RESTRICT from,
               const u64* GL_RESTRICT paths, const u64* GL_RESTRICT covered, u64* GL_RESTRICT counts,
               u64* state) {
  const bool any = !(flags & TALLY_TO);
  const bool lengths = (flags & TALLY_ONE) || ((flags & TALLY_MARKS) && covered[0] == m);
  const auto takes = [&](u32 v) { return any || graph_bit(to, v); };
  const auto done = [&](u32 v, u64 sum) {
    counts[v] = sum;
    if (sum & TALLY_TOP) atomicOr(state + TALLY_BEYOND, 1ull);
  };
  if (lengths) {
    for (u64 v = gl_first(); v < n; v += gl_step()) {
      counts[v] = takes((u32)v) ? offsets[v + 1] - offsets[v] : 0u;
    }
  } else if (flags & TALLY_MARKS) {
    tally_rows(n, offsets, ends, takes, [&](u32 u) { return (u64)graph_bit(from, u); }, done);
  } else {
    tally_rows(n, offsets, ends, takes, [&](u32 u) { return paths[u]; }, done);
  }
}

// The same of the lists longer than a chunk, after tally_pull: chunk c is of node rows[c] and begins at begins[c]. Bytes: 4 and
// a cached sector for each relationship. 256 threads a block, any number of blocks.
//@ rows: chunks, begins: chunks, offsets: n + 1, ends: m, to: *, from: *, paths: *, covered: 1, counts: n, state: 8
GL_KERNEL void GL_BOUNDS(256)
    tally_pull_chunks(u32 chunks, u32 n, u32 m, u32 flags, const u32* GL_RESTRICT rows,
                      const u32* GL_RESTRICT begins, const u32* GL_RESTRICT offsets,
                      const u32* GL_RESTRICT ends, const u32* GL_RESTRICT to,
                      const u32* GL_RESTRICT from, const u64* GL_RESTRICT paths,
                      const u64* GL_RESTRICT covered, u64* counts, u64* state) {
  const bool any = !(flags & TALLY_TO);
  const bool lengths = (flags & TALLY_ONE) || ((flags & TALLY_MARKS) && covered[0] == m);
  const auto done = [&](u32 v, u64 sum) {
    if (any || graph_bit(to, v)) tally_put(counts + v, sum, state);
  };
  if (lengths) {
    // tally_pull has them.
  } else if (flags & TALLY_MARKS) {
    const auto value = [&](u32 u) { return (u64)graph_bit(from, u); };
    tally_chunks(chunks, rows, begins, offsets, ends, value, done);
  } else {
    tally_chunks(chunks, rows, begins, offsets, ends, [&](u32 u) { return paths[u]; }, done);
  }
}

// Adds all paths that one more step makes to the total: `offsets` and `ends` are the lists of the nodes that the step leads to.
// Where the nodes in `to` have all `m` relationships (covered[0] is `m`, or no TALLY_TO), a list counts with its length. Bytes:
// 12 a node, and 4 and a cached sector for each relationship of a node that paths lead to. 256 threads a block, any number of
// blocks.
//@ offsets: n + 1, ends: m, to: *, from: *, paths: *, covered: 1, state: 8
GL_KERNEL void GL_BOUNDS(256)
    tally_total(u32 n, u32 m, u32 flags, const u32* GL_RESTRICT offsets,
                const u32* GL_RESTRICT ends, const u32* GL_RESTRICT to,
                const u32* GL_RESTRICT from, const u64* GL_RESTRICT paths,
                const u64* GL_RESTRICT covered, u64* state) {
  __shared__ u64 parts[32];
  const bool lengths = !(flags & TALLY_TO) || covered[0] == m;
  const bool one = flags & TALLY_ONE, marks = flags & TALLY_MARKS;
  u64 own = 0;
  const auto done = [&](u32 v, u64 ends_of) {
    if (ends_of != 0) own = tally_add(own, tally_times(tally_at(one, marks, from, paths, v), ends_of));
  };
  if (lengths) {
    for (u64 v = gl_first(); v < n; v += gl_step()) done((u32)v, offsets[v + 1] - offsets[v]);
  } else {
    const auto takes = [&](u32 v) { return tally_at(one, marks, from, paths, v) != 0; };
    tally_rows(n, offsets, ends, takes, [&](u32 u) { return (u64)graph_bit(to, u); }, done);
  }
  own = tally_lanes_sum(own, 32);
  if (gl_lane() == 0) parts[gl_warp()] = own;
  __syncthreads();
  if (gl_warp() == 0) {
    own = tally_lanes_sum(gl_lane() < gl_warps() ? parts[gl_lane()] : 0ull, 32);
    if (gl_lane() == 0) tally_put(state + TALLY_TOTAL, own, state);
  }
}

// The same of the lists longer than a chunk, after tally_total. Bytes: 4 and a cached sector for each relationship. 256 threads
// a block, any number of blocks.
//@ rows: chunks, begins: chunks, offsets: n + 1, ends: m, to: *, from: *, paths: *, covered: 1, state: 8
GL_KERNEL void GL_BOUNDS(256)
    tally_total_chunks(u32 chunks, u32 n, u32 m, u32 flags, const u32* GL_RESTRICT rows,
                       const u32* GL_RESTRICT begins, const u32* GL_RESTRICT offsets,
                       const u32* GL_RESTRICT ends, const u32* GL_RESTRICT to,
                       const u32* GL_RESTRICT from, const u64* GL_RESTRICT paths,
                       const u64* GL_RESTRICT covered, u64* state) {
  const bool one = flags & TALLY_ONE, marks = flags & TALLY_MARKS;
  if ((flags & TALLY_TO) && covered[0] != m) {
    const auto value = [&](u32 u) { return (u64)graph_bit(to, u); };
    tally_chunks(chunks, rows, begins, offsets, ends, value, [&](u32 v, u64 ends_of) {
      const u64 own = tally_at(one, marks, from, paths, v);
      if (ends_of != 0) tally_put(state + TALLY_TOTAL, tally_times(own, ends_of), state);
    });
  }
}

// Paths whose last two relationships are one, which must differ: loops[i] of them at node nodes[i] for each path of the step
// before. They are taken out of the counts (TALLY_NEXT) or added up beside the total. `from` and `paths` are what leads to the
// nodes, `before_from` and `before` what led to them a step earlier. Any grid.
//@ nodes: count, loops: count, to: *, from: *, paths: *, before_from: *, before: *, counts: *, state: 8
GL_KERNEL void GL_BOUNDS(256)
    tally_loops(u32 count, u32 flags, const u32* GL_RESTRICT nodes, const u32* GL_RESTRICT loops,
                const u32* GL_RESTRICT to, const u32* GL_RESTRICT from,
                const u64* GL_RESTRICT paths, const u32* GL_RESTRICT before_from,
                const u64* GL_RESTRICT before, u64* counts, u64* state) {
  for (u64 i = gl_first(); i < count; i += gl_step()) {
    const u32 v = nodes[i];
    const bool taken = !(flags & TALLY_TO) || graph_bit(to, v);
    if (!taken || tally_at(flags & TALLY_ONE, flags & TALLY_MARKS, from, paths, v) == 0) continue;
    const u64 earlier =
        tally_at(flags & TALLY_BEFORE_ONE, flags & TALLY_BEFORE_MARKS, before_from, before, v);
    const u64 looped = tally_times(earlier, loops[i]);
    if (flags & TALLY_NEXT) {
      counts[v] = counts[v] > looped ? counts[v] - looped : 0ull;
    } else {
      tally_put(state + TALLY_LOOPED, looped, state);
    }
  }
}

// The nodes that any path leads to, as a mask. Bytes: 8 a node, and a bit written. Whole warps, any grid.
//@ counts: n, marks: div_up(n, 32)
GL_KERNEL void GL_BOUNDS(256)
    tally_marks(u32 n, const u64* GL_RESTRICT counts, u32* GL_RESTRICT marks) {
  for (u64 base = gl_first() - gl_lane(); base < n; base += gl_step()) {
    const u64 v = base + gl_lane();
    const u32 word = __ballot_sync(GL_FULL, v < n && counts[v] != 0);
    if (gl_lane() == 0) marks[base / 32] = word;
  }
}

// Numbers below 32 have a bucket each, greater ones share one with those of the same highest six bits.
GL_DEVICE u32 tally_bucket(u64 count) {
  if (count < 32) return (u32)count;
  const u32 high = 63u - (u32)__clzll((i64)count);
  return (high - 4u) * 32u + ((u32)(count >> (high - 5u)) & 31u);
}

// The least number of a bucket.
GL_DEVICE u64 tally_bucket_least(u32 bucket) {
  if (bucket < 32) return bucket;
  return (u64)(32u + (bucket & 31u)) << (bucket / 32u - 1u);
}

// Adds the nodes with paths by the bucket of their number. Bytes: 8 a node. 256 threads a block, any number of blocks.
//@ counts: n, buckets: 2048
GL_KERNEL void GL_BOUNDS(256)
    tally_histogram(u32 n, const u64* GL_RESTRICT counts, u32* buckets) {
  __shared__ u32 own[TALLY_BUCKETS];
  for (u32 b = threadIdx.x; b < TALLY_BUCKETS; b += blockDim.x) own[b] = 0;
  __syncthreads();
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    const u64 count = counts[v];
    if (count != 0) atomicAdd(own + tally_bucket(count & ~TALLY_TOP), 1u);
  }
  __syncthreads();
  for (u32 b = threadIdx.x; b < TALLY_BUCKETS; b += blockDim.x) {
    if (own[b] != 0) atomicAdd(buckets + b, own[b]);
  }
}

// The least number of the bucket in which the `wanted`-th greatest number is, or 1 where there are fewer. One block of 256
// threads.
//@ buckets: 2048, state: 8
GL_KERNEL void GL_BOUNDS(256) tally_least(u32 wanted, const u32* GL_RESTRICT buckets, u64* state) {
  const u32 each = TALLY_BUCKETS / 256u;
  const u32 top = TALLY_BUCKETS - 1u - threadIdx.x * each;
  u32 sum = 0, total = 0;
  for (u32 k = 0; k < each; ++k) sum += buckets[top - k];
  const u32 above = block_scan_exclusive_u32(sum, &total);
  if (threadIdx.x == 0 && total < wanted) state[TALLY_LEAST] = 1;
  if (above < wanted && above + sum >= wanted) {
    u32 seen = above, bucket = top;
    for (u32 k = 0; k < each && seen < wanted; ++k) {
      bucket = top - k;
      seen += buckets[bucket];
    }
    state[TALLY_LEAST] = tally_bucket_least(bucket);
  }
}

// The nodes whose number is not below state[TALLY_LEAST] and not 0, each followed by its number, in any order; their count is
// state[TALLY_FOUND], of which the first `room` are written. Bytes: 8 a node, 16 written for each of them. 256 threads a block,
// any number of blocks.
//@ counts: n, list: 2 * room, state: 8
GL_KERNEL void GL_BOUNDS(256)
    tally_list(u32 n, u32 room, const u64* GL_RESTRICT counts, u64* GL_RESTRICT list, u64* state) {
  const u64 least = state[TALLY_LEAST];
  for (u64 base = gl_first() - gl_lane(); base < n; base += gl_step()) {
    const u64 v = base + gl_lane();
    const u64 count = v < n ? counts[v] : 0ull;
    const bool take = count != 0 && count >= least;
    const u32 takers = __ballot_sync(GL_FULL, take);
    if (takers != 0) {
      u64 at = 0;
      if (gl_lane() == 0) at = atomicAdd(state + TALLY_FOUND, (u64)__popc(takers));
      at = __shfl_sync(GL_FULL, at, 0) + (u64)__popc(takers & ((1u << gl_lane()) - 1u));
      if (take && at < room) {
        list[2 * at] = v;
        list[2 * at + 1] = count;
      }
    }
  }
}

// The numbers of a column in the form of paths: to each node the number of its cell above `least`, and none to nodes without a
// cell or outside `to`; and the nodes that have one, as a mask. Bytes: 16 a node, and three bits. Whole warps, any grid.
//@ to: *, valid: *, cells: n, values: n, valued: div_up(n, 32)
GL_KERNEL void GL_BOUNDS(256)
    tally_values(u32 n, u32 flags, u64 least, const u32* GL_RESTRICT to,
                 const u32* GL_RESTRICT valid, const u64* GL_RESTRICT cells,
                 u64* GL_RESTRICT values, u32* GL_RESTRICT valued) {
  for (u64 base = gl_first() - gl_lane(); base < n; base += gl_step()) {
    const u64 v = base + gl_lane();
    const bool has = v < n && (!(flags & TALLY_TO) || graph_bit(to, (u32)v)) &&
                     (!(flags & TALLY_VALID) || graph_bit(valid, (u32)v));
    u64 value = 0;
    if (has) {
      const u64 cell = cells[v];
      value = ((flags & TALLY_FLOATS) ? (u64)(i64)__longlong_as_double((i64)cell) : cell) - least;
    }
    if (v < n) values[v] = value;
    const u32 word = __ballot_sync(GL_FULL, has);
    if (gl_lane() == 0) valued[base / 32] = word;
  }
}

// The nodes with paths from which a further step leads to any row, each as four words: the node, its paths, the rows with the
// number of those with a value in the low half, and the sum of what these are above the least; in any order. Their count is
// state[TALLY_FOUND], of which the first `room` are written. Bytes: 32 a node, 32 written for each of them. 256 threads a block,
// any number of blocks.
//@ from: *, paths: *, rows: n, values: n, sums: n, list: 4 * room, state: 8
GL_KERNEL void GL_BOUNDS(256)
    tally_sums(u32 n, u32 room, u32 flags, const u32* GL_RESTRICT from,
               const u64* GL_RESTRICT paths, const u64* GL_RESTRICT rows, const u64* GL_RESTRICT values,
               const u64* GL_RESTRICT sums, u64* GL_RESTRICT list, u64* state) {
  for (u64 base = gl_first() - gl_lane(); base < n; base += gl_step()) {
    const u64 v = base + gl_lane();
    const u64 all = v < n ? rows[v] : 0ull;
    const u64 count =
        all != 0 ? tally_at(flags & TALLY_ONE, flags & TALLY_MARKS, from, paths, (u32)v) : 0ull;
    const u32 takers = __ballot_sync(GL_FULL, count != 0);
    if (takers != 0) {
      u64 at = 0;
      if (gl_lane() == 0) at = atomicAdd(state + TALLY_FOUND, (u64)__popc(takers));
      at = __shfl_sync(GL_FULL, at, 0) + (u64)__popc(takers & ((1u << gl_lane()) - 1u));
      if (count != 0 && at < room) {
        list[4 * at] = v;
        list[4 * at + 1] = count;
        list[4 * at + 2] = all << 32 | values[v];
        list[4 * at + 3] = sums[v];
      }
    }
  }
}
