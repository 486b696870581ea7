import { BEND, RANK_BITS } from '../scene/near.ts';
import { SIZE_MAX, SIZE_MIN, SIZE_SOFT } from '../scene/node-size.ts';

/** GLSL of the passes. Nodes and edges are pulled from textures by index; there are no vertex attributes. */

/** Texels of one row of every data texture: index i lives at (i % 4096, i / 4096). */
export const ROW_BITS = 12;
export const ROW = 1 << ROW_BITS;

export const HEAD = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp usampler2D;
`;

const PULL = `${HEAD}
uniform sampler2D uPos0;
uniform sampler2D uPos1;
uniform float uTween;
uniform vec4 uView;      // clip = p * xy + zw
uniform vec2 uSize;      // viewport in CSS pixels
uniform sampler2D uNodeColor;
uniform sampler2D uNodeSize;
uniform vec3 uSizes;      // floor and contrast of stored sizes, pixels a stored pixel

ivec2 cell(int i) { return ivec2(i & ${ROW - 1}, i >> ${ROW_BITS}); }
vec2 place(int i) {
  vec2 b = texelFetch(uPos1, cell(i), 0).xy;
  return uTween >= 1.0 ? b : mix(texelFetch(uPos0, cell(i), 0).xy, b, uTween);
}
bool placed(vec2 p) { return abs(p.x) < 1e30 && abs(p.y) < 1e30; }
vec2 clip(vec2 p) { return p * uView.xy + uView.zw; }
vec2 pixel(vec2 p) { return (clip(p) * 0.5 + 0.5) * uSize; }
vec2 unpixel(vec2 q) { return q / uSize * 2.0 - 1.0; }
const float SOFT = ${SIZE_SOFT}.0;
const float FAR = ${SIZE_MAX - SIZE_SOFT}.0;
float diameter(int i) {
  float stored = texelFetch(uNodeSize, cell(i), 0).r * 255.0;
  float d = (uSizes.x + uSizes.y * (stored - uSizes.x)) * 0.25 * uSizes.z;
  if (d > SOFT) d = ${SIZE_MAX}.0 - FAR * exp((SOFT - d) / FAR);
  return max(d, ${SIZE_MIN});
}
`;

export const EDGE = `${PULL}
uniform usampler2D uEnds;
uniform sampler2D uEdgeColor;
uniform int uFarColors;   // where the colours at the destinations begin, or 0
uniform sampler2D uEdgeWidth;
uniform bvec3 uHasEdge;   // own colours, own widths, colours of some edges only
uniform float uFadeLength;
uniform float uFade;
uniform float uPassing;
uniform float uGain;
uniform vec2 uTint;       // saturation, brightness

