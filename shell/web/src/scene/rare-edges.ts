import { looks } from './near-edges.ts';
import { edgeList } from './near.ts';
import type { EdgeList, SceneData } from './scene-data.ts';

/** Colours of edges are looked at as kinds when there are at most so many; more are a scale. */
const KINDS_MAX = 32;
/** Share of the edges that a rare colour has at most, and how many edges are drawn as rare. */
const SHARE_MAX = 0.05;
const RARE_MAX = 20_000;

/**
 * The edges of colours that few edges have. Among many edges their colour would drown in that of the others,
 * because the picture of the edges is an average. `rgba` are four bytes an edge; with `some`, an opacity of 0
 * is the look of edges without a colour of their own, which is a kind as well and not a rare one.
 */
export function rareEdges(rgba: Uint8Array, some: boolean): Uint32Array {
  const colors = new Uint32Array(rgba.buffer, rgba.byteOffset, rgba.length >> 2);
  const kind = (e: number): number => (some && rgba[4 * e + 3] === 0 ? 0 : colors[e]);
  const counts = new Map<number, number>();
  for (let e = 0; e < colors.length; e += 1) {
    counts.set(kind(e), (counts.get(kind(e)) ?? 0) + 1);
    if (counts.size > KINDS_MAX) return new Uint32Array(0);
  }
  if (some) counts.delete(0);
  const rare = new Set<number>();
  let left = RARE_MAX;
  for (const [color, count] of [...counts].sort((a, b) => a[1] - b[1])) {
    left -= count;
    if (count > SHARE_MAX * colors.length || left < 0) break;
    rare.add(color);
  }
  const found: number[] = [];
  for (let e = 0; rare.size > 0 && e < colors.length; e += 1) if (rare.has(kind(e))) found.push(e);
  return Uint32Array.from(found);
}

/** The lines of the rare edges that are visible. */
export class RareEdges {
  private colors: Uint8Array | null = null;
  private rare: Uint32Array = new Uint32Array(0);
  private lines: EdgeList | null = null;

  /** Edges, or which of them are visible, have changed. */
  forget(): void {
    this.lines = null;
  }

  /** Null while edges are on their way, and where they have no colours of their own. */
  list(data: SceneData): EdgeList | null {
    const { edgeColor, edgeColorSome, edgeHidden } = data;
    if (!edgeColor || data.edgesKnown < data.numEdges) return null;
    // All edges are looked through once for each change of their colours, and not for each filter.
    if (this.colors !== edgeColor) {
      this.colors = edgeColor;
      this.rare = rareEdges(edgeColor, edgeColorSome);
      this.lines = null;
    }
    const shown = (): Uint32Array => this.rare.filter((e) => !edgeHidden?.[e]);
    this.lines ??= edgeList(shown(), data.ends, looks(data));
    return this.lines;
  }

  opacity(lines: EdgeList): number {
    return rareOpacity(lines.edges);
  }
}

/** Opacity that a rare edge keeps; where there are many, together they must not become a veil. */
export function rareOpacity(count: number): number {
  return Math.min(0.7, Math.max(0.2, 24 / Math.sqrt(count + 1)));
}
