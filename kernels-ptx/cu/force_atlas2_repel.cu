#include "force_atlas2.cuh"
// Repulsion between all bodies. A body of mass m at distance d pushes with m / d: in the complex plane, the
// conjugate of m / (z - z0), which has multipole and Taylor expansions (Greengard and Rokhlin 1987).
//
// A warp serves 32 neighbouring bodies (two leaves) and walks the tree once for all of them. Its lanes test
// 32 cells at a time. A cell far from the whole group becomes part of one Taylor expansion about the group's
// centre (a lane a cell); one that is far only from every body is evaluated at the bodies (a lane a body,
// cells broadcast from shared memory); leaves that are near are summed body by body. The stack and the
// lists stay in shared memory; sources come in a fixed order.

#define FA_WARPS 4u
// Children are tested in stack order, so that the stack stays sorted by level, with at most 32 cells of a
// level; it holds levels 1 to 12 at most, because the walk begins at a level of at most 32 cells.
#define FA_STACK 384u
#define FA_PLACE_BITS 28u

struct FaGroup {
  f32 x, y, r;
  f32 low_x, low_y, high_x, high_y;
};

struct FaLaw {
  f32 scale, ratio, ratio2, tiny, clearance, hold, overlap;
  // Whether distances are from rim to rim.
  bool rims;
};

// A Taylor expansion: coefficients of 1, t, t^2, t^3.
struct FaLocal {
  f32 re[4], im[4];
};

GL_DEVICE FaGroup fa_group(float2 at) {
  FaGroup g;
  g.low_x = warp_min(at.x);
  g.low_y = warp_min(at.y);
  g.high_x = warp_max(at.x);
  g.high_y = warp_max(at.y);
  g.x = 0.5f * g.low_x + 0.5f * g.high_x;
  g.y = 0.5f * g.low_y + 0.5f * g.high_y;
  g.r = warp_max(fa_length(at.x - g.x, at.y - g.y));
  return g;
}

GL_DEVICE FaLaw fa_law(const f32* GL_RESTRICT knobs, const f64* GL_RESTRICT state) {
  FaLaw law;
  law.scale = (f32)state[FA_SCALE];
  law.ratio = knobs[FA_RATIO];
  law.ratio2 = law.ratio * law.ratio;
  // Squared distance below which coordinates are too coarse for an expansion.
  law.tiny = 1e-14f / (law.scale * law.scale);
  law.clearance = knobs[FA_CLEARANCE];
  // With radii, no body of a far cell may overlap one of the group.
  law.hold = law.clearance > 0.0f ? 1.0f : 0.0f;
  law.overlap = knobs[FA_OVERLAP];
  law.rims = ((u32)knobs[FA_MODES] & FA_MODE_RIMS) != 0;
  return law;
}

enum { FA_FAR = 0, FA_BEYOND = 1, FA_OPEN = 2 };

// The opening rule of Barnes and Hut, applied to the larger of the two; then to the bodies' box.
GL_DEVICE u32 fa_decide(const FaGroup& g, const FaLaw& law, float4 geo) {
  const f32 dx = g.x - geo.x, dy = g.y - geo.y, d2 = dx * dx + dy * dy;
  const f32 reach = fmaxf(g.r, geo.z) + law.ratio * fminf(g.r, geo.z);
  const f32 gap = law.hold * (g.r + geo.z) + law.clearance;
  if (reach * reach < law.ratio2 * d2 && d2 > law.tiny && gap * gap < d2) return FA_FAR;
  const f32 bx = fmaxf(fmaxf(g.low_x - geo.x, geo.x - g.high_x), 0.0f);
  const f32 by = fmaxf(fmaxf(g.low_y - geo.y, geo.y - g.high_y), 0.0f);
  const f32 b2 = bx * bx + by * by, off = law.hold * geo.z + law.clearance;
  return geo.z * geo.z < law.ratio2 * b2 && b2 > law.tiny && off * off < b2 ? FA_BEYOND : FA_OPEN;
}

