import { CURVE, EDGE, HEAD_CORNER, quads } from '../gl/shaders.ts';

/** GLSL of bundled edges: as the shaders of straight ones, with another way from end to end. */

/** Pieces of a line. */
export const SEGMENTS = 10;
/** How closely lines follow the way through the middles, 0 to 1 (β of the paper). */
export const STRENGTH = 0.8;

const BEND = `
uniform sampler2D uHubs;
vec2 hub(int node) { return texelFetch(uHubs, cell(node), 0).xy; }
bool bends(vec2 h, vec2 k) { return placed(h) && placed(k) && distance(h, k) > 0.0; }
/** A point of the cubic curve whose inner control points are the middles of both communities. */
vec2 bent(vec2 a, vec2 h, vec2 k, vec2 b, float t) {
  vec2 p = mix(mix(a, b, 0.333333), h, ${STRENGTH});
  vec2 q = mix(mix(a, b, 0.666667), k, ${STRENGTH});
  float u = 1.0 - t;
  return u * u * u * a + 3.0 * u * u * t * p + 3.0 * u * t * t * q + t * t * t * b;
}
`;

/** Lines of which each has `SEGMENTS` pieces. */
export const BENT_LINES_VS = `${EDGE}${BEND}
out vec4 vInk;
void main() {
  int e = gl_VertexID / ${2 * SEGMENTS};
  ivec2 ends = ivec2(texelFetch(uEnds, cell(e), 0).xy);
  vec2 a = place(ends.x);
  vec2 b = place(ends.y);
  if (!placed(a) || !placed(b) || hidden(e)) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  float t = float((gl_VertexID % ${2 * SEGMENTS} + 1) >> 1) / ${SEGMENTS}.0;
  vec2 h = hub(ends.x);
  vec2 k = hub(ends.y);
  vec2 at = bends(h, k) ? bent(a, h, k, b, t) : mix(a, b, t);
  vec4 c = mix(edgeColor(e, ends.x, false), edgeColor(e, ends.y, true), t);
  float w = c.a * passing(a, b) * fade(length(pixel(b) - pixel(a))) * edgeWidth(e) * uGain;
  vInk = vec4(c.rgb * w, w);
  gl_Position = vec4(clip(at), 0.0, 1.0);
}`;

const BEND_SEGMENT = `
  vec2 h0 = hub(ends.x);
  vec2 h1 = hub(ends.y);
  if (bends(h0, h1)) {
    p0 = bent(c.a, pixel(h0), pixel(h1), c.b, t0);
    p1 = bent(c.a, pixel(h0), pixel(h1), c.b, t1);
  }
`;

export const BENT_QUADS_VS = quads(BEND, BEND_SEGMENT);

/** Heads that touch the disc of the destination and point along the curve, where that has one. */
export const BENT_ARROWS_VS = `${CURVE}${BEND}
uniform float uArrow;
out vec4 vInk;
out vec3 vTip;            // along, across, length
void main() {
  int k = gl_VertexID / 3;
  int corner = gl_VertexID - k * 3;
  uvec2 entry = texelFetch(uList, cell(k), 0).xy;
  int e = int(entry.x);
  ivec2 ends = ivec2(texelFetch(uEnds, cell(e), 0).xy);
  vec2 a = place(ends.x);
  vec2 b = place(ends.y);
  gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
  if (!placed(a) || !placed(b) || ends.x == ends.y || hidden(e)) return;
  Curve c = curveOf(ends, rankOf(entry), a, b);
  float span = length(c.b - c.a);
  float radius = diameter(ends.y) * 0.5 + 1.5;
  float len = min(uArrow, 3.0 + radius) + 1.5 * uWidth * edgeWidth(e) * swell(entry);
  if (span < radius + 2.2 * len) return;
  vec2 h = hub(ends.x);
  vec2 q = hub(ends.y);
  bool curved = bends(h, q);
  vec2 from = c.a;
  // The place from which the curve has the length of the head and the disc left to go.
  for (int n = 1; n < ${2 * SEGMENTS}; n += 1) {
    float t = float(n) / ${2 * SEGMENTS}.0;
    vec2 p = curved ? bent(c.a, pixel(h), pixel(q), c.b, t) : at(c, t);
    if (distance(p, c.b) < radius + len * 0.6) break;
    from = p;
  }
  vec2 dir = normalize(c.b - from);
${HEAD_CORNER}
}`;
