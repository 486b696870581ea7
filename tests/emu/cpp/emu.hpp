// The part of the CUDA language that our kernels use, for an ordinary C++ compiler. Every CUDA thread is
// a fibre; fibres change only where the lanes of a warp or the threads of a block must meet.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x = 1, y = 1, z = 1; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) ulonglong2 { unsigned long long x, y; };
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline double2 make_double2(double x, double y) { return {x, y}; }
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }
static inline uchar4 make_uchar4(unsigned char x, unsigned char y, unsigned char z, unsigned char w) {
  return {x, y, z, w};
}

namespace emu {

// What a running kernel sees of its own thread and block. The scheduler's types extend these.
struct Thread {
  uint3 index;
  unsigned lane;
};
struct Place {
  Thread* self;
  uint3 block;
  dim3 grid, threads;
  bool shaken;  // Whether a seed asks for odd schedules.
};
extern __thread Place* here __attribute__((tls_model("initial-exec")));

// Meets the threads of the block; the answers are valid until the next meeting.
struct Count { unsigned any, count; };
Count sync_block(bool predicate, const char* where);
// Meets the lanes of `mask`. Each leaves with every lane's value, and with the ballot.
const uint64_t* sync_warp(unsigned mask, uint64_t value, bool predicate, unsigned* ballot, const char* where);
// Under a seed, sometimes lets another thread run first.
void shake();
void* dynamic_shared();
[[noreturn]] void die(const char* why);

template <class T> inline uint64_t pack(T v) {
  static_assert(sizeof(T) <= 8, "a lane hands over at most 8 bytes");
  uint64_t bits = 0;
  memcpy(&bits, &v, sizeof v);
  return bits;
}
template <class T> inline T unpack(uint64_t bits) {
  T v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
template <class T> inline T shuffle(unsigned mask, T v, unsigned from, const char* where) {
  const uint64_t* all = sync_warp(mask, pack(v), false, nullptr, where);
  return from < 32 && (mask >> from & 1) ? unpack<T>(all[from]) : v;
}
inline unsigned vote(unsigned mask, bool predicate, const char* where) {
  unsigned ballot;
  sync_warp(mask, 0, predicate, &ballot, where);
  return ballot;
}
template <class T> inline unsigned match(unsigned mask, T v, const char* where) {
  const uint64_t mine = pack(v);
  const uint64_t* all = sync_warp(mask, mine, false, nullptr, where);
  unsigned same = 0;
  for (unsigned rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = (unsigned)__builtin_ctz(rest);
    if (all[lane] == mine) same |= 1u << lane;
  }
  return same;
}
template <class T> struct Same { using type = T; };
// An atomic read-modify-write; `change` gives the new value from the old one.
template <class T, class F> inline T update(T* at, F change) {
  if (here->shaken) shake();
  T old, now;
  __atomic_load(at, &old, __ATOMIC_RELAXED);
  do now = change(old);
  while (!__atomic_compare_exchange(at, &old, &now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

}  // namespace emu

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) alignas(n)
#define __launch_bounds__(...)
// Blocks run one after the other, so one copy of a block's shared memory is enough. The section of the
// family lets the scheduler fill it with garbage before each block.
#define EMU_TEXT2(x) #x
#define EMU_TEXT(x) EMU_TEXT2(x)
#define __shared__ static __attribute__((section(EMU_TEXT(GL_SHARED_SECTION))))

#define EMU_HERE __FILE__ ":" EMU_TEXT(__LINE__)
#define threadIdx (emu::here->self->index)
#define blockIdx (emu::here->block)
#define blockDim (emu::here->threads)
#define gridDim (emu::here->grid)
#define warpSize 32

#define __syncthreads() ((void)emu::sync_block(false, EMU_HERE))
#define __syncthreads_or(p) ((int)emu::sync_block((p), EMU_HERE).any)
#define __syncthreads_and(p) ((int)!emu::sync_block(!(p), EMU_HERE).any)
#define __syncthreads_count(p) ((int)emu::sync_block((p), EMU_HERE).count)
#define EMU_MASK(m, ...) m
#define __syncwarp(...) \
  ((void)emu::sync_warp(EMU_MASK(__VA_ARGS__ __VA_OPT__(, ) 0xffffffffu), 0, false, nullptr, EMU_HERE))
#define __shfl_sync(m, v, from) emu::shuffle((m), (v), (unsigned)(from) & 31u, EMU_HERE)
#define __shfl_up_sync(m, v, d) emu::shuffle((m), (v), emu::here->self->lane - (unsigned)(d), EMU_HERE)
#define __shfl_down_sync(m, v, d) emu::shuffle((m), (v), emu::here->self->lane + (unsigned)(d), EMU_HERE)
#define __shfl_xor_sync(m, v, d) emu::shuffle((m), (v), emu::here->self->lane ^ (unsigned)(d), EMU_HERE)
#define __ballot_sync(m, p) emu::vote((m), (p), EMU_HERE)
#define __any_sync(m, p) ((int)(emu::vote((m), (p), EMU_HERE) != 0))
#define __all_sync(m, p) ((int)(emu::vote((m), !(p), EMU_HERE) == 0))
#define __match_any_sync(m, v) emu::match((m), (v), EMU_HERE)
#define __threadfence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __threadfence_block() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __trap() emu::die("__trap()")

#include "emu_math.hpp"
