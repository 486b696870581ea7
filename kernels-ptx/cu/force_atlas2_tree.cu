#include "force_atlas2.cuh"
// The implicit tree over bodies in curve order. There are no pointers and nothing to rebalance: only the
// moments change when bodies move. A cell is two float4: {x, y, radius, mass} about the centre of its mass,
// and the sums of m z^2 and m z^3 as complex numbers in coordinates times the scale.

struct FaCell {
  float4 geo;
  float4 moments;
  float4 box;
};

// Sums relative to the first body keep the digits that a far origin would cost.
GL_DEVICE FaCell fa_leaf(const float2* GL_RESTRICT points, const f32* GL_RESTRICT masses, u32 first, u32 end,
                         f32 scale) {
  const float2 origin = points[first];
  f32 m = 0.0f, sx = 0.0f, sy = 0.0f;
  float4 box = make_float4(origin.x, origin.y, origin.x, origin.y);
  for (u32 i = first; i < end; ++i) {
    const float2 p = points[i];
    const f32 w = masses[i];
    m += w;
    sx += w * (p.x - origin.x);
    sy += w * (p.y - origin.y);
    box.x = fminf(box.x, p.x);
    box.y = fminf(box.y, p.y);
    box.z = fmaxf(box.z, p.x);
    box.w = fmaxf(box.w, p.y);
  }
  const f32 x = m > 0.0f ? origin.x + sx / m : origin.x;
  const f32 y = m > 0.0f ? origin.y + sy / m : origin.y;
  float4 a = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  f32 r2 = 0.0f;
  for (u32 i = first; i < end; ++i) {
    const float2 p = points[i];
    const f32 w = masses[i], dx = p.x - x, dy = p.y - y;
    r2 = fmaxf(r2, dx * dx + dy * dy);
    const f32 zx = dx * scale, zy = dy * scale;
    const f32 qx = zx * zx - zy * zy, qy = 2.0f * zx * zy;
    a.x += w * qx;
    a.y += w * qy;
    a.z += w * (qx * zx - qy * zy);
    a.w += w * (qx * zy + qy * zx);
  }
  FaCell c;
  c.geo = make_float4(x, y, sqrtf(r2), m);
  c.moments = a;
  c.box = box;
  return c;
}

// The cell above the `count` cells from `first` on.
GL_DEVICE FaCell fa_merge(const float4* cells, const float4* boxes, u32 first, u32 count, f32 scale) {
  float4 geo[FA_FAN];
  float4 box = boxes[first];
  f32 m = 0.0f, sx = 0.0f, sy = 0.0f;
#pragma unroll
  for (u32 k = 0; k < FA_FAN; ++k) {
    if (k < count) {
      geo[k] = cells[2 * (first + k)];
      const float4 b = boxes[first + k];
      m += geo[k].w;
      sx += geo[k].w * (geo[k].x - geo[0].x);
      sy += geo[k].w * (geo[k].y - geo[0].y);
      box.x = fminf(box.x, b.x);
      box.y = fminf(box.y, b.y);
      box.z = fmaxf(box.z, b.z);
      box.w = fmaxf(box.w, b.w);
    }
  }
  const f32 x = m > 0.0f ? geo[0].x + sx / m : geo[0].x;
  const f32 y = m > 0.0f ? geo[0].y + sy / m : geo[0].y;
  float4 a = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  f32 r = 0.0f;
#pragma unroll
  for (u32 k = 0; k < FA_FAN; ++k) {
    if (k < count) {
      const float4 c = cells[2 * (first + k) + 1];
      const f32 dx = geo[k].x - x, dy = geo[k].y - y, w = geo[k].w;
      r = fmaxf(r, fa_length(dx, dy) + geo[k].z);
      const f32 hx = dx * scale, hy = dy * scale;
      const f32 qx = hx * hx - hy * hy, qy = 2.0f * hx * hy;
      a.x += c.x + w * qx;
      a.y += c.y + w * qy;
      a.z += c.z + 3.0f * (c.x * hx - c.y * hy) + w * (qx * hx - qy * hy);
      a.w += c.w + 3.0f * (c.x * hy + c.y * hx) + w * (qx * hy + qy * hx);
    }
  }
  // No body is farther away than the farthest corner of the box.
  const f32 reach = fa_length(fmaxf(x - box.x, box.z - x), fmaxf(y - box.y, box.w - y));
  FaCell c;
  c.geo = make_float4(x, y, fminf(r, reach), m);
  c.moments = a;
  c.box = box;
  return c;
}

