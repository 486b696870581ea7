import { curveOf, pointOf, type Lines, type Point } from './line-curve.ts';
import type { EdgeList } from './scene-data.ts';

/** Pixels from the middle of a line within which it is under the pointer. */
const REACH_PX = 5;
/** Pieces in which a curve is looked at. */
const PIECES = 12;

function distance(px: number, py: number, ax: number, ay: number, bx: number, by: number): number {
  const [dx, dy] = [bx - ax, by - ay];
  const t = Math.max(0, Math.min(1, ((px - ax) * dx + (py - ay) * dy) / Math.max(1e-9, dx * dx + dy * dy)));
  return Math.hypot(px - ax - t * dx, py - ay - t * dy);
}

/** Whether a curve lies further than `reach` to one side of a coordinate. */
function isAside(coordinate: number, axis: 0 | 1, points: readonly Point[], reach: number): boolean {
  const [low, high] = [coordinate - reach, coordinate + reach];
  return points.every((p) => p[axis] > high) || points.every((p) => p[axis] < low);
}

/** The drawn edge of the near tier whose line is nearest to a pixel and at most a few away; -1 for none. */
export function edgeAt(picture: Lines, list: EdgeList | null, px: number, py: number): number {
  let [found, least] = [-1, REACH_PX];
  if (!list) return found;
  for (let k = 0; k < list.count; k += 1) {
    const edge = list.pairs[2 * k];
    const curve = curveOf(picture, edge, list.pairs[2 * k + 1]);
    if (!curve) continue;
    // A curve does not leave the hull of its control points.
    if (isAside(px, 0, curve, least) || isAside(py, 1, curve, least)) continue;
    let [x, y] = curve[0];
    for (let n = 1; n <= PIECES; n += 1) {
      const [qx, qy] = pointOf(curve, n / PIECES);
      const off = distance(px, py, x, y, qx, qy);
      if (off < least) [found, least] = [edge, off];
      [x, y] = [qx, qy];
    }
  }
  return found;
}
