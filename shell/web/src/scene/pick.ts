/**
 * Finding what is under the pointer, on the CPU: the answer is exact, needs no GPU read-back, and a million
 * nodes take about a millisecond.
 */

export interface PickInput {
  /** x and y of each node, relative to the origin of the positions. */
  xy: Float32Array;
  /** Radius of a node on the screen, in pixels. */
  radius: (index: number) => number;
  /** Whether the node can be hit; null when all can. */
  hidden: Uint8Array | null;
  /** How near each is to the eye, from -1 to 1, where nodes lie behind one another. */
  near?: Float32Array;
}

/** The largest slack around a small node, so that a 2-pixel dot can be hit with a pointer. */
export const SLACK = 6;

/**
 * The node under a point given in the positions' coordinates, or -1.
 *
 * A node whose disc holds the point wins over one that is only near; among those whose discs hold it the
 * one nearest to its centre wins, in space the one nearest to the eye; ties go to the smaller index.
 */
export function pickNode(input: PickInput, x: number, y: number, scale: number, reachMax = 40): number {
  const { xy, radius, hidden, near } = input;
  const reach = reachMax / scale;
  let best = -1;
  let bestScore = Infinity;
  for (let i = 0, n = xy.length / 2; i < n; i += 1) {
    const dx = xy[2 * i] - x;
    if (!(dx < reach && dx > -reach)) continue;
    const dy = xy[2 * i + 1] - y;
    if (!(dy < reach && dy > -reach)) continue;
    if (hidden && hidden[i] !== 0) continue;
    const distance = Math.hypot(dx, dy) * scale;
    const r = radius(i);
    if (distance > Math.max(r, SLACK)) continue;
    // Inside the disc: the share of the radius, below 1. Outside: 1 and more.
    const inside = near ? -near[i] / 2 : distance / r;
    const score = distance <= r ? inside : 1 + (distance - r);
    if (score < bestScore) {
      bestScore = score;
      best = i;
    }
  }
  return best;
}

export interface Neighbourhood {
  /** Node indices without the start, in the order found. */
  nodes: number[];
  /** Drawn edge indices between the start and the found nodes, at most `edgesMax`. */
  edges: number[];
  /** Edges counted, also those beyond the limit. */
  edgeCount: number;
}

/**
 * Nodes reachable from `start` in at most `hops` steps and the edges on the way, by scanning the edge
 * list: 3 million edges take some milliseconds, which is cheaper than keeping an adjacency in the tab.
 * Edges that are marked as hidden lead nowhere.
 */
export function neighbourhood(
  ends: Uint32Array,
  start: number,
  direction: 'both' | 'incoming' | 'outgoing',
  hops: number,
  edgesMax: number,
  hidden: Uint8Array | null = null,
): Neighbourhood {
  const found = new Set([start]);
  const edges = new Set<number>();
  let edgeCount = 0;
  let ring = new Set([start]);
  for (let hop = 0; hop < hops && ring.size > 0; hop += 1) {
    const next = new Set<number>();
    const only = ring.size === 1 ? start : -1;
    for (let e = 0, m = ends.length / 2; e < m; e += 1) {
      const s = ends[2 * e];
      const d = ends[2 * e + 1];
      const out = direction !== 'incoming' && (only >= 0 && hop === 0 ? s === only : ring.has(s));
      const into = direction !== 'outgoing' && (only >= 0 && hop === 0 ? d === only : ring.has(d));
      if ((!out && !into) || hidden?.[e]) continue;
      if (!edges.has(e)) {
        edgeCount += 1;
        if (edges.size < edgesMax) edges.add(e);
      }
      if (out && !found.has(d)) next.add(d);
      if (into && !found.has(s)) next.add(s);
    }
    for (const i of next) found.add(i);
    ring = next;
  }
  found.delete(start);
  return { nodes: [...found], edges: [...edges], edgeCount };
}

/** Distance in pixels from a point to a segment. */
export function segmentDistance(
  px: number,
  py: number,
  ax: number,
  ay: number,
  bx: number,
  by: number,
): number {
  const dx = bx - ax;
  const dy = by - ay;
  const length2 = dx * dx + dy * dy;
  const t = length2 === 0 ? 0 : Math.min(1, Math.max(0, ((px - ax) * dx + (py - ay) * dy) / length2));
  return Math.hypot(px - ax - t * dx, py - ay - t * dy);
}
