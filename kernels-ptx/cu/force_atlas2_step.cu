#include "force_atlas2.cuh"
// One step of the layout after repulsion: attraction, gravity, the global speed, motion, rest.
//
// Attraction is pulled: a body sums over its neighbours in both directions and writes once, so there is
// nothing to lock and the order of every sum is fixed. Neighbours are bodies in curve order, so that
// gathers meet each other's sectors. Four lanes serve a narrow body, a warp a wide one, a block a hub.

// Arcs up to which four lanes serve a body, and up to which a warp does.
#define FA_NARROW_MAX 64u

// The neighbours of all bodies: `spans` has, for each body, start | count << 32 of its out-list and then
// of its in-list.
struct FaArcs {
  const u64* GL_RESTRICT spans;
  const u32* GL_RESTRICT outs;
  const u32* GL_RESTRICT ins;
  const f32* GL_RESTRICT out_factors;
  const f32* GL_RESTRICT in_factors;
};

GL_DEVICE u32 fa_degree(const u64* GL_RESTRICT spans, u32 body) {
  const u64 degree = (spans[2 * (u64)body] >> 32) + (spans[2 * (u64)body + 1] >> 32);
  return degree > GL_FULL ? GL_FULL : (u32)degree;
}

// The pull on `body` of its arcs `from`, `from + step`, ...
GL_DEVICE float2 fa_pull_arcs(const FaArcs& arcs, u32 body, u32 from, u32 step,
                              const float2* GL_RESTRICT points, const f32* GL_RESTRICT radii,
                              const f32* GL_RESTRICT knobs) {
  const u32 modes = (u32)knobs[FA_MODES];
  const bool weighted = (modes & FA_MODE_WEIGHTED) != 0, rims = (modes & FA_MODE_RIMS) != 0;
  const bool lin_log = (modes & FA_MODE_LIN_LOG) != 0;
  const f32 uniform = knobs[FA_UNIFORM], rim = rims ? radii[body] : 0.0f;
  const u64 out = arcs.spans[2 * (u64)body], in = arcs.spans[2 * (u64)body + 1];
  const u64 outs = out >> 32, all = outs + (in >> 32);
  const float2 at = points[body];
  f32 x = 0.0f, y = 0.0f;
  for (u64 k = from; k < all; k += step) {
    const bool leaves = k < outs;
    const u64 arc = leaves ? (u32)out + k : (u32)in + (k - outs);
    const u32 end = leaves ? arcs.outs[arc] : arcs.ins[arc];
    const float2 p = points[end];
    const f32 dx = p.x - at.x, dy = p.y - at.y;
    f32 w = uniform;
    if (weighted) w = leaves ? arcs.out_factors[arc] : arcs.in_factors[arc];
    if (rims || lin_log) {
      const f32 d = sqrtf(dx * dx + dy * dy + FA_SOFTENING);
      const f32 gap = rims ? d - rim - radii[end] : d;
      w = gap > 0.0f ? w * (lin_log ? log1pf(gap) : gap) / d : 0.0f;
    }
    x += w * dx;
    y += w * dy;
  }
  return make_float2(x, y);
}

// Adds the pull on the bodies of the nodes `nodes`, a warp each: nodes of middling degree. Moves 4 bytes
// and a gathered sector for each arc.
//@ nodes: count, body_of: n, points: n, radii: *, spans: 2 * n, outs: *, ins: *, out_factors: *,
//@ in_factors: *, knobs: 16, forces: n
GL_KERNEL void GL_BOUNDS(256)
fa_pull_wide(u32 n, u32 count, const u32* GL_RESTRICT nodes, const u32* GL_RESTRICT body_of,
             const float2* GL_RESTRICT points, const f32* GL_RESTRICT radii, const u64* GL_RESTRICT spans,
             const u32* GL_RESTRICT outs, const u32* GL_RESTRICT ins, const f32* GL_RESTRICT out_factors,
             const f32* GL_RESTRICT in_factors, const f32* GL_RESTRICT knobs, float2* forces) {
  const FaArcs arcs = {spans, outs, ins, out_factors, in_factors};
  for (u64 i = gl_first_warp(); i < count; i += gl_step_warps()) {
    const u32 body = body_of[nodes[i]];
    const float2 p = fa_pull_arcs(arcs, body, gl_lane(), 32, points, radii, knobs);
    const f32 x = warp_sum(p.x), y = warp_sum(p.y);
    if (gl_lane() == 0) forces[body] = make_float2(forces[body].x + x, forces[body].y + y);
  }
}