vec3 tint(vec3 c) {
  float grey = dot(c, vec3(0.299, 0.587, 0.114));
  return mix(vec3(grey), c, uTint.x) * uTint.y;
}
vec4 edgeColor(int e, int node, bool far) {
  if (uHasEdge.x) {
    vec4 own = texelFetch(uEdgeColor, cell(far ? e + uFarColors : e), 0);
    if (!uHasEdge.z || own.a > 0.0) return own;
  }
  vec4 c = texelFetch(uNodeColor, cell(node), 0);
  return vec4(tint(c.rgb), c.a);
}
float edgeWidth(int e) {
  return uHasEdge.y ? max(0.25, texelFetch(uEdgeWidth, cell(e), 0).r * 15.9375) : 1.0;
}
/** An edge that is hidden has the width 0. */
bool hidden(int e) { return uHasEdge.y && texelFetch(uEdgeWidth, cell(e), 0).r == 0.0; }
float beyond(vec2 p) { vec2 c = abs(clip(p)); return smoothstep(1.0, 1.25, max(c.x, c.y)); }
/** What is left of an edge that has no end in view. */
float passing(vec2 a, vec2 b) { return mix(1.0, uPassing, beyond(a) * beyond(b)); }
float fade(float length) { return mix(1.0, 1.0 / (1.0 + length / uFadeLength), uFade); }
`;

export const NODES_VS = `${PULL}
uniform float uDpr;
uniform float uDim;
uniform vec3 uBack;
uniform float uOpacity;
uniform float uRing;
out vec4 vColor;
out vec2 vRadius;         // disc and ring, in device pixels
void main() {
  vec2 p = place(gl_VertexID);
  vec4 c = texelFetch(uNodeColor, cell(gl_VertexID), 0);
  if (!placed(p) || c.a == 0.0) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); gl_PointSize = 1.0; return; }
  float d = diameter(gl_VertexID) * uDpr;
  float ring = uRing > 0.0 ? uRing * uDpr : smoothstep(4.0, 6.0, d / uDpr) * uDpr;
  vRadius = vec2(d * 0.5, d * 0.5 + ring);
  vColor = vec4(mix(uBack, c.rgb, 1.0 - uDim), c.a * uOpacity);
  gl_PointSize = 2.0 * vRadius.y + 2.0;
  gl_Position = vec4(clip(p), 0.0, 1.0);
}`;

export const NODES_FS = `${HEAD}
in vec4 vColor;
in vec2 vRadius;
uniform vec3 uBack;
out vec4 oColor;
void main() {
  float r = length(gl_PointCoord - 0.5) * (2.0 * vRadius.y + 2.0);
  float disc = clamp(vRadius.x + 0.5 - r, 0.0, 1.0);
  float ring = clamp(vRadius.y + 0.5 - r, 0.0, 1.0) * 0.9;
  if (vRadius.y - vRadius.x < 0.05) ring = disc;
  float a = max(disc, ring) * vColor.a;
  if (a <= 0.0) discard;
  oColor = vec4(mix(uBack, vColor.rgb, disc / max(max(disc, ring), 1e-4)) * a, a);
}`;

/** One-pixel lines, added up in a float target: rgb is colour times weight, alpha the weight. */
export const LINES_VS = `${EDGE}
out vec4 vInk;
void main() {
  int e = gl_VertexID >> 1;
  ivec2 ends = ivec2(texelFetch(uEnds, cell(e), 0).xy);
  vec2 a = place(ends.x);
  vec2 b = place(ends.y);
  if (!placed(a) || !placed(b) || hidden(e)) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  bool second = (gl_VertexID & 1) == 1;
  vec4 c = edgeColor(e, second ? ends.y : ends.x, second);
  float w = c.a * passing(a, b) * fade(length(pixel(b) - pixel(a))) * edgeWidth(e) * uGain;
  vInk = vec4(c.rgb * w, w);
  gl_Position = vec4(clip(second ? b : a), 0.0, 1.0);
}`;

export const LINES_FS = `${HEAD}
in vec4 vInk;
out vec4 oColor;
void main() { oColor = vInk; }`;

/** Shared by quads and arrows: the curve of an edge, in CSS pixels. */
export const CURVE = `${EDGE}
uniform usampler2D uList;
uniform int uSegments;
uniform float uCurvature;
uniform float uWidth;

struct Curve { vec2 a; vec2 m; vec2 b; bool loop; float size; };

