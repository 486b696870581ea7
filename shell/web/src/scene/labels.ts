import type { Rect } from './camera.ts';
import { letters as lettersOf } from './scripts.ts';

/** A label that would like to be shown. */
export interface Candidate {
  index: number;
  text: string;
  /** Where its node is on the screen, and the node's radius. */
  x: number;
  y: number;
  r: number;
  /** Higher wins; of equal ones the lower rank. */
  weight: number;
  rank: number;
  /** Text size in pixels. */
  size: number;
  bold: boolean;
  /** Shown whatever the budget says (hovered, pinned, point of interest). */
  must: boolean;
}

export interface Placed extends Candidate {
  /** Left end and middle line of the text. */
  tx: number;
  ty: number;
  width: number;
  /** Which of the places around the disc. */
  spot: number;
}

/** A disc that labels of other nodes keep off. */
export interface Disc {
  index: number;
  x: number;
  y: number;
  r: number;
}

/** Radius in pixels from which a disc is an obstacle for the names of other nodes. */
export const DISC_MIN = 5;
/** Candidates that are tried before the rest is taken to find no place either. */
const TRIES_MAX = 4000;
/** How far from the disc a text begins, for a size of text in pixels. */
const gapOf = (size: number): number => 4 + size * 0.15;
/** Places around a disc, the best first: columns and rows off its middle, y down. */
const SPOTS = [
  [1, 0],
  [-1, 0],
  [0, -1],
  [0, 1],
  [1, -1],
  [1, 1],
  [-1, -1],
  [-1, 1],
] as const;
/** Pixels that a text keeps from others and from panels. */
const INSET = 3;
/** Height of a line of text as a share of its size. */
const HEIGHT = 1.15;
const AREA_PER_LABEL = 28_000;
const LABELS_MAX = 200;
/** A shown label keeps its place unless a rival is better by this factor. */
const HYSTERESIS = 1.2;
/** So many of the largest nodes in view are named even where those shown before have used up the budget. */
const LARGEST = 20;

/** How many labels a canvas carries. */
export function labelBudget(width: number, height: number): number {
  return Math.min(LABELS_MAX, Math.max(3, Math.round((width * height) / AREA_PER_LABEL)));
}

/** Cuts a long text in the middle. */
export function shorten(text: string, limit = 24): string {
  const letters = lettersOf(text);
  if (letters.length <= limit) return text;
  const head = Math.ceil((limit - 1) / 2);
  return `${letters.slice(0, head).join('')}…${letters.slice(letters.length - (limit - 1 - head)).join('')}`;
}

/** Left end and middle line of a text of width `w` at one of the places around its disc. */
export function spotPlace(
  spot: number,
  c: { x: number; y: number; r: number; size: number },
  w: number,
): [number, number] {
  const [column, row] = SPOTS[spot];
  const away = c.r + gapOf(c.size);
  const half = (c.size * HEIGHT) / 2;
  if (row === 0) return [column > 0 ? c.x + away : c.x - away - w, c.y];
  // Above and below the text is nearer: it has no side bearings there.
  if (column === 0) return [c.x - w / 2, c.y + row * (c.r + 2 + half)];
  const slant = (c.r + 2) * Math.SQRT1_2;
  return [column > 0 ? c.x + slant : c.x - slant - w, c.y + row * (slant + half)];
}

/** A grid of what is occupied: rectangles, and discs with the nodes that they belong to. */
class Occupied {
  private readonly rects = new Map<number, Rect[]>();
  private readonly discs = new Map<number, Disc[]>();
  private static readonly CELL = 64;

  private *keys(r: Rect): Generator<number> {
    const c = Occupied.CELL;
    for (let y = Math.floor(r.y / c); y <= Math.floor((r.y + r.h) / c); y += 1) {
      for (let x = Math.floor(r.x / c); x <= Math.floor((r.x + r.w) / c); x += 1) {
        yield (y + 4096) * 8192 + x + 4096;
      }
    }
  }

