import { isPlaced } from './positions.ts';

/**
 * The camera: a centre in graph coordinates and a scale in CSS pixels per graph unit.
 * Graph coordinates have y up, screen coordinates y down.
 */

export interface Box {
  minX: number;
  minY: number;
  maxX: number;
  maxY: number;
}

export interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface View {
  cx: number;
  cy: number;
  scale: number;
}

export interface Size {
  w: number;
  h: number;
}

export function toScreen(view: View, size: Size, x: number, y: number): [number, number] {
  return [size.w / 2 + (x - view.cx) * view.scale, size.h / 2 - (y - view.cy) * view.scale];
}

export function toGraph(view: View, size: Size, px: number, py: number): [number, number] {
  return [view.cx + (px - size.w / 2) / view.scale, view.cy - (py - size.h / 2) / view.scale];
}

/** Zooms by `factor` so that the graph point under the pixel stays under it. */
export function zoomAt(view: View, size: Size, px: number, py: number, factor: number): View {
  const [gx, gy] = toGraph(view, size, px, py);
  const scale = view.scale * factor;
  return { scale, cx: gx - (px - size.w / 2) / scale, cy: gy + (py - size.h / 2) / scale };
}

/** Moves the picture by a number of pixels. */
export function panBy(view: View, dx: number, dy: number): View {
  return { scale: view.scale, cx: view.cx - dx / view.scale, cy: view.cy + dy / view.scale };
}

/** The view that shows a box inside a rectangle of the screen. */
export function fitBox(box: Box, free: Rect, size: Size): View {
  const w = box.maxX - box.minX;
  const h = box.maxY - box.minY;
  // One node, or several on one spot: any scale shows them, so take one that is easy to leave.
  const scale = Math.min(free.w / Math.max(w, 1e-9), free.h / Math.max(h, 1e-9));
  const usable = w <= 0 && h <= 0 ? 1 : scale;
  const gx = (box.minX + box.maxX) / 2;
  const gy = (box.minY + box.maxY) / 2;
  return {
    scale: usable,
    cx: gx - (free.x + free.w / 2 - size.w / 2) / usable,
    cy: gy + (free.y + free.h / 2 - size.h / 2) / usable,
  };
}

/** The box of the graph that a view shows. */
export function viewBox(view: View, size: Size): Box {
  const hw = size.w / 2 / view.scale;
  const hh = size.h / 2 / view.scale;
  return { minX: view.cx - hw, maxX: view.cx + hw, minY: view.cy - hh, maxY: view.cy + hh };
}

const SAMPLE_MAX = 20_000;

/**
 * The box that holds the positions between the 0.2 and 99.8 percentiles of each axis, or of all of them
 * when the far ones cost little. Coordinates without a finite value do not count; null when none has one.
 */
export function percentileBox(xy: Float32Array, origin: { x: number; y: number }): Box | null {
  const n = xy.length / 2;
  const step = Math.max(1, Math.floor(n / SAMPLE_MAX));
  const xs = new Float32Array(Math.ceil(n / step));
  const ys = new Float32Array(xs.length);
  let count = 0;
  for (let i = 0; i < n; i += step) {
    const x = xy[2 * i];
    const y = xy[2 * i + 1];
    if (!isPlaced(x) || !isPlaced(y)) continue;
    xs[count] = x;
    ys[count] = y;
    count += 1;
  }
  if (count === 0) return null;
  const [minX, maxX] = span(xs.subarray(0, count));
  const [minY, maxY] = span(ys.subarray(0, count));
  return { minX: minX + origin.x, maxX: maxX + origin.x, minY: minY + origin.y, maxY: maxY + origin.y };
}

/** How many times as wide as most of the nodes a box may be for the sake of all of them. */
const WHOLE_MAX = 10;

/**
 * The box for positions that somebody gave: all of them, for the root of a tree is as far out as an outlier.
 * Only those that are many times as far from most of the others as these are from one another do not count.
 */
