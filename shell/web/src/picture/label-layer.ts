import type { TextWidths } from '../gl/glyph-atlas.ts';
import type { Marks, TextInk } from '../gl/marks.ts';
import { toScreen, type Rect, type Size, type View } from '../scene/camera.ts';
import { css, type Rgb } from '../scene/color.ts';
import { placeLabels, shorten, spotPlace, type Candidate, type Disc, type Placed } from '../scene/labels.ts';

/** Names and rings over the picture, with their places. */

export interface LabelStyle {
  font: string;
  text: Rgb;
  halo: Rgb;
  /** Colour behind each label instead of a halo; null for none. */
  plate: Rgb | null;
  opacity: number;
  ring: Rgb;
  accent: Rgb;
}

export interface LabelSource {
  index: number;
  text: string;
  /** Place in the server's order of importance. */
  rank: number;
}

export interface LayerInput {
  view: View;
  size: Size;
  /** Device pixels to which texts at rest are moved, a CSS pixel; 0 while things move. */
  snap: number;
  /** Graph coordinates of a node, null when it has none. */
  at: (index: number) => [number, number] | null;
  radius: (index: number) => number;
  obstacles: Rect[];
  /** Discs that are large enough to be kept free of the names of others. */
  discs: () => Disc[];
  style: LabelStyle;
  /** Nodes drawn with a ring: selected, hovered. */
  selected: number;
  hovered: number;
  /** What is highlighted, if anything is: it is named first. */
  lit: ReadonlySet<number> | null;
  /** What is left of the strength of what belongs to nodes, unless all of them are highlighted. */
  left: (...nodes: number[]) => number;
  pins: ReadonlySet<number>;
  /** Numbers on lines that stand for several edges, in pixels. */
  counts: { text: string; x: number; y: number }[];
  /** Nodes whose names stand on a card. */
  carded: ReadonlySet<number>;
}

interface Shown extends Placed {
  opacity: number;
  leaving: boolean;
}

const FADE_MS = 140;
/** Rank of the first name in view: behind the points of interest, which come with the graph. */
const NEAR_RANK = 100;

/** Half of what the halo adds to the width of a letter's line. */
const HALO_PX = 1.75;

/** Size of a name: 11 px for small nodes up to 17 px for large ones. */
const sizeFor = (r: number): number => Math.round(Math.min(17, Math.max(11, 10.4 + 0.62 * r)) * 2) / 2;
const weightOf = (bold: boolean): number => (bold ? 600 : 400);

export class LabelLayer {
  private sources: LabelSource[] = [];
  private shown = new Map<number, Shown>();
  private last = 0;
  /** What was highlighted when names were chosen last. */
  private lit: LayerInput['lit'] = null;
  /** What was shown when nothing was highlighted. */
  private plain: Shown[] = [];
  private extra: LabelSource | null = null;
  /** Names of nodes in view that are not among the most important of the whole graph. */
  private near: LabelSource[] = [];

  constructor(
    private readonly widths: TextWidths,
    private readonly options: { must: number; shorten: boolean; still: boolean },
  ) {}

  /** How many of the most important names are always shown. */
  mustShow(most: number): void {
    this.options.must = most;
  }

  setLabels(labels: { index: number; text: string }[]): void {
    this.sources = this.sourcesOf(labels, 0);
  }

  /** The names of nodes in view, the most important first: there they go before those of the whole graph. */
  setNear(labels: { index: number; text: string }[]): void {
    const forced = new Set(this.sources.slice(0, this.options.must).map((source) => source.index));
    this.near = this.sourcesOf(labels, NEAR_RANK).filter((source) => !forced.has(source.index));
  }

  private sourcesOf(labels: { index: number; text: string }[], priority: number): LabelSource[] {
    const cut = (text: string): string => {
      const line = text.replace(/\s+/g, ' ').trim();
      return this.options.shorten ? shorten(line) : shorten(line, 80);
    };
    return labels
      .map(({ index, text }, place) => ({ index, text: cut(text), rank: priority + place }))
      .filter((source) => source.text !== '');
  }

  /** The names of the most important nodes of the whole graph, which came with it. */
  get known(): ReadonlyMap<number, string> {
    return new Map(this.sources.map((source) => [source.index, source.text]));
  }

  /** The label of the hovered or selected node, which is not among the candidates as a rule. */
  setExtra(index: number, text: string): void {
    this.extra = index < 0 ? null : { index, text: shorten(text, 40), rank: 0 };
  }

  labelOf(index: number): string | null {
    const named = (source: LabelSource): boolean => source.index === index;
    return (this.sources.find(named) ?? this.near.find(named))?.text ?? null;
  }

  get visible(): { index: number; text: string; x: number; y: number; w: number; h: number }[] {
    return [...this.shown.values()]
      .filter((label) => !label.leaving)
      .map((l) => ({ index: l.index, text: l.text, x: l.tx, y: l.ty, w: l.width, h: l.size }));
  }

  /** How wide a text is, in CSS pixels. */
  measure = (text: string, size: number, bold: boolean): number =>
    this.widths.line(text, weightOf(bold)).width * size;

  /** Width and height of the name of a node with this radius; null for one without. */
  sizeOf(index: number, r: number): { w: number; h: number } | null {
    const text = this.labelOf(index);
    return text === null ? null : { w: this.measure(text, sizeFor(r), false), h: sizeFor(r) };
  }

