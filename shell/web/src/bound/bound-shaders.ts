import { REACH } from '../gl/glyph-atlas.ts';
import { HEAD, ROW, ROW_BITS } from '../gl/shaders.ts';

/** GLSL of what datasets bind: small pictures, and lines in the world of the nodes. */

/** Pixels of a picture in the texture, and of the texture's sides. */
export const SPRITE = 128;
export const SPRITES_SIDE = 2048;
/** Texels of a sprite: box in pixels; place in the texture and opacity. */
export const SPRITE_TEXELS = 2;
/** Texels of a piece of a line: its ends; how far from the line's start it begins. */
export const LINE_TEXELS = 2;

/** Boxes of small pictures. */
export const SPRITES_VS = `${HEAD}
uniform sampler2D uSprites;
uniform vec2 uSize;
out vec2 vUv;
flat out float vAlpha;
vec4 part(int k) { return texelFetch(uSprites, ivec2(k & ${ROW - 1}, k >> ${ROW_BITS}), 0); }
void main() {
  int k = (gl_VertexID / 6) * ${SPRITE_TEXELS};
  int v = gl_VertexID % 6;
  vec2 corner = vec2(v == 1 || v == 2 || v == 4, v == 2 || v == 4 || v == 5);
  vec4 box = part(k);
  vec4 of = part(k + 1);
  vUv = (of.xy + corner * ${SPRITE}.0) / ${SPRITES_SIDE}.0;
  vAlpha = of.z;
  vec2 p = box.xy + corner * box.zw;
  gl_Position = vec4(p.x / uSize.x * 2.0 - 1.0, 1.0 - p.y / uSize.y * 2.0, 0.0, 1.0);
}`;

export const SPRITES_FS = `${HEAD}
in vec2 vUv;
flat in float vAlpha;
uniform sampler2D uAtlas;
out vec4 oColor;
void main() { oColor = texture(uAtlas, vUv) * vAlpha; }`;

/** Texels of a letter: its text's middle and direction; its box; part of a texture; colour; kind. */
export const TURNED_TEXELS = 5;

/** Letters of texts that are turned around their middles. */
export const TURNED_VS = `${HEAD}
uniform sampler2D uMarks;
uniform vec2 uSize;
out vec2 vUv;
flat out vec4 vColor;
flat out vec4 vKind;
vec4 part(int k) { return texelFetch(uMarks, ivec2(k & ${ROW - 1}, k >> ${ROW_BITS}), 0); }
void main() {
  int k = (gl_VertexID / 6) * ${TURNED_TEXELS};
  int v = gl_VertexID % 6;
  vec2 corner = vec2(v == 1 || v == 2 || v == 4, v == 2 || v == 4 || v == 5);
  vec4 pivot = part(k);
  vec4 box = part(k + 1);
  vec4 of = part(k + 2);
  vColor = part(k + 3);
  vKind = part(k + 4);
  vUv = of.xy + corner * of.zw;
  vec2 q = box.xy + corner * box.zw;
  vec2 p = pivot.xy + vec2(q.x * pivot.z - q.y * pivot.w, q.x * pivot.w + q.y * pivot.z);
  gl_Position = vec4(p.x / uSize.x * 2.0 - 1.0, 1.0 - p.y / uSize.y * 2.0, 0.0, 1.0);
}`;

export const TURNED_FS = `${HEAD}
in vec2 vUv;
flat in vec4 vColor;
flat in vec4 vKind;       // colours of its own, device pixels a texel, halo in device pixels
uniform sampler2D uLetters;
uniform sampler2D uColored;
out vec4 oColor;
void main() {
  if (vKind.x > 0.5) {
    oColor = texture(uColored, vUv / vec2(textureSize(uColored, 0))) * vColor.a;
    return;
  }
  float texels = (texture(uLetters, vUv / vec2(textureSize(uLetters, 0))).r - 0.5) * ${2 * REACH}.0;
  float a = clamp(texels * vKind.y + vKind.z + 0.5, 0.0, 1.0) * vColor.a;
  oColor = vec4(vColor.rgb * a, a);
}`;

/** Pieces of lines, six vertices each. */
export const LINES_VS = `${HEAD}
uniform sampler2D uLines;
uniform vec4 uView;       // pixel = p * xy + zw, y down
uniform vec2 uSize;
uniform float uWidth;
out vec2 vAcross;         // pixels from the middle line; pixels from the line's start
vec4 part(int k) { return texelFetch(uLines, ivec2(k & ${ROW - 1}, k >> ${ROW_BITS}), 0); }
void main() {
  int k = (gl_VertexID / 6) * ${LINE_TEXELS};
  int v = gl_VertexID % 6;
  vec4 ends = part(k);
  float start = part(k + 1).x;
  bool far = v == 1 || v == 2 || v == 4;
  float side = (v == 0 || v == 1 || v == 3) ? -1.0 : 1.0;
  vec2 a = ends.xy * uView.xy + uView.zw;
  vec2 b = ends.zw * uView.xy + uView.zw;
  vec2 run = b - a;
  float length_ = length(run);
  vec2 dir = run / max(length_, 1e-4);
  float half_ = uWidth * 0.5 + 0.75;
  vec2 p = (far ? b : a) + vec2(-dir.y, dir.x) * side * half_;
  vAcross = vec2(side * half_, start * uView.x + (far ? length_ : 0.0));
  gl_Position = vec4(p.x / uSize.x * 2.0 - 1.0, 1.0 - p.y / uSize.y * 2.0, 0.0, 1.0);
}`;

export const LINES_FS = `${HEAD}
in vec2 vAcross;
uniform vec4 uInk;
uniform float uWidth;
uniform float uDash;      // pixels of a dash and of the gap behind it; 0 for a whole line
out vec4 oColor;
void main() {
  float cover = clamp(uWidth * 0.5 + 0.5 - abs(vAcross.x), 0.0, 1.0);
  if (uDash > 0.0) cover *= step(fract(vAcross.y / (2.0 * uDash)), 0.5);
  oColor = vec4(uInk.rgb, 1.0) * uInk.a * cover;
}`;
