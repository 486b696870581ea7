import { KIND, FrameError, type Frame } from '../net/frames.ts';

/** The number of a node that belongs to no group. */
export const NO_GROUP = 0xffff;

/** The group of every node on each level, coarse levels first. */
export function readGroups({ header, payload }: Frame): Uint16Array[] {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const levels = payload.byteLength < 16 ? 0 : view.getUint32(0, true);
  const { count } = header;
  if (header.kind !== KIND.GROUPS || payload.byteLength !== 16 + 2 * count * levels) {
    throw new FrameError(`no groups of ${count} nodes in ${payload.byteLength} bytes`);
  }
  return Array.from({ length: levels }, (_, k) => {
    return new Uint16Array(payload.buffer, payload.byteOffset + 16 + 2 * count * k, count);
  });
}

/** What of a picture groups are made of. */
export interface Elements {
  /** x and y of each node. */
  xy: Float32Array;
  nodeColor: Uint8Array | null;
  nodeSize: Uint8Array | null;
  nodeHidden: Uint8Array | null;
}

/** What of a group does not depend on where its nodes are. */
export interface Group {
  id: number;
  /** Visible nodes. */
  count: number;
  /** The largest of them, which names the group. */
  top: number;
  /** The colour of most of them. */
  color: [number, number, number];
}

/** Different colours up to which they are counted one by one: those of categories and communities. */
const PALETTE_MAX = 64;
/** Bits of a channel that are left of colours that are more. */
const COARSE = 0xffe0e0e0;

/** The groups of a level with at least so many visible nodes, by falling number of these, at most `most`. */
export function groupsOf(level: Uint16Array, elements: Elements, most: number, least = 2): Group[] {
  const { nodeColor, nodeSize, nodeHidden } = elements;
  let last = -1;
  for (const group of level) if (group !== NO_GROUP && group > last) last = group;
  const counts = new Uint32Array(last + 1);
  const tops = new Int32Array(last + 1).fill(-1);
  for (let i = 0; i < level.length; i += 1) {
    const group = level[i];
    if (group === NO_GROUP || nodeHidden?.[i]) continue;
    counts[group] += 1;
    const top = tops[group];
    if (top < 0 || (nodeSize && nodeSize[i] > nodeSize[top])) tops[group] = i;
  }
  const order = Array.from(counts.keys()).filter((g) => counts[g] >= least);
  order.sort((a, b) => counts[b] - counts[a] || a - b);
  const kept = order.slice(0, most);
  const colors = prevailing(level, kept, nodeColor, nodeHidden);
  return kept.map((id, k) => ({ id, count: counts[id], top: tops[id], color: colors[k] }));
}

/** The colour that most visible nodes of each group have; where colours are of a scale, roughly. */
function prevailing(
  level: Uint16Array,
  groups: readonly number[],
  rgba: Uint8Array | null,
  hidden: Uint8Array | null,
): [number, number, number][] {
  if (!rgba) return groups.map(() => [107, 117, 137]);
  const place = new Int32Array(NO_GROUP + 1).fill(-1);
  groups.forEach((group, k) => (place[group] = k));
  const aligned = rgba.byteOffset % 4 === 0 ? rgba : rgba.slice();
  const whole = new Uint32Array(aligned.buffer, aligned.byteOffset, level.length);
  const numbers = new Map<number, number>();
  for (let i = 0; i < whole.length && numbers.size <= PALETTE_MAX; i += 1) {
    if (i === 0 || whole[i] !== whole[i - 1]) numbers.set(whole[i], numbers.size);
  }
  const bits = numbers.size > PALETTE_MAX ? COARSE : 0xffffffff;
  const votes = groups.map(() => new Map<number, { votes: number; color: number }>());
  for (let i = 0; i < level.length; i += 1) {
    const k = place[level[i]];
    if (k < 0 || hidden?.[i]) continue;
    const color = whole[i];
    const found = votes[k].get(color & bits);
    if (found) found.votes += 1;
    else votes[k].set(color & bits, { votes: 1, color });
  }
  return votes.map((colors) => {
    let best = { votes: 0, color: 0 };
    for (const one of colors.values()) if (one.votes > best.votes) best = one;
    // Bytes in memory: red first on every machine that browsers run on.
    return [best.color & 255, (best.color >> 8) & 255, (best.color >> 16) & 255];
  });
}

/** Where the nodes of groups are: middles and standard deviations, four numbers a group. */
export function placesOf(level: Uint16Array, groups: readonly Group[], elements: Elements): Float64Array {
  const { xy, nodeHidden } = elements;
  const place = new Int32Array(NO_GROUP + 1).fill(-1);
  groups.forEach((group, k) => (place[group.id] = k));
  const found = new Float64Array(4 * groups.length);
  const sums = new Float64Array(5 * groups.length);
  // Twice: a few nodes far out must not say where a group is, nor how large.
  for (let turn = 0; turn < 2; turn += 1) {
    sums.fill(0);
    for (let i = 0; i < level.length; i += 1) {
      const k = place[level[i]];
      if (k < 0 || nodeHidden?.[i]) continue;
      const x = xy[2 * i];
      const y = xy[2 * i + 1];
      if (!(x < 1e30)) continue;
      if (turn > 0) {
        const [dx, dy] = [x - found[4 * k], y - found[4 * k + 1]];
        const reach = 2 * (found[4 * k + 2] + found[4 * k + 3]);
        if (dx * dx + dy * dy > reach * reach) continue;
      }
      sums[5 * k] += 1;
      sums[5 * k + 1] += x;
      sums[5 * k + 2] += y;
      sums[5 * k + 3] += x * x;
      sums[5 * k + 4] += y * y;
    }
    for (let k = 0; k < groups.length; k += 1) {
      const n = Math.max(1, sums[5 * k]);
      const [x, y] = [sums[5 * k + 1] / n, sums[5 * k + 2] / n];
      found[4 * k] = x;
      found[4 * k + 1] = y;
      found[4 * k + 2] = Math.sqrt(Math.max(0, sums[5 * k + 3] / n - x * x));
      found[4 * k + 3] = Math.sqrt(Math.max(0, sums[5 * k + 4] / n - y * y));
    }
  }
  return found;
}

export interface Link {
  /** Places in the list of groups. */
  a: number;
  b: number;
  /** Visible edges between them. */
  count: number;
}

/** Edges between groups, the most first, at most `most`. */
export function linksOf(
  level: Uint16Array,
  groups: readonly Group[],
  edges: { ends: Uint32Array; edgesKnown: number; edgeHidden: Uint8Array | null },
  most: number,
): Link[] {
  const n = groups.length;
  const place = new Int32Array(NO_GROUP + 1).fill(-1);
  groups.forEach((group, k) => (place[group.id] = k));
  const counts = new Uint32Array(n * n);
  const { ends, edgesKnown, edgeHidden } = edges;
  for (let e = 0; e < edgesKnown; e += 1) {
    if (edgeHidden?.[e]) continue;
    const a = place[level[ends[2 * e]]];
    const b = place[level[ends[2 * e + 1]]];
    if (a < 0 || b < 0 || a === b) continue;
    counts[a < b ? a * n + b : b * n + a] += 1;
  }
  const found: Link[] = [];
  for (let a = 0; a < n; a += 1) {
    for (let b = a + 1; b < n; b += 1) {
      const count = counts[a * n + b];
      if (count > 0) found.push({ a, b, count });
    }
  }
  return found.sort((x, y) => y.count - x.count || x.a - y.a || x.b - y.b).slice(0, most);
}
