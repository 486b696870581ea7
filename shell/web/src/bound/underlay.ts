import type { Program } from '../gl/gpu.ts';
import type { Marks, TextInk } from '../gl/marks.ts';
import type { AxisRow, MapPlace } from '../net/scene-parts.ts';
import type { Picture } from '../picture/picture.ts';
import type { Rect, Size, View } from '../scene/camera.ts';
import { css, type Rgb } from '../scene/color.ts';
import { axisLabels, ringLine, straightLine, type AxisLabel } from './axes.ts';
import { WorldLines, linesProgram } from './world-lines.ts';
import { graticule, loadMap, type WorldMap } from './world-map.ts';

/** Underlay of the edges: a map, and the axes of a layout. */

interface LineLook {
  ink: Rgb;
  width: number;
  dash: number;
}

export const INK = { dark: { r: 223, g: 230, b: 242, a: 1 }, light: { r: 40, g: 50, b: 70, a: 1 } } as const;
/** Opacities that are seen and do not shout; lines on white look lighter than on black. */
export const STRENGTH = {
  coast: { dark: 0.26, light: 0.34 },
  border: { dark: 0.11, light: 0.16 },
  graticule: { dark: 0.06, light: 0.09 },
  external: { dark: 0.34, light: 0.42 },
  internal: { dark: 0.2, light: 0.26 },
  plain: { dark: 0.2, light: 0.26 },
  space: { dark: 0.15, light: 0.2 },
  label: { dark: 0.62, light: 0.72 },
} as const;
/** A wide band is laid on thinner than a line. */
export const BAND_PX = 3;
export const LABEL_PX = 11.5;
export const DASH_PX = 3;

export class Underlay {
  private rows: AxisRow[] = [];
  private place: MapPlace | null = null;
  private world: WorldMap | null = null;
  private loading = false;
  /** Whether coast lines are still to be asked for: that is done when they are first to be drawn. */
  private unasked = false;
  private labels: AxisLabel[] = [];
  private program: Program | null = null;
  private readonly kept = new Map<string, WorldLines>();

  constructor(
    private readonly gl: WebGL2RenderingContext,
    private readonly picture: Picture,
    /** Something has come that is to be drawn. */
    private readonly arrived: () => void,
    private readonly failed: (what: string, why: string) => void,
  ) {}

  get busy(): boolean {
    return this.loading;
  }

  get isEmpty(): boolean {
    return this.rows.length === 0 && !this.place;
  }

  /** Takes what the server tells of a graph. */
  set(rows: AxisRow[], place: MapPlace | null): void {
    this.rows = rows;
    this.drop();
    const before = this.place;
    this.place = place;
    const isNew = JSON.stringify(before) !== JSON.stringify(place);
    if (isNew) this.world = null;
    this.unasked = place !== null && this.world === null;
  }

  /** Takes over from one whose context is gone. */
  adopt(other: Underlay): void {
    this.rows = other.rows;
    this.place = other.place;
    this.world = other.world;
    this.unasked = this.place !== null && this.world === null;
  }

  private async load(place: MapPlace): Promise<void> {
    this.loading = true;
    this.unasked = false;
    try {
      this.world = await loadMap(place);
      this.drop();
    } catch {
      this.failed('The map', 'its coast lines could not be loaded: meridians and parallels are shown alone');
    }
    this.loading = false;
    this.arrived();
  }

  /** Forgets what is on the device. */
  private drop(): void {
    for (const lines of this.kept.values()) lines.drop();
    this.kept.clear();
  }

  private ink(part: keyof typeof STRENGTH, share = 1): Rgb {
    const theme = this.picture.backdrop.light ? 'light' : 'dark';
    return { ...INK[theme], a: STRENGTH[part][theme] * share };
  }

  /** Lines made once, for as long as positions are told from the same origin. */
  private lines(key: string, make: () => ArrayLike<number>[]): WorldLines {
    const { origin } = this.picture.positions;
    const whole = `${key} ${origin.x} ${origin.y}`;
    let found = this.kept.get(whole);
    if (!found) {
      found = new WorldLines(this.gl, (this.program ??= linesProgram(this.gl)), make(), { ...origin });
      this.kept.set(whole, found);
    }
    return found;
  }

  /** Draws what lies under the edges. */
  draw(view: View, size: Size, showsMap: boolean): void {
    if (this.place && showsMap) this.drawMap(view, size, this.place);
    for (const row of this.rows) {
      const wide = row.width ?? 1;
      const share = wide > BAND_PX ? BAND_PX / wide : 1;
      const dash = row.kind === 'space' ? DASH_PX : 0;
      const look = { ink: this.ink(row.kind, share), width: wide, dash };
      const { r } = row;
      if (r !== undefined) this.lines(`r${r}`, () => [ringLine(r)]).draw(view, size, look);
      else this.drawLine(row, view, size, look);
    }
  }

  private drawMap(view: View, size: Size, place: MapPlace): void {
    if (this.unasked) void this.load(place);
    const thin = (part: 'coast' | 'border' | 'graticule'): LineLook => ({
      ink: this.ink(part),
      width: 1,
      dash: 0,
    });
    this.lines('graticule', () => graticule(place)).draw(view, size, thin('graticule'));
    const { world } = this;
    if (!world) return;
    this.lines('borders', () => world.borders).draw(view, size, thin('border'));
    this.lines('coasts', () => world.coasts).draw(view, size, thin('coast'));
  }

  /** A line may go on to the rim of the view, so it is made for each. */
  private drawLine(row: AxisRow, view: View, size: Size, look: LineLook): void {
    const points = straightLine(row, view, size);
    const program = (this.program ??= linesProgram(this.gl));
    const lines = new WorldLines(this.gl, program, [points], { ...this.picture.positions.origin });
    lines.draw(view, size, look);
    lines.drop();
  }

  /** Chooses where the labels of axes stand. */
  chooseLabels(taken: readonly Rect[]): readonly Rect[] {
    const { camera, size, widths } = this.picture;
    const measure = (text: string): { w: number; h: number } => ({
      w: widths.line(text, 400).width * LABEL_PX,
      h: LABEL_PX * 1.2,
    });
    this.labels = axisLabels(this.rows, camera.view, size, taken, measure);
    return this.labels;
  }

  /** Adds the labels of the axes. */
  drawLabels(marks: Marks): void {
    const { center } = this.picture.backdrop;
    const color = this.ink('label');
    const plain = css(color);
    const halo = { ...center, a: 0.9 };
    const ink: TextInk = { text: color, halo, haloPx: 2, css: { text: plain, halo: plain } };
    for (const { text, x, y, h } of this.labels) {
      marks.text({ text, x, y: y + h / 2, size: LABEL_PX, weight: 400, opacity: 1 }, ink);
    }
  }
}
