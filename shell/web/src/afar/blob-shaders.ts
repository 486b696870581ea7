import { HEAD, ROW, ROW_BITS } from '../gl/shaders.ts';

/** GLSL of the super-graph: soft discs, and lines between them. */

/**
 * Texels of a shape. A disc: middle, radius in pixels, strength of its rim; colour; colour of the rim, -1.
 * A line: both ends in pixels; colour at the first; colour at the second and the width.
 */
export const BLOB_TEXELS = 3;

export const BLOBS_VS = `${HEAD}
uniform sampler2D uBlobs;
uniform vec2 uSize;       // viewport in CSS pixels
out vec2 vUv;             // pixels from the middle; of a line the share of its length, and pixels across
flat out vec3 vShape;     // radius and rim of a disc, or half the width of a line; which of both
flat out vec4 vColor;
flat out vec3 vOther;
vec4 part(int k) { return texelFetch(uBlobs, ivec2(k & ${ROW - 1}, k >> ${ROW_BITS}), 0); }
void main() {
  int k = (gl_VertexID / 6) * ${BLOB_TEXELS};
  int v = gl_VertexID % 6;
  vec2 corner = vec2(v == 1 || v == 2 || v == 4, v == 2 || v == 4 || v == 5);
  vec4 place = part(k);
  vec4 last = part(k + 2);
  vColor = part(k + 1);
  vOther = last.rgb;
  vec2 p;
  if (last.w < 0.0) {
    vUv = (corner * 2.0 - 1.0) * (place.z * 1.18 + 3.0);
    p = place.xy + vUv;
    vShape = vec3(place.z, place.w, 0.0);
  } else {
    vec2 run = place.zw - place.xy;
    vec2 dir = run / max(length(run), 1e-4);
    float far = (corner.y * 2.0 - 1.0) * (last.w * 0.5 + 1.0);
    p = mix(place.xy, place.zw, corner.x) + vec2(-dir.y, dir.x) * far;
    vUv = vec2(corner.x, far);
    vShape = vec3(last.w * 0.5, 0.0, 1.0);
  }
  gl_Position = vec4(p.x / uSize.x * 2.0 - 1.0, 1.0 - p.y / uSize.y * 2.0, 0.0, 1.0);
}`;

export const BLOBS_FS = `${HEAD}
in vec2 vUv;
flat in vec3 vShape;
flat in vec4 vColor;
flat in vec3 vOther;
out vec4 oColor;
void main() {
  vec3 color = vColor.rgb;
  float a;
  if (vShape.z > 0.5) {
    color = mix(vColor.rgb, vOther, vUv.x);
    a = vColor.a * clamp(vShape.x + 0.5 - abs(vUv.y), 0.0, 1.0);
  } else {
    float d = length(vUv) - vShape.x;
    float inside = clamp(0.5 - d, 0.0, 1.0);
    float middle = dot(vUv, vUv) / (vShape.x * vShape.x);
    float rim = clamp(1.35 - abs(d + 0.6), 0.0, 1.0) * vShape.y;
    float glow = 0.3 * exp(-pow(max(d, 0.0) / max(0.07 * vShape.x, 1.0), 2.0)) * (1.0 - inside);
    float fill = vColor.a * inside;
    float edge = max(rim, vColor.a * glow);
    a = max(fill, edge);
    color = mix(mix(vColor.rgb, vOther, 0.16 * middle), vOther, edge / max(a, 1e-3));
  }
  if (a <= 0.002) discard;
  oColor = vec4(color * a, a);
}`;
