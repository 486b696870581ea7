import type { Rgb } from '../scene/color.ts';
import { growth } from './turn.ts';

/** Look of nodes by how near they are. */

/** How much of the colour of the farthest nodes is that of the background. */
const FOG = 0.72;
/** Steps of nearness by which nodes are ordered. */
const STEPS = 4096;

/** Sizes by nearness. The node `kept` keeps its own: all others are seen in relation to it. */
export function sizesOf(
  sizes: Uint8Array,
  near: Float32Array,
  depth: number,
  kept: number,
  out: Uint8Array,
): void {
  for (let i = 0; i < out.length; i += 1) {
    const d = sizes[i] * growth(near[i], depth);
    out[i] = d > 255 ? 255 : d < 1 ? 1 : d + 0.5;
  }
  if (kept < out.length) out[kept] = sizes[kept];
}

/** Colours by nearness: the farther, the more of the background. */
export function colorsOf(
  colors: Uint8Array,
  near: Float32Array,
  depth: number,
  { r, g, b }: Rgb,
  out: Uint8Array,
): void {
  for (let i = 0; i < near.length; i += 1) {
    const fog = depth * FOG * (0.5 - 0.5 * near[i]);
    const k = 4 * i;
    out[k] = colors[k] + (r - colors[k]) * fog;
    out[k + 1] = colors[k + 1] + (g - colors[k + 1]) * fog;
    out[k + 2] = colors[k + 2] + (b - colors[k + 2]) * fog;
    out[k + 3] = colors[k + 3];
  }
}

/**
 * Colours of edges by how near their ends are, as their nodes have them: those at the sources, then those at
 * the destinations. `rgba` has four bytes an edge, or eight where each end has a colour already; `out` eight.
 */
export function edgeColorsOf(
  rgba: Uint8Array,
  ends: Uint32Array,
  near: Float32Array,
  depth: number,
  { r, g, b }: Rgb,
  out: Uint8Array,
): void {
  const bytes = out.length / 2;
  const far = rgba.length > bytes ? bytes : 0;
  for (let k = 0; k < out.length; k += 4) {
    const end = k < bytes ? 0 : 1;
    const e = (k - end * bytes) / 4;
    const own = 4 * e + end * far;
    const fog = depth * FOG * (0.5 - 0.5 * near[ends[2 * e + end]]);
    out[k] = rgba[own] + (r - rgba[own]) * fog;
    out[k + 1] = rgba[own + 1] + (g - rgba[own + 1]) * fog;
    out[k + 2] = rgba[own + 2] + (b - rgba[own + 2]) * fog;
    out[k + 3] = rgba[own + 3];
  }
}

/** The nodes of a list, or all, the farthest first; those that are equally near in the order of the list. */
export function farFirst(list: Uint32Array | null, near: Float32Array): Uint32Array {
  const count = list ? list.length : near.length;
  const starts = new Uint32Array(STEPS + 1);
  const step = (i: number): number => ((near[i] + 1) * 0.5 * (STEPS - 1)) | 0;
  for (let k = 0; k < count; k += 1) starts[step(list ? list[k] : k) + 1] += 1;
  for (let k = 0; k < STEPS; k += 1) starts[k + 1] += starts[k];
  const out = new Uint32Array(count);
  for (let k = 0; k < count; k += 1) {
    const i = list ? list[k] : k;
    out[starts[step(i)]++] = i;
  }
  return out;
}