// Adds the pull on the bodies of the nodes `nodes`, a block each: hubs. Blocks are as large as they can be, because a
// hub's arcs are gone over by one block, and the largest hub decides how long the kernel takes.
//@ nodes: count, body_of: n, points: n, radii: *, spans: 2 * n, outs: *, ins: *, out_factors: *,
//@ in_factors: *, knobs: 16, forces: n
GL_KERNEL void GL_BOUNDS(1024)
fa_pull_hubs(u32 n, u32 count, const u32* GL_RESTRICT nodes, const u32* GL_RESTRICT body_of,
             const float2* GL_RESTRICT points, const f32* GL_RESTRICT radii, const u64* GL_RESTRICT spans,
             const u32* GL_RESTRICT outs, const u32* GL_RESTRICT ins, const f32* GL_RESTRICT out_factors,
             const f32* GL_RESTRICT in_factors, const f32* GL_RESTRICT knobs, float2* forces) {
  const FaArcs arcs = {spans, outs, ins, out_factors, in_factors};
  for (u64 i = blockIdx.x; i < count; i += gridDim.x) {
    const u32 body = body_of[nodes[i]];
    const float2 p = fa_pull_arcs(arcs, body, threadIdx.x, blockDim.x, points, radii, knobs);
    const f32 x = block_sum(p.x), y = block_sum(p.y);
    if (threadIdx.x == 0) forces[body] = make_float2(forces[body].x + x, forces[body].y + y);
  }
}

// The part of a force that may move a body, given what is locked.
GL_DEVICE float2 fa_allowed(u32 modes, float2 at, float2 f) {
  if (modes & FA_MODE_LOCKED_X) f.x = 0.0f;
  if (modes & FA_MODE_LOCKED_Y) f.y = 0.0f;
  if (modes & FA_MODE_LOCKED_R) {
    const f32 r2 = at.x * at.x + at.y * at.y;
    const f32 along = r2 > 0.0f ? (f.x * at.x + f.y * at.y) / r2 : 0.0f;
    f = r2 > 0.0f ? make_float2(f.x - along * at.x, f.y - along * at.y) : make_float2(0.0f, 0.0f);
  }
  return f;
}