  private candidates(input: LayerInput): Candidate[] {
    const { must } = this.options;
    const list: Candidate[] = [];
    const all = [...(this.extra ? [this.extra] : []), ...this.near, ...this.sources];
    const seen = new Set<number>();
    for (const source of all) {
      const isExtra = source === this.extra;
      if (seen.has(source.index) || input.carded.has(source.index)) continue;
      const place = input.at(source.index);
      if (!place) continue;
      seen.add(source.index);
      const [x, y] = toScreen(input.view, input.size, place[0], place[1]);
      const r = input.radius(source.index);
      const size = sizeFor(r);
      const forced = isExtra || source.rank < must;
      // What is highlighted finds a place before all else.
      const lit = isExtra || !input.lit || input.lit.has(source.index);
      const bold = forced && r >= 6;
      const { index, text, rank } = source;
      const weight = lit ? r : r / 1000;
      list.push({ index, text, x, y, r, weight, rank, size, bold, must: forced && lit });
    }
    return list;
  }

  /** Chooses the labels anew. */
  choose(input: LayerInput): void {
    // When something else is highlighted, or nothing, names go back to where they were without.
    const now = [...this.shown.values()].filter((label) => !label.leaving);
    if (!this.lit) this.plain = now;
    const before = input.lit === this.lit ? now : this.plain;
    this.lit = input.lit;
    const placed = placeLabels({
      candidates: this.candidates(input),
      width: input.size.w,
      height: input.size.h,
      obstacles: input.obstacles,
      discs: input.discs(),
      shown: new Map(before.map((label) => [label.index, label.spot])),
      measure: this.measure,
    });
    const next = new Map<number, Shown>();
    for (const label of placed) {
      const opacity = this.options.still ? 1 : (this.shown.get(label.index)?.opacity ?? 0);
      next.set(label.index, { ...label, opacity, leaving: false });
    }
    if (!this.options.still) {
      for (const [index, label] of this.shown) {
        if (!next.has(index) && label.opacity > 0) next.set(index, { ...label, leaving: true });
      }
    }
    this.shown = next;
  }

  clear(): void {
    this.shown.clear();
  }

  /** Adds what is to be drawn at this moment; answers whether labels are still fading. */
  draw(marks: Marks, input: LayerInput, now: number): boolean {
    const { view, size, style } = input;
    const dt = Math.min(100, now - this.last);
    this.last = now;
    this.drawRings(marks, input);
    const haloPx = style.plate ? 0 : HALO_PX;
    const colors = { text: css(style.text), halo: css(style.halo) };
    const ink: TextInk = { text: style.text, halo: style.halo, haloPx, css: colors };
    let fading = false;
    for (const label of [...this.shown.values()].reverse()) {
      const goal = label.leaving ? 0 : 1;
      const moved = label.opacity + Math.sign(goal - label.opacity) * (dt / FADE_MS);
      label.opacity = goal === 1 ? Math.min(1, moved) : Math.max(0, moved);
      if (label.opacity !== goal) fading = true;
      if (label.leaving && label.opacity === 0) {
        this.shown.delete(label.index);
        continue;
      }
      const place = input.at(label.index);
      if (!place) continue;
      const [x, y] = toScreen(view, size, place[0], place[1]);
      const node = { x, y, r: input.radius(label.index), size: label.size };
      [label.tx, label.ty] = spotPlace(label.spot, node, label.width);
      this.drawLabel(marks, label, input, ink);
    }
    this.drawCounts(marks, input, ink);
    return fading;
  }

  private drawCounts(marks: Marks, { counts, snap }: LayerInput, ink: TextInk): void {
    for (const { text, x, y } of counts) {
      const left = snapped(x - this.measure(text, 11, true) / 2, snap);
      marks.text({ text, x: left, y: snapped(y, snap), size: 11, weight: weightOf(true), opacity: 1 }, ink);
    }
  }

  private drawLabel(marks: Marks, label: Shown, { style, snap, left }: LayerInput, ink: TextInk): void {
    const { text, size, width } = label;
    const opacity = label.opacity * style.opacity * left(label.index);
    const [x, y] = [snapped(label.tx, snap), snapped(label.ty, snap)];
    if (style.plate) {
      const h = size * 1.45;
      marks.plate(x - 5, y - h / 2, width + 10, h, 4, style.plate, opacity);
    }
    marks.text({ text, x, y: y + 0.5, size, weight: weightOf(label.bold), opacity }, ink);
  }

  private drawRings(marks: Marks, input: LayerInput): void {
    const { style } = input;
    const ring = (index: number, color: Rgb, width: number, glow: number): void => {
      const place = index < 0 ? null : input.at(index);
      if (!place) return;
      const [x, y] = toScreen(input.view, input.size, place[0], place[1]);
      marks.ring(x, y, Math.max(3, input.radius(index)) + 2, width, glow, color);
    };
    for (const index of input.pins) ring(index, style.text, 1, 0);
    if (input.hovered !== input.selected) ring(input.hovered, style.accent, 1.8, 0);
    ring(input.selected, style.ring, 2, 8);
  }
}

/** A place moved to the next device pixel, where there are `snap` of them to a CSS pixel. */
function snapped(place: number, snap: number): number {
  return snap > 0 ? Math.round(place * snap) / snap : place;
}