  hits(r: Rect, own: number): boolean {
    const inner = { x: r.x + INSET, y: r.y + INSET, w: r.w - 2 * INSET, h: r.h - 2 * INSET };
    for (const key of this.keys(r)) {
      for (const o of this.rects.get(key) ?? []) {
        if (r.x < o.x + o.w && o.x < r.x + r.w && r.y < o.y + o.h && o.y < r.y + r.h) return true;
      }
      for (const d of this.discs.get(key) ?? []) if (d.index !== own && covers(inner, d)) return true;
    }
    return false;
  }

  add(r: Rect): void {
    for (const key of this.keys(r)) put(this.rects, key, r);
  }

  addDisc(d: Disc): void {
    for (const key of this.keys({ x: d.x - d.r, y: d.y - d.r, w: 2 * d.r, h: 2 * d.r })) {
      put(this.discs, key, d);
    }
  }
}

function put<T>(cells: Map<number, T[]>, key: number, one: T): void {
  const list = cells.get(key);
  if (list) list.push(one);
  else cells.set(key, [one]);
}

/** Whether a rectangle and a disc share a point. */
function covers(r: Rect, d: Disc): boolean {
  const dx = d.x - Math.min(Math.max(d.x, r.x), r.x + r.w);
  const dy = d.y - Math.min(Math.max(d.y, r.y), r.y + r.h);
  return dx * dx + dy * dy < d.r * d.r;
}

export interface PlacementInput {
  candidates: Candidate[];
  width: number;
  height: number;
  /** Panels over the canvas, which no label may touch. */
  obstacles: Rect[];
  /** Discs of at least `DISC_MIN` pixels radius. */
  discs: readonly Disc[];
  /** The labels that were shown last, and where around their discs. */
  shown: ReadonlyMap<number, number>;
  measure: (text: string, size: number, bold: boolean) => number;
}

/**
 * Chooses and places labels: greedy by weight, at the first free of eight places around the node (the
 * right one first), never over one another nor over the disc of another node. What was shown stays until
 * it loses clearly, and where it was while that is free, so panning does not make labels flicker.
 */
export function placeLabels(input: PlacementInput): Placed[] {
  const { width, height, shown, measure } = input;
  const budget = labelBudget(width, height);
  const rank = (c: Candidate): number => c.weight * (shown.has(c.index) ? HYSTERESIS : 1);
  const order = input.candidates
    .filter((c) => c.x > -20 && c.y > -20 && c.x < width + 20 && c.y < height + 20)
    .sort(
      (a, b) =>
        Number(b.must) - Number(a.must) || rank(b) - rank(a) || a.rank - b.rank || a.index - b.index,
    );
  const occupied = new Occupied();
  for (const panel of input.obstacles) occupied.add(panel);
  for (const disc of input.discs) occupied.addDisc(disc);
  const placed: Placed[] = [];
  const least = order.map((c) => c.weight).sort((a, b) => b - a)[LARGEST] ?? 0;
  for (const c of order.slice(0, TRIES_MAX)) {
    if (!c.must && placed.length >= budget && c.weight <= least) continue;
    const w = measure(c.text, c.size, c.bold);
    const found = freeSpot(c, w, width, height, occupied, shown.get(c.index) ?? 0);
    if (!found) continue;
    occupied.add(found.rect);
    placed.push({ ...c, tx: found.tx, ty: found.ty, width: w, spot: found.spot });
  }
  return placed;
}

function freeSpot(
  c: Candidate,
  w: number,
  width: number,
  height: number,
  occupied: Occupied,
  last: number,
): { tx: number; ty: number; rect: Rect; spot: number } | null {
  const h = c.size * HEIGHT;
  for (let k = -1; k < SPOTS.length; k += 1) {
    const spot = k < 0 ? last : k;
    const [tx, ty] = spotPlace(spot, c, w);
    const rect = { x: tx - INSET, y: ty - h / 2 - INSET, w: w + 2 * INSET, h: h + 2 * INSET };
    const inside = rect.x >= 0 && rect.y >= 0 && rect.x + rect.w <= width && rect.y + rect.h <= height;
    if (inside && !occupied.hits(rect, c.index)) return { tx, ty, rect, spot };
  }
  return null;
}