// Completes the force on every body (the pull on narrow bodies, four lanes each, and gravity), and adds up
// swing and traction: two numbers for each block in `partials`. Moves about 56 bytes a body, and 4 bytes
// and a gathered sector for each arc.
//@ before: n, points: n, masses: n, mobility: n, radii: *, spans: 2 * n, outs: *, ins: *, out_factors: *,
//@ in_factors: *, knobs: 16, forces: n, partials: 2 * blocks
GL_KERNEL void GL_BOUNDS(256)
fa_pull(u32 n, const float2* GL_RESTRICT before, const float2* GL_RESTRICT points,
        const f32* GL_RESTRICT masses, const f32* GL_RESTRICT mobility, const f32* GL_RESTRICT radii,
        const u64* GL_RESTRICT spans, const u32* GL_RESTRICT outs, const u32* GL_RESTRICT ins,
        const f32* GL_RESTRICT out_factors, const f32* GL_RESTRICT in_factors, const f32* GL_RESTRICT knobs,
        float2* forces, f64* GL_RESTRICT partials) {
  const FaArcs arcs = {spans, outs, ins, out_factors, in_factors};
  const u32 modes = (u32)knobs[FA_MODES], quarter = threadIdx.x & 3u, per_block = blockDim.x >> 2;
  f64 swing = 0.0, traction = 0.0;
  for (u64 from = (u64)blockIdx.x * per_block; from < n; from += (u64)gridDim.x * per_block) {
    const u64 i = from + (threadIdx.x >> 2);
    float2 pull = make_float2(0.0f, 0.0f);
    if (i < n && fa_degree(spans, (u32)i) <= FA_NARROW_MAX) {
      pull = fa_pull_arcs(arcs, (u32)i, quarter, 4, points, radii, knobs);
    }
#pragma unroll
    for (int d = 1; d < 4; d <<= 1) {
      pull.x += __shfl_xor_sync(GL_FULL, pull.x, d);
      pull.y += __shfl_xor_sync(GL_FULL, pull.y, d);
    }
    if (i < n && quarter == 0) {
      const float2 at = points[i], old = before[i];
      const f32 m = masses[i];
      const f32 g = modes & FA_MODE_STRONG
                        ? m * knobs[FA_STRONG_GRAVITY]
                        : m * knobs[FA_GRAVITY] / sqrtf(at.x * at.x + at.y * at.y + FA_SOFTENING);
      float2 f = make_float2(forces[i].x + pull.x - at.x * g, forces[i].y + pull.y - at.y * g);
      f = fa_allowed(modes, at, f);
      forces[i] = f;
      // What is pinned says nothing about the speed.
      if (mobility[i] >= 0.0f) {
        swing += (f64)m * (f64)fa_length(old.x - f.x, old.y - f.y);
        traction += 0.5 * (f64)m * (f64)fa_length(old.x + f.x, old.y + f.y);
      }
    }
  }
  swing = block_sum(swing);
  traction = block_sum(traction);
  if (threadIdx.x == 0) {
    partials[2 * blockIdx.x] = swing;
    partials[2 * blockIdx.x + 1] = traction;
  }
}

// The sum of column `c` of `rows` rows of `width` partial results, in a fixed order. For one whole block.
GL_DEVICE f64 fa_column(const f64* GL_RESTRICT partials, u32 rows, u32 width, u32 c) {
  f64 sum = 0.0;
  for (u32 i = threadIdx.x; i < rows; i += blockDim.x) sum += partials[(u64)width * i + c];
  return block_sum(sum);
}

// Adapts the global speed (Jacomy et al. 2014), in one block. `rows` is the number of blocks of fa_pull.
//@ partials: 2 * rows, knobs: 16, state: 24
GL_KERNEL void GL_BOUNDS(256) fa_speed(u32 n, u32 rows, const f64* GL_RESTRICT partials,
                                       const f32* GL_RESTRICT knobs, f64* state) {
  const f64 swing = fa_column(partials, rows, 2, 0), traction = fa_column(partials, rows, 2, 1);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const f64 nodes = (f64)n, tolerance = (f64)knobs[FA_TOLERANCE];
    f64 speed = state[FA_SPEED], efficiency = state[FA_EFFICIENCY];
    const f64 estimate = 0.05 * sqrt(nodes);
    f64 jitter = tolerance * fmax(sqrt(estimate), fmin(estimate * traction / (nodes * nodes), 10.0));
    if (traction > 0.0 && swing / traction > 2.0) {
      if (efficiency > 0.05) efficiency *= 0.5;
      jitter = fmax(jitter, tolerance);
    }
    const f64 step = 0.5 * speed;
    const f64 wanted = swing > 0.0 ? jitter * efficiency * traction / swing - speed : step;
    if (swing > jitter * traction) {
      if (efficiency > 0.05) efficiency *= 0.7;
    } else if (speed < 1000.0) {
      efficiency *= 1.3;
    }
    // A layout without any force leaves the speed growing for ever; nothing moves anyway.
    speed = fmin(fmax(speed + fmin(wanted, step), 2.2250738585072014e-308), 1e12);
    state[FA_SPEED] = speed;
    state[FA_EFFICIENCY] = efficiency;
    state[FA_SWING] = swing;
    state[FA_TRACTION] = traction;
  }
}

