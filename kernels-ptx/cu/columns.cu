#include "common.cuh"
// Typed columns: filters, reductions, histograms, segments, gathers. A column is an array of 4- or
// 8-byte cells; its dtype is a number that is the same for a whole launch, so that a switch on it never
// divides a warp. A cell is null when its validity bit is 0 or when it is NaN. `select` masks take the
// rows that count; with has_select = 0 all rows count and the pointer is not read.
// Every kernel is right for any number of blocks; those that need a block size state it.

#define COL_I64 0
#define COL_I32 1
#define COL_U32 2
#define COL_F64 3
#define COL_F32 4

#define COL_RANGE 0   // low <= cell <= high
#define COL_LIST 1    // the cell is in a sorted list
#define COL_LOOKUP 2  // the bit of the code in a bitmap is set
#define COL_BITS 3    // the column is one bit a row
#define COL_ALL 4     // every row
#define COL_AND 5     // of two earlier results
#define COL_OR 6

#define COL_NEGATE 1  // the test fails; NaN still does not match
#define COL_VALID 2   // and the cell is valid
#define COL_INVERT 4  // complement of the word, after the validity
#define COL_GUARD 8   // nothing to do where the result in slot b has no row

#define COL_SLOTS 12
#define COL_GROUP 1024  // rows of a warp at a time: a word of results a lane
#define COL_FLIGHT 8    // cells of a thread in flight

GL_DEVICE void col_value(u64 bits, i64* v) { *v = (i64)bits; }
GL_DEVICE void col_value(u64 bits, i32* v) { *v = (i32)(u32)bits; }
GL_DEVICE void col_value(u64 bits, u32* v) { *v = (u32)bits; }
GL_DEVICE void col_value(u64 bits, f64* v) { *v = __longlong_as_double((i64)bits); }
GL_DEVICE void col_value(u64 bits, f32* v) { *v = __uint_as_float((u32)bits); }

template <class T>
struct ColRange {
  T low, high;
  bool negate;
  __device__ __forceinline__ bool holds(T v) const { return (v >= low && v <= high) != negate && v == v; }
};
template <class T>
struct ColList {
  const T* list;
  u32 len;
  bool negate;
  __device__ __forceinline__ bool holds(T v) const {
    u32 first = 0, left = len;
    while (left > 0) {
      const u32 half = left / 2;
      const bool after = list[first + half] < v;
      first = after ? first + half + 1 : first;
      left = after ? left - half - 1 : half;
    }
    return (first < len && list[first] == v) != negate && v == v;
  }
};
struct ColLookup {
  const u32* bits;
  u32 len;
  bool negate;
  __device__ __forceinline__ bool holds(u32 v) const { return (v < len && (bits[v / 32] >> (v & 31u) & 1u) != 0) != negate; }
};

// Tests up to 1024 rows from `cells` on; lane l gets the word of the rows 32 l .. 32 l + 31. In each
// step the warp reads 32 neighbouring cells, and the ballot is their word.
template <class T, class Test>
GL_DEVICE u32 col_test(const T* cells, u32 left, const Test& test) {
  u32 mine = 0;
#pragma unroll 1
  for (u32 r = 0; r * 32 < left; r += COL_FLIGHT) {
    T v[COL_FLIGHT];
#pragma unroll
    for (u32 j = 0; j < COL_FLIGHT; ++j) {
      const u32 i = (r + j) * 32 + gl_lane();
      v[j] = i < left ? cells[i] : (T)0;
    }
#pragma unroll
    for (u32 j = 0; j < COL_FLIGHT; ++j) {
      const u32 word = __ballot_sync(GL_FULL, test.holds(v[j]));
      if (gl_lane() == r + j) mine = word;
    }
  }
  return mine;
}

// One step of a filter's program, 8 words: op | dtype << 8 | column << 16 | flags << 24,
// to | a << 8 | b << 16, low and high as 64 bits each, offset and length of a list in the program.
struct ColStep {
  const uint4* words;
  u32 head, slots;
  __device__ __forceinline__ u32 op() const { return head & 255u; }
  __device__ __forceinline__ u32 dtype() const { return head >> 8 & 255u; }
  __device__ __forceinline__ u32 column() const { return head >> 16 & 255u; }
  __device__ __forceinline__ u32 flags() const { return head >> 24; }
  __device__ __forceinline__ u32 to() const { return slots & 255u; }
  __device__ __forceinline__ u32 a() const { return slots >> 8 & 255u; }
  __device__ __forceinline__ u32 b() const { return slots >> 16 & 255u; }
};
GL_DEVICE ColStep col_step(const u32* program, u32 s) {
  ColStep t;
  t.words = reinterpret_cast<const uint4*>(program) + 2 * s;
  t.head = t.words[0].x;
  t.slots = t.words[0].y;
  return t;
}

