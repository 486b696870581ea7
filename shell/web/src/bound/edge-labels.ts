import type { Api } from '../net/api.ts';
import type { Picture } from '../picture/picture.ts';
import { toGraph, type Rect } from '../scene/camera.ts';
import type { Disc } from '../scene/labels.ts';
import { curveOf, isAlong, type OnLine } from '../scene/line-curve.ts';
import { countOf } from '../scene/near.ts';
import type { EdgeLabel } from '../state/lazy.ts';
import { placesOfLine } from './spots.ts';

/** Labels along lines: chosen, asked for, and placed where there is room. */

/** Lines that are named at once; the server names no more in one answer. */
export const NAMED_MAX = 200;
/** Names that are kept. */
const KEPT_MAX = 5_000;
export const LABEL_PX = 10.5;
/** From the middle of a line to that of its text. */
const ASIDE_PX = 7.5;
/** Pixels of a line that stay free at either end of its text. */
const FREE_PX = 5;

/** A line of the near tier: a drawn edge, and its rank and count as edge lists have them. */
export interface Line {
  edge: number;
  packed: number;
}

/** The text of lines, as far as it is known; the rest is asked for, one request at a time. */
export class EdgeNames {
  private readonly kept = new Map<number, string>();
  private asking: AbortController | null = null;

  constructor(
    private readonly api: Pick<Api, 'edgeNames'>,
    private readonly arrived: () => void,
  ) {}

  get busy(): boolean {
    return this.asking !== null;
  }

  clear(): void {
    this.asking?.abort();
    this.asking = null;
    this.kept.clear();
  }

  /** The name of an edge; empty while it is not known. */
  of(edge: number): string {
    return this.kept.get(edge) ?? '';
  }

  /** Asks for the names that are missing. */
  async want(edges: readonly number[]): Promise<void> {
    const missing = edges.filter((edge) => !this.kept.has(edge)).slice(0, NAMED_MAX);
    if (missing.length === 0 || this.asking) return;
    const asking = new AbortController();
    this.asking = asking;
    let names: string[] = [];
    try {
      names = await this.api.edgeNames(missing, asking.signal);
    } catch {
      // The lines are as they were without these names.
    }
    if (asking.signal.aborted) return;
    if (this.kept.size > KEPT_MAX) this.kept.clear();
    missing.forEach((edge, k) => this.kept.set(edge, (names[k] ?? '').replace(/\s+/g, ' ').trim()));
    this.asking = null;
    this.arrived();
  }
}

/** A text that lies along a line as squares of its height, which is near enough for keeping apart. */
function squares({ x, y, angle, width }: EdgeLabel): Rect[] {
  const h = LABEL_PX * 1.2;
  const count = Math.max(1, Math.ceil(width / h));
  return Array.from({ length: count }, (_, k) => {
    const at = ((k + 0.5) / count - 0.5) * width;
    return { x: x + at * Math.cos(angle) - h / 2, y: y + at * Math.sin(angle) - h / 2, w: h, h };
  });
}

function touches(a: Rect, b: Rect): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

function touchesDisc(a: Rect, { x, y, r }: Disc): boolean {
  const dx = x - Math.max(a.x, Math.min(x, a.x + a.w));
  const dy = y - Math.max(a.y, Math.min(y, a.y + a.h));
  return Math.hypot(dx, dy) < r;
}

export interface PlacingInput {
  picture: Picture;
  lines: readonly Line[];
  nameOf: (edge: number) => string;
  /** Names of nodes, panels and labels of axes. */
  taken: readonly Rect[];
  measure: (text: string) => number;
  /** The line under the pointer, whose text is written whatever is there. */
  hovered: number;
}

/** A text beside a place of its line, which would run through the gaps between words. */
function beside(place: OnLine, edge: number, text: string, width: number): EdgeLabel {
  // Never upside down.
  const angle = Math.cos(place.angle) < 0 ? place.angle + Math.PI : place.angle;
  const [x, y] = [place.x + ASIDE_PX * Math.sin(angle), place.y - ASIDE_PX * Math.cos(angle)];
  return { edge, text, x, y, angle, width };
}

/** The texts that find room along their lines, off names, discs and each other. */
export function placeEdgeLabels(input: PlacingInput): EdgeLabel[] {
  const { picture, hovered } = input;
  const { w, h } = picture.size;
  const discs = picture.discs();
  const found: EdgeLabel[] = [];
  const taken: Rect[] = [...input.taken];
  const free = (square: Rect): boolean =>
    square.x >= 0 &&
    square.y >= 0 &&
    square.x + square.w <= w &&
    square.y + square.h <= h &&
    !taken.some((other) => touches(square, other)) && !discs.some((disc) => touchesDisc(square, disc));
  // The one under the pointer first.
  const order = input.lines.toSorted((a, b) => Number(b.edge === hovered) - Number(a.edge === hovered));
  for (const { edge, packed } of order) {
    const text = input.nameOf(edge);
    const isHovered = edge === hovered;
    // The number of edges that a line stands for is written there.
    if (text === '' || (countOf(packed) > 1 && !isHovered)) continue;
    const places = placesOfLine(picture, edge, packed);
    const inView = places.filter(({ x, y }) => x >= 0 && y >= 0 && x <= w && y <= h);
    if (inView.length === 0) continue;
    const { ends } = picture.data;
    const [s, d] = [ends[2 * edge], ends[2 * edge + 1]];
    const width = input.measure(text);
    const room = inView[0].length - picture.radius(s) - picture.radius(d) - 2 * FREE_PX;
    if (!isHovered && s !== d && width > room) continue;
    const curve = curveOf(picture, edge, packed) ?? [];
    const along = inView.filter((place) => isAlong(curve, place, width));
    const labels = along.map((place) => beside(place, edge, text, width));
    let label = labels.find((one) => squares(one).every(free));
    if (isHovered) label ??= labels[0] ?? beside(inView[0], edge, text, width);
    if (!label) continue;
    taken.push(...squares(label));
    found.push(label);
  }
  return found;
}

/** The lines with both their ends' box in view, when they are at most `NAMED_MAX`; else none. */
export function linesToName(picture: Picture): Line[] {
  const list = picture.drawnLines;
  if (!list) return [];
  const { camera, size, data, positions } = picture;
  const [minX, minY] = toGraph(camera.view, size, 0, size.h);
  const [maxX, maxY] = toGraph(camera.view, size, size.w, 0);
  const { origin, current: xy } = positions;
  const found: Line[] = [];
  for (let k = 0; k < list.count; k += 1) {
    const edge = list.pairs[2 * k];
    const [s, d] = [2 * data.ends[2 * edge], 2 * data.ends[2 * edge + 1]];
    const x = (xy[s] + xy[d]) / 2 + origin.x;
    const y = (xy[s + 1] + xy[d + 1]) / 2 + origin.y;
    if (!(x >= minX && x <= maxX && y >= minY && y <= maxY)) continue;
    if (found.length === NAMED_MAX) return [];
    found.push({ edge, packed: list.pairs[2 * k + 1] });
  }
  return found;
}
