import { ABSENT, isPlaced } from '../scene/positions.ts';

/** Places at which nodes with three coordinates are seen from a side; free of the DOM. */

/** A side to look from: turned around the vertical axis, then around the one across. */
export interface Turn {
  yaw: number;
  pitch: number;
  /** How strong perspective is: 0 none, as in the plane; 1 the whole. */
  depth: number;
}

export const PLANE: Turn = { yaw: 0, pitch: 0, depth: 0 };

/** The ball that holds most nodes, and how many units of x and y one of z is. */
export interface Ball {
  x: number;
  y: number;
  z: number;
  r: number;
  zScale: number;
}

/** Distance of the eye from the middle in radii: sizes lie between 0.75 and 1.5 times those in the plane. */
export const EYE = 3;
/** Share of the way to the eye from which on nodes are drawn no larger. */
const NEAREST = 0.8;
/** Spreads of z and of x and y that differ more than this are not of the same units. */
const SAME_UNITS = 10;
/** Nodes that a ball is found by. */
const SAMPLE_MAX = 20_000;

const middle = (sorted: Float32Array): [number, number] => {
  const last = sorted.length - 1;
  return [sorted[Math.floor(0.002 * last)], sorted[Math.ceil(0.998 * last)]];
};

/**
 * The ball around positions as x and y in turn, and z, which is not a number where there is none; null where
 * no node has a place. A z that spreads far more or less than x and y is of other units, and scaled to them.
 */
export function ballOf(xy: Float32Array, z: Float32Array): Ball | null {
  const step = Math.max(1, Math.floor(z.length / SAMPLE_MAX));
  const found: [number[], number[], number[]] = [[], [], []];
  for (let i = 0; i < z.length; i += step) {
    if (!isPlaced(xy[2 * i]) || !isPlaced(xy[2 * i + 1])) continue;
    found[0].push(xy[2 * i]);
    found[1].push(xy[2 * i + 1]);
    if (Number.isFinite(z[i])) found[2].push(z[i]);
  }
  if (found[0].length === 0 || found[2].length === 0) return null;
  const [x, y, h] = found.map((one) => middle(Float32Array.from(one).sort()));
  const [wide, high, deep] = [x[1] - x[0], y[1] - y[0], h[1] - h[0]];
  const flat = Math.max(wide, high);
  const ratio = deep / flat;
  const same = ratio <= SAME_UNITS && ratio >= 1 / SAME_UNITS;
  const zScale = same || !(deep > 0) || !(flat > 0) ? 1 : flat / deep;
  const r = Math.hypot(wide, high, deep * zScale) / 2 || 1;
  return { x: (x[0] + x[1]) / 2, y: (y[0] + y[1]) / 2, z: (h[0] + h[1]) / 2, r, zScale };
}

/**
 * Writes where each node is seen to `out`, and how near it is to `near`: from -1 on the far side to 1.
 * A node without z is in the middle of the others; one without a place stays without. Seen from the front
 * without perspective, each is where it is in the plane.
 */
export function project(
  xy: Float32Array,
  z: Float32Array,
  ball: Ball,
  { yaw, pitch, depth }: Turn,
  out: Float32Array,
  near: Float32Array,
): void {
  const [sy, cy, sp, cp] = [Math.sin(yaw), Math.cos(yaw), Math.sin(pitch), Math.cos(pitch)];
  const { x: mx, y: my, z: mz, r, zScale } = ball;
  for (let i = 0; i < z.length; i += 1) {
    const x = xy[2 * i];
    const y = xy[2 * i + 1];
    if (!isPlaced(x) || !isPlaced(y)) {
      out[2 * i] = out[2 * i + 1] = ABSENT;
      near[i] = -1;
      continue;
    }
    const h = z[i];
    const dx = x - mx;
    const dy = y - my;
    const dz = h === h ? (h - mz) * zScale : 0;
    const away = dz * cy - dx * sy;
    const to = (dy * sp + away * cp) / r;
    const grow = growth(to, depth);
    out[2 * i] = mx + (dx * cy + dz * sy) * grow;
    out[2 * i + 1] = my + (dy * cp - away * sp) * grow;
    near[i] = to < -1 ? -1 : to > 1 ? 1 : to;
  }
}

/** How many times as large as in the middle something is seen that is `near`. */
export function growth(near: number, depth: number): number {
  return 1 / (1 - depth * Math.min(NEAREST, near / EYE));
}