// Adds the far cell `cell` to the expansion about the group's centre; nothing unless `live`.
// With u = 1 / (target - source): b_n = (-u)^n u (m + C(n+2, n) a2 u^2 + C(n+3, n) a3 u^3).
GL_DEVICE void fa_translate(const float4* GL_RESTRICT cells, u32 cell, bool live, const FaGroup& g, f32 scale,
                            FaLocal& local) {
  const float4 geo = cells[2 * cell], a = cells[2 * cell + 1];
  const f32 m = live ? geo.w : 0.0f;
  const f32 dx = (g.x - geo.x) * scale, dy = (g.y - geo.y) * scale;
  const f32 inverse = live ? fa_inverse(dx * dx + dy * dy) : 0.0f;
  const f32 ux = dx * inverse, uy = -dy * inverse;
  const f32 vx = ux * ux - uy * uy, vy = 2.0f * ux * uy;
  const f32 w2x = a.x * vx - a.y * vy, w2y = a.x * vy + a.y * vx;
  const f32 tx = a.z * vx - a.w * vy, ty = a.z * vy + a.w * vx;
  const f32 w3x = tx * ux - ty * uy, w3y = tx * uy + ty * ux;
  const f32 k2[4] = {1.0f, 3.0f, 6.0f, 10.0f}, k3[4] = {1.0f, 4.0f, 10.0f, 20.0f};
  f32 px = ux, py = uy;
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const f32 mx = m + k2[n] * w2x + k3[n] * w3x, my = k2[n] * w2y + k3[n] * w3y;
    local.re[n] += mx * px - my * py;
    local.im[n] += mx * py + my * px;
    // The sign of (-u)^n goes into the power.
    const f32 next = -(px * ux - py * uy);
    py = -(px * uy + py * ux);
    px = next;
  }
}

// The conjugate of the force, in scaled coordinates, of the `count` cells on `stage`.
GL_DEVICE void fa_evaluate(const float4* stage, u32 count, float2 at, f32 scale, f32& re, f32& im) {
  for (u32 k = 0; k < count; ++k) {
    const float4 geo = stage[2 * k], a = stage[2 * k + 1];
    const f32 dx = (at.x - geo.x) * scale, dy = (at.y - geo.y) * scale;
    const f32 inverse = fa_inverse(dx * dx + dy * dy);
    const f32 ux = dx * inverse, uy = -dy * inverse;
    const f32 ax = a.z * ux - a.w * uy + a.x, ay = a.z * uy + a.w * ux + a.y;
    const f32 bx = ax * ux - ay * uy, by = ax * uy + ay * ux;
    const f32 cx = bx * ux - by * uy + geo.w, cy = bx * uy + by * ux;
    re += cx * ux - cy * uy;
    im += cx * uy + cy * ux;
  }
}

// The push of `count` staged bodies {x, y, mass, radius}; a body without mass pushes nobody.
template <bool RIMS>
GL_DEVICE void fa_press(const float4* stage, u32 count, float2 at, f32 rim, f32 overlap, f32& fx, f32& fy) {
#pragma unroll 8
  for (u32 k = 0; k < count; ++k) {
    const float4 s = stage[k];
    const f32 dx = at.x - s.x, dy = at.y - s.y;
    const f32 d2 = dx * dx + (dy * dy + FA_SOFTENING);
    f32 w;
    if (RIMS) {
      const f32 d = sqrtf(d2), gap = d - (rim + s.w);
      w = gap <= 0.0f ? s.z * overlap / d : s.z / (d * (gap + FA_SOFTENING));
    } else {
      w = s.z * fa_inverse(d2);
    }
    fx += dx * w;
    fy += dy * w;
  }
}

GL_DEVICE float4 fa_body(u32 i, bool live, const float2* GL_RESTRICT points, const f32* GL_RESTRICT masses,
                         const f32* GL_RESTRICT radii, bool rims) {
  if (!live) return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  const float2 p = points[i];
  return make_float4(p.x, p.y, masses[i], rims ? radii[i] : 0.0f);
}

// What one warp holds in shared memory: 3.3 KiB. The group is the same for all lanes: registers are dear.
struct FaScratch {
  float4 stage[64];
  FaGroup group;
  u32 stack[FA_STACK];
  u32 far[64], beyond[64], near[64];
};

// Appends `item` of the lanes where `keep`; answers the new length. All lanes must call it.
GL_DEVICE u32 fa_append(u32* list, u32 len, u32 item, bool keep) {
  const u32 mask = __ballot_sync(GL_FULL, keep);
  if (keep) list[len + __popc(mask & ((1u << gl_lane()) - 1u))] = item;
  return len + __popc(mask);
}

// Moves what lies behind the first 32 items of a list to its front; answers the new length.
GL_DEVICE u32 fa_shift(u32* list, u32 len) {
  __syncwarp();
  const u32 rest = len - 32, lane = gl_lane();
  const u32 item = lane < rest ? list[32 + lane] : 0;
  __syncwarp();
  if (lane < rest) list[lane] = item;
  __syncwarp();
  return rest;
}

// Everything that one walk reads, and what it adds up.
struct FaWalk {
  u32 n;
  const float2* GL_RESTRICT points;
  const f32* GL_RESTRICT masses;
  const f32* GL_RESTRICT radii;
  const float4* GL_RESTRICT cells;
  FaScratch* scratch;
  const FaLaw* law;
  FaLocal local;
  float2 at;
  f32 rim;
  f32 fx, fy, re, im;
  u32 cost;
};

