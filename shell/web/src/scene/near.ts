import type { Box } from './camera.ts';
import { isPlaced } from './positions.ts';
import type { EdgeList } from './scene-data.ts';

/** More parallel edges than this become bundles: one line for those of one direction and one look. */
export const PARALLEL_MAX = 8;
/** How far the control point of a parallel edge may lie from its line: a share of its length, and pixels. */
export const BEND = { step: 0.11, stepPx: 6.5, share: 0.22, px: 26 } as const;

/** Where an entry of an edge list keeps its rank (plus 128) and the number of edges that it stands for. */
export const RANK_BITS = 8;

/** Packs a rank and the number of edges behind one line into the second number of a list's entry. */
export function packedOf(rank: number, count: number): number {
  return (128 + rank) | (Math.min(count, 0xffffff) << RANK_BITS);
}

export function rankOf(packed: number): number {
  return (packed & 0xff) - 128;
}

/** How many edges a line stands for. */
export function countOf(packed: number): number {
  return packed >>> RANK_BITS;
}

/** The control point's distance from the straight line, as a share of its length in pixels. */
export function bendOf(rank: number, length: number): number {
  const px = Math.max(length, 1);
  const far = Math.abs(rank) * Math.min(BEND.step, BEND.stepPx / px);
  return Math.sign(rank) * Math.min(far, BEND.share, BEND.px / px);
}

/** Edges that one line stands for, the first of which gives it its ends and its look. */
interface Line {
  edge: number;
  count: number;
}

/** At most `PARALLEL_MAX` lines for the edges between two nodes, each of one direction and one look. */
function bundle(group: number[], ends: Uint32Array, look: Uint32Array | null): Line[] {
  if (group.length <= PARALLEL_MAX) return group.map((edge) => ({ edge, count: 1 }));
  const kinds = new Map<string, Line>();
  for (const edge of group) {
    const key = `${ends[2 * edge]} ${look ? look[edge] : 0}`;
    const known = kinds.get(key);
    if (known) known.count += 1;
    else kinds.set(key, { edge, count: 1 });
  }
  const lines = [...kinds.values()].sort((a, b) => b.count - a.count || a.edge - b.edge);
  // The rarest looks share a line of each direction, so that no direction is lost.
  for (let at = lines.length - 1; lines.length > PARALLEL_MAX; at -= 1) {
    const from = ends[2 * lines[at].edge];
    const heir = lines.findLast((line, k) => k < at && ends[2 * line.edge] === from);
    if (!heir) continue;
    heir.count += lines[at].count;
    lines.splice(at, 1);
  }
  return lines;
}

/**
 * The lines to draw for some edges. Parallel edges get the ranks 0, 1, -1, 2, … so that they fan out near
 * their line; more than eight between two nodes become bundles with a count. `look` tells colours apart.
 */
export function edgeList(
  edges: ArrayLike<number>,
  ends: Uint32Array,
  look: Uint32Array | null = null,
): EdgeList {
  const groups = new Map<number, number[]>();
  let curved = false;
  for (let k = 0; k < edges.length; k += 1) {
    const e = edges[k];
    const s = ends[2 * e];
    const d = ends[2 * e + 1];
    if (s === d) curved = true;
    // Exact up to 2^26 nodes; beyond that a clash would only bend an edge.
    const key = Math.min(s, d) * 67_108_864 + Math.max(s, d);
    const group = groups.get(key);
    if (group) group.push(e);
    else groups.set(key, [e]);
  }
  const pairs = new Uint32Array(edges.length * 2);
  let count = 0;
  for (const group of groups.values()) {
    const lines = bundle(group, ends, look);
    if (lines.length > 1) curved = true;
    const even = lines.length % 2 === 0;
    lines.forEach((line, index) => {
      // An even number leaves the straight line free, an odd one keeps one edge on it.
      const step = lines.length === 1 ? 0 : even ? index + 1 : index;
      const rank = Math.ceil(step / 2) * (step % 2 === 1 ? 1 : -1);
      pairs[2 * count] = line.edge;
      pairs[2 * count + 1] = packedOf(rank === 0 ? 0 : rank, line.count);
      count += 1;
    });
  }
  return { pairs: pairs.subarray(0, 2 * count), count, edges: edges.length, curved };
}

export interface Bundle {
  edge: number;
  rank: number;
  count: number;
}

/** The lines of a list that stand for several edges, the largest first. */
export function bundles(list: EdgeList): Bundle[] {
  const found: Bundle[] = [];
  for (let k = 0; k < list.count; k += 1) {
    const packed = list.pairs[2 * k + 1];
    const count = countOf(packed);
    if (count > 1) found.push({ edge: list.pairs[2 * k], rank: rankOf(packed), count });
  }
  return found.sort((a, b) => b.count - a.count);
}

/**
 * Edges that touch a box, by their bounding boxes, and are not hidden; null when there are more than `limit`.
 * Coordinates are those of the positions.
 */
export function edgesInBox(
  ends: Uint32Array,
  known: number,
  xy: Float32Array,
  box: Box,
  limit: number,
  hidden: Uint8Array | null = null,
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
    if (!isPlaced(ax) || !isPlaced(bx) || hidden?.[e]) continue;
    if (count === limit) return null;
    found[count] = e;
    count += 1;
  }
  return found.subarray(0, count);
}
