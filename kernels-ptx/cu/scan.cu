#include "common.cuh"
// Exclusive prefix sums in three launches, with no block waiting for another: each chunk of the input
// is summed (scan_sums), one block scans the sums of the chunks (scan_spine), and each chunk is scanned
// from its own start (scan_apply). A chunk is a whole number of tiles, so that there are at most a few
// thousand of them whatever n is. An input of one chunk needs scan_apply alone.
//
// Bytes moved: 4 n read by scan_sums, 4 n read and 4 n (u64: 8 n) written by scan_apply.
// Every kernel is right for any number of blocks; they expect 256 threads (scan_spine: one block).

#define SCAN_THREADS 256
#define SCAN_WARPS 8
#define SCAN_ROWS 4      // 16-byte loads in flight in each thread
#define SCAN_TILE 4096   // SCAN_THREADS * SCAN_ROWS * 4

// Items i..i+4 of `in`, zeros from `end` on. i is a multiple of 4.
GL_DEVICE uint4 scan_load4(const u32* in, u64 i, u64 end) {
  if (i + 4 <= end && ((u64)in & 15) == 0) return *reinterpret_cast<const uint4*>(in + i);
  uint4 v;
  v.x = i < end ? in[i] : 0u;
  v.y = i + 1 < end ? in[i + 1] : 0u;
  v.z = i + 2 < end ? in[i + 2] : 0u;
  v.w = i + 3 < end ? in[i + 3] : 0u;
  return v;
}

template <class S>
GL_DEVICE S scan_warp_inclusive(S v) {
#pragma unroll
  for (u32 d = 1; d < 32; d <<= 1) {
    const S below = __shfl_up_sync(GL_FULL, v, d);
    if (gl_lane() >= d) v += below;
  }
  return v;
}

