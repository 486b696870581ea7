#include "force_atlas2.cuh"
// The order of bodies along a Hilbert curve, and everything that follows from it: consecutive bodies are
// near each other, so that every run of 16 of them is a compact leaf and gathers meet warm sectors.

// Position on the curve of the cell (x, y) of a grid of 2^24 by 2^24: 48 bits, the same as on the host.
GL_DEVICE u64 fa_hilbert(u32 x, u32 y) {
  u32 swap = 0, flip = 0;
  u64 key = 0;
  for (u32 bit = 24; bit > 0; --bit) {
    const u32 bx = x >> (bit - 1) & 1u, by = y >> (bit - 1) & 1u;
    const u32 cx = (swap ? by : bx) ^ flip, cy = (swap ? bx : by) ^ flip;
    key = key << 2 | ((3u * cx) ^ cy);
    if (cy == 0) {
      flip ^= cx;
      swap ^= 1u;
    }
  }
  return key;
}

// The place of every body on the curve over the bounding box. Moves 8 bytes a body in and 12 out.
//@ points: n, state: 24, keys: n, bodies: n
GL_KERNEL void GL_BOUNDS(256) fa_keys(u32 n, const float2* GL_RESTRICT points, const f64* GL_RESTRICT state,
                                      u64* GL_RESTRICT keys, u32* GL_RESTRICT bodies) {
  const f64 x = state[FA_LOW_X], y = state[FA_LOW_Y];
  const f64 side = fmax(state[FA_HIGH_X] - x, state[FA_HIGH_Y] - y);
  const f64 scale = side > 0.0 ? 16777215.0 / side : 0.0;
  for (u64 i = gl_first(); i < n; i += gl_step()) {
    const float2 p = points[i];
    keys[i] = fa_hilbert((u32)(((f64)p.x - x) * scale), (u32)(((f64)p.y - y) * scale));
    bodies[i] = (u32)i;
  }
}

// Writes to `apart` where every body would be if those that share their spot with the one before them in
// `order`, and may move, were set apart by an amount that depends on the node alone; counts them. Moves
// 16 bytes a body in, gathered, and 8 out.
//@ order: n, points: n, mobility: n, node_of: n, state: 24, apart: n, moved: 1
GL_KERNEL void GL_BOUNDS(256)
fa_part(u32 n, const u32* GL_RESTRICT order, const float2* GL_RESTRICT points,
        const f32* GL_RESTRICT mobility, const u32* GL_RESTRICT node_of, const f64* GL_RESTRICT state, float2* GL_RESTRICT apart, u32* moved) {
  const f64 side = fmax(state[FA_HIGH_X] - state[FA_LOW_X], state[FA_HIGH_Y] - state[FA_LOW_Y]);
  const f64 far = fmax(fmax(fabs(state[FA_LOW_X]), fabs(state[FA_LOW_Y])),
                       fmax(fabs(state[FA_HIGH_X]), fabs(state[FA_HIGH_Y])));
  // All on one spot: wide enough to show in coordinates of that size.
  const f64 spread = side > 0.0 ? side * 1e-3 : fmax(10.0 * sqrt((f64)n), far * 1e-4);
  for (u64 i = gl_first(); i < n; i += gl_step()) {
    const u32 body = order[i];
    float2 p = points[body];
    if (i > 0 && mobility[body] > 0.0f) {
      const float2 other = points[order[i - 1]];
      if (other.x == p.x && other.y == p.y) {
        const u64 node = node_of[body];
        const f64 angle = 6.283185307179586 * unit_f64(0, 1, node);
        const f64 r = spread * sqrt(unit_f64(0, 2, node));
        p.x += (f32)(r * cos(angle));
        p.y += (f32)(r * sin(angle));
        atomicAdd(moved, 1u);
      }
    }
    apart[body] = p;
  }
}

// Puts everything that is kept by body into the order `order`: body i becomes what was body order[i].
// The node's lists are looked up anew. Moves about 90 bytes a body, half of them gathered.
//@ order: n, points: n, before: n, reference: n, masses: n, mobility: n, radii: *, node_of: n,
//@ out_offsets: n + 1, in_offsets: n + 1, points_to: n, before_to: n, reference_to: n, masses_to: n,
//@ mobility_to: n, radii_to: *, node_of_to: n, body_of: n, spans: 2 * n
GL_KERNEL void GL_BOUNDS(256)
fa_permute(u32 n, u32 with_radii, const u32* GL_RESTRICT order, const float2* GL_RESTRICT points,
           const float2* GL_RESTRICT before, const float2* GL_RESTRICT reference,
           const f32* GL_RESTRICT masses, const f32* GL_RESTRICT mobility, const f32* GL_RESTRICT radii,
           const u32* GL_RESTRICT node_of, const u32* GL_RESTRICT out_offsets,
           const u32* GL_RESTRICT in_offsets, float2* GL_RESTRICT points_to, float2* GL_RESTRICT before_to,
           float2* GL_RESTRICT reference_to, f32* GL_RESTRICT masses_to, f32* GL_RESTRICT mobility_to,
           f32* GL_RESTRICT radii_to, u32* GL_RESTRICT node_of_to, u32* GL_RESTRICT body_of,
           u64* GL_RESTRICT spans) {
  for (u64 i = gl_first(); i < n; i += gl_step()) {
    const u32 from = order[i], node = node_of[from];
    points_to[i] = points[from];
    before_to[i] = before[from];
    reference_to[i] = reference[from];
    masses_to[i] = masses[from];
    mobility_to[i] = mobility[from];
    if (with_radii) radii_to[i] = radii[from];
    node_of_to[i] = node;
    body_of[node] = (u32)i;
    const u32 out = out_offsets[node], in = in_offsets[node];
    spans[2 * i] = (u64)(out_offsets[node + 1] - out) << 32 | out;
    spans[2 * i + 1] = (u64)(in_offsets[node + 1] - in) << 32 | in;
  }
}

