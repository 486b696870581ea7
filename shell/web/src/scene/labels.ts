import type { Rect } from './camera.ts';

/** A label that would like to be shown. */
export interface Candidate {
  index: number;
  text: string;
  /** Where its node is on the screen, and the node's radius. */
  x: number;
  y: number;
  r: number;
  /** Higher wins. */
  weight: number;
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
}

const PADDING = 6;
const AREA_PER_LABEL = 28_000;
const LABELS_MAX = 200;
/** A shown label keeps its place unless a rival is better by this factor. */
const HYSTERESIS = 1.2;

/** How many labels a canvas carries. */
export function labelBudget(width: number, height: number): number {
  return Math.min(LABELS_MAX, Math.max(3, Math.round((width * height) / AREA_PER_LABEL)));
}

/** Cuts a long text in the middle. */
export function shorten(text: string, limit = 24): string {
  const letters = [...text];
  if (letters.length <= limit) return text;
  const head = Math.ceil((limit - 1) / 2);
  return `${letters.slice(0, head).join('')}…${letters.slice(letters.length - (limit - 1 - head)).join('')}`;
}

/** A grid of occupied rectangles. */
class Occupied {
  private readonly cells = new Map<number, Rect[]>();
  private static readonly CELL = 64;

  private *keys(r: Rect): Generator<number> {
    const c = Occupied.CELL;
    for (let y = Math.floor(r.y / c); y <= Math.floor((r.y + r.h) / c); y += 1) {
      for (let x = Math.floor(r.x / c); x <= Math.floor((r.x + r.w) / c); x += 1) {
        yield (y + 4096) * 8192 + x + 4096;
      }
    }
  }

  hits(r: Rect): boolean {
    for (const key of this.keys(r)) {
      for (const o of this.cells.get(key) ?? []) {
        if (r.x < o.x + o.w && o.x < r.x + r.w && r.y < o.y + o.h && o.y < r.y + r.h) return true;
      }
    }
    return false;
  }

  add(r: Rect): void {
    for (const key of this.keys(r)) {
      const list = this.cells.get(key);
      if (list) list.push(r);
      else this.cells.set(key, [r]);
    }
  }
}

export interface PlacementInput {
  candidates: Candidate[];
  width: number;
  height: number;
  /** Panels over the canvas, which no label may touch. */
  obstacles: Rect[];
  /** Indices of the labels that were shown last. */
  shown: ReadonlySet<number>;
  measure: (text: string, size: number, bold: boolean) => number;
}

/**
 * Chooses and places labels: greedy by weight, right of the node or else left of it, never overlapping.
 * What was shown stays until it loses clearly, so panning does not make labels flicker.
 */
export function placeLabels(input: PlacementInput): Placed[] {
  const { width, height, shown, measure } = input;
  const budget = labelBudget(width, height);
  const rank = (c: Candidate): number => c.weight * (shown.has(c.index) ? HYSTERESIS : 1);
  const order = input.candidates
    .filter((c) => c.x > -20 && c.y > -20 && c.x < width + 20 && c.y < height + 20)
    .sort((a, b) => Number(b.must) - Number(a.must) || rank(b) - rank(a) || a.index - b.index);
  const occupied = new Occupied();
  for (const panel of input.obstacles) occupied.add(panel);
  const placed: Placed[] = [];
  for (const c of order) {
    if (!c.must && placed.length >= budget) break;
    const w = measure(c.text, c.size, c.bold);
    const spot = freeSpot(c, w, width, height, occupied);
    if (!spot) continue;
    occupied.add(spot.rect);
    placed.push({ ...c, tx: spot.tx, ty: c.y, width: w });
  }
  return placed;
}

function freeSpot(
  c: Candidate,
  w: number,
  width: number,
  height: number,
  occupied: Occupied,
): { tx: number; rect: Rect } | null {
  const h = c.size * 1.15;
  const gap = 4 + c.size * 0.15;
  for (const tx of [c.x + c.r + gap, c.x - c.r - gap - w]) {
    const rect = { x: tx - PADDING / 2, y: c.y - h / 2 - PADDING / 2, w: w + PADDING, h: h + PADDING };
    const inside = rect.x >= 0 && rect.y >= 0 && rect.x + rect.w <= width && rect.y + rect.h <= height;
    if (inside && !occupied.hits(rect)) return { tx, rect };
  }
  return null;
}
