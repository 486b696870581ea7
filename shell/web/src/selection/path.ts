/** For each node where its list of neighbours begins, and the lists: both directions of every open edge. */
function neighbours(
  count: number,
  ends: Uint32Array,
  hiddenEdges: Uint8Array | null,
): { from: Uint32Array; near: Uint32Array } {
  const from = new Uint32Array(count + 1);
  const each = (act: (a: number, b: number) => void): void => {
    for (let e = 0; 2 * e < ends.length; e += 1) {
      if (hiddenEdges?.[e]) continue;
      act(ends[2 * e], ends[2 * e + 1]);
      act(ends[2 * e + 1], ends[2 * e]);
    }
  };
  each((a) => {
    from[a + 1] += 1;
  });
  for (let v = 0; v < count; v += 1) from[v + 1] += from[v];
  const near = new Uint32Array(from[count]);
  const next = from.slice();
  each((a, b) => {
    near[next[a]] = b;
    next[a] += 1;
  });
  return { from, near };
}

/**
 * A shortest path between two nodes over edges that are not hidden, whatever their direction, with both its
 * ends; null when there is none. Breadth-first from the start.
 */
export function shortestPath(
  count: number,
  ends: Uint32Array,
  start: number,
  goal: number,
  hiddenEdges: Uint8Array | null = null,
): number[] | null {
  const { from, near } = neighbours(count, ends, hiddenEdges);
  // One more than the node from which each was reached; 0 for those that were not.
  const reached = new Uint32Array(count);
  const queue = new Uint32Array(count);
  let last = 1;
  queue[0] = start;
  reached[start] = start + 1;
  for (let at = 0; at < last && reached[goal] === 0; at += 1) {
    const v = queue[at];
    for (let k = from[v]; k < from[v + 1]; k += 1) {
      if (reached[near[k]] !== 0) continue;
      reached[near[k]] = v + 1;
      queue[last] = near[k];
      last += 1;
    }
  }
  if (reached[goal] === 0) return null;
  const path = [goal];
  while (path[0] !== start) path.unshift(reached[path[0]] - 1);
  return path;
}
