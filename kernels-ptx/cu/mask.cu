#include "common.cuh"
// Masks: one bit a row, packed in words of 32 rows, row r in bit r % 32 of word r / 32. The bits from
// n on are zero in every mask, and every kernel here leaves them so.
// Every kernel is right for any number of blocks and threads unless its comment states otherwise.

GL_DEVICE u64 mask_words(u32 n) { return ((u64)n + 31) / 32; }
// The bits of word w that stand for rows.
GL_DEVICE u32 mask_live(u32 n, u64 w) {
  return w * 32 + 32 <= n ? 0xffffffffu : (w * 32 < n ? (1u << (n & 31u)) - 1u : 0u);
}

GL_DEVICE uint4 mask_load4(const u32* a, u64 w, u64 words) {
  if (w + 4 <= words && ((u64)a & 15) == 0) return *reinterpret_cast<const uint4*>(a + w);
  uint4 v;
  v.x = w < words ? a[w] : 0u;
  v.y = w + 1 < words ? a[w + 1] : 0u;
  v.z = w + 2 < words ? a[w + 2] : 0u;
  v.w = w + 3 < words ? a[w + 3] : 0u;
  return v;
}
GL_DEVICE void mask_store4(u32* out, u64 w, u32 n, uint4 v) {
  const u64 words = mask_words(n);
  v.x &= mask_live(n, w), v.y &= mask_live(n, w + 1), v.z &= mask_live(n, w + 2), v.w &= mask_live(n, w + 3);
  if (w + 4 <= words && ((u64)out & 15) == 0) {
    *reinterpret_cast<uint4*>(out + w) = v;
    return;
  }
  if (w < words) out[w] = v.x;
  if (w + 1 < words) out[w + 1] = v.y;
  if (w + 2 < words) out[w + 2] = v.z;
  if (w + 3 < words) out[w + 3] = v.w;
}

// All rows or none: `fill` is 0xffffffff or 0. Bytes: n / 8 written.
//@ out: div_up(n, 32)
GL_KERNEL void GL_BOUNDS(256) mask_fill(u32 n, u32 fill, u32* GL_RESTRICT out) {
  const u64 words = mask_words(n);
  uint4 v;
  v.x = v.y = v.z = v.w = fill;
  for (u64 w = gl_first() * 4; w < words; w += gl_step() * 4) mask_store4(out, w, n, v);
}

GL_DEVICE u32 mask_apply(u32 op, u32 a, u32 b) {
  return op == 0 ? a & b : op == 1 ? a | b : op == 2 ? a ^ b : a & ~b;
}

// op 0: a and b, 1: a or b, 2: exactly one, 3: a and not b. Bytes: n / 4 read, n / 8 written.
//@ a: div_up(n, 32), b: div_up(n, 32), out: div_up(n, 32)
GL_KERNEL void GL_BOUNDS(256)
mask_combine(u32 n, u32 op, const u32* GL_RESTRICT a, const u32* GL_RESTRICT b, u32* GL_RESTRICT out) {
  const u64 words = mask_words(n);
  for (u64 w = gl_first() * 4; w < words; w += gl_step() * 4) {
    const uint4 x = mask_load4(a, w, words), y = mask_load4(b, w, words);
    uint4 v;
    v.x = mask_apply(op, x.x, y.x);
    v.y = mask_apply(op, x.y, y.y);
    v.z = mask_apply(op, x.z, y.z);
    v.w = mask_apply(op, x.w, y.w);
    mask_store4(out, w, n, v);
  }
}

// Bytes: n / 8 read, n / 8 written.
//@ a: div_up(n, 32), out: div_up(n, 32)
GL_KERNEL void GL_BOUNDS(256) mask_not(u32 n, const u32* GL_RESTRICT a, u32* GL_RESTRICT out) {
  const u64 words = mask_words(n);
  for (u64 w = gl_first() * 4; w < words; w += gl_step() * 4) {
    uint4 v = mask_load4(a, w, words);
    v.x = ~v.x, v.y = ~v.y, v.z = ~v.z, v.w = ~v.w;
    mask_store4(out, w, n, v);
  }
}