template <class T>
GL_DEVICE u32 col_step_typed(const ColStep& t, const u32* program, const u32* words, u64 base, u32 left) {
  const T* cells = reinterpret_cast<const T*>(words) + base;
  const bool negate = (t.flags() & COL_NEGATE) != 0;
  const uint4 x = t.words[0], y = t.words[1];
  if (t.op() == COL_LIST) {
    const ColList<T> test = {reinterpret_cast<const T*>(program + y.z), y.w, negate};
    return col_test(cells, left, test);
  }
  ColRange<T> test;
  col_value((u64)x.w << 32 | x.z, &test.low);
  col_value((u64)y.y << 32 | y.x, &test.high);
  test.negate = negate;
  return col_test(cells, left, test);
}

GL_DEVICE u32 col_step_cells(const ColStep& t, const u32* program, const u32* words, u64 base, u32 left) {
  if (t.op() == COL_LOOKUP) {
    const uint4 y = t.words[1];
    const ColLookup test = {program + y.z, y.w, (t.flags() & COL_NEGATE) != 0};
    return col_test(words + base, left, test);
  }
  switch (t.dtype()) {
    case COL_I64: return col_step_typed<i64>(t, program, words, base, left);
    case COL_I32: return col_step_typed<i32>(t, program, words, base, left);
    case COL_U32: return col_step_typed<u32>(t, program, words, base, left);
    case COL_F64: return col_step_typed<f64>(t, program, words, base, left);
    default: return col_step_typed<f32>(t, program, words, base, left);
  }
}

GL_DEVICE const u32* col_pick(u32 k, const u32* a, const u32* b, const u32* c, const u32* d, const u32* e,
                              const u32* f, const u32* g, const u32* h) {
  switch (k) {
    case 0: return a;
    case 1: return b;
    case 2: return c;
    case 3: return d;
    case 4: return e;
    case 5: return f;
    case 6: return g;
    default: return h;
  }
}

// Runs a filter program of `steps` steps over all rows; the result of slot 0 is the mask. c0..c7 are the
// cells of up to eight columns, v0..v7 their validity bits. A warp takes 1024 rows through the whole
// program, so a step is decoded once for them and the mask words of the steps stay in shared memory, one
// word a lane. Columns behind a guard without rows are not read.
// Block: 256 threads. Bytes: the widths of the columns and their validity bits read, n / 8 written.
//@ program: 8 * steps, c0: *, c1: *, c2: *, c3: *, c4: *, c5: *, c6: *, c7: *,
//@ v0: *, v1: *, v2: *, v3: *, v4: *, v5: *, v6: *, v7: *, out: div_up(n, 32)
GL_KERNEL void GL_BOUNDS(256)
col_filter(u32 n, u32 steps, const u32* GL_RESTRICT program, const u32* c0, const u32* c1, const u32* c2,
           const u32* c3, const u32* c4, const u32* c5, const u32* c6, const u32* c7, const u32* v0,
           const u32* v1, const u32* v2, const u32* v3, const u32* v4, const u32* v5, const u32* v6,
           const u32* v7, u32* GL_RESTRICT out) {
  __shared__ u32 results[8 * COL_SLOTS * 32];
  u32* own = results + gl_warp() * COL_SLOTS * 32 + gl_lane();
  const u64 words = ((u64)n + 31) / 32;
  for (u64 base = gl_first_warp() * COL_GROUP; base < n; base += gl_step_warps() * COL_GROUP) {
    const u32 left = n - base < COL_GROUP ? (u32)(n - base) : (u32)COL_GROUP;
    const u64 w = base / 32 + gl_lane();
    for (u32 s = 0; s < steps; ++s) {
      const ColStep t = col_step(program, s);
      u32 word = 0xffffffffu;
      if (t.op() == COL_AND || t.op() == COL_OR) {
        const u32 a = own[t.a() * 32], b = own[t.b() * 32];
        word = t.op() == COL_AND ? a & b : a | b;
      } else if ((t.flags() & COL_GUARD) != 0 && __any_sync(GL_FULL, own[t.b() * 32] != 0) == 0) {
        word = 0;
      } else {
        if (t.op() == COL_BITS) {
          const u32* bits = col_pick(t.column(), c0, c1, c2, c3, c4, c5, c6, c7);
          word = w < words ? bits[w] : 0u;
          if ((t.flags() & COL_NEGATE) != 0) word = ~word;
        } else if (t.op() != COL_ALL) {
          const u32* cells = col_pick(t.column(), c0, c1, c2, c3, c4, c5, c6, c7);
          word = col_step_cells(t, program, cells, base, left);
        }
        if ((t.flags() & COL_VALID) != 0) {
          const u32* valid = col_pick(t.column(), v0, v1, v2, v3, v4, v5, v6, v7);
          word &= w < words ? valid[w] : 0u;
        }
        if ((t.flags() & COL_INVERT) != 0) word = ~word;
      }
      own[t.to() * 32] = word;
    }
    const u32 live = left - gl_lane() * 32 >= 32 ? 0xffffffffu : (1u << (left & 31u)) - 1u;
    if (w < words) out[w] = own[0] & live;
  }
}