// The bodies of the nodes `nodes`. Moves 8 bytes an arc and one gathered sector.
//@ nodes: m, body_of: *, bodies: m
GL_KERNEL void GL_BOUNDS(256) fa_relabel(u32 m, const u32* GL_RESTRICT nodes, const u32* GL_RESTRICT body_of,
                                         u32* GL_RESTRICT bodies) {
  for (u64 i = gl_first(); i < m; i += gl_step()) bodies[i] = body_of[nodes[i]];
}

// Turns the weights of a body's arcs into strengths, in place: weight to the power of `influence`, times
// the share of the source when attraction is distributed by out-degree, a warp a list. `mean` is the mean
// mass, 0 without distribution; with `twice` both ends of an edge attract.
//@ masses: n, spans: 2 * n, outs: *, ins: *, out_factors: *, in_factors: *
GL_KERNEL void GL_BOUNDS(256)
fa_strength(u32 n, f32 influence, f32 mean, u32 twice, const f32* GL_RESTRICT masses,
            const u64* GL_RESTRICT spans, const u32* GL_RESTRICT outs, const u32* GL_RESTRICT ins,
            f32* GL_RESTRICT out_factors, f32* GL_RESTRICT in_factors) {
  const f32 most = 1e9f;
  // A list of a body at a time: first its out-list, then its in-list.
  for (u64 list = gl_first_warp(); list < 2 * (u64)n; list += gl_step_warps()) {
    const f32 own = mean / fmaxf(masses[list / 2], 1.17549435e-38f);
    const bool outwards = (list & 1u) == 0;
    const u64 span = spans[list];
    const u32* GL_RESTRICT ends = outwards ? outs : ins;
    f32* GL_RESTRICT factors = outwards ? out_factors : in_factors;
#pragma unroll 1
    for (u64 k = gl_lane(); k < span >> 32; k += 32) {
      const u64 arc = (u32)span + k;
      const f32 other = mean / fmaxf(masses[ends[arc]], 1.17549435e-38f);
      const f32 source = outwards ? own : other;
      const f32 share = mean > 0.0f ? (twice ? own + other : source) : (twice ? 2.0f : 1.0f);
      f32 w = factors[arc];
      // Fewer registers than powf; a weight of 0 stays 0.
      if (influence == 0.0f) {
        w = 1.0f;
      } else if (influence != 1.0f) {
        w = fminf(exp2f(influence * log2f(w)), most);
      }
      factors[arc] = fminf(w * share, most);
    }
  }
}

// Pins or frees the bodies of listed nodes: a mobility below 0 puts the body at its spot and holds it
// there, any other lets it move. No node is listed twice.
//@ nodes: count, spots: count, values: count, body_of: n, points: n, before: n, mobility: n
GL_KERNEL void GL_BOUNDS(256) fa_pin(u32 n, u32 count, const u32* GL_RESTRICT nodes,
                                     const float2* GL_RESTRICT spots, const f32* GL_RESTRICT values,
                                     const u32* GL_RESTRICT body_of, float2* GL_RESTRICT points,
                                     float2* GL_RESTRICT before, f32* GL_RESTRICT mobility) {
  for (u64 i = gl_first(); i < count; i += gl_step()) {
    const u32 body = body_of[nodes[i]];
    mobility[body] = values[i];
    if (values[i] < 0.0f) {
      points[body] = spots[i];
      before[body] = make_float2(0.0f, 0.0f);
    }
  }
}

// Positions by node index. Moves 4 bytes a node in, one gathered sector, and 8 bytes out.
//@ body_of: n, points: n, positions: n
GL_KERNEL void GL_BOUNDS(256) fa_positions(u32 n, const u32* GL_RESTRICT body_of,
                                           const float2* GL_RESTRICT points,
                                           float2* GL_RESTRICT positions) {
  for (u64 v = gl_first(); v < n; v += gl_step()) positions[v] = points[body_of[v]];
}