GL_DEVICE void fa_store(const FaCell& c, u32 at, float4* cells, float4* boxes) {
  cells[2 * at] = c.geo;
  cells[2 * at + 1] = c.moments;
  boxes[at] = c.box;
}

// Computes cell `i` of `level` from the level below.
GL_DEVICE void fa_lift(u32 n, u32 level, u32 i, const u32* GL_RESTRICT bases, f32 scale, float4* cells,
                       float4* boxes) {
  const u32 below = fa_cells(n, level - 1), first = i * FA_FAN;
  const u32 count = below - first < FA_FAN ? below - first : FA_FAN;
  fa_store(fa_merge(cells, boxes, bases[level - 1] + first, count, scale), bases[level] + i, cells, boxes);
}

#define FA_TILE 64u
// Refits the leaves and the three levels above them: a thread a leaf, a block a cell of level 3. `bases`
// holds the first cell of every level, `logs` gets the sum of the logarithms of 64 leaves' radii. Moves
// 12 bytes a body in (twice, the second time out of L1) and 48 bytes a cell out, about 4 bytes a body.
//@ points: n, masses: n, bases: 16, state: 24, cells: *, boxes: *, logs: div_up(n, 1024)
GL_KERNEL void GL_BOUNDS(64) fa_leaves(u32 n, u32 levels, const float2* GL_RESTRICT points,
                                       const f32* GL_RESTRICT masses, const u32* GL_RESTRICT bases,
                                       const f64* GL_RESTRICT state, float4* cells, float4* boxes,
                                       f32* GL_RESTRICT logs) {
  const f32 scale = (f32)state[FA_SCALE];
  const u32 leaves = fa_cells(n, 0), tiles = fa_cells(n, 3);
  for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    f32 log = 0.0f;
    for (u32 t = threadIdx.x; t < FA_TILE; t += blockDim.x) {
      const u32 leaf = tile * FA_TILE + t;
      if (leaf < leaves) {
        const u32 first = leaf * FA_LEAF;
        const u32 end = n - first < FA_LEAF ? n : first + FA_LEAF;
        const FaCell cell = fa_leaf(points, masses, first, end, scale);
        fa_store(cell, bases[0] + leaf, cells, boxes);
        log += logf(fmaxf(cell.geo.z, 1e-30f));
      }
    }
    log = block_sum(log);
    if (threadIdx.x == 0) logs[tile] = log;
    for (u32 level = 1; level < 4; ++level) {
      __syncthreads();
      const u32 count = FA_TILE >> (2 * level), i = tile * count + threadIdx.x;
      if (level < levels && threadIdx.x < count && i < fa_cells(n, level)) {
        fa_lift(n, level, i, bases, scale, cells, boxes);
      }
    }
  }
}

// Refits the levels from 4 up, in one block: at most a 1024th of a cell a body. More blocks do nothing.
//@ bases: 16, state: 24, cells: *, boxes: *
GL_KERNEL void GL_BOUNDS(512) fa_top(u32 n, u32 levels, const u32* GL_RESTRICT bases,
                                     const f64* GL_RESTRICT state, float4* cells, float4* boxes) {
  const f32 scale = (f32)state[FA_SCALE];
  for (u32 level = 4; level < levels; ++level) {
    const u32 count = blockIdx.x == 0 ? fa_cells(n, level) : 0;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
      fa_lift(n, level, i, bases, scale, cells, boxes);
    }
    __syncthreads();
  }
}
