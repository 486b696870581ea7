#include "common.cuh"
// Payloads of position frames, in node order, the same bytes as the encoder on the host makes: 16-bit pairs
// within bounds, and byte steps from the pairs of a key frame. A pair travels as x | y << 16.

#define FRAME_STEPS 65534.0
#define FRAME_ABSENT 0xffffffffu
// Nodes of a tile, whose overflowing nodes are counted together.
#define FRAME_TILE 1024u

GL_DEVICE bool frame_placed(float2 p) {
  return fabsf(p.x) <= 3.4028234e38f && fabsf(p.y) <= 3.4028234e38f;
}

GL_DEVICE f32 frame_block_min(f32 v) {
  __shared__ f32 part[32];
  v = warp_min(v);
  __syncthreads();
  if (gl_lane() == 0) part[gl_warp()] = v;
  __syncthreads();
  return warp_min(gl_lane() < gl_warps() ? part[gl_lane()] : v);
}

// The least x, y, -x and -y of a block's finite points; 3.4e38 where it has none. Moves 8 bytes a point.
//@ points: n, partials: 4 * blocks
GL_KERNEL void GL_BOUNDS(256) frame_box(u32 n, const float2* GL_RESTRICT points, f32* GL_RESTRICT partials) {
  f32 low[4] = {3.4028234e38f, 3.4028234e38f, 3.4028234e38f, 3.4028234e38f};
  for (u64 i = gl_first(); i < n; i += gl_step()) {
    const float2 p = points[i];
    if (frame_placed(p)) {
      low[0] = fminf(low[0], p.x);
      low[1] = fminf(low[1], p.y);
      low[2] = fminf(low[2], -p.x);
      low[3] = fminf(low[3], -p.y);
    }
  }
#pragma unroll
  for (u32 c = 0; c < 4; ++c) {
    const f32 least = frame_block_min(low[c]);
    if (threadIdx.x == 0) partials[4 * (u64)blockIdx.x + c] = least;
  }
}

// The same over all blocks, in one block.
//@ partials: 4 * rows, least: 4
GL_KERNEL void GL_BOUNDS(256) frame_box_end(u32 rows, const f32* GL_RESTRICT partials,
                                            f32* GL_RESTRICT least) {
#pragma unroll
  for (u32 c = 0; c < 4; ++c) {
    f32 low = 3.4028234e38f;
    for (u32 i = threadIdx.x; i < rows; i += blockDim.x) low = fminf(low, partials[4 * (u64)i + c]);
    low = frame_block_min(low);
    if (blockIdx.x == 0 && threadIdx.x == 0) least[c] = low;
  }
}

// The positions of the nodes 0, stride, 2 stride, ...
//@ body_of: n, points: n, sample: div_up(n, stride)
GL_KERNEL void GL_BOUNDS(256) frame_sample(u32 n, u32 stride, const u32* GL_RESTRICT body_of,
                                           const float2* GL_RESTRICT points, float2* GL_RESTRICT sample) {
  for (u64 i = gl_first(); i * stride < n; i += gl_step()) sample[i] = points[body_of[i * stride]];
}

// Positions outside are moved to the border.
GL_DEVICE u32 frame_axis(f32 v, f32 origin, f32 step) {
  const f64 q = ((f64)v - (f64)origin) / (f64)step;
  return (u32)(fmin(fmax(q, 0.0), FRAME_STEPS) + 0.5);
}

// The pair of every node within bounds. Moves 4 bytes a node in, one gathered sector, and 4 bytes out.
//@ body_of: n, points: n, pairs: n
GL_KERNEL void GL_BOUNDS(256) frame_quantize(u32 n, f32 x0, f32 y0, f32 sx, f32 sy,
                                             const u32* GL_RESTRICT body_of,
                                             const float2* GL_RESTRICT points, u32* GL_RESTRICT pairs) {
  for (u64 v = gl_first(); v < n; v += gl_step()) {
    const float2 p = points[body_of[v]];
    pairs[v] = frame_placed(p) ? frame_axis(p.x, x0, sx) | frame_axis(p.y, y0, sy) << 16 : FRAME_ABSENT;
  }
}

