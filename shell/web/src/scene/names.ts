import type { Api } from '../net/api.ts';
import { viewBox, type Size, type View } from './camera.ts';
import { labelBudget } from './labels.ts';

/** Nodes that are asked for at once; the server takes no more. */
const ASKED_MAX = 200;
/** Names that are kept; past them those that were not in view for longest go. */
const KEPT_MAX = 5_000;
/** Nodes that are wanted for each label that there is room for: not every name fits beside its node. */
const WANTED_PER_LABEL = 3;

export interface InView {
  /** Positions relative to `origin`; nodes without one are far outside. */
  xy: Float32Array;
  origin: { x: number; y: number };
  view: View;
  size: Size;
  /** Sizes of nodes, 0 to 255; null when all have one. */
  nodeSize: Uint8Array | null;
  /** What is highlighted, if anything is. */
  lit: ReadonlySet<number> | null;
  /** 1 for each node that is not drawn. */
  hidden: Uint8Array | null;
}

/** The largest nodes in view, at most `most`, the largest first and equal ones by their index. */
export function largestInView(input: InView, most: number): number[] {
  const { lit, hidden } = input;
  const all = largest(input, most, (v) => !hidden?.[v]);
  if (!lit) return all;
  // What is highlighted goes before all else.
  const own = largest(input, most, (v) => lit.has(v) && !hidden?.[v]);
  return [...new Set([...own, ...all])].slice(0, most);
}

function largest(input: InView, most: number, wanted: (v: number) => boolean): number[] {
  const { xy, origin, nodeSize } = input;
  const box = viewBox(input.view, input.size);
  const [minX, maxX] = [box.minX - origin.x, box.maxX - origin.x];
  const [minY, maxY] = [box.minY - origin.y, box.maxY - origin.y];
  // By size first: a million nodes in view are counted and not sorted.
  const counts = new Uint32Array(256);
  const found: number[] = [];
  for (let v = 0; v < xy.length / 2; v += 1) {
    const [x, y] = [xy[2 * v], xy[2 * v + 1]];
    if (!(x >= minX && x <= maxX && y >= minY && y <= maxY) || !wanted(v)) continue;
    found.push(v);
    counts[nodeSize ? nodeSize[v] : 0] += 1;
  }
  let least = 255;
  for (let sum = counts[255]; sum < most && least > 0; sum += counts[least]) least -= 1;
  const sizeOf = (v: number): number => (nodeSize ? nodeSize[v] : 0);
  const above = found.filter((v) => sizeOf(v) > least).sort((a, b) => sizeOf(b) - sizeOf(a) || a - b);
  for (const v of found) {
    if (above.length >= most) break;
    if (sizeOf(v) === least) above.push(v);
  }
  return above.slice(0, most);
}

/** Names of what is in view, asked for while the picture is at rest. */
export class Names {
  private readonly kept = new Map<number, string>();
  private asking: AbortController | null = null;
  private seen = '';

  constructor(
    private readonly api: Pick<Api, 'names'>,
    /** Names that came with the graph. */
    private readonly known: () => ReadonlyMap<number, string>,
    private readonly changed: (names: { index: number; text: string }[]) => void,
  ) {}

  /** Whether names are on their way. */
  get busy(): boolean {
    return this.asking !== null;
  }

  clear(): void {
    this.asking?.abort();
    this.asking = null;
    this.seen = '';
    this.kept.clear();
    this.changed([]);
  }

  /**
   * Asks for the names that are missing of what is in view. `state` says what is looked at: the same is
   * not looked at twice. One request goes at a time.
   */
  async look(state: string, input: () => InView): Promise<void> {
    if (this.asking || state === this.seen) return;
    const now = input();
    const room = labelBudget(now.size.w, now.size.h);
    const known = this.known();
    const most = Math.min(ASKED_MAX, room * WANTED_PER_LABEL);
    const wanted = largestInView(now, most);
    const missing = wanted.filter((v) => !known.has(v) && !this.kept.has(v));
    if (missing.length > 0) {
      const asking = new AbortController();
      this.asking = asking;
      try {
        const names = await this.api.names(missing, asking.signal);
        missing.forEach((v, k) => this.kept.set(v, names[k] ?? ''));
      } catch {
        // The picture is as it was without these names; what is looked at next is asked for again.
        return;
      } finally {
        if (this.asking === asking) this.asking = null;
      }
      if (asking.signal.aborted) return;
    }
    this.seen = state;
    this.keep(wanted.filter((v) => !known.has(v)));
    const nameOf = (v: number): string => known.get(v) ?? this.kept.get(v) ?? '';
    this.changed(wanted.map((index) => ({ index, text: nameOf(index) })));
  }

  /** Puts what is wanted last, and forgets the first where there are too many. */
  private keep(wanted: number[]): void {
    for (const v of wanted) {
      const text = this.kept.get(v) ?? '';
      this.kept.delete(v);
      this.kept.set(v, text);
    }
    for (const v of this.kept.keys()) {
      if (this.kept.size <= KEPT_MAX) break;
      this.kept.delete(v);
    }
  }
}
