import type { EdgeList } from '../gl/renderer.ts';
import { toScreen } from './camera.ts';
import { bendOf, rankOf } from './near.ts';
import type { Picture } from './picture.ts';

/** Pixels from the middle of a line within which it is under the pointer. */
const REACH_PX = 5;
/** Pieces in which a curve is looked at. */
const PIECES = 12;

function distance(px: number, py: number, ax: number, ay: number, bx: number, by: number): number {
  const [dx, dy] = [bx - ax, by - ay];
  const t = Math.max(0, Math.min(1, ((px - ax) * dx + (py - ay) * dy) / Math.max(1e-9, dx * dx + dy * dy)));
  return Math.hypot(px - ax - t * dx, py - ay - t * dy);
}

type Point = [number, number];

/** The control points of a bundled edge in pixels; null where it is not led anywhere. */
function bentCurve(picture: Picture, edge: number, s: number, d: number): Point[] | null {
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
function plainCurve(picture: Picture, entry: number, forward: boolean, a: Point, b: Point): Point[] {
  const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
  const bend = 0.4 * picture.look.curvature + bendOf(rankOf(entry), length);
  const [dx, dy] = forward ? [b[0] - a[0], b[1] - a[1]] : [a[0] - b[0], a[1] - b[1]];
  return [a, [(a[0] + b[0]) / 2 + dy * bend, (a[1] + b[1]) / 2 - dx * bend], b];
}

/** A point of a Bézier curve (de Casteljau). */
function pointOf(points: readonly Point[], t: number): Point {
  if (points.length === 1) return points[0];
  const next = points.slice(1).map((p, k): Point => {
    return [points[k][0] + (p[0] - points[k][0]) * t, points[k][1] + (p[1] - points[k][1]) * t];
  });
  return pointOf(next, t);
}

/** Whether a curve lies further than `reach` to one side of a coordinate. */
function isAside(at: number, axis: 0 | 1, points: readonly Point[], reach: number): boolean {
  return points.every((p) => p[axis] > at + reach) || points.every((p) => p[axis] < at - reach);
}

/** The drawn edge of the near tier whose line is nearest to a pixel and at most a few away; -1 for none. */
export function edgeAt(picture: Picture, list: EdgeList | null, px: number, py: number): number {
  let [found, least] = [-1, REACH_PX];
  if (!list) return found;
  const { ends } = picture.data;
  for (let k = 0; k < list.count; k += 1) {
    const edge = list.pairs[2 * k];
    const [s, d] = [ends[2 * edge], ends[2 * edge + 1]];
    const [a, b] = [picture.project(s), picture.project(d)];
    if (!a || !b || s === d) continue;
    const curve = bentCurve(picture, edge, s, d) ?? plainCurve(picture, list.pairs[2 * k + 1], s < d, a, b);
    // A curve does not leave the hull of its control points.
    if (isAside(px, 0, curve, least) || isAside(py, 1, curve, least)) continue;
    let [x, y] = a;
    for (let n = 1; n <= PIECES; n += 1) {
      const [qx, qy] = pointOf(curve, n / PIECES);
      const off = distance(px, py, x, y, qx, qy);
      if (off < least) [found, least] = [edge, off];
      [x, y] = [qx, qy];
    }
  }
  return found;
}