// Where a body ends up that wants to go from `from` to `to`.
GL_DEVICE float2 fa_place(float2 from, float2 to, u32 modes) {
  if (!(fabsf(to.x) <= 3.4028234e38f && fabsf(to.y) <= 3.4028234e38f)) return from;
  if (modes & FA_MODE_LOCKED_R) {
    const f32 was = fa_length(from.x, from.y), is = fa_length(to.x, to.y);
    const f32 k = is > 0.0f ? was / is : 0.0f;
    to = is > 0.0f ? make_float2(to.x * k, to.y * k) : from;
  }
  to.x = fminf(fmaxf(to.x, -FA_COORDINATE_MAX), FA_COORDINATE_MAX);
  to.y = fminf(fmaxf(to.y, -FA_COORDINATE_MAX), FA_COORDINATE_MAX);
  return to;
}

// The least value over the block, in every thread.
GL_DEVICE f32 fa_block_min(f32 v) {
  __shared__ f32 part[32];
  v = warp_min(v);
  __syncthreads();
  if (gl_lane() == 0) part[gl_warp()] = v;
  __syncthreads();
  return warp_min(gl_lane() < gl_warps() ? part[gl_lane()] : v);
}

// What a block adds up over the bodies that it moves.
struct FaTally {
  f64 moved, x, y, mass;
  f32 low_x, low_y, high_x, high_y;
};

GL_DEVICE FaTally fa_tally() {
  const f32 far = 3.4028234e38f;
  const FaTally t = {0.0, 0.0, 0.0, 0.0, far, far, -far, -far};
  return t;
}

GL_DEVICE void fa_count(FaTally& t, float2 p, f32 mass) {
  t.x += (f64)mass * (f64)p.x;
  t.y += (f64)mass * (f64)p.y;
  t.mass += (f64)mass;
  t.low_x = fminf(t.low_x, p.x);
  t.low_y = fminf(t.low_y, p.y);
  t.high_x = fmaxf(t.high_x, p.x);
  t.high_y = fmaxf(t.high_y, p.y);
}

// Writes the eight numbers of this block. The whole block must call it.
GL_DEVICE void fa_put(const FaTally& t, f64* GL_RESTRICT partials) {
  const f64 sums[4] = {block_sum(t.moved), block_sum(t.x), block_sum(t.y), block_sum(t.mass)};
  const f32 lows[4] = {fa_block_min(t.low_x), fa_block_min(t.low_y), fa_block_min(-t.high_x),
                       fa_block_min(-t.high_y)};
  if (threadIdx.x == 0) {
#pragma unroll
    for (u32 c = 0; c < 4; ++c) {
      partials[8 * (u64)blockIdx.x + c] = sums[c];
      partials[8 * (u64)blockIdx.x + 4 + c] = (f64)lows[c];
    }
  }
}

