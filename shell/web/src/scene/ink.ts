import type { Box } from './camera.ts';
import { isPlaced } from './positions.ts';

/** Strength of drawn edges, so that a sparse graph stays visible and a dense one does not drown. */
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

function isIn(box: Box, x: number, y: number): boolean {
  return x >= box.minX && x <= box.maxX && y >= box.minY && y <= box.maxY;
}

/** Zooms between which edges without an end in view fade, and what is left of them. */
const PASSING_FROM = 1.5;
const PASSING_TO = 4;
const PASSING_LEFT = 1 / 3;

/** Strength of edges that only pass through the view, at a zoom (1: everything is in view). */
export function passingAt(zoom: number): number {
  const t = Math.log(Math.max(zoom, PASSING_FROM) / PASSING_FROM) / Math.log(PASSING_TO / PASSING_FROM);
  return 1 - (1 - PASSING_LEFT) * Math.min(1, t);
}

/**
 * Σ clipped length over all edges that are not hidden in pixels, estimated from a spread sample. Edges
 * without an end in the box count by `passing`.
 */
export function inkLength(
  ends: Uint32Array,
  xy: Float32Array,
  box: Box,
  scale: number,
  numEdges: number,
  hidden: Uint8Array | null = null,
  passing = 1,
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
    if (!isPlaced(xy[2 * s]) || !isPlaced(xy[2 * d])) continue;
    const length = clippedLength(box, xy[2 * s], xy[2 * s + 1], xy[2 * d], xy[2 * d + 1]);
    if (length === 0) continue;
    const ended = isIn(box, xy[2 * s], xy[2 * s + 1]) || isIn(box, xy[2 * d], xy[2 * d + 1]);
    sum += ended ? length : length * passing;
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
