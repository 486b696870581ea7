/** Test of whether the direction of edges says anything, which decides about arrow heads. */

/** A number that an ordered pair of nodes has for itself, as good as at random. */
function pairHash(a: number, b: number): number {
  let h = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x7f4a7c15, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  return (h ^ (h >>> 13)) >>> 0;
}

/** Whether each edge is answered by one of the other direction, but for the rarest of chances. */
function isReciprocal(ends: Uint32Array, edges: number): boolean {
  let [there, back] = [0, 0];
  for (let e = 0; e < edges; e += 1) {
    there += pairHash(ends[2 * e], ends[2 * e + 1]);
    back += pairHash(ends[2 * e + 1], ends[2 * e]);
  }
  return there === back;
}

/** Whether some path leads back to where it began, loops apart (Kahn, "Topological sorting", CACM 1962). */
function hasCycle(ends: Uint32Array, edges: number, nodes: number): boolean {
  const starts = new Uint32Array(nodes + 1);
  const open = new Uint32Array(nodes);
  let left = 0;
  for (let e = 0; e < edges; e += 1) {
    const [s, d] = [ends[2 * e], ends[2 * e + 1]];
    if (s === d) continue;
    starts[s + 1] += 1;
    open[d] += 1;
    left += 1;
  }
  for (let v = 0; v < nodes; v += 1) starts[v + 1] += starts[v];
  const fill = starts.slice(0, nodes);
  const heads = new Uint32Array(left);
  for (let e = 0; e < edges; e += 1) {
    const [s, d] = [ends[2 * e], ends[2 * e + 1]];
    if (s !== d) heads[fill[s]++] = d;
  }
  const ready: number[] = [];
  for (let v = 0; v < nodes; v += 1) if (open[v] === 0) ready.push(v);
  for (let v = ready.pop(); v !== undefined; v = ready.pop()) {
    for (let k = starts[v]; k < starts[v + 1]; k += 1) {
      left -= 1;
      open[heads[k]] -= 1;
      if (open[heads[k]] === 0) ready.push(heads[k]);
    }
  }
  return left > 0;
}

/**
 * Whether the edges themselves show that they have a direction: some path leads back to where it began,
 * and not merely because each edge is answered by its reverse. Neither is so where an undirected network
 * was written down, each edge once or each edge twice; a hierarchy cannot be told from the former.
 */
export function isDirected(ends: Uint32Array, edges: number, nodes: number): boolean {
  return hasCycle(ends, edges, nodes) && !isReciprocal(ends, edges);
}
