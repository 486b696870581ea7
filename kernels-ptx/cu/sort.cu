#include "common.cuh"
// Stable least-significant-digit radix sort of pairs (u32 or u64 keys, u32 values), 8 bits a pass and
// three launches a pass: digit counts of every chunk (sort_count), a scan of each digit's row of counts
// (sort_rows), and the move itself (sort_scatter). A chunk is a whole number of tiles and belongs to one
// block, which carries its 256 write positions from tile to tile; there are a few chunks for each
// multiprocessor, so the counts stay small however long the input is.
//
// Bytes moved a pass, per pair: the key by sort_count; key and value read and written by sort_scatter.
// That is 20 B for u32 keys and 32 B for u64 keys. Inside a tile the pairs are put in order in shared
// memory first, so that the writes of a digit are runs of neighbouring addresses.
// Every kernel is right for any number of blocks and expects 256 threads.
//
// Merrill and Grimshaw, "High performance and scalable radix sorting" (2011): digit counts, scan,
// scatter. The rank inside a warp comes from one shared word a digit, in which every lane of the warp
// that holds the digit sets its own bit.

#define SORT_THREADS 256
#define SORT_WARPS 8
#define SORT_DIGITS 256

template <class K>
GL_DEVICE u32 sort_digit(K key, u32 shift, u32 digit_mask) {
  return (u32)(key >> shift) & digit_mask;
}

// One private row of counters a warp: a skewed digit then collides inside a warp only, where equal
// addresses are added up by the hardware.
template <class K>
GL_DEVICE void sort_count_chunks(u32 n, u32 chunk, u32 chunks, u32 shift, u32 digit_mask, const K* keys,
                                 u32* counts, u32* warp_counts) {
  u32* own = warp_counts + gl_warp() * SORT_DIGITS;
  for (u32 c = blockIdx.x; c < chunks; c += gridDim.x) {
    for (u32 w = 0; w < SORT_WARPS; ++w) warp_counts[w * SORT_DIGITS + threadIdx.x] = 0;
    __syncthreads();
    const u64 begin = (u64)c * chunk;
    const u64 end = begin + chunk < n ? begin + chunk : n;
    u64 i = begin + threadIdx.x;
    for (; i + 7 * SORT_THREADS < end; i += 8 * SORT_THREADS) {
      K k[8];
#pragma unroll
      for (u32 j = 0; j < 8; ++j) k[j] = keys[i + j * SORT_THREADS];
#pragma unroll
      for (u32 j = 0; j < 8; ++j) atomicAdd(&own[sort_digit(k[j], shift, digit_mask)], 1u);
    }
    for (; i < end; i += SORT_THREADS) atomicAdd(&own[sort_digit(keys[i], shift, digit_mask)], 1u);
    __syncthreads();
    u32 sum = 0;
    for (u32 w = 0; w < SORT_WARPS; ++w) sum += warp_counts[w * SORT_DIGITS + threadIdx.x];
    counts[(u64)threadIdx.x * chunks + c] = sum;
    __syncthreads();
  }
}

