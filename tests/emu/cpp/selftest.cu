// Kernels for the tests of the emulator itself: some right, most wrong on purpose. They are not in the PTX.
#include "common.cuh"

GL_KERNEL void GL_BOUNDS(256) st_double(u32 n, const u32* GL_RESTRICT in, u32* GL_RESTRICT out) {
  for (u64 i = gl_first(); i < n; i += gl_step()) out[i] = 2 * in[i];
}

// Sums, scans, votes and matches of a block against values that its threads compute alone.
GL_KERNEL void GL_BOUNDS(1024) st_block(u64 seed, u32* GL_RESTRICT out) {
  const u32 t = threadIdx.x, mine = (u32)hash64(seed, blockIdx.x, t) & 1023u;
  u32 before = 0, all = 0, same = 0;
  for (u32 other = 0; other < blockDim.x; ++other) {
    const u32 value = (u32)hash64(seed, blockIdx.x, other) & 1023u;
    if (other < t) before += value;
    if (other >> 5 == t >> 5 && (value & 7u) == (mine & 7u)) same |= 1u << (other & 31);
    all += value;
  }
  u32 bad = 0, total;
  bad |= block_scan_exclusive_u32(mine, &total) != before ? 1u : 0u;
  bad |= total != all ? 2u : 0u;
  bad |= block_sum(mine) != all ? 4u : 0u;
  bad |= block_sum((f64)mine) != (f64)all ? 8u : 0u;
  bad |= __match_any_sync(GL_FULL, mine & 7u) != same ? 16u : 0u;
  bad |= __ballot_sync(GL_FULL, (t & 1u) != 0) != 0xaaaaaaaau ? 32u : 0u;
  bad |= __syncthreads_count(t % 3 == 0) != (int)((blockDim.x + 2) / 3) ? 64u : 0u;
  bad |= __shfl_sync(GL_FULL, (u64)t << 32, 3) != (u64)(t / 32 * 32 + 3) << 32 ? 128u : 0u;
  // Half of a warp alone, then all again.
  if (gl_lane() < 16) bad |= __shfl_xor_sync(0xffffu, t, 1) != (t ^ 1u) ? 256u : 0u;
  __syncwarp();
  bad |= warp_max(t) != (t | 31u) || warp_min(t) != (t & ~31u) ? 512u : 0u;
  if (bad) atomicOr(out, bad);
  atomicAdd(out + 1, 1u);
}

GL_KERNEL void GL_BOUNDS(256) st_dynamic(u32* GL_RESTRICT out) {
  GL_SHARED_DYNAMIC(u32, table);
  table[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = table[blockDim.x - 1 - threadIdx.x];
}

// Reads what it must not know: the garbage in shared memory.
GL_KERNEL void GL_BOUNDS(64) st_garbage(u32* GL_RESTRICT out) {
  __shared__ u32 table[64];
  const u32 found = table[threadIdx.x];
  __syncthreads();
  table[threadIdx.x] = 7;
  out[threadIdx.x] = found;
}

// The order of blocks and lanes: each takes the next number.
GL_KERNEL void GL_BOUNDS(64) st_order(u32* GL_RESTRICT next, u32* GL_RESTRICT turn) {
  turn[gl_first()] = atomicAdd(next, 1u);
}

GL_KERNEL void GL_BOUNDS(256) st_bad_global(u32 n, u32* out) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[i] = i;
}
GL_KERNEL void GL_BOUNDS(256) st_bad_shared(u32* out) {
  __shared__ u32 table[64];
  table[threadIdx.x + 1] = 7;
  __syncthreads();
  out[threadIdx.x] = table[threadIdx.x];
}
GL_KERNEL void GL_BOUNDS(256) st_bad_barrier(u32* out) {
  if (threadIdx.x < 16) __syncthreads();
  out[threadIdx.x] = 1;
}
GL_KERNEL void GL_BOUNDS(256) st_bad_two_barriers(u32* out) {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}
GL_KERNEL void GL_BOUNDS(256) st_bad_mask(u32* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_down_sync(GL_FULL, out[threadIdx.x], 1);
}
GL_KERNEL void GL_BOUNDS(256) st_bad_stack(u32* out) {
  volatile u32 local[75000];
  for (u32 i = 0; i < 75000; ++i) local[i] = i;
  out[threadIdx.x] = local[threadIdx.x];
}
GL_KERNEL void GL_BOUNDS(64) st_bad_race(u32* out) {
  __shared__ u32 table[64];
  table[threadIdx.x] = threadIdx.x + 1;
  out[threadIdx.x] = table[63 - threadIdx.x];
}
