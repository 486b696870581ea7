/**
 * Signed distance fields of small pictures, by the exact distance transform of Felzenszwalb and Huttenlocher,
 * "Distance Transforms of Sampled Functions" (Theory of Computing, 2012).
 */

const FAR = 1e20;

/** Lower envelope of parabolas over one line of squared distances, which it replaces by their minimum. */
function line(
  f: Float64Array,
  start: number,
  step: number,
  n: number,
  roots: Int32Array,
  cuts: Float64Array,
): void {
  const value = (k: number): number => f[start + k * step];
  let k = 0;
  roots[0] = 0;
  cuts[0] = -Infinity;
  for (let q = 1; q < n; q += 1) {
    let cut = -Infinity;
    for (; k >= 0; k -= 1) {
      const r = roots[k];
      cut = (value(q) + q * q - value(r) - r * r) / (2 * (q - r));
      if (cut > cuts[k]) break;
    }
    k += 1;
    roots[k] = q;
    cuts[k] = k === 0 ? -Infinity : cut;
  }
  const out = new Float64Array(n);
  for (let q = 0, j = 0; q < n; q += 1) {
    while (j < k && cuts[j + 1] < q) j += 1;
    out[q] = (q - roots[j]) ** 2 + value(roots[j]);
  }
  for (let q = 0; q < n; q += 1) f[start + q * step] = out[q];
}

function transform(f: Float64Array, w: number, h: number): void {
  const most = Math.max(w, h);
  const [roots, cuts] = [new Int32Array(most), new Float64Array(most)];
  for (let x = 0; x < w; x += 1) line(f, x, w, h, roots, cuts);
  for (let y = 0; y < h; y += 1) line(f, y * w, 1, w, roots, cuts);
}

/**
 * The distance field of a picture's coverage, `w` by `h` values of 0 to 255. A value of the result is
 * 255 · (1/2 + d / 2r), where d is the distance to the shape's outline in pixels, positive inside, and r the
 * `reach` up to which it is kept.
 */
export function distanceField(coverage: Uint8Array, w: number, h: number, reach: number): Uint8Array {
  const outside = new Float64Array(w * h);
  const inside = new Float64Array(w * h);
  for (let k = 0; k < w * h; k += 1) {
    const a = coverage[k] / 255;
    // A pixel that is partly covered has the outline within it, off its middle by its coverage.
    const off = 0.5 - a;
    outside[k] = a >= 1 ? 0 : a <= 0 ? FAR : Math.max(0, off) ** 2;
    inside[k] = a <= 0 ? 0 : a >= 1 ? FAR : Math.max(0, -off) ** 2;
  }
  transform(outside, w, h);
  transform(inside, w, h);
  const out = new Uint8Array(w * h);
  for (let k = 0; k < w * h; k += 1) {
    const d = Math.sqrt(inside[k]) - Math.sqrt(outside[k]);
    out[k] = Math.round(255 * Math.min(1, Math.max(0, 0.5 + d / (2 * reach))));
  }
  return out;
}