// Adds the number of set bits to out[0], which the caller has zeroed. Integers, so the order of the
// blocks does not show. Bytes: n / 8 read.
//@ a: div_up(n, 32), out: 1
GL_KERNEL void GL_BOUNDS(256) mask_count(u32 n, const u32* GL_RESTRICT a, u64* GL_RESTRICT out) {
  const u64 words = mask_words(n);
  u64 sum = 0;
  for (u64 w = gl_first() * 4; w < words; w += gl_step() * 4) {
    const uint4 v = mask_load4(a, w, words);
    sum += (u32)(__popc(v.x) + __popc(v.y) + __popc(v.z) + __popc(v.w));
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0 && sum != 0) atomicAdd(out, sum);
}

// A row is in the mask when its byte is not zero. A thread a word: 32 bytes are one sector.
// Bytes: n read, n / 8 written.
//@ bytes: n, out: div_up(n, 32)
GL_KERNEL void GL_BOUNDS(256) mask_from_bytes(u32 n, const u8* GL_RESTRICT bytes, u32* GL_RESTRICT out) {
  const u64 words = mask_words(n);
  const bool aligned = ((u64)bytes & 15) == 0;
  for (u64 w = gl_first(); w < words; w += gl_step()) {
    u32 word = 0;
    if (aligned && w * 32 + 32 <= n) {
      const uint4* from = reinterpret_cast<const uint4*>(bytes + w * 32);
#pragma unroll
      for (u32 half = 0; half < 2; ++half) {
        const uint4 v = from[half];
        const u32 part[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (u32 k = 0; k < 16; ++k)
          word |= ((part[k / 4] >> (k % 4 * 8) & 255u) != 0 ? 1u : 0u) << (half * 16 + k);
      }
    } else {
      for (u32 k = 0; k < 32 && w * 32 + k < n; ++k) word |= (bytes[w * 32 + k] != 0 ? 1u : 0u) << k;
    }
    out[w] = word;
  }
}

// One byte a row, 0 or 1. A thread writes 16 rows. Bytes: n / 8 read, n written.
//@ mask: div_up(n, 32), bytes: n
GL_KERNEL void GL_BOUNDS(256) mask_to_bytes(u32 n, const u32* GL_RESTRICT mask, u8* GL_RESTRICT bytes) {
  const bool aligned = ((u64)bytes & 15) == 0;
  for (u64 i = gl_first() * 16; i < n; i += gl_step() * 16) {
    const u32 bits = mask[i / 32] >> (i & 31);
    if (aligned && i + 16 <= n) {
      u32 part[4];
#pragma unroll
      for (u32 k = 0; k < 4; ++k) {
        const u32 four = bits >> (k * 4);
        part[k] = (four & 1u) | (four & 2u) << 7 | (four & 4u) << 14 | (four & 8u) << 21;
      }
      uint4 v;
      v.x = part[0], v.y = part[1], v.z = part[2], v.w = part[3];
      *reinterpret_cast<uint4*>(bytes + i) = v;
    } else {
      for (u32 k = 0; k < 16 && i + k < n; ++k) bytes[i + k] = (u8)(bits >> k & 1u);
    }
  }
}

// counts[c] = set bits in the words [c * chunk, (c + 1) * chunk). A block a chunk.
// Bytes: n / 8 read.
//@ a: div_up(n, 32), counts: div_up(div_up(n, 32), chunk)
GL_KERNEL void GL_BOUNDS(256)
mask_chunk_counts(u32 n, u32 chunk, const u32* GL_RESTRICT a, u32* GL_RESTRICT counts) {
  const u64 words = mask_words(n);
  const u64 chunks = (words + chunk - 1) / chunk;
  for (u64 c = blockIdx.x; c < chunks; c += gridDim.x) {
    const u64 end = (c + 1) * chunk < words ? (c + 1) * chunk : words;
    u32 sum = 0;
    for (u64 w = c * chunk + threadIdx.x * 4; w < end; w += blockDim.x * 4) {
      const uint4 v = mask_load4(a, w, end);
      sum += (u32)(__popc(v.x) + __popc(v.y) + __popc(v.z) + __popc(v.w));
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) counts[c] = sum;
  }
}

// The rows of the mask in ascending order. starts[c] = set bits before chunk c (the scanned counts);
// rows from `room` on are not written. A block a chunk; 256 threads. A warp takes 32 words, and its
// lanes write the rows of one word together, so that the writes are runs.
// Bytes: n / 8 read, 4 a set bit written.
//@ a: div_up(n, 32), starts: div_up(div_up(n, 32), chunk), rows: room
GL_KERNEL void GL_BOUNDS(256)
mask_compact(u32 n, u32 chunk, u32 room, const u32* GL_RESTRICT a, const u32* GL_RESTRICT starts,
             u32* GL_RESTRICT rows) {
  const u64 words = mask_words(n);
  const u64 chunks = (words + chunk - 1) / chunk;
  const u32 below = (1u << gl_lane()) - 1u;
  for (u64 c = blockIdx.x; c < chunks; c += gridDim.x) {
    const u64 end = (c + 1) * chunk < words ? (c + 1) * chunk : words;
    u32 start = starts[c];
    for (u64 tile = c * chunk; tile < end; tile += blockDim.x) {
      const u64 w = tile + threadIdx.x;
      const u32 own = w < end ? a[w] : 0u;
      u32 sum;
      const u32 before = start + block_scan_exclusive_u32((u32)__popc(own), &sum);
      start += sum;
      const u64 first = (w - gl_lane()) * 32;
      u32 filled = __ballot_sync(GL_FULL, own != 0);
      while (filled != 0) {
        const u32 k = (u32)__ffs((int)filled) - 1u;
        filled &= filled - 1u;
        const u32 word = __shfl_sync(GL_FULL, own, k);
        const u32 to = __shfl_sync(GL_FULL, before, k) + (u32)__popc(word & below);
        if ((word >> gl_lane() & 1u) != 0 && to < room) rows[to] = (u32)(first + k * 32 + gl_lane());
      }
    }
  }
}

// Sets the bit of every listed row; rows from n on are passed over. The caller has zeroed or filled
// `out`. Bytes: 4 a row read, one 32-byte sector a row updated in the second-level cache.
//@ rows: count, out: div_up(n, 32)
GL_KERNEL void GL_BOUNDS(256)
mask_scatter(u32 count, u32 n, const u32* GL_RESTRICT rows, u32* GL_RESTRICT out) {
  for (u64 i = gl_first(); i < count; i += gl_step()) {
    const u32 row = rows[i];
    if (row < n) atomicOr(&out[row / 32], 1u << (row & 31u));
  }
}

// Bit i of out = bit rows[i] of the mask; rows from n on give 0. Whole warps: a thread a row.
// Bytes: 4 a row read, one 32-byte sector a row of the mask, count / 8 written.
//@ rows: count, mask: div_up(n, 32), out: div_up(count, 32)
GL_KERNEL void GL_BOUNDS(256)
mask_gather(u32 count, u32 n, const u32* GL_RESTRICT rows, const u32* GL_RESTRICT mask, u32* GL_RESTRICT out) {
  for (u64 w = gl_first_warp(); w * 32 < count; w += gl_step_warps()) {
    const u64 i = w * 32 + gl_lane();
    const u32 row = i < count ? rows[i] : 0xffffffffu;
    const bool set = row < n && (mask[row / 32] >> (row & 31u) & 1u) != 0;
    const u32 word = __ballot_sync(GL_FULL, set);
    if (gl_lane() == 0) out[w] = word;
  }
}