// `arena` holds first the counters and lane words of every warp (2 * 8 * 256 words), then the values of
// the tile in their new order; `tile_keys` the keys.
template <class K, u32 ITEMS>
GL_DEVICE void sort_scatter_chunks(u32 n, u32 chunk, u32 chunks, u32 shift, u32 digit_mask, const K* keys_in,
                                   const u32* values_in, const u32* counts, const u32* totals, K* keys_out,
                                   u32* values_out, u32* arena, K* tile_keys, u32* moves) {
  const u32 lane = gl_lane(), warp = gl_warp(), digit = threadIdx.x;
  u32* warp_counts = arena;
  u32* lane_words = arena + SORT_WARPS * SORT_DIGITS;
  u32* tile_values = arena;
  u32* own_counts = warp_counts + warp * SORT_DIGITS;
  u32* own_words = lane_words + warp * SORT_DIGITS;
  u32 unused;
  const u32 digit_start = block_scan_exclusive_u32(totals[digit], &unused);
  for (u32 c = blockIdx.x; c < chunks; c += gridDim.x) {
    const u64 begin = (u64)c * chunk;
    const u64 end = begin + chunk < n ? begin + chunk : n;
    u32 next = digit_start + counts[(u64)digit * chunks + c];  // Where this thread's digit goes next.
    for (u64 tile = begin; tile < end; tile += ITEMS * SORT_THREADS) {
      const u32 left = end - tile < ITEMS * SORT_THREADS ? (u32)(end - tile) : ITEMS * SORT_THREADS;
      const u32 mine = warp * (ITEMS * 32) + lane;  // this thread's first pair in the tile
      K key[ITEMS];
      u32 rank[ITEMS];
#pragma unroll
      for (u32 j = 0; j < ITEMS; ++j) key[j] = mine + j * 32 < left ? keys_in[tile + mine + j * 32] : (K)0;
      for (u32 w = 0; w < 2 * SORT_WARPS; ++w) warp_counts[w * SORT_DIGITS + digit] = 0;
      __syncthreads();
      if (warp * (ITEMS * 32) < left) {  // The last tile of a chunk may end before this warp's part.
#pragma unroll
        for (u32 j = 0; j < ITEMS; ++j) {
          const bool inside = mine + j * 32 < left;
          const u32 d = sort_digit(key[j], shift, digit_mask);
          if (inside) atomicOr(&own_words[d], 1u << lane);
          __syncwarp();
          const u32 peers = inside ? own_words[d] : 1u << lane;
          const u32 leader = 31u - (u32)__clz((int)peers);
          __syncwarp();
          u32 before = 0;
          if (inside && lane == leader) {
            before = own_counts[d];
            own_counts[d] = before + (u32)__popc(peers);
            own_words[d] = 0;
          }
          before = __shfl_sync(GL_FULL, before, leader);
          rank[j] = before + (u32)__popc(peers & ((1u << lane) - 1u));
          __syncwarp();
        }
      }
      __syncthreads();
      // Thread d: the digit's place in the tile, and of each warp's share within it.
      u32 share[SORT_WARPS];
      u32 in_tile = 0;
#pragma unroll
      for (u32 w = 0; w < SORT_WARPS; ++w) {
        share[w] = in_tile;
        in_tile += warp_counts[w * SORT_DIGITS + digit];
      }
      const u32 start = block_scan_exclusive_u32(in_tile, &unused);
#pragma unroll
      for (u32 w = 0; w < SORT_WARPS; ++w) warp_counts[w * SORT_DIGITS + digit] = start + share[w];
      moves[digit] = next - start;
      next += in_tile;
      __syncthreads();
#pragma unroll
      for (u32 j = 0; j < ITEMS; ++j)
        if (mine + j * 32 < left) {
          rank[j] += own_counts[sort_digit(key[j], shift, digit_mask)];
          tile_keys[rank[j]] = key[j];
        }
      __syncthreads();
      // The values come late, so that they and the keys do not take registers at the same time.
#pragma unroll
      for (u32 j = 0; j < ITEMS; ++j)
        if (mine + j * 32 < left) tile_values[rank[j]] = values_in[tile + mine + j * 32];
      __syncthreads();
#pragma unroll 4
      for (u32 j = 0; j < ITEMS; ++j) {
        const u32 i = j * SORT_THREADS + threadIdx.x;
        if (i < left) {
          const K k = tile_keys[i];
          const u32 to = moves[sort_digit(k, shift, digit_mask)] + i;
          keys_out[to] = k;
          values_out[to] = tile_values[i];
        }
      }
      __syncthreads();
    }
  }
}

// counts[d * chunks + c] = how many keys of chunk c have the digit d = (key >> shift) & digit_mask.
// A block a chunk.
//@ keys: n, counts: 256 * chunks
GL_KERNEL void GL_BOUNDS(256)
sort_count_u32(u32 n, u32 chunk, u32 chunks, u32 shift, u32 digit_mask, const u32* GL_RESTRICT keys,
               u32* GL_RESTRICT counts) {
  __shared__ u32 warp_counts[SORT_WARPS * SORT_DIGITS];
  sort_count_chunks<u32>(n, chunk, chunks, shift, digit_mask, keys, counts, warp_counts);
}