template <class S>
GL_DEVICE void scan_sum_chunks(u32 n, u32 chunk, const u32* in, S* sums) {
  const u64 chunks = ((u64)n + chunk - 1) / chunk;
  for (u64 c = blockIdx.x; c < chunks; c += gridDim.x) {
    const u64 begin = c * chunk;
    const u64 end = begin + chunk < n ? begin + chunk : n;
    S sum = 0;
    for (u64 tile = begin; tile < end; tile += SCAN_TILE) {
      uint4 v[SCAN_ROWS];
#pragma unroll
      for (u32 r = 0; r < SCAN_ROWS; ++r)
        v[r] = scan_load4(in, tile + (r * SCAN_THREADS + threadIdx.x) * 4, end);
#pragma unroll
      for (u32 r = 0; r < SCAN_ROWS; ++r) sum += (S)v[r].x + v[r].y + v[r].z + v[r].w;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[c] = sum;
  }
}

// In place, by the first block of the grid alone.
template <class S>
GL_DEVICE void scan_one_block(u32 n, S* a, S* warp_sums) {
  if (blockIdx.x == 0) {
    S carry = 0;
    for (u64 base = 0; base < n; base += blockDim.x) {
      const u64 i = base + threadIdx.x;
      const S v = i < n ? a[i] : (S)0;
      const S inclusive = scan_warp_inclusive(v);
      __syncthreads();
      if (gl_lane() == 31) warp_sums[gl_warp()] = inclusive;
      __syncthreads();
      S before = carry;
      for (u32 w = 0; w < gl_warps(); ++w) {
        const S t = warp_sums[w];
        if (w < gl_warp()) before += t;
        carry += t;
      }
      if (i < n) a[i] = before + inclusive - v;
    }
  }
}

GL_DEVICE void scan_store4(u32* out, u64 i, u64 end, const u32 v[4]) {
  if (i + 4 <= end && ((u64)out & 15) == 0) {
    uint4 q;
    q.x = v[0], q.y = v[1], q.z = v[2], q.w = v[3];
    *reinterpret_cast<uint4*>(out + i) = q;
    return;
  }
#pragma unroll
  for (u32 k = 0; k < 4; ++k)
    if (i + k < end) out[i + k] = v[k];
}
GL_DEVICE void scan_store4(u64* out, u64 i, u64 end, const u64 v[4]) {
  if (i + 4 <= end && ((u64)out & 15) == 0) {
    ulonglong2 low, high;
    low.x = v[0], low.y = v[1], high.x = v[2], high.y = v[3];
    reinterpret_cast<ulonglong2*>(out + i)[0] = low;
    reinterpret_cast<ulonglong2*>(out + i)[1] = high;
    return;
  }
#pragma unroll
  for (u32 k = 0; k < 4; ++k)
    if (i + k < end) out[i + k] = v[k];
}

// A warp scans 512 items of a tile, a row of 128 at a time: lane l holds items 4 l .. 4 l + 3 of it, so
// that loads and stores are whole lines and nothing is transposed in shared memory. `warp_sums` has two
// halves that tiles use in turn, which saves the second barrier.
template <class S>
GL_DEVICE void scan_apply_chunks(u32 n, u32 chunk, u32 with_total, const u32* in, const S* starts, S* out,
                                 S* warp_sums) {
  const u64 whole = ((u64)n + chunk - 1) / chunk;
  const u64 chunks = whole == 0 ? 1 : whole;
  const u32 warp = gl_warp();
  u32 half = 0;
  for (u64 c = blockIdx.x; c < chunks; c += gridDim.x) {
    const u64 begin = c * chunk;
    const u64 end = begin + chunk < n ? begin + chunk : n;
    S carry = chunks > 1 ? starts[c] : (S)0;
    for (u64 tile = begin; tile < end; tile += SCAN_TILE) {
      const u64 first = tile + warp * (SCAN_TILE / SCAN_WARPS) + gl_lane() * 4;
      uint4 v[SCAN_ROWS];
#pragma unroll
      for (u32 r = 0; r < SCAN_ROWS; ++r) v[r] = scan_load4(in, first + r * 128, end);
      S before[SCAN_ROWS];
      S run = 0;
#pragma unroll
      for (u32 r = 0; r < SCAN_ROWS; ++r) {
        const S own = (S)v[r].x + v[r].y + v[r].z + v[r].w;
        const S inclusive = scan_warp_inclusive(own);
        before[r] = run + inclusive - own;
        run += __shfl_sync(GL_FULL, inclusive, 31);
      }
      S* sums = warp_sums + half * SCAN_WARPS;
      half ^= 1;
      if (gl_lane() == 0) sums[warp] = run;
      __syncthreads();
      S start = carry;
#pragma unroll
      for (u32 w = 0; w < SCAN_WARPS; ++w) {
        const S t = sums[w];
        if (w < warp) start += t;
        carry += t;
      }
#pragma unroll
      for (u32 r = 0; r < SCAN_ROWS; ++r) {
        S o[4];
        o[0] = start + before[r];
        o[1] = o[0] + v[r].x;
        o[2] = o[1] + v[r].y;
        o[3] = o[2] + v[r].z;
        scan_store4(out, first + r * 128, end, o);
      }
    }
    if (with_total != 0 && c + 1 == chunks && threadIdx.x == 0) out[n] = carry;
  }
}

// sums[c] = sum of chunk c of the input, modulo 2^32. A block a chunk; `chunk` is a multiple of 4096.
//@ in: n, sums: *
GL_KERNEL void GL_BOUNDS(256)
scan_sums_u32(u32 n, u32 chunk, const u32* GL_RESTRICT in, u32* GL_RESTRICT sums) {
  scan_sum_chunks<u32>(n, chunk, in, sums);
}

// The same without wrapping.
//@ in: n, sums: *
GL_KERNEL void GL_BOUNDS(256)
scan_sums_u64(u32 n, u32 chunk, const u32* GL_RESTRICT in, u64* GL_RESTRICT sums) {
  scan_sum_chunks<u64>(n, chunk, in, sums);
}

// Exclusive scan in place. Grid: one block (more do nothing).
//@ a: n
GL_KERNEL void GL_BOUNDS(1024) scan_spine_u32(u32 n, u32* GL_RESTRICT a) {
  __shared__ u32 warp_sums[32];
  scan_one_block<u32>(n, a, warp_sums);
}

//@ a: n
GL_KERNEL void GL_BOUNDS(1024) scan_spine_u64(u32 n, u64* GL_RESTRICT a) {
  __shared__ u64 warp_sums[32];
  scan_one_block<u64>(n, a, warp_sums);
}

// out[i] = starts[chunk of i] + sum of in[first of the chunk .. i); out[n] = the total if with_total is 1.
// `starts` is not read when one chunk covers the input.
//@ in: n, starts: *, out: n + with_total
GL_KERNEL void GL_BOUNDS(256)
scan_apply_u32(u32 n, u32 chunk, u32 with_total, const u32* GL_RESTRICT in, const u32* GL_RESTRICT starts,
               u32* GL_RESTRICT out) {
  __shared__ u32 warp_sums[2 * SCAN_WARPS];
  scan_apply_chunks<u32>(n, chunk, with_total, in, starts, out, warp_sums);
}

//@ in: n, starts: *, out: n + with_total
GL_KERNEL void GL_BOUNDS(256)
scan_apply_u64(u32 n, u32 chunk, u32 with_total, const u32* GL_RESTRICT in, const u64* GL_RESTRICT starts,
               u64* GL_RESTRICT out) {
  __shared__ u64 warp_sums[2 * SCAN_WARPS];
  scan_apply_chunks<u64>(n, chunk, with_total, in, starts, out, warp_sums);
}
