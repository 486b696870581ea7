import type { Joining, Point } from '../state/lazy.ts';

/** Selection of nodes: a mark for each node, and operations on all marks at once. */

export class Selection {
  private marks: Uint8Array<ArrayBuffer>;
  private hidden: Uint8Array | null = null;
  /** Selected nodes that are visible; a hidden one is selected again when it comes back. */
  count = 0;

  constructor(numNodes: number) {
    this.marks = new Uint8Array(numNodes);
  }

  get size(): number {
    return this.marks.length;
  }

  /** Nodes that cannot be seen, 1 each: they are neither counted nor reached. */
  hide(hidden: Uint8Array | null): void {
    this.hidden = hidden;
    this.recount();
  }

  has(index: number): boolean {
    return this.marks[index] === 1 && !this.hidden?.[index];
  }

  /** A mark for each selected node that is visible. */
  get visible(): Uint8Array<ArrayBuffer> {
    return this.marks.map((mark, v) => (mark && !this.hidden?.[v] ? 1 : 0));
  }

  /** The selected nodes, ascending; at most `most`. */
  nodes(most = Infinity): number[] {
    const out: number[] = [];
    for (let v = 0; v < this.marks.length && out.length < most; v += 1) if (this.has(v)) out.push(v);
    return out;
  }

  private take(marks: Uint8Array<ArrayBuffer>): void {
    this.marks = marks;
    this.recount();
  }

  private recount(): void {
    let count = 0;
    for (let v = 0; v < this.marks.length; v += 1) if (this.has(v)) count += 1;
    this.count = count;
  }

  /** Whether an edge can be walked: none that is hidden can, nor one with a hidden end. */
  private open(ends: Uint32Array, e: number, hiddenEdges: Uint8Array | null): boolean {
    if (hiddenEdges?.[e >> 1]) return false;
    return !this.hidden || !(this.hidden[ends[e]] || this.hidden[ends[e + 1]]);
  }

  /** Joins what `found` marks. */
  join(found: Uint8Array, how: Joining): void {
    if (how === 'common') {
      this.take(this.marks.map((mark, v) => mark & found[v]));
      return;
    }
    const next = how === 'replace' ? new Uint8Array(this.marks.length) : this.marks.slice();
    const mark = how === 'remove' ? 0 : 1;
    for (let v = 0; v < next.length; v += 1) if (found[v]) next[v] = mark;
    this.take(next);
  }

  toggle(index: number): void {
    const next = this.marks.slice();
    next[index] ^= 1;
    this.take(next);
  }

  clear(): void {
    this.take(new Uint8Array(this.marks.length));
  }

  all(): void {
    this.take(this.marks.map((mark, v) => (this.hidden?.[v] ? mark : 1)));
  }

  invert(): void {
    this.take(this.marks.map((mark, v) => (this.hidden?.[v] ? mark : mark ^ 1)));
  }

  /** Adds the neighbours of the selected nodes; `ends` are the two ends of each edge. */
  grow(ends: Uint32Array, hiddenEdges: Uint8Array | null = null): void {
    const next = this.marks.slice();
    for (let e = 0; e < ends.length; e += 2) {
      const [s, d] = [ends[e], ends[e + 1]];
      if (!this.open(ends, e, hiddenEdges)) continue;
      if (this.marks[s] || this.marks[d]) next[s] = next[d] = 1;
    }
    this.take(next);
  }

  /** Adds everything that edges connect with a selected node, in however many steps. */
  component(ends: Uint32Array, hiddenEdges: Uint8Array | null = null): void {
    const above = Uint32Array.from(this.marks, (_, v) => v);
    const top = (v: number): number => {
      let at = v;
      while (above[at] !== at) {
        above[at] = above[above[at]];
        at = above[at];
      }
      return at;
    };
    for (let e = 0; e < ends.length; e += 2) {
      if (!this.open(ends, e, hiddenEdges)) continue;
      const [a, b] = [top(ends[e]), top(ends[e + 1])];
      if (a !== b) above[Math.max(a, b)] = Math.min(a, b);
    }
    const wanted = new Uint8Array(this.marks.length);
    for (let v = 0; v < this.marks.length; v += 1) if (this.has(v)) wanted[top(v)] = 1;
    this.take(this.marks.map((_, v) => wanted[top(v)]));
  }

  /** Adds the nodes that have the colour of a selected one; `rgba` are four bytes a node. */
  sameColor(rgba: Uint8Array): void {
    const at = (v: number): number =>
      (rgba[4 * v] << 24) | (rgba[4 * v + 1] << 16) | (rgba[4 * v + 2] << 8) | rgba[4 * v + 3];
    const wanted = new Set<number>();
    for (let v = 0; v < this.marks.length; v += 1) if (this.has(v)) wanted.add(at(v));
    this.take(this.marks.map((_, v) => (wanted.has(at(v)) ? 1 : 0)));
  }
}

/** The nodes inside a closed line, in the coordinates of the positions; without a position none is. */
export function inside(xy: Float32Array, line: readonly Point[]): Uint8Array {
  const found = new Uint8Array(xy.length / 2);
  if (line.length < 3) return found;
  const xs = line.map((p) => p.x);
  const ys = line.map((p) => p.y);
  const [minX, maxX] = [Math.min(...xs), Math.max(...xs)];
  const [minY, maxY] = [Math.min(...ys), Math.max(...ys)];
  for (let v = 0; v < found.length; v += 1) {
    const x = xy[2 * v];
    const y = xy[2 * v + 1];
    if (!(x >= minX && x <= maxX && y >= minY && y <= maxY)) continue;
    // A ray to the right crosses the line an odd number of times.
    let odd = false;
    for (let i = 0, j = line.length - 1; i < line.length; j = i, i += 1) {
      const [a, b] = [line[i], line[j]];
      if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) odd = !odd;
    }
    if (odd) found[v] = 1;
  }
  return found;
}

/** The corners of the box between two points. */
export function corners(a: Point, b: Point): Point[] {
  return [a, { x: b.x, y: a.y }, b, { x: a.x, y: b.y }];
}

/** The edges with both ends selected, at most `most`. */
export function edgesWithin(
  selection: Selection,
  ends: Uint32Array,
  most: number,
  hiddenEdges: Uint8Array | null = null,
): number[] {
  const found: number[] = [];
  for (let e = 0; 2 * e < ends.length && found.length < most; e += 1) {
    if (hiddenEdges?.[e]) continue;
    if (selection.has(ends[2 * e]) && selection.has(ends[2 * e + 1])) found.push(e);
  }
  return found;
}

/** How much is selected, as numbers with their words. */
export function selectedParts(nodes: number, edges: number): { number: string; word: string }[] {
  const both = [
    { count: nodes, one: 'node' },
    { count: edges, one: 'edge' },
  ];
  return both
    .filter(({ count }) => count > 0)
    .map(({ count, one }) => ({ number: count.toLocaleString('en'), word: count === 1 ? one : `${one}s` }));
}