//@ keys: n, counts: 256 * chunks
GL_KERNEL void GL_BOUNDS(256)
sort_count_u64(u32 n, u32 chunk, u32 chunks, u32 shift, u32 digit_mask, const u64* GL_RESTRICT keys,
               u32* GL_RESTRICT counts) {
  __shared__ u32 warp_counts[SORT_WARPS * SORT_DIGITS];
  sort_count_chunks<u64>(n, chunk, chunks, shift, digit_mask, keys, counts, warp_counts);
}

// Scans each digit's row of counts in place and leaves the row's sum in totals. A warp a digit, with four
// counts of each lane in flight.
//@ counts: 256 * chunks, totals: 256
GL_KERNEL void GL_BOUNDS(256) sort_rows(u32 chunks, u32* GL_RESTRICT counts, u32* GL_RESTRICT totals) {
  for (u64 d = gl_first_warp(); d < SORT_DIGITS; d += gl_step_warps()) {
    u32* row = counts + d * chunks;
    u32 carry = 0;
    for (u32 base = 0; base < chunks; base += 128) {
      u32 v[4];
#pragma unroll
      for (u32 r = 0; r < 4; ++r) {
        const u32 c = base + r * 32 + gl_lane();
        v[r] = c < chunks ? row[c] : 0u;
      }
#pragma unroll
      for (u32 r = 0; r < 4; ++r) {
        const u32 c = base + r * 32 + gl_lane();
        const u32 upto = warp_scan_inclusive_u32(v[r]);
        if (c < chunks) row[c] = carry + upto - v[r];
        carry += __shfl_sync(GL_FULL, upto, 31);
      }
    }
    if (gl_lane() == 0) totals[d] = carry;
  }
}

// Moves every pair to its place by this digit, keeping the order of equal digits. A block a chunk;
// `chunk` is a multiple of 4096.
//@ keys_in: n, values_in: n, counts: 256 * chunks, totals: 256, keys_out: n, values_out: n
GL_KERNEL void GL_BOUNDS(256)
sort_scatter_u32(u32 n, u32 chunk, u32 chunks, u32 shift, u32 digit_mask, const u32* GL_RESTRICT keys_in,
                 const u32* values_in, const u32* GL_RESTRICT counts,
                 const u32* GL_RESTRICT totals, u32* GL_RESTRICT keys_out, u32* values_out) {
  __shared__ u32 arena[2 * SORT_WARPS * SORT_DIGITS];
  __shared__ u32 tile_keys[16 * SORT_THREADS];
  __shared__ u32 moves[SORT_DIGITS];
  sort_scatter_chunks<u32, 16>(n, chunk, chunks, shift, digit_mask, keys_in, values_in, counts, totals,
                               keys_out, values_out, arena, tile_keys, moves);
}

// `chunk` is a multiple of 3072.
//@ keys_in: n, values_in: n, counts: 256 * chunks, totals: 256, keys_out: n, values_out: n
GL_KERNEL void GL_BOUNDS(256)
sort_scatter_u64(u32 n, u32 chunk, u32 chunks, u32 shift, u32 digit_mask, const u64* GL_RESTRICT keys_in,
                 const u32* values_in, const u32* GL_RESTRICT counts,
                 const u32* GL_RESTRICT totals, u64* GL_RESTRICT keys_out, u32* values_out) {
  __shared__ u32 arena[2 * SORT_WARPS * SORT_DIGITS];
  __shared__ u64 tile_keys[12 * SORT_THREADS];
  __shared__ u32 moves[SORT_DIGITS];
  sort_scatter_chunks<u64, 12>(n, chunk, chunks, shift, digit_mask, keys_in, values_in, counts, totals,
                               keys_out, values_out, arena, tile_keys, moves);
}