Curve curveOf(ivec2 ends, int rank, vec2 a, vec2 b) {
  Curve c;
  c.a = pixel(a);
  c.b = pixel(b);
  c.loop = ends.x == ends.y;
  c.size = 0.0;
  if (c.loop) {
    // A circle through the node's disc, which is drawn over the part that it covers; the next one is larger.
    c.size = 4.0 + diameter(ends.x) * 0.32 + 4.0 * float(2 * abs(rank) - int(rank > 0));
    c.m = c.a + vec2(0.5, 0.866) * (diameter(ends.x) * 0.3 + c.size);
    return c;
  }
  vec2 d = ends.x < ends.y ? c.b - c.a : c.a - c.b;
  float span = max(length(d), 1.0);
  float far = float(abs(rank)) * min(${BEND.step}, ${BEND.stepPx} / span);
  float bend = uCurvature * 0.4 + sign(float(rank)) * min(far, min(${BEND.share}, ${BEND.px}.0 / span));
  c.m = (c.a + c.b) * 0.5 + vec2(-d.y, d.x) * bend;
  return c;
}
int rankOf(uvec2 entry) { return int(entry.y & 255u) - 128; }
/** A line that stands for many edges is wider, by the logarithm of their number. */
float swell(uvec2 entry) { return min(6.0, 1.0 + 0.5 * log2(float(max(1u, entry.y >> ${RANK_BITS})))); }
vec2 at(Curve c, float t) {
  if (c.loop) {
    float angle = t * 6.2832;
    return c.m + c.size * vec2(sin(angle), cos(angle));
  }
  float u = 1.0 - t;
  return u * u * c.a + 2.0 * u * t * c.m + t * t * c.b;
}
`;

/** Anti-aliased edges: six vertices a segment, whose ends `bend` may lead elsewhere by what is `declared`. */
export const quads = (declared: string, bend: string): string => `${CURVE}${declared}
out vec4 vInk;
out vec2 vAcross;         // distance from the middle line, half width
void main() {
  int per = 6 * uSegments;
  int k = gl_VertexID / per;
  int v = gl_VertexID - k * per;
  int segment = v / 6;
  int corner = v - segment * 6;
  uvec2 entry = texelFetch(uList, cell(k), 0).xy;
  int e = int(entry.x);
  ivec2 ends = ivec2(texelFetch(uEnds, cell(e), 0).xy);
  vec2 a = place(ends.x);
  vec2 b = place(ends.y);
  if (!placed(a) || !placed(b) || hidden(e)) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  Curve c = curveOf(ends, rankOf(entry), a, b);
  float t0 = float(segment) / float(uSegments);
  float t1 = float(segment + 1) / float(uSegments);
  bool far = corner == 1 || corner == 2 || corner == 4;
  float side = (corner == 0 || corner == 1 || corner == 3) ? -1.0 : 1.0;
  vec2 p0 = at(c, t0);
  vec2 p1 = at(c, t1);
  ${bend}
  vec2 run = p1 - p0;
  vec2 dir = run / max(length(run), 1e-4);
  float width = uWidth * edgeWidth(e) * swell(entry);
  float half_ = width * 0.5 + 0.75;
  vec2 q = (far ? p1 : p0) + vec2(-dir.y, dir.x) * side * half_;
  float t = far ? t1 : t0;
  vec4 c0 = edgeColor(e, ends.x, false);
  vec4 c1 = edgeColor(e, ends.y, true);
  vec4 col = mix(c0, c1, t);
  float w = col.a * passing(a, b) * fade(length(c.b - c.a)) * uGain;
  vInk = vec4(col.rgb * w, w);
  vAcross = vec2(side * half_, width * 0.5);
  gl_Position = vec4(unpixel(q), 0.0, 1.0);
}`;
export const QUADS_VS = quads('', '');

export const QUADS_FS = `${HEAD}
in vec4 vInk;
in vec2 vAcross;
out vec4 oColor;
void main() {
  oColor = vInk * clamp(vAcross.y + 0.5 - abs(vAcross.x), 0.0, 1.0);
}`;

/** A corner of the head of edge `e`, `len` long, that comes to `c.b` from `dir`; also of bundled edges. */
export const HEAD_CORNER = `
  vec2 tip = c.b - dir * radius;
  float grow = len + 1.5;
  vec2 side = vec2(-dir.y, dir.x);
  float wing = (corner == 1 ? -0.5 : 0.5) * (grow + 1.5);
  vec2 to = corner == 0 ? tip + dir * 1.5 : tip - dir * grow + side * wing;
  vec2 d = to - tip;
  vTip = vec3(-dot(d, dir), dot(d, side), len);
  vec4 col = edgeColor(e, ends.y, true);
  float w = col.a * fade(span) * uGain;
  vInk = vec4(col.rgb * w, w);
  gl_Position = vec4(unpixel(to), 0.0, 1.0);`;

/** Arrow heads that touch the disc of the destination. */
export const ARROWS_VS = `${CURVE}
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
  vec2 dir = normalize(c.b - mix(at(c, 1.0 - (radius + len) / span), c.m, 0.15));
${HEAD_CORNER}
}`;

export const ARROWS_FS = `${HEAD}
in vec4 vInk;
in vec3 vTip;
out vec4 oColor;
void main() {
  float inside = min((vTip.x * 0.42 - abs(vTip.y)) * 0.92, vTip.z - vTip.x);
  oColor = vInk * clamp(inside + 0.5, 0.0, 1.0);
}`;

export const SCREEN_VS = `${HEAD}
out vec2 vUv;
void main() {
  vec2 p = vec2(float((gl_VertexID << 1) & 2), float(gl_VertexID & 2));
  vUv = p;
  gl_Position = vec4(p * 2.0 - 1.0, 0.0, 1.0);
}`;

/** Background and tone map: the hue of the sum is kept, coverage saturates. */
export const TONE_FS = `${HEAD}
in vec2 vUv;
uniform sampler2D uInk;
uniform bool uHasInk;
uniform float uInkScale;
uniform float uOpacity;
uniform vec3 uBackCenter;
uniform vec3 uBackEdge;
uniform bool uClear;
uniform float uNoise;
uniform float uAspect;
out vec4 oColor;
void main() {
  vec2 d = (vUv - 0.5) * vec2(uAspect, 1.0) / max(0.5 * length(vec2(uAspect, 1.0)), 1e-3);
  vec3 back = mix(uBackCenter, uBackEdge, smoothstep(0.0, 1.0, length(d)));
  vec4 ink = uHasInk ? texture(uInk, vUv) : vec4(0.0);
  float cover = 0.0;
  vec3 color = back;
  if (ink.a > 0.0) {
    cover = min(0.78, 1.0 - exp(-ink.a * uInkScale)) * uOpacity;
    color = ink.rgb / max(ink.a, 1e-5);
  }
  if (uClear) {
    oColor = vec4(color * cover, cover);
    return;
  }
  // Half a step of noise, or the gradient shows rings; nobody sees them while the picture moves.
  float noise = 0.0;
  if (uNoise > 0.0) {
    noise = fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715)))) - 0.5;
  }
  oColor = vec4(mix(back, color, cover) + noise * uNoise, 1.0);
}`;
