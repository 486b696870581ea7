#include "common.cuh"
// Reductions in two launches of the same kernel: `parts` partial results, each a fixed set of items
// added in a fixed order, then the partial results in one part. The number of parts follows from n
// alone, so floating-point results have the same bits on every device and for every grid.
// Bytes moved: the input once, 16 bytes a load where the address allows it.
// A block a part; right for any number of blocks; 256 threads.

#define REDUCE_THREADS 256
#define REDUCE_ITEMS 8                                  // items of a thread in flight
#define REDUCE_TILE (REDUCE_THREADS * REDUCE_ITEMS)

template <class T, u32 BYTES>
struct ReduceWide;
template <class T>
struct ReduceWide<T, 4> {
  typedef uint4 Wide;
};
template <class T>
struct ReduceWide<T, 8> {
  typedef ulonglong2 Wide;
};

// REDUCE_ITEMS items of a whole tile: groups of 16 bytes, neighbouring threads on neighbouring groups.
template <class T>
GL_DEVICE void reduce_load(const T* in, u64 tile, T v[REDUCE_ITEMS]) {
  const u32 group = 16 / sizeof(T);
#pragma unroll
  for (u32 g = 0; g < REDUCE_ITEMS / group; ++g) {
    const u64 i = tile + (g * REDUCE_THREADS + threadIdx.x) * group;
    if (((u64)in & 15) == 0) {
      union {
        typename ReduceWide<T, sizeof(T)>::Wide wide;
        T item[16 / sizeof(T)];
      } u;
      u.wide = *reinterpret_cast<const typename ReduceWide<T, sizeof(T)>::Wide*>(in + i);
#pragma unroll
      for (u32 k = 0; k < group; ++k) v[g * group + k] = u.item[k];
    } else {
#pragma unroll
      for (u32 k = 0; k < group; ++k) v[g * group + k] = in[i + k];
    }
  }
}

template <class T, class A>
GL_DEVICE void reduce_sum(u32 n, u32 parts, const T* in, A* out) {
  for (u32 part = blockIdx.x; part < parts; part += gridDim.x) {
    A sum = 0;
    u64 tile = (u64)part * REDUCE_TILE;
    for (; tile + REDUCE_TILE <= n; tile += (u64)parts * REDUCE_TILE) {
      T v[REDUCE_ITEMS];
      reduce_load(in, tile, v);
#pragma unroll
      for (u32 k = 0; k < REDUCE_ITEMS; ++k) sum += (A)v[k];
    }
    for (u64 i = tile + threadIdx.x; i < n && i < tile + REDUCE_TILE; i += REDUCE_THREADS) sum += (A)in[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[part] = sum;
  }
}

// Comparisons with NaN are false, so a NaN never becomes the result.
template <class T>
GL_DEVICE T reduce_least(T a, T b) {
  return b < a ? b : a;
}
template <class T>
GL_DEVICE T reduce_most(T a, T b) {
  return a < b ? b : a;
}

// `lows` and `highs` are the same input in the first launch and the two halves of the partial results
// in the second.
template <class T>
GL_DEVICE void reduce_min_max(u32 n, u32 parts, T top, T bottom, const T* lows, const T* highs, T* out,
                              T* shared) {
  for (u32 part = blockIdx.x; part < parts; part += gridDim.x) {
    T low = top, high = bottom;
    u64 tile = (u64)part * REDUCE_TILE;
    for (; tile + REDUCE_TILE <= n; tile += (u64)parts * REDUCE_TILE) {
      T a[REDUCE_ITEMS], b[REDUCE_ITEMS];
      reduce_load(lows, tile, a);
      if (lows == highs) {
#pragma unroll
        for (u32 k = 0; k < REDUCE_ITEMS; ++k) b[k] = a[k];
      } else {
        reduce_load(highs, tile, b);
      }
#pragma unroll
      for (u32 k = 0; k < REDUCE_ITEMS; ++k) {
        low = reduce_least(low, a[k]);
        high = reduce_most(high, b[k]);
      }
    }
    for (u64 i = tile + threadIdx.x; i < n && i < tile + REDUCE_TILE; i += REDUCE_THREADS) {
      low = reduce_least(low, lows[i]);
      high = reduce_most(high, highs[i]);
    }
    low = warp_min(low);
    high = warp_max(high);
    __syncthreads();
    if (gl_lane() == 0) {
      shared[gl_warp()] = low;
      shared[32 + gl_warp()] = high;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (u32 w = 1; w < gl_warps(); ++w) {
        low = reduce_least(low, shared[w]);
        high = reduce_most(high, shared[32 + w]);
      }
      out[part] = low;
      out[(u64)parts + part] = high;
    }
  }
}

//@ in: n, out: parts
GL_KERNEL void GL_BOUNDS(256)
reduce_sum_f32(u32 n, u32 parts, const f32* GL_RESTRICT in, f64* GL_RESTRICT out) {
  reduce_sum<f32, f64>(n, parts, in, out);
}

//@ in: n, out: parts
GL_KERNEL void GL_BOUNDS(256)
reduce_sum_f64(u32 n, u32 parts, const f64* GL_RESTRICT in, f64* GL_RESTRICT out) {
  reduce_sum<f64, f64>(n, parts, in, out);
}

//@ in: n, out: parts
GL_KERNEL void GL_BOUNDS(256)
reduce_sum_u32(u32 n, u32 parts, const u32* GL_RESTRICT in, u64* GL_RESTRICT out) {
  reduce_sum<u32, u64>(n, parts, in, out);
}

//@ in: n, out: parts
GL_KERNEL void GL_BOUNDS(256)
reduce_sum_u64(u32 n, u32 parts, const u64* GL_RESTRICT in, u64* GL_RESTRICT out) {
  reduce_sum<u64, u64>(n, parts, in, out);
}

// out[0 .. parts) the least values, out[parts .. 2 parts) the greatest; infinity and its negative
// where there is no value. NaN is passed over.
//@ lows: n, highs: n, out: 2 * parts
GL_KERNEL void GL_BOUNDS(256)
reduce_min_max_f32(u32 n, u32 parts, const f32* lows, const f32* highs, f32* GL_RESTRICT out) {
  __shared__ f32 shared[64];
  const f32 top = __uint_as_float(0x7f800000u);
  reduce_min_max<f32>(n, parts, top, -top, lows, highs, out, shared);
}

//@ lows: n, highs: n, out: 2 * parts
GL_KERNEL void GL_BOUNDS(256)
reduce_min_max_f64(u32 n, u32 parts, const f64* lows, const f64* highs, f64* GL_RESTRICT out) {
  __shared__ f64 shared[64];
  const f64 top = (f64)__uint_as_float(0x7f800000u);
  reduce_min_max<f64>(n, parts, top, -top, lows, highs, out, shared);
}

// 2^32 - 1 and 0 where there is no value.
//@ lows: n, highs: n, out: 2 * parts
GL_KERNEL void GL_BOUNDS(256)
reduce_min_max_u32(u32 n, u32 parts, const u32* lows, const u32* highs, u32* GL_RESTRICT out) {
  __shared__ u32 shared[64];
  reduce_min_max<u32>(n, parts, 0xffffffffu, 0u, lows, highs, out, shared);
}
