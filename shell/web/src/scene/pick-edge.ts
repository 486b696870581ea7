import type { EdgeList } from '../gl/renderer.ts';
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
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
    const bend = 0.4 * picture.look.curvature + bendOf(rankOf(list.pairs[2 * k + 1]), length);
    // The control point lies aside by its bend; the curve goes no further than half of that.
    if (distance(px, py, ...a, ...b) > least + (Math.abs(bend) * length) / 2) continue;
    const [dx, dy] = s < d ? [b[0] - a[0], b[1] - a[1]] : [a[0] - b[0], a[1] - b[1]];
    const [mx, my] = [(a[0] + b[0]) / 2 + dy * bend, (a[1] + b[1]) / 2 - dx * bend];
    let [x, y] = a;
    for (let n = 1; n <= PIECES; n += 1) {
      const t = n / PIECES;
      const u = 1 - t;
      const qx = u * u * a[0] + 2 * u * t * mx + t * t * b[0];
      const qy = u * u * a[1] + 2 * u * t * my + t * t * b[1];
      const off = distance(px, py, x, y, qx, qy);
      if (off < least) [found, least] = [edge, off];
      [x, y] = [qx, qy];
    }
  }
  return found;
}
