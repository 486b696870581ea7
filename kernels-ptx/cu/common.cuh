// The prelude of every kernel source. The same source is compiled to PTX by NVRTC and, for the tests,
// to host code by a C++ compiler (GL_HOST; see tests/emu).
#pragma once
#ifdef GL_HOST
#include "emu.hpp"
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
typedef float f32;
typedef double f64;

#define GL_KERNEL extern "C" __global__
// The most threads a block may have: bounds the registers, and the typed launch checks it.
#define GL_BOUNDS(threads) __launch_bounds__(threads)
#define GL_RESTRICT __restrict__
#define GL_DEVICE static __device__ __forceinline__
#define GL_FULL 0xffffffffu
#define GL_WARP 32u

// Shared memory whose size the launch states (Grid::shared): a pointer `name` to `type`.
#ifdef GL_HOST
#define GL_SHARED_DYNAMIC(type, name) type* const name = static_cast<type*>(emu::dynamic_shared())
#else
extern __shared__ __align__(16) unsigned char gl_dynamic_shared[];
#define GL_SHARED_DYNAMIC(type, name) type* const name = reinterpret_cast<type*>(gl_dynamic_shared)
#endif

// Where this thread stands. Grids and blocks are one-dimensional throughout.
GL_DEVICE u32 gl_lane() { return threadIdx.x & 31u; }
GL_DEVICE u32 gl_warp() { return threadIdx.x >> 5; }
GL_DEVICE u32 gl_warps() { return blockDim.x >> 5; }
// First item and step of a grid-stride loop with a thread an item. 64 bits wide: `first + step` must
// not wrap when there are nearly 2^32 items.
GL_DEVICE u64 gl_first() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
GL_DEVICE u64 gl_step() { return (u64)gridDim.x * blockDim.x; }
// The same with a warp an item.
GL_DEVICE u64 gl_first_warp() { return (u64)blockIdx.x * gl_warps() + gl_warp(); }
GL_DEVICE u64 gl_step_warps() { return (u64)gridDim.x * gl_warps(); }

// The sum over a warp, the same bits in every lane. All 32 lanes must take part.
template <class T>
GL_DEVICE T warp_sum(T v) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(GL_FULL, v, d);
  return v;
}
template <class T>
GL_DEVICE T warp_min(T v) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) {
    const T other = __shfl_xor_sync(GL_FULL, v, d);
    v = other < v ? other : v;
  }
  return v;
}
template <class T>
GL_DEVICE T warp_max(T v) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) {
    const T other = __shfl_xor_sync(GL_FULL, v, d);
    v = v < other ? other : v;
  }
  return v;
}

// The sum of the lanes up to and including this one, modulo 2^32.
GL_DEVICE u32 warp_scan_inclusive_u32(u32 v) {
#pragma unroll
  for (u32 d = 1; d < 32; d <<= 1) {
    const u32 below = __shfl_up_sync(GL_FULL, v, d);
    if (gl_lane() >= d) v += below;
  }
  return v;
}

// The sum over a block, the same bits in every thread and in a fixed order. Every thread of the block
// must call it; the block is a whole number of warps.
template <class T>
GL_DEVICE T block_sum(T v) {
  __shared__ T part[32];
  v = warp_sum(v);
  __syncthreads();  // An earlier call may still be reading.
  if (gl_lane() == 0) part[gl_warp()] = v;
  __syncthreads();
  return warp_sum(gl_lane() < gl_warps() ? part[gl_lane()] : T(0));
}

// The sum of the threads before this one, and that of all, modulo 2^32. As for block_sum.
GL_DEVICE u32 block_scan_exclusive_u32(u32 v, u32* total) {
  __shared__ u32 part[32];
  const u32 inclusive = warp_scan_inclusive_u32(v);
  __syncthreads();
  if (gl_lane() == 31) part[gl_warp()] = inclusive;
  __syncthreads();
  const u32 sums = warp_scan_inclusive_u32(gl_lane() < gl_warps() ? part[gl_lane()] : 0u);
  *total = __shfl_sync(GL_FULL, sums, 31);
  const u32 before = __shfl_sync(GL_FULL, sums, gl_warp() == 0 ? 0u : gl_warp() - 1u);
  return (gl_warp() == 0 ? 0u : before) + inclusive - v;
}

// The splitmix64 finaliser and the counter-based hash: the same bits as mix64 and h64 of
// graphlume_types::hash.
GL_DEVICE u64 mix64(u64 x) {
  x += 0x9E3779B97F4A7C15ull;
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ull;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}
GL_DEVICE u64 hash64(u64 seed, u64 stream, u64 counter) {
  return mix64(mix64((seed << 32) + stream) ^ counter);
}
// hash64 as a uniform number in [0, 1) with 53 bits.
GL_DEVICE f64 unit_f64(u64 seed, u64 stream, u64 counter) {
  return (f64)(hash64(seed, stream, counter) >> 11) * (1.0 / 9007199254740992.0);
}