// Moves every body along its force, which becomes the force before. Eight numbers for each block go to
// `partials`. Moves 24 bytes a body in and 16 out.
//@ forces: n, masses: n, mobility: n, knobs: 16, state: 24, points: n, before: n, partials: 8 * blocks
GL_KERNEL void GL_BOUNDS(256) fa_move(u32 n, const float2* GL_RESTRICT forces, const f32* GL_RESTRICT masses,
                                      const f32* GL_RESTRICT mobility, const f32* GL_RESTRICT knobs,
                                      const f64* GL_RESTRICT state, float2* GL_RESTRICT points,
                                      float2* GL_RESTRICT before, f64* GL_RESTRICT partials) {
  const u32 modes = (u32)knobs[FA_MODES];
  const f32 speed = (f32)state[FA_SPEED];
  FaTally tally = fa_tally();
  for (u64 i = gl_first(); i < n; i += gl_step()) {
    const float2 f = forces[i], old = before[i], p = points[i];
    const f32 m = masses[i], swing = m * fa_length(f.x - old.x, f.y - old.y);
    f32 k = speed / (1.0f + sqrtf(speed * swing));
    if (modes & FA_MODE_RIMS) {
      const f32 df = fmaxf(fa_length(f.x, f.y), 1.17549435e-38f);
      k = fminf(0.1f * k * df, 10.0f) / df;
    }
    k *= fmaxf(mobility[i], 0.0f);
    const float2 to = fa_place(p, make_float2(p.x + f.x * k, p.y + f.y * k), modes);
    tally.moved += (f64)fa_length(to.x - p.x, to.y - p.y);
    fa_count(tally, to, m);
    points[i] = to;
    before[i] = f;
  }
  fa_put(tally, partials);
}

// The same numbers for bodies where they are. Moves 12 bytes a body.
//@ points: n, masses: n, partials: 8 * blocks
GL_KERNEL void GL_BOUNDS(256) fa_bounds(u32 n, const float2* GL_RESTRICT points,
                                        const f32* GL_RESTRICT masses, f64* GL_RESTRICT partials) {
  FaTally tally = fa_tally();
  for (u64 i = gl_first(); i < n; i += gl_step()) fa_count(tally, points[i], masses[i]);
  fa_put(tally, partials);
}

GL_DEVICE f64 fa_scale(const f64* state) {
  const f64 side = fmax(state[FA_HIGH_X] - state[FA_LOW_X], state[FA_HIGH_Y] - state[FA_LOW_Y]);
  if (!(side > 0.0)) return 1.0;
  return fmin(fmax(scalbn(1.0, -(i32)ceil(log2(side))), 1e-30), 1e30);
}

// Weighs what the order has cost since the last sort against what a new one would cost: due when the next
// iteration would cost more beyond a fresh one than all of them did on average, the sort included. `log` is
// the mean logarithm of the leaves' radii.
GL_DEVICE void fa_wear(u32 n, u64* work, f64 log, f64 sort_cost, f64* state) {
  f64 cost = 0.0;
  for (u32 i = 0; i < FA_WORK_SLOTS; ++i) {
    cost += (f64)work[i];
    work[i] = 0;
  }
  const f64 iterations = state[FA_WEAR_ITERATIONS] + 1.0;
  if (iterations == 1.0) {
    state[FA_WEAR_FRESH] = cost;
    state[FA_WEAR_RADIUS] = exp(log);
  }
  const f64 fresh = state[FA_WEAR_FRESH], radius = state[FA_WEAR_RADIUS];
  const f64 excess = state[FA_WEAR_EXCESS] + fmax(cost - fresh, 0.0);
  // Leaves grow by what bodies move, and work with the area of leaves.
  const f64 grown = sqrt(cost / fresh) + state[FA_MOVED] / (f64)n / radius;
  const f64 ahead = fresh * (grown * grown - 1.0);
  state[FA_WEAR_ITERATIONS] = iterations;
  state[FA_WEAR_EXCESS] = excess;
  state[FA_SORT_DUE] = fresh > 0.0 && ahead * iterations > sort_cost + excess ? 1.0 : 0.0;
}

