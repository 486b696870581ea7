import { toScreen, type Size, type View } from './camera.ts';
import { bendOf, rankOf } from './near.ts';

/** The ways of lines on the screen as the shaders draw them, for pointing at them and writing on them. */

export type Point = [number, number];

/** What the ways of lines depend on; the picture has it. */
export interface Lines {
  size: Size;
  camera: { view: View };
  look: { curvature: number };
  data: { ends: Uint32Array };
  positions: { origin: { x: number; y: number } };
  renderer: { bending: Bending | null };
  /** Where a node is shown, in graph coordinates and in pixels; null where it has no place. */
  at(index: number): Point | null;
  project(index: number): Point | null;
}

/** What bends edges. */
interface Bending {
  controls(edge: number, a: Point, b: Point): readonly (readonly [number, number])[] | null;
}

/** How far apart along a bundled way the middles of parallel lines are, which run together there. */
const APART = 0.08;
/** Shares of a bundled way at which a text may stand, beside its middle and in this order. */
const ASIDE = [0, -0.15, 0.15, -0.28, 0.28] as const;

/** The control points of a bundled edge in pixels; null where it is not led anywhere. */
function bentCurve(picture: Lines, edge: number, s: number, d: number): Point[] | null {
  const { bending } = picture.renderer;
  const [a, b] = [picture.at(s), picture.at(d)];
  if (!bending || !a || !b) return null;
  const { x, y } = picture.positions.origin;
  const stored = ([px, py]: Point): Point => [px - x, py - y];
  const inner = bending.controls(edge, stored(a), stored(b));
  const seen = (px: number, py: number): Point => toScreen(picture.camera.view, picture.size, px, py);
  return inner && [seen(...a), ...inner.map((p) => seen(p[0] + x, p[1] + y)), seen(...b)];
}

/** The control points of a straight edge or one aside of others. */
function plainCurve(picture: Lines, packed: number, forward: boolean, a: Point, b: Point): Point[] {
  const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
  const bend = 0.4 * picture.look.curvature + bendOf(rankOf(packed), length);
  const [dx, dy] = forward ? [b[0] - a[0], b[1] - a[1]] : [a[0] - b[0], a[1] - b[1]];
  return [a, [(a[0] + b[0]) / 2 + dy * bend, (a[1] + b[1]) / 2 - dx * bend], b];
}

/**
 * The control points in pixels of a line from its source to its destination: three, or four of a bundled one.
 * Null for loops, and for a line that has no place.
 */
export function curveOf(picture: Lines, edge: number, packed: number): Point[] | null {
  const { ends } = picture.data;
  const [s, d] = [ends[2 * edge], ends[2 * edge + 1]];
  const [a, b] = [picture.project(s), picture.project(d)];
  if (!a || !b || s === d) return null;
  return bentCurve(picture, edge, s, d) ?? plainCurve(picture, packed, s < d, a, b);
}

/** A point of a Bézier curve (de Casteljau). */
export function pointOf(points: readonly Point[], t: number): Point {
  if (points.length === 1) return points[0];
  const next = points.slice(1).map((p, k): Point => {
    return [points[k][0] + (p[0] - points[k][0]) * t, points[k][1] + (p[1] - points[k][1]) * t];
  });
  return pointOf(next, t);
}

/** A place of a line at which something is written. */
export interface OnLine {
  x: number;
  y: number;
  /** Direction of the line there, clockwise from the right. */
  angle: number;
  /** Pixels between the ends of the line. */
  length: number;
}

/**
 * Where something may be written on a line that is no loop, the best place first: the middle; of a bundled
 * one, whose neighbours run with it, also other places (`engine/raster/src/canvas/spots.rs` has the same).
 */
export function placesOn(picture: Lines, edge: number, packed: number): OnLine[] {
  const curve = curveOf(picture, edge, packed);
  if (!curve) return [];
  const { ends } = picture.data;
  const forward = ends[2 * edge] < ends[2 * edge + 1];
  const [a, b] = [curve[0], curve[curve.length - 1]];
  const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
  const shares = curve.length === 4 ? ASIDE.map((aside) => 0.5 + APART * rankOf(packed) + aside) : [0.5];
  return shares.flatMap((share) => {
    // Lines of both directions between two nodes are told apart by their ranks.
    const t = forward ? share : 1 - share;
    if (t < 0.1 || t > 0.9) return [];
    const [x, y] = pointOf(curve, t);
    const [p, q] = [pointOf(curve, t - 0.01), pointOf(curve, t + 0.01)];
    const [dx, dy] = forward ? [q[0] - p[0], q[1] - p[1]] : [p[0] - q[0], p[1] - q[1]];
    return [{ x, y, angle: Math.atan2(dy, dx), length }];
  });
}

/** Pixels that a line may leave the straight text along it. */
const STRAY_PX = 3.5;
/** Pieces in which a curve is looked at for that. */
const PIECES = 24;

/** Whether a line keeps to a straight text of a width at one of its places. */
export function isAlong(points: readonly Point[], { x, y, angle }: OnLine, width: number): boolean {
  if (points.length < 4) return true;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  for (let k = 0; k <= PIECES; k += 1) {
    const [px, py] = pointOf(points, k / PIECES);
    const [along, across] = [(px - x) * cos + (py - y) * sin, (py - y) * cos - (px - x) * sin];
    if (Math.abs(along) < width / 2 && Math.abs(across) > STRAY_PX) return false;
  }
  return true;
}