GL_DEVICE bool col_selected(u32 has_select, const u32* select, u64 i) {
  return has_select == 0 || (select[i / 32] >> (i & 31u) & 1u) != 0;
}

// What a thread knows of the cells it has seen. Integer sums are kept as two sums, of the low 32 bits
// and of the rest, so that they are exact; `high` is unused for floats.
template <class T, class W>
struct ColSeen {
  u64 count;
  W sum;
  i64 high;
  W least, most;
};
GL_DEVICE void col_see(ColSeen<i64, i64>* s, i64 v) {
  s->sum += (i64)(u32)v;
  s->high += v >> 32;
}
GL_DEVICE void col_see(ColSeen<f64, f64>* s, f64 v) { s->sum += v; }

template <class W>
GL_DEVICE u64 col_bits(W v);
template <>
__device__ __forceinline__ u64 col_bits<i64>(i64 v) { return (u64)v; }
template <>
__device__ __forceinline__ u64 col_bits<f64>(f64 v) { return (u64)__double_as_longlong(v); }

template <class T, class W>
GL_DEVICE void col_reduce_cells(u32 n, u32 parts, W top, W bottom, u32 has_select, const u32* words,
                                const u32* select, u64* out, W* shared) {
  const T* cells = reinterpret_cast<const T*>(words);
  for (u32 part = blockIdx.x; part < parts; part += gridDim.x) {
    ColSeen<W, W> seen = {0, 0, 0, top, bottom};
    for (u64 tile = (u64)part * 2048; tile < n; tile += (u64)parts * 2048) {
      T v[COL_FLIGHT];
      bool use[COL_FLIGHT];
#pragma unroll
      for (u32 k = 0; k < COL_FLIGHT; ++k) {
        const u64 i = tile + k * 256 + threadIdx.x;
        v[k] = i < n ? cells[i] : (T)0;
        use[k] = i < n && col_selected(has_select, select, i);
      }
#pragma unroll
      for (u32 k = 0; k < COL_FLIGHT; ++k)
        if (use[k] && v[k] == v[k]) {
          const W x = (W)v[k];
          seen.count += 1;
          col_see(&seen, x);
          seen.least = x < seen.least ? x : seen.least;
          seen.most = seen.most < x ? x : seen.most;
        }
    }
    seen.count = block_sum(seen.count);
    seen.sum = block_sum(seen.sum);
    seen.high = block_sum(seen.high);
    const W least = warp_min(seen.least), most = warp_max(seen.most);
    if (gl_lane() == 0) shared[gl_warp()] = least, shared[32 + gl_warp()] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
      W low = shared[0], high = shared[32];
      for (u32 w = 1; w < gl_warps(); ++w) {
        low = shared[w] < low ? shared[w] : low;
        high = high < shared[32 + w] ? shared[32 + w] : high;
      }
      out[part] = seen.count;
      out[(u64)parts + part] = col_bits<W>(seen.sum);
      out[2 * (u64)parts + part] = (u64)seen.high;
      out[3 * (u64)parts + part] = col_bits<W>(low);
      out[4 * (u64)parts + part] = col_bits<W>(high);
    }
    __syncthreads();
  }
}