GL_DEVICE void fa_flush_far(FaWalk& w, u32 count) {
  __syncwarp();
  const bool live = gl_lane() < count;
  const u32 cell = live ? w.scratch->far[gl_lane()] : 0;
  fa_translate(w.cells, cell, live, w.scratch->group, w.law->scale, w.local);
  w.cost += 60;
}

GL_DEVICE void fa_flush_beyond(FaWalk& w, u32 count) {
  __syncwarp();
  if (gl_lane() < count) {
    const u32 cell = w.scratch->beyond[gl_lane()];
    w.scratch->stage[2 * gl_lane()] = w.cells[2 * cell];
    w.scratch->stage[2 * gl_lane() + 1] = w.cells[2 * cell + 1];
  }
  __syncwarp();
  fa_evaluate(w.scratch->stage, count, w.at, w.law->scale, w.re, w.im);
  w.cost += 20 * count;
}

// Sums up to 32 near leaves, four at a time.
GL_DEVICE void fa_flush_near(FaWalk& w, u32 count) {
  const bool rims = w.law->rims;
  for (u32 k = 0; k < count; k += 4) {
    __syncwarp();
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
      const u32 slot = k + 2 * half + (gl_lane() >> 4);
      const u32 leaf = slot < count ? w.scratch->near[slot] : 0;
      const u64 body = (u64)leaf * FA_LEAF + (gl_lane() & 15u);
      w.scratch->stage[32 * half + gl_lane()] =
          fa_body((u32)body, slot < count && body < w.n, w.points, w.masses, w.radii, rims);
    }
    __syncwarp();
    const u32 bodies = count - k < 4 ? FA_LEAF * (count - k) : 4 * FA_LEAF;
    if (rims) {
      fa_press<true>(w.scratch->stage, bodies, w.at, w.rim, w.law->overlap, w.fx, w.fy);
    } else {
      fa_press<false>(w.scratch->stage, bodies, w.at, w.rim, w.law->overlap, w.fx, w.fy);
    }
  }
  w.cost += 144 * count;
}

// Walks the tree for the group of `w`. `bases` is in shared memory.
GL_DEVICE void fa_walk(FaWalk& w, u32 levels, const u32* bases) {
  FaScratch* s = w.scratch;
  u32 level = levels - 1;
  while (level > 0 && fa_cells(w.n, level - 1) <= 32) --level;
  u32 place = gl_lane();
  bool live = place < fa_cells(w.n, level);
  u32 top = 0, far = 0, beyond = 0, near = 0;
  for (;;) {
    const u32 cell = live ? bases[level] + place : 0;
    const u32 what = live ? fa_decide(w.scratch->group, *w.law, w.cells[2 * cell]) : 3u;
    far = fa_append(s->far, far, cell, what == FA_FAR);
    beyond = fa_append(s->beyond, beyond, cell, what == FA_BEYOND);
    near = fa_append(s->near, near, place, what == FA_OPEN && level == 0);
    top = fa_append(s->stack, top, level << FA_PLACE_BITS | place, what == FA_OPEN && level > 0);
    w.cost += 50;
    if (far >= 32) {
      fa_flush_far(w, 32);
      far = fa_shift(s->far, far);
    }
    if (beyond >= 32) {
      fa_flush_beyond(w, 32);
      beyond = fa_shift(s->beyond, beyond);
    }
    if (near >= 32) {
      fa_flush_near(w, 32);
      near = fa_shift(s->near, near);
    }
    if (top == 0) break;
    __syncwarp();
    const u32 count = top < 8 ? top : 8;
    const u32 which = gl_lane() >> 2;
    const u32 parent = which < count ? s->stack[top - count + which] : 1u << FA_PLACE_BITS;
    top -= count;
    level = (parent >> FA_PLACE_BITS) - 1;
    place = (parent & ((1u << FA_PLACE_BITS) - 1)) * FA_FAN + (gl_lane() & 3u);
    live = which < count && place < fa_cells(w.n, level);
    __syncwarp();
  }
  fa_flush_far(w, far);
  fa_flush_beyond(w, beyond);
  fa_flush_near(w, near);
  __syncwarp();
}

