import { toScreen, type Rect, type Size, type View } from './camera.ts';
import { placeLabels, shorten, type Candidate, type Placed } from './labels.ts';

/** Labels and rings on a 2D canvas over the picture. */

export interface LabelStyle {
  font: string;
  text: string;
  halo: string;
  /** Colour behind each label instead of a halo; null for none. */
  plate: string | null;
  opacity: number;
  ring: string;
  accent: string;
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
  dpr: number;
  /** Graph coordinates of a node, null when it has none. */
  at: (index: number) => [number, number] | null;
  radius: (index: number) => number;
  obstacles: Rect[];
  style: LabelStyle;
  /** Nodes drawn with a ring: selected, hovered. */
  selected: number;
  hovered: number;
  /** When something is highlighted, the only nodes that keep their labels. */
  lit: ReadonlySet<number> | null;
  pins: ReadonlySet<number>;
  /** Numbers on lines that stand for several edges, in pixels. */
  counts: { text: string; x: number; y: number }[];
  /** Nodes whose names stand on a card. */
  carded: ReadonlySet<number>;
}

interface Shown extends Placed {
  dx: number;
  opacity: number;
  leaving: boolean;
}

const FADE_MS = 140;
/** Rank of the first name in view: behind the points of interest, which come with the graph. */
const NEAR_RANK = 100;

export class LabelLayer {
  private readonly context: CanvasRenderingContext2D;
  private sources: LabelSource[] = [];
  private shown = new Map<number, Shown>();
  private readonly widths = new Map<string, number>();
  private last = 0;
  private extra: LabelSource | null = null;
  /** Names of nodes in view that are not among the most important of the whole graph. */
  private near: LabelSource[] = [];

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly options: { max: number; must: number; shorten: boolean; still: boolean },
  ) {
    const context = canvas.getContext('2d');
    if (!context) throw new Error('This browser has no 2D canvas.');
    this.context = context;
  }

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

  private sourcesOf(labels: { index: number; text: string }[], from: number): LabelSource[] {
    const cut = (text: string): string => {
      const line = text.replace(/\s+/g, ' ').trim();
      return this.options.shorten ? shorten(line) : shorten(line, 80);
    };
    return labels
      .map(({ index, text }, place) => ({ index, text: cut(text), rank: from + place }))
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

  private measure(font: string, text: string, size: number, bold: boolean): number {
    const key = `${bold ? 'b' : ''}${size}|${text}`;
    let width = this.widths.get(key);
    if (width === undefined) {
      if (this.widths.size > 20_000) this.widths.clear();
      this.context.font = `${bold ? 600 : 400} ${size}px ${font}`;
      width = this.context.measureText(text).width;
      this.widths.set(key, width);
    }
    return width;
  }

  private candidates(input: LayerInput): Candidate[] {
    const { max, must } = this.options;
    const list: Candidate[] = [];
    const all = [...(this.extra ? [this.extra] : []), ...this.near, ...this.sources];
    const seen = new Set<number>();
    for (const source of all) {
      const isExtra = source === this.extra;
      if (seen.has(source.index) || input.carded.has(source.index)) continue;
      if (!isExtra && input.lit && !input.lit.has(source.index)) continue;
      const place = input.at(source.index);
      if (!place) continue;
      seen.add(source.index);
      const [x, y] = toScreen(input.view, input.size, place[0], place[1]);
      const r = input.radius(source.index);
      // 11 px for small nodes up to 17 px for large ones.
      const size = Math.round(Math.min(17, Math.max(11, 10.4 + 0.62 * r)) * 2) / 2;
      const weight = (1 + r) / (1 + 0.02 * source.rank);
      const forced = isExtra || source.rank < must;
      const bold = forced && r >= 6;
      list.push({ index: source.index, text: source.text, x, y, r, weight, size, bold, must: forced });
      if (list.length >= max * 4 && list.length >= 2000) break;
    }
    return list;
  }

  /** Chooses the labels anew. */
  choose(input: LayerInput): void {
    const { font } = input.style;
    const placed = placeLabels({
      candidates: this.candidates(input),
      width: input.size.w,
      height: input.size.h,
      obstacles: input.obstacles,
      shown: new Set([...this.shown.values()].filter((l) => !l.leaving).map((l) => l.index)),
      measure: (text, size, bold) => this.measure(font, text, size, bold),
    });
    const next = new Map<number, Shown>();
    for (const label of placed) {
      const before = this.shown.get(label.index);
      const opacity = this.options.still ? 1 : (before?.opacity ?? 0);
      next.set(label.index, { ...label, dx: label.tx - label.x, opacity, leaving: false });
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

  /** Draws at this moment; answers whether labels are still fading. */
  draw(input: LayerInput, now: number): boolean {
    const { context: c } = this;
    const { size, dpr, style } = input;
    const dt = Math.min(100, now - this.last);
    this.last = now;
    c.setTransform(dpr, 0, 0, dpr, 0, 0);
    c.clearRect(0, 0, size.w, size.h);
    this.drawRings(input);
    c.textBaseline = 'middle';
    c.lineJoin = 'round';
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
      const [x, y] = toScreen(input.view, size, place[0], place[1]);
      label.tx = x + label.dx;
      label.ty = y;
      this.drawLabel(label, style);
    }
    c.globalAlpha = 1;
    this.drawCounts(input);
    return fading;
  }

  private drawCounts(input: LayerInput): void {
    const { context: c } = this;
    if (input.counts.length === 0) return;
    c.font = `600 11px ${input.style.font}`;
    c.textAlign = 'center';
    c.strokeStyle = input.style.halo;
    c.fillStyle = input.style.text;
    c.lineWidth = 3.5;
    for (const { text, x, y } of input.counts) {
      c.strokeText(text, x, y);
      c.fillText(text, x, y);
    }
    c.textAlign = 'start';
  }

  private drawLabel(label: Shown, style: LabelStyle): void {
    const { context: c } = this;
    c.font = `${label.bold ? 600 : 400} ${label.size}px ${style.font}`;
    c.globalAlpha = label.opacity * style.opacity;
    if (style.plate) {
      c.fillStyle = style.plate;
      c.beginPath();
      const h = label.size * 1.45;
      c.roundRect(label.tx - 5, label.ty - h / 2, label.width + 10, h, 4);
      c.fill();
    } else {
      c.strokeStyle = style.halo;
      c.lineWidth = 3.5;
      c.strokeText(label.text, label.tx, label.ty + 0.5);
    }
    c.fillStyle = style.text;
    c.fillText(label.text, label.tx, label.ty + 0.5);
  }

  private drawRings(input: LayerInput): void {
    const ring = (index: number, color: string, width: number, glow: number): void => {
      const place = index < 0 ? null : input.at(index);
      if (!place) return;
      const { context: c } = this;
      const [x, y] = toScreen(input.view, input.size, place[0], place[1]);
      c.beginPath();
      c.arc(x, y, Math.max(3, input.radius(index)) + 2, 0, 2 * Math.PI);
      c.strokeStyle = color;
      c.lineWidth = width;
      c.shadowColor = color;
      c.shadowBlur = glow;
      c.stroke();
      c.shadowBlur = 0;
    };
    for (const index of input.pins) ring(index, input.style.text, 1, 0);
    if (input.hovered !== input.selected) ring(input.hovered, input.style.accent, 1.8, 0);
    ring(input.selected, input.style.ring, 2, 8);
  }
}
