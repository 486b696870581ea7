import type { Box } from './camera.ts';

/** How strongly edges are drawn, so that a sparse graph stays visible and a dense one does not drown. */
export interface Ink {
  /** Opacity of one edge when all are drawn. */
  alpha: number;
  /** Share of the edges that is worth drawing; the tone map scales the sample up. */
  share: number;
  /** How much long edges fade: 0 not at all, 1 by the whole rule. */
  fade: number;
  /** How much room there is: 0 none, 1 a handful of edges that may be wide and strong. */
  room: number;
}

export const ALPHA_MIN = 0.03;
export const ALPHA_MAX = 0.55;
const SAMPLES = 2000;

/** Length of the part of a segment that lies inside a box (Liang and Barsky), in the box's units. */
export function clippedLength(box: Box, ax: number, ay: number, bx: number, by: number): number {
  const dx = bx - ax;
  const dy = by - ay;
  let t0 = 0;
  let t1 = 1;
  const edges: [number, number][] = [
    [-dx, ax - box.minX],
    [dx, box.maxX - ax],
    [-dy, ay - box.minY],
    [dy, box.maxY - ay],
  ];
  for (const [p, q] of edges) {
    if (p === 0) {
      if (q < 0) return 0;
      continue;
    }
    const r = q / p;
    if (p < 0) t0 = Math.max(t0, r);
    else t1 = Math.min(t1, r);
  }
  return t0 < t1 ? Math.hypot(dx, dy) * (t1 - t0) : 0;
}

/** Σ clipped length over all edges that are not hidden in pixels, estimated from a spread sample. */
export function inkLength(
  ends: Uint32Array,
  xy: Float32Array,
  box: Box,
  scale: number,
  numEdges: number,
  hidden: Uint8Array | null = null,
): number {
  const known = ends.length / 2;
  if (known === 0) return 0;
  const step = Math.max(1, Math.floor(known / SAMPLES));
  let sum = 0;
  let sampled = 0;
  for (let e = 0; e < known; e += step) {
    sampled += 1;
    if (hidden?.[e]) continue;
    const s = ends[2 * e];
    const d = ends[2 * e + 1];
    const length = clippedLength(box, xy[2 * s], xy[2 * s + 1], xy[2 * d], xy[2 * d + 1]);
    if (length > 0) sum += length;
  }
  return sampled === 0 ? 0 : (sum / sampled) * numEdges * scale;
}

/**
 * The ink rule: `alpha = clamp(0.7 W H / Σ length, 0.03, 0.55)`. Where the formula asks for less than the
 * minimum, a share of the edges with the minimum gives the same expected ink for less work. Where it asks
 * for far more than the maximum there is room, and long edges need not fade.
 */
export function inkRule(area: number, length: number): Ink {
  const raw = length > 0 ? (0.7 * area) / length : Infinity;
  const share = Math.min(1, raw / ALPHA_MIN);
  const room = Math.min(1, Math.max(0, Math.log(raw / ALPHA_MAX) / Math.log(30)));
  const alpha = Math.min(ALPHA_MAX, Math.max(ALPHA_MIN, raw));
  return { alpha: alpha + room * 0.75, share, fade: 1 - room, room };
}