// The larger difference of the nodes 0, stride, ..., FRAME_ABSENT for one that is not placed in both.
//@ base: n, now: n, sample: div_up(n, stride)
GL_KERNEL void GL_BOUNDS(256) frame_differences(u32 n, u32 stride, const u32* GL_RESTRICT base,
                                                const u32* GL_RESTRICT now, u32* GL_RESTRICT sample) {
  for (u64 i = gl_first(); i * stride < n; i += gl_step()) {
    const u32 a = base[i * stride], b = now[i * stride];
    const i32 x = (i32)(a & 65535u) - (i32)(b & 65535u), y = (i32)(a >> 16) - (i32)(b >> 16);
    const u32 dx = x < 0 ? -x : x, dy = y < 0 ? -y : y;
    sample[i] = a == FRAME_ABSENT || b == FRAME_ABSENT ? FRAME_ABSENT : (dx > dy ? dx : dy);
  }
}

// Rounds half away from zero.
GL_DEVICE i32 frame_step(u32 a, u32 b, f32 step) {
  const f32 v = ((f32)b - (f32)a) / step;
  return (i32)(v + (v < 0.0f ? -0.5f : 0.5f));
}

// Whether node pairs a -> b fit two bytes, and the bytes.
GL_DEVICE bool frame_steps(u32 a, u32 b, f32 step, u8& x, u8& y) {
  x = y = 0;
  if (a == b) return true;
  if (a == FRAME_ABSENT || b == FRAME_ABSENT) return false;
  const i32 dx = frame_step(a & 65535u, b & 65535u, step), dy = frame_step(a >> 16, b >> 16, step);
  if (dx < -127 || dx > 127 || dy < -127 || dy > 127) return false;
  x = (u8)(dx & 255);
  y = (u8)(dy & 255);
  return true;
}

// The steps of all nodes, first those of x and then those of y, and how many nodes of each tile do not fit.
// Moves 8 bytes a node in and 2 out.
//@ base: n, now: n, planes: 2 * n, tiles: div_up(n, 1024)
GL_KERNEL void GL_BOUNDS(256) frame_delta(u32 n, f32 step, const u32* GL_RESTRICT base,
                                          const u32* GL_RESTRICT now, u8* GL_RESTRICT planes,
                                          u32* GL_RESTRICT tiles) {
  const u32 count = (u32)(((u64)n + FRAME_TILE - 1) / FRAME_TILE);
  for (u32 tile = blockIdx.x; tile < count; tile += gridDim.x) {
    u32 over = 0;
    for (u32 k = threadIdx.x; k < FRAME_TILE; k += blockDim.x) {
      const u64 v = (u64)tile * FRAME_TILE + k;
      if (v < n) {
        u8 x, y;
        if (!frame_steps(base[v], now[v], step, x, y)) ++over;
        planes[v] = x;
        planes[n + v] = y;
      }
    }
    over = block_sum(over);
    if (threadIdx.x == 0) tiles[tile] = over;
  }
}

// Where the overflowing nodes of each tile go, and their number, in one block.
//@ tiles: count, total: 1
GL_KERNEL void GL_BOUNDS(256) frame_tiles(u32 count, u32* tiles, u32* total) {
  u32 before = 0;
  const u32 most = blockIdx.x == 0 ? count : 0;
  for (u32 from = 0; from < most; from += blockDim.x) {
    const u32 i = from + threadIdx.x;
    u32 sum;
    const u32 start = block_scan_exclusive_u32(i < count ? tiles[i] : 0, &sum);
    if (i < count) tiles[i] = before + start;
    before += sum;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) total[0] = before;
}

// The nodes that do not fit, in order: index and pair. `most` is how many the list has room for. Moves
// 8 bytes a node in.
//@ base: n, now: n, tiles: div_up(n, 1024), list: 2 * most
GL_KERNEL void GL_BOUNDS(256) frame_overflow(u32 n, f32 step, u32 most, const u32* GL_RESTRICT base,
                                             const u32* GL_RESTRICT now, const u32* GL_RESTRICT tiles,
                                             u32* GL_RESTRICT list) {
  const u32 count = (u32)(((u64)n + FRAME_TILE - 1) / FRAME_TILE);
  for (u32 tile = blockIdx.x; tile < count; tile += gridDim.x) {
    u32 at = tiles[tile];
    for (u32 from = 0; from < FRAME_TILE; from += blockDim.x) {
      const u64 v = (u64)tile * FRAME_TILE + from + threadIdx.x;
      u8 x, y;
      const bool mine = from + threadIdx.x < FRAME_TILE && v < n;
      const bool over = mine && !frame_steps(base[v], now[v], step, x, y);
      u32 sum;
      const u32 slot = at + block_scan_exclusive_u32(over ? 1u : 0u, &sum);
      if (over && slot < most) {
        list[2 * (u64)slot] = (u32)v;
        list[2 * (u64)slot + 1] = now[v];
      }
      at += sum;
    }
  }
}