// Count, sum, least and greatest of the selected cells that are not NaN, as `parts` partial results that
// the host adds up in order: out holds five rows of `parts` words: the counts; the sums (f64 bits, or
// the sums of the low 32 bits of integers); the sums of the integers' higher bits; the least; the greatest
// (f64 bits or i64). The parts are fixed sets of rows, so float sums do not depend on the grid.
// Block: 256 threads. Bytes: the column and n / 8 of the mask read.
//@ cells: *, select: *, out: 5 * parts
GL_KERNEL void GL_BOUNDS(256)
col_reduce(u32 n, u32 parts, u32 dtype, u32 has_select, const u32* GL_RESTRICT cells,
           const u32* GL_RESTRICT select, u64* GL_RESTRICT out) {
  __shared__ i64 integers[64];
  __shared__ f64 floats[64];
  const i64 top = 0x7fffffffffffffffll;
  const f64 infinity = (f64)__uint_as_float(0x7f800000u);
  switch (dtype) {
    case COL_I64:
      col_reduce_cells<i64, i64>(n, parts, top, -top - 1, has_select, cells, select, out, integers);
      break;
    case COL_I32:
      col_reduce_cells<i32, i64>(n, parts, top, -top - 1, has_select, cells, select, out, integers);
      break;
    case COL_U32:
      col_reduce_cells<u32, i64>(n, parts, top, -top - 1, has_select, cells, select, out, integers);
      break;
    case COL_F64:
      col_reduce_cells<f64, f64>(n, parts, infinity, -infinity, has_select, cells, select, out, floats);
      break;
    default:
      col_reduce_cells<f32, f64>(n, parts, infinity, -infinity, has_select, cells, select, out, floats);
  }
}

#define COL_BINS 4096

// Counters in shared memory while the bins fit, else straight in the result.
GL_DEVICE void col_bins_begin(u32 bins, u32* shared) {
  if (bins <= COL_BINS)
    for (u32 b = threadIdx.x; b < bins; b += blockDim.x) shared[b] = 0;
  __syncthreads();
}
GL_DEVICE void col_bins_add(u32 bins, u32 bin, u32* shared, u32* out) {
  atomicAdd(bins <= COL_BINS ? &shared[bin] : &out[bin], 1u);
}
GL_DEVICE void col_bins_end(u32 bins, const u32* shared, u32* out) {
  __syncthreads();
  if (bins <= COL_BINS)
    for (u32 b = threadIdx.x; b < bins; b += blockDim.x)
      if (shared[b] != 0) atomicAdd(&out[b], shared[b]);
}

// Adds to out[code] the number of selected rows with that code; codes from `bins` on are passed over.
// The caller has zeroed `out`. Bytes: 4 n + n / 8 read; above 4096 bins one atomic a row besides.
//@ codes: n, select: *, out: bins
GL_KERNEL void GL_BOUNDS(256)
col_hist_codes(u32 n, u32 bins, u32 has_select, const u32* GL_RESTRICT codes, const u32* GL_RESTRICT select,
               u32* GL_RESTRICT out) {
  __shared__ u32 shared[COL_BINS];
  col_bins_begin(bins, shared);
  u64 i = gl_first();
  for (; i + 3 * gl_step() < n; i += 4 * gl_step()) {
    u32 code[4];
#pragma unroll
    for (u32 k = 0; k < 4; ++k) code[k] = codes[i + k * gl_step()];
#pragma unroll
    for (u32 k = 0; k < 4; ++k)
      if (code[k] < bins && col_selected(has_select, select, i + k * gl_step()))
        col_bins_add(bins, code[k], shared, out);
  }
  for (; i < n; i += gl_step()) {
    const u32 code = codes[i];
    if (code < bins && col_selected(has_select, select, i)) col_bins_add(bins, code, shared, out);
  }
  col_bins_end(bins, shared, out);
}

GL_DEVICE f64 col_as_f64(u32 dtype, const u32* words, u64 i) {
  switch (dtype) {
    case COL_I64: return (f64) reinterpret_cast<const i64*>(words)[i];
    case COL_I32: return (f64)(i32)words[i];
    case COL_U32: return (f64)words[i];
    case COL_F64: return reinterpret_cast<const f64*>(words)[i];
    default: return (f64)__uint_as_float(words[i]);
  }
}

