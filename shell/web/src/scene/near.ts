import type { EdgeList } from '../gl/renderer.ts';
import type { Box } from './camera.ts';
import { isPlaced } from './positions.ts';

/** Ranks beyond this fan no further: more parallel edges than that lie on one another. */
const RANK_MAX = 40;

/** Gives parallel edges of a list their ranks 0, 1, -1, 2, … so that they fan out. */
export function edgeList(edges: ArrayLike<number>, ends: Uint32Array): EdgeList {
  const count = edges.length;
  const pairs = new Uint32Array(count * 2);
  const groups = new Map<number, number[]>();
  let curved = false;
  for (let k = 0; k < count; k += 1) {
    const e = edges[k];
    const s = ends[2 * e];
    const d = ends[2 * e + 1];
    if (s === d) curved = true;
    // Exact up to 2^26 nodes; beyond that a clash would only bend an edge.
    const key = Math.min(s, d) * 67_108_864 + Math.max(s, d);
    const group = groups.get(key);
    if (group) group.push(k);
    else groups.set(key, [k]);
    pairs[2 * k] = e;
    pairs[2 * k + 1] = 128;
  }
  for (const group of groups.values()) {
    if (group.length < 2) continue;
    curved = true;
    const even = group.length % 2 === 0;
    group.forEach((k, at) => {
      // An even bundle leaves the straight line free, an odd one keeps one edge on it.
      const step = even ? at + 1 : at;
      const rank = Math.min(RANK_MAX, Math.ceil(step / 2)) * (step % 2 === 1 ? 1 : -1);
      pairs[2 * k + 1] = 128 + rank;
    });
  }
  return { pairs, count, curved };
}

/**
 * Edges that touch a box, by their bounding boxes; null when there are more than `limit`.
 * Coordinates are those of the positions.
 */
export function edgesInBox(
  ends: Uint32Array,
  known: number,
  xy: Float32Array,
  box: Box,
  limit: number,
): Uint32Array | null {
  const found = new Uint32Array(limit);
  let count = 0;
  for (let e = 0; e < known; e += 1) {
    const s = 2 * ends[2 * e];
    const d = 2 * ends[2 * e + 1];
    const ax = xy[s];
    const bx = xy[d];
    if ((ax < box.minX && bx < box.minX) || (ax > box.maxX && bx > box.maxX)) continue;
    const ay = xy[s + 1];
    const by = xy[d + 1];
    if ((ay < box.minY && by < box.minY) || (ay > box.maxY && by > box.maxY)) continue;
    if (!isPlaced(ax) || !isPlaced(bx)) continue;
    if (count === limit) return null;
    found[count] = e;
    count += 1;
  }
  return found.subarray(0, count);
}
