import { REACH } from './glyph-atlas.ts';
import { HEAD, ROW, ROW_BITS } from './shaders.ts';

/** GLSL of what lies over the picture: letters, plates behind them, and rings around nodes. */

/** Texels of a mark: box in pixels; part of a texture or shape; colour; kind, scale and halo. */
export const MARK_TEXELS = 4;
export const KIND = { letter: 0, colored: 1, plate: 2, ring: 3 } as const;

export const MARKS_VS = `${HEAD}
uniform sampler2D uMarks;
uniform vec2 uSize;       // viewport in CSS pixels
out vec2 vUv;             // in texels, or in pixels from the middle of the box
flat out vec4 vShape;
flat out vec4 vColor;
flat out vec4 vKind;
vec4 part(int k) { return texelFetch(uMarks, ivec2(k & ${ROW - 1}, k >> ${ROW_BITS}), 0); }
void main() {
  int k = (gl_VertexID / 6) * ${MARK_TEXELS};
  int v = gl_VertexID % 6;
  vec2 corner = vec2(v == 1 || v == 2 || v == 4, v == 2 || v == 4 || v == 5);
  vec4 box = part(k);
  vShape = part(k + 1);
  vColor = part(k + 2);
  vKind = part(k + 3);
  vUv = vKind.x < 1.5 ? vShape.xy + corner * vShape.zw : (corner - 0.5) * box.zw;
  vec2 p = box.xy + corner * box.zw;
  gl_Position = vec4(p.x / uSize.x * 2.0 - 1.0, 1.0 - p.y / uSize.y * 2.0, 0.0, 1.0);
}`;

export const MARKS_FS = `${HEAD}
in vec2 vUv;
flat in vec4 vShape;
flat in vec4 vColor;
flat in vec4 vKind;       // kind, device pixels a texel or a CSS pixel, halo in device pixels
uniform sampler2D uLetters;
uniform sampler2D uColored;
out vec4 oColor;
void main() {
  float cover;
  if (vKind.x < 0.5) {
    float texels = (texture(uLetters, vUv / vec2(textureSize(uLetters, 0))).r - 0.5) * ${2 * REACH}.0;
    cover = clamp(texels * vKind.y + vKind.z + 0.5, 0.0, 1.0);
  } else if (vKind.x < 1.5) {
    oColor = texture(uColored, vUv / vec2(textureSize(uColored, 0))) * vColor.a;
    return;
  } else if (vKind.x < 2.5) {
    vec2 q = abs(vUv) - vShape.xy + vShape.z;
    float d = length(max(q, 0.0)) + min(max(q.x, q.y), 0.0) - vShape.z;
    cover = clamp(0.5 - d * vKind.y, 0.0, 1.0);
  } else {
    float d = abs(length(vUv) - vShape.x) - vShape.y * 0.5;
    float glow = vShape.z > 0.0 ? 0.55 * exp(-pow(max(d, 0.0) / vShape.z * 2.2, 2.0)) : 0.0;
    cover = max(clamp(0.5 - d * vKind.y, 0.0, 1.0), glow);
  }
  float a = cover * vColor.a;
  if (a <= 0.0) discard;
  oColor = vec4(vColor.rgb * a, a);
}`;