// Equal bins over [low, high]: bin min((x - low) * scale, bins - 1), in 64-bit floats; other cells and
// NaN are passed over. The caller has zeroed `out`. Bytes: the column and n / 8 of the mask read.
//@ cells: *, select: *, out: bins
GL_KERNEL void GL_BOUNDS(256)
col_hist_range(u32 n, u32 bins, u32 dtype, u32 has_select, f64 low, f64 high, f64 scale,
               const u32* GL_RESTRICT cells, const u32* GL_RESTRICT select, u32* GL_RESTRICT out) {
  __shared__ u32 shared[COL_BINS];
  col_bins_begin(bins, shared);
  for (u64 i = gl_first(); i < n; i += 4 * gl_step()) {
    f64 x[4];
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      const u64 at = i + k * gl_step();
      x[k] = at < n ? col_as_f64(dtype, cells, at) : 0.0;
    }
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      const u64 at = i + k * gl_step();
      if (at < n && x[k] >= low && x[k] <= high && col_selected(has_select, select, at)) {
        const u32 bin = (u32)((x[k] - low) * scale);
        col_bins_add(bins, bin < bins ? bin : bins - 1, shared, out);
      }
    }
  }
  col_bins_end(bins, shared, out);
}

// Integer sums wrap around.
GL_DEVICE i64 col_plus(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
GL_DEVICE f64 col_plus(f64 a, f64 b) { return a + b; }

// What a group of lanes knows of the cells of its segment.
template <class W>
struct ColSum {
  W sum;
  template <class T>
  __device__ __forceinline__ void see(T v) { sum = col_plus(sum, (W)v); }
  __device__ __forceinline__ void join(u32 d) { sum = col_plus(sum, __shfl_xor_sync(GL_FULL, sum, d)); }
};
template <class W>
struct ColEnds {
  W least, most;
  template <class T>
  __device__ __forceinline__ void see(T cell) {
    const W v = (W)cell;
    least = v < least ? v : least;
    most = most < v ? v : most;
  }
  __device__ __forceinline__ void join(u32 d) {
    const W a = __shfl_xor_sync(GL_FULL, least, d), b = __shfl_xor_sync(GL_FULL, most, d);
    least = a < least ? a : least;
    most = most < b ? b : most;
  }
};

// `lanes` (1, 2, 4 .. 32) neighbouring lanes share a segment; its cells are seen in a fixed order.
template <class T, class Seen>
GL_DEVICE void col_segment(u64 row, u32 rows, u32 len, u32 lanes, u32 has_select, const u32* offsets,
                           const T* cells, const u32* select, Seen* seen) {
  const u32 mine = gl_lane() & (lanes - 1u);
  const u32 last = row < rows ? offsets[row + 1] : 0u;
  const u64 end = last < len ? last : len;
  u64 i = row < rows ? (u64)offsets[row] + mine : 0;
  for (; i + 3 * lanes < end; i += 4 * lanes) {
    T v[4];
#pragma unroll
    for (u32 k = 0; k < 4; ++k) v[k] = cells[i + k * lanes];
#pragma unroll
    for (u32 k = 0; k < 4; ++k)
      if (v[k] == v[k] && col_selected(has_select, select, i + k * lanes)) seen->see(v[k]);
  }
  for (; i < end; i += lanes) {
    const T v = cells[i];
    if (v == v && col_selected(has_select, select, i)) seen->see(v);
  }
  for (u32 d = lanes / 2; d > 0; d >>= 1) seen->join(d);
}

// Sums and ends are written as 64-bit words: i64 for integers, f64 bits for floats.
template <class T, class W>
GL_DEVICE void col_segment_sums(u32 rows, u32 len, u32 lanes, u32 has_select, const u32* offsets,
                                const u32* words, const u32* select, u64* out) {
  const T* cells = reinterpret_cast<const T*>(words);
  const u32 share = 32 / lanes;  // segments of a warp
  for (u64 base = gl_first_warp() * share; base < rows; base += gl_step_warps() * share) {
    const u64 row = base + gl_lane() / lanes;
    ColSum<W> seen = {0};
    col_segment<T>(row, rows, len, lanes, has_select, offsets, cells, select, &seen);
    if (row < rows && (gl_lane() & (lanes - 1u)) == 0) out[row] = col_bits<W>(seen.sum);
  }
}
template <class T, class W>
GL_DEVICE void col_segment_least_most(u32 rows, u32 len, u32 lanes, W top, W bottom, W top_of_none, W bottom_of_none,
                                      u32 has_select, const u32* offsets, const u32* words,
                                      const u32* select, u64* least, u64* most) {
  const T* cells = reinterpret_cast<const T*>(words);
  const u32 share = 32 / lanes;
  for (u64 base = gl_first_warp() * share; base < rows; base += gl_step_warps() * share) {
    const u64 row = base + gl_lane() / lanes;
    ColEnds<W> seen = {top, bottom};
    col_segment<T>(row, rows, len, lanes, has_select, offsets, cells, select, &seen);
    if (row < rows && (gl_lane() & (lanes - 1u)) == 0) {
      const bool none = seen.most < seen.least;
      least[row] = col_bits<W>(none ? top_of_none : seen.least);
      most[row] = col_bits<W>(none ? bottom_of_none : seen.most);
    }
  }
}

// Sums over the segments [offsets[r], offsets[r + 1]) of the `len` cells, of those that are selected and not NaN: i64
// (modulo 2^64) of integers, f64 bits of floats. `lanes` (a power of two up to 32) lanes share a segment
// and see its cells in a fixed order; choose it near the mean length.
// Bytes: 4 a row of offsets, the cells, the select bits; 8 a row written. A very long segment is the work
// of one warp.
//@ offsets: rows + 1, cells: *, select: *, out: rows
GL_KERNEL void GL_BOUNDS(256)
col_segment_sum(u32 rows, u32 len, u32 lanes, u32 dtype, u32 has_select, const u32* GL_RESTRICT offsets,
                const u32* GL_RESTRICT cells, const u32* GL_RESTRICT select, u64* GL_RESTRICT out) {
  switch (dtype) {
    case COL_I64: col_segment_sums<i64, i64>(rows, len, lanes, has_select, offsets, cells, select, out); break;
    case COL_I32: col_segment_sums<i32, i64>(rows, len, lanes, has_select, offsets, cells, select, out); break;
    case COL_U32: col_segment_sums<u32, i64>(rows, len, lanes, has_select, offsets, cells, select, out); break;
    case COL_F64: col_segment_sums<f64, f64>(rows, len, lanes, has_select, offsets, cells, select, out); break;
    default: col_segment_sums<f32, f64>(rows, len, lanes, has_select, offsets, cells, select, out);
  }
}

// Least and greatest cell of every segment that is selected and not NaN, as i64 or f64 bits. Of a segment
// without such a cell they are the greatest and the least i64, or NaN. As col_segment_sum otherwise.
//@ offsets: rows + 1, cells: *, select: *, least: rows, most: rows
GL_KERNEL void GL_BOUNDS(256)
col_segment_ends(u32 rows, u32 len, u32 lanes, u32 dtype, u32 has_select, const u32* GL_RESTRICT offsets,
                 const u32* GL_RESTRICT cells, const u32* GL_RESTRICT select, u64* GL_RESTRICT least,
                 u64* GL_RESTRICT most) {
  const i64 top = 0x7fffffffffffffffll, bottom = -top - 1;
  const f64 infinity = (f64)__uint_as_float(0x7f800000u);
  const f64 nan = __longlong_as_double(0x7ff8000000000000ll);
  switch (dtype) {
    case COL_I64:
      col_segment_least_most<i64, i64>(rows, len, lanes, top, bottom, top, bottom, has_select, offsets, cells,
                                       select, least, most);
      break;
    case COL_I32:
      col_segment_least_most<i32, i64>(rows, len, lanes, top, bottom, top, bottom, has_select, offsets, cells,
                                       select, least, most);
      break;
    case COL_U32:
      col_segment_least_most<u32, i64>(rows, len, lanes, top, bottom, top, bottom, has_select, offsets, cells,
                                       select, least, most);
      break;
    case COL_F64:
      col_segment_least_most<f64, f64>(rows, len, lanes, infinity, -infinity, nan, nan, has_select, offsets,
                                       cells, select, least, most);
      break;
    default:
      col_segment_least_most<f32, f64>(rows, len, lanes, infinity, -infinity, nan, nan, has_select, offsets,
                                       cells, select, least, most);
  }
}

// out[i] = first + i. Bytes: 4 n written.
//@ out: n
GL_KERNEL void GL_BOUNDS(256) col_iota(u32 n, u32 first, u32* GL_RESTRICT out) {
  for (u64 i = gl_first(); i < n; i += gl_step()) out[i] = first + (u32)i;
}

// Four reads in flight a thread: a gather waits for sectors, not for arithmetic.
template <class T>
GL_DEVICE void col_gather(u32 count, u32 n, const u32* rows, const T* cells, T* out) {
  for (u64 i = gl_first(); i < count; i += 4 * gl_step()) {
    T v[4];
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
      const u64 at = i + k * gl_step();
      const u32 row = at < count ? rows[at] : 0xffffffffu;
      v[k] = row < n ? cells[row] : (T)0;
    }
#pragma unroll
    for (u32 k = 0; k < 4; ++k)
      if (i + k * gl_step() < count) out[i + k * gl_step()] = v[k];
  }
}