// Writes the push on every body, a warp for 32 bodies. Reads 12 bytes a body and, out of L2 and L1, about
// 100 sectors of cells and 200 bodies for each warp; writes 8 bytes a body. `work` counts instructions.
//@ points: n, masses: n, radii: *, bases: 16, cells: *, state: 24, knobs: 16, forces: n, work: 32
GL_KERNEL void GL_BOUNDS(128) fa_repel(u32 n, u32 levels, const float2* GL_RESTRICT points,
                                       const f32* GL_RESTRICT masses, const f32* GL_RESTRICT radii,
                                       const u32* GL_RESTRICT bases, const float4* GL_RESTRICT cells,
                                       const f64* GL_RESTRICT state, const f32* GL_RESTRICT knobs,
                                       float2* GL_RESTRICT forces, u64* work) {
  __shared__ FaScratch scratch[FA_WARPS];
  __shared__ FaLaw law;
  __shared__ u32 first[FA_LEVELS];
  if (threadIdx.x < FA_LEVELS) first[threadIdx.x] = bases[threadIdx.x];
  if (threadIdx.x == 0) law = fa_law(knobs, state);
  __syncthreads();
  FaWalk w;
  w.n = n;
  w.points = points;
  w.masses = masses;
  w.radii = radii;
  w.cells = cells;
  w.scratch = &scratch[gl_warp()];
  w.law = &law;
  w.cost = 0;
  const u64 groups = ((u64)n + 31) / 32;
  for (u64 group = gl_first_warp(); group < groups; group += gl_step_warps()) {
    const u64 mine = group * 32 + gl_lane();
    const u32 i = mine < n ? (u32)mine : n - 1;
    w.at = points[i];
    w.rim = w.law->rims ? radii[i] : 0.0f;
    const FaGroup g = fa_group(w.at);
    if (gl_lane() == 0) w.scratch->group = g;
    __syncwarp();
    w.fx = w.fy = w.re = w.im = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; ++k) w.local.re[k] = w.local.im[k] = 0.0f;
    fa_walk(w, levels, first);
    const f32 scale = law.scale;
    const f32 tx = (w.at.x - w.scratch->group.x) * scale, ty = (w.at.y - w.scratch->group.y) * scale;
    f32 px = 0.0f, py = 0.0f;
#pragma unroll
    for (int k = 3; k >= 0; --k) {
      const f32 qx = px * tx - py * ty + warp_sum(w.local.re[k]);
      py = px * ty + py * tx + warp_sum(w.local.im[k]);
      px = qx;
    }
    const f32 fx = w.fx + (w.re + px) * scale, fy = w.fy - (w.im + py) * scale;
    const f32 k = knobs[FA_REPULSION] * masses[i];
    if (mine < n) forces[i] = make_float2(k * fx, k * fy);
    __syncwarp();
  }
  if (gl_lane() == 0 && w.cost > 0) atomicAdd(&work[blockIdx.x % FA_WORK_SLOTS], (u64)w.cost);
}

// The same by all pairs, with true divisions: exact, and faster than a tree when there are few bodies.
//@ points: n, masses: n, radii: *, knobs: 16, forces: n
GL_KERNEL void GL_BOUNDS(128) fa_repel_all(u32 n, const float2* GL_RESTRICT points,
                                           const f32* GL_RESTRICT masses, const f32* GL_RESTRICT radii,
                                           const f32* GL_RESTRICT knobs, float2* GL_RESTRICT forces) {
  __shared__ float4 stages[FA_WARPS][32];
  float4* stage = stages[gl_warp()];
  const bool rims = ((u32)knobs[FA_MODES] & FA_MODE_RIMS) != 0;
  const f32 overlap = knobs[FA_OVERLAP];
  const u64 groups = ((u64)n + 31) / 32;
  for (u64 group = gl_first_warp(); group < groups; group += gl_step_warps()) {
    const u64 mine = group * 32 + gl_lane();
    const u32 i = mine < n ? (u32)mine : n - 1;
    const float2 at = points[i];
    const f32 rim = rims ? radii[i] : 0.0f;
    f32 fx = 0.0f, fy = 0.0f;
    for (u64 from = 0; from < n; from += 32) {
      const u64 other = from + gl_lane();
      __syncwarp();
      stage[gl_lane()] = fa_body((u32)other, other < n, points, masses, radii, rims);
      __syncwarp();
      const u32 count = n - from < 32 ? (u32)(n - from) : 32;
      f32 gx = 0.0f, gy = 0.0f;
      if (rims) {
        fa_press<true>(stage, count, at, rim, overlap, gx, gy);
      } else {
        for (u32 k = 0; k < count; ++k) {
          const float4 s = stage[k];
          const f32 dx = at.x - s.x, dy = at.y - s.y;
          const f32 w = s.z / (dx * dx + (dy * dy + FA_SOFTENING));
          gx += dx * w;
          gy += dy * w;
        }
      }
      // Sums of 32 at a time lose less to rounding.
      fx += gx;
      fy += gy;
    }
    const f32 k = knobs[FA_REPULSION] * masses[i];
    if (mine < n) forces[i] = make_float2(k * fx, k * fy);
  }
}