// Ends an iteration in one block: box, scale and centre of the bodies; when `iterations` is 1, the count
// of iterations and the wear too. `rows` is the number of blocks that wrote `partials`, `logs` is what
// fa_leaves wrote.
//@ partials: 8 * rows, logs: div_up(n, 1024), knobs: 16, work: 32, state: 24
GL_KERNEL void GL_BOUNDS(256) fa_finish(u32 n, u32 rows, u32 iterations, const f64* GL_RESTRICT partials,
                                        const f32* GL_RESTRICT logs, const f32* GL_RESTRICT knobs, u64* work,
                                        f64* state) {
  f64 sums[4], lows[4];
#pragma unroll
  for (u32 c = 0; c < 4; ++c) {
    sums[c] = fa_column(partials, rows, 8, c);
    f32 low = 3.4028234e38f;
    for (u32 i = threadIdx.x; i < rows; i += blockDim.x) {
      low = fminf(low, (f32)partials[8 * (u64)i + 4 + c]);
    }
    lows[c] = (f64)fa_block_min(low);
  }
  f64 log = 0.0;
  for (u32 i = threadIdx.x; i < fa_cells(n, 3); i += blockDim.x) log += (f64)logs[i];
  log = block_sum(log) / (f64)fa_cells(n, 0);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    state[FA_LOW_X] = lows[0];
    state[FA_LOW_Y] = lows[1];
    state[FA_HIGH_X] = -lows[2];
    state[FA_HIGH_Y] = -lows[3];
    state[FA_SCALE] = fa_scale(state);
    state[FA_CENTRE_X] = sums[1] / sums[3];
    state[FA_CENTRE_Y] = sums[2] / sums[3];
    if (iterations == 1) {
      state[FA_MOVED] = sums[0];
      state[FA_INDEX] += 1.0;
      fa_wear(n, work, log, (f64)knobs[FA_SORT_COST], state);
    }
  }
}

// Compares the layout with itself some iterations ago: three numbers for each block, how far bodies have
// travelled and how far they are and were from the centre, by mass. The positions become the new reference.
// Moves 20 bytes a body in and 8 out.
//@ points: n, masses: n, state: 24, reference: n, partials: 3 * blocks
GL_KERNEL void GL_BOUNDS(256) fa_look(u32 n, const float2* GL_RESTRICT points, const f32* GL_RESTRICT masses,
                                      const f64* GL_RESTRICT state, float2* GL_RESTRICT reference,
                                      f64* GL_RESTRICT partials) {
  const f64 x = state[FA_CENTRE_X], y = state[FA_CENTRE_Y];
  f64 travel = 0.0, radius = 0.0, before = 0.0;
  for (u64 i = gl_first(); i < n; i += gl_step()) {
    const float2 p = points[i], q = reference[i];
    const f64 m = (f64)masses[i], dx = (f64)p.x - x, dy = (f64)p.y - y;
    const f64 tx = (f64)(p.x - q.x), ty = (f64)(p.y - q.y);
    travel += m * sqrt(tx * tx + ty * ty);
    const f64 ox = (f64)q.x - x, oy = (f64)q.y - y;
    radius += m * sqrt(dx * dx + dy * dy);
    before += m * sqrt(ox * ox + oy * oy);
    reference[i] = p;
  }
  travel = block_sum(travel);
  radius = block_sum(radius);
  before = block_sum(before);
  if (threadIdx.x == 0) {
    partials[3 * blockIdx.x] = travel;
    partials[3 * blockIdx.x + 1] = radius;
    partials[3 * blockIdx.x + 2] = before;
  }
}

// Counts the looks in a row that found rest: travel of at most `rest` of the radius, or a radius that is within
// `steady` of what it was, at most `telling`, with a travel of at most `exchange` of it. One block.
//@ partials: 3 * rows, state: 24
GL_KERNEL void GL_BOUNDS(256) fa_rest(u32 rows, f64 rest, f64 steady, f64 exchange, f64 telling,
                                      const f64* GL_RESTRICT partials, f64* state) {
  const f64 travel = fa_column(partials, rows, 3, 0), radius = fa_column(partials, rows, 3, 1);
  const f64 before = fa_column(partials, rows, 3, 2);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const bool is_steady = fabs(radius - before) <= steady * radius && travel <= exchange * radius;
    const bool rests = travel <= rest * radius || (is_steady && radius <= telling);
    state[FA_QUIET] = rests ? state[FA_QUIET] + 1.0 : 0.0;
  }
}