// out[i] = cells[rows[i]], 0 for a row from n on. Bytes: 4 count of rows, one 32-byte sector a cell,
// the results.
//@ rows: count, cells: n, out: count
GL_KERNEL void GL_BOUNDS(256)
col_gather_u8(u32 count, u32 n, const u32* GL_RESTRICT rows, const u8* GL_RESTRICT cells, u8* GL_RESTRICT out) {
  col_gather<u8>(count, n, rows, cells, out);
}

// As col_gather_u8, for cells of 4 bytes.
//@ rows: count, cells: n, out: count
GL_KERNEL void GL_BOUNDS(256)
col_gather_u32(u32 count, u32 n, const u32* GL_RESTRICT rows, const u32* GL_RESTRICT cells,
               u32* GL_RESTRICT out) {
  col_gather<u32>(count, n, rows, cells, out);
}

// As col_gather_u8, for cells of 8 bytes; the column and the result are given as 32-bit words.
//@ rows: count, cells: 2 * n, out: 2 * count
GL_KERNEL void GL_BOUNDS(256)
col_gather_u64(u32 count, u32 n, const u32* GL_RESTRICT rows, const u32* GL_RESTRICT cells,
               u32* GL_RESTRICT out) {
  col_gather<u64>(count, n, rows, reinterpret_cast<const u64*>(cells), reinterpret_cast<u64*>(out));
}

