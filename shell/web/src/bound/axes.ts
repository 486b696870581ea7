import type { AxisRow } from '../net/scene-parts.ts';
import { toGraph, toScreen, type Rect, type Size, type View } from '../scene/camera.ts';

/** Rings and lines that a layout is read by, and where their labels stand. */

/** Corners of a ring: the chord of one of 720 lies within a pixel of its arc up to a radius of 50,000 px. */
const CORNERS = 720;
/** Pixels between a line and its label, and between label and rim. */
const GAP = 4;
const RIM = 12;

/** The line of a ring. */
export function ringLine(r: number): number[] {
  const points: number[] = [];
  for (let k = 0; k <= CORNERS; k += 1) {
    const angle = (k / CORNERS) * 2 * Math.PI;
    points.push(r * Math.cos(angle), r * Math.sin(angle));
  }
  return points;
}

/** The line of a row that is none around the origin, across the whole view where it has no ends. */
export function straightLine(row: AxisRow, view: View, size: Size): number[] {
  const [left, bottom] = toGraph(view, size, -RIM, size.h + RIM);
  const [right, top] = toGraph(view, size, size.w + RIM, -RIM);
  if (row.y !== undefined) return [row.min ?? left, row.y, row.max ?? right, row.y];
  return [row.x ?? 0, row.min ?? bottom, row.x ?? 0, row.max ?? top];
}

function touches(a: Rect, b: Rect): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

/**
 * Where the label of a row of `w` by `h` pixels may stand, the best places first: at the top of a ring, above
 * it when the row is external and below when it is internal; at the left end of a line, or at its lower end.
 */
export function* places(row: AxisRow, view: View, size: Size, w: number, h: number): Generator<Rect> {
  if (row.r !== undefined) {
    for (let k = 0; k < 48; k += 1) {
      // From the top to both sides.
      const angle = Math.PI / 2 + (k % 2 === 0 ? 1 : -1) * Math.ceil(k / 2) * (Math.PI / 24);
      const [x, y] = toScreen(view, size, row.r * Math.cos(angle), row.r * Math.sin(angle));
      const out = row.kind === 'external' ? GAP + h / 2 : row.kind === 'internal' ? -GAP - h / 2 : 0;
      const [cx, cy] = [x + out * Math.cos(angle), y - out * Math.sin(angle)];
      yield { x: cx - w / 2, y: cy - h / 2, w, h };
    }
    return;
  }
  const [x0, y0, x1, y1] = straightLine(row, view, size);
  const [ax, ay] = toScreen(view, size, x0, y0);
  const [bx, by] = toScreen(view, size, x1, y1);
  if (row.y !== undefined) {
    const up = row.kind === 'internal' ? GAP : -GAP - h;
    const end = Math.min(bx, size.w - RIM) - w;
    for (let x = Math.max(ax, RIM); x < end; x += 24) yield { x, y: ay + up, w, h };
    return;
  }
  const aside = row.kind === 'internal' ? -GAP - w : GAP;
  const top = Math.max(by, RIM);
  for (let y = Math.min(ay, size.h - RIM) - h; y > top; y -= 24) yield { x: ax + aside, y, w, h };
}

export interface AxisLabel extends Rect {
  text: string;
  kind: AxisRow['kind'];
}

/** The labels of rows that find a place in the view, off what is taken and off each other. */
export function axisLabels(
  rows: readonly AxisRow[],
  view: View,
  size: Size,
  taken: readonly Rect[],
  measure: (text: string) => { w: number; h: number },
): AxisLabel[] {
  const found: AxisLabel[] = [];
  for (const row of rows) {
    if (!row.label) continue;
    const { w, h } = measure(row.label);
    for (const place of places(row, view, size, w, h)) {
      const { x, y } = place;
      const inside = x >= 0 && y >= 0 && x + w <= size.w && y + h <= size.h;
      if (!inside || [...taken, ...found].some((other) => touches(place, other))) continue;
      found.push({ ...place, text: row.label, kind: row.kind });
      break;
    }
  }
  return found;
}