export function givenBox(xy: Float32Array, origin: { x: number; y: number }): Box | null {
  const core = coreBox(xy);
  if (!core) return null;
  const reach = Math.max(core.maxX - core.minX, core.maxY - core.minY) * WHOLE_MAX || Infinity;
  const box = { minX: Infinity, maxX: -Infinity, minY: Infinity, maxY: -Infinity };
  for (let i = 0; i < xy.length; i += 2) {
    const x = xy[i];
    const y = xy[i + 1];
    if (!isPlaced(x) || !isPlaced(y)) continue;
    if (x < core.minX - reach || x > core.maxX + reach) continue;
    if (y < core.minY - reach || y > core.maxY + reach) continue;
    box.minX = Math.min(box.minX, x);
    box.maxX = Math.max(box.maxX, x);
    box.minY = Math.min(box.minY, y);
    box.maxY = Math.max(box.maxY, y);
  }
  const { x, y } = origin;
  return { minX: box.minX + x, maxX: box.maxX + x, minY: box.minY + y, maxY: box.maxY + y };
}

/** The box of the positions without the outermost ones of each side: one of few, 0.2 of a hundred of many. */
function coreBox(xy: Float32Array): Box | null {
  const n = xy.length / 2;
  const step = Math.max(1, Math.floor(n / SAMPLE_MAX));
  const xs: number[] = [];
  const ys: number[] = [];
  for (let i = 0; i < n; i += step) {
    if (!isPlaced(xy[2 * i]) || !isPlaced(xy[2 * i + 1])) continue;
    xs.push(xy[2 * i]);
    ys.push(xy[2 * i + 1]);
  }
  if (xs.length === 0) return null;
  const sorted = [Float32Array.from(xs).sort(), Float32Array.from(ys).sort()];
  // Of three nodes none can be told to be the odd one.
  const cut = xs.length < 4 ? 0 : Math.max(1, Math.floor(0.002 * xs.length));
  const [[minX, maxX], [minY, maxY]] = sorted.map((v) => [v[cut], v[v.length - 1 - cut]]);
  return { minX, maxX, minY, maxY };
}

function span(values: Float32Array): [number, number] {
  values.sort();
  const last = values.length - 1;
  const low = values[Math.floor(0.002 * last)];
  const high = values[Math.ceil(0.998 * last)];
  const far = values[last] - values[0];
  return far <= (high - low) * 1.12 ? [values[0], values[last]] : [low, high];
}

/**
 * The part of the screen to fit into: the whole minus a margin and minus what the obstacles (legend, zoom
 * buttons, bar) cover. An obstacle can be avoided on either axis; the way that shows the box larger wins.
 */
export function freeRect(size: Size, obstacles: Rect[], box: Box, margin: number): Rect {
  const inner = (side: number): number => Math.min(side, Math.max(40, side - 2 * margin));
  const [w, h] = [inner(size.w), inner(size.h)];
  let free: Rect = { x: (size.w - w) / 2, y: (size.h - h) / 2, w, h };
  for (const obstacle of obstacles) {
    const cuts = cutsOf(free, obstacle, 8).filter((cut) => cut.w >= 40 && cut.h >= 40);
    if (cuts.length === 0) continue;
    free = cuts.reduce((best, cut) => (fitScale(box, cut) > fitScale(box, best) * 1.001 ? cut : best));
  }
  return free;
}

function fitScale(box: Box, rect: Rect): number {
  const w = Math.max(box.maxX - box.minX, 1e-9);
  const h = Math.max(box.maxY - box.minY, 1e-9);
  return Math.min(rect.w / w, rect.h / h);
}

function cutsOf(free: Rect, o: Rect, gap: number): Rect[] {
  const right = free.x + free.w;
  const bottom = free.y + free.h;
  const apart = o.x >= right || o.y >= bottom || o.x + o.w <= free.x || o.y + o.h <= free.y;
  if (apart) return [free];
  const fromLeft = o.x + o.w + gap;
  const fromTop = o.y + o.h + gap;
  return [
    { x: free.x, y: free.y, w: free.w, h: o.y - gap - free.y },
    { x: free.x, y: fromTop, w: free.w, h: bottom - fromTop },
    { x: fromLeft, y: free.y, w: right - fromLeft, h: free.h },
    { x: free.x, y: free.y, w: o.x - gap - free.x, h: free.h },
  ];
}