// Unsigned numbers in the order of the cells; the two zeros are one.
GL_DEVICE u64 col_order_f64(f64 v) {
  const u64 b = v == 0.0 ? 0ull : (u64)__double_as_longlong(v);
  return (b >> 63) != 0 ? ~b : b | 0x8000000000000000ull;
}
GL_DEVICE u32 col_order_f32(f32 v) {
  const u32 b = v == 0.0f ? 0u : __float_as_uint(v);
  return (b >> 31) != 0 ? ~b : b | 0x80000000u;
}

// Sort keys of the cells of the listed rows: unsigned numbers in the cells' order, or in the reverse
// one. `cells` has dtype i32, u32 or f32. Bytes: 4 count of rows, one sector a cell, 4 count written.
//@ rows: count, cells: n, out: count
GL_KERNEL void GL_BOUNDS(256)
col_sort_keys_u32(u32 count, u32 n, u32 dtype, u32 descending, const u32* GL_RESTRICT rows,
                  const u32* GL_RESTRICT cells, u32* GL_RESTRICT out) {
  for (u64 i = gl_first(); i < count; i += gl_step()) {
    const u32 row = rows[i];
    const u32 cell = row < n ? cells[row] : 0u;
    const u32 key = dtype == COL_I32   ? cell ^ 0x80000000u
                    : dtype == COL_F32 ? col_order_f32(__uint_as_float(cell))
                                       : cell;
    out[i] = descending != 0 ? ~key : key;
  }
}

// As col_sort_keys_u32, for dtype i64 or f64; the column is given as 32-bit words.
//@ rows: count, cells: 2 * n, out: count
GL_KERNEL void GL_BOUNDS(256)
col_sort_keys_u64(u32 count, u32 n, u32 dtype, u32 descending, const u32* GL_RESTRICT rows,
                  const u32* GL_RESTRICT cells, u64* GL_RESTRICT out) {
  const u64* wide = reinterpret_cast<const u64*>(cells);
  for (u64 i = gl_first(); i < count; i += gl_step()) {
    const u32 row = rows[i];
    const u64 cell = row < n ? wide[row] : 0ull;
    const u64 key =
        dtype == COL_I64 ? cell ^ 0x8000000000000000ull : col_order_f64(__longlong_as_double((i64)cell));
    out[i] = descending != 0 ? ~key : key;
  }
}
