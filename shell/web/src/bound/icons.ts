import { TextWidths } from '../gl/glyph-atlas.ts';
import { Marks, type TextInk } from '../gl/marks.ts';
import { PLACE, type Entry, type IconLayer } from '../net/icon-frame.ts';
import type { Picture } from '../picture/picture.ts';
import { css, isLight, mix, parseColor, type Rgb } from '../scene/color.ts';
import { Files, ICON_FONT, paintSprite, type Painting } from './pictures.ts';
import type { Spot } from './spots.ts';
import { Sprites } from './sprites.ts';

/** Draws icons and badges on discs, and on the middles of lines. */

export const DARK_INK: Rgb = { r: 16, g: 19, b: 26, a: 1 };
export const LIGHT_INK: Rgb = { r: 255, g: 255, b: 255, a: 1 };
/**
 * Half the diagonal that a glyph or a text may have, as a share of its disc's radius; and badges, which are
 * shown on discs of at least the radius `disc`.
 */
export const FILL = { icon: 0.78, badge: 0.8 } as const;
export const BADGE = { share: 0.46, min: 4, max: 15, disc: 7 } as const;
/** Where badges lie, as shares of the radius, y down; by their places, clockwise from the top. */
const HALF = Math.SQRT1_2;
export const SIDES: readonly (readonly [number, number])[] = [
  [0, 0],
  [0, -1],
  [HALF, -HALF],
  [1, 0],
  [HALF, HALF],
  [0, 1],
  [-HALF, HALF],
  [-1, 0],
  [-HALF, -HALF],
  [0, 0],
];
/** Letters smaller than this cannot be read. */
export const TEXT_MIN = 5;

/** One thing to draw: an entry of a layer on a disc. */
interface Item {
  layer: IconLayer;
  entry: Entry;
  x: number;
  y: number;
  r: number;
  alpha: number;
  /** What is left of its colours, in that of the background. */
  left: number;
  /** The colour of the disc below. */
  disc: Rgb;
}

interface Box {
  /** In ems: width and height of the ink, and where its middle lies from the text's start and its line. */
  w: number;
  h: number;
  x: number;
  y: number;
}

export class Icons {
  private readonly sprites: Sprites;
  private readonly glyphs: Marks;
  private readonly texts: Marks;
  private readonly glyphWidths = new TextWidths();
  private readonly boxes = new Map<string, Box>();

  constructor(
    gl: WebGL2RenderingContext,
    private readonly picture: Picture,
    private readonly files: Files,
  ) {
    this.glyphWidths.setFont(`"${ICON_FONT}"`);
    this.sprites = new Sprites(gl);
    this.glyphs = new Marks(gl, this.glyphWidths);
    this.texts = new Marks(gl, picture.widths);
  }

  /** The fonts have changed. */
  forgetLetters(): void {
    this.glyphWidths.forget();
    this.boxes.clear();
    this.glyphs.forgetLetters();
    this.texts.forgetLetters();
  }

  /** Draws the layers of one axis, each over the one before. */
  draw(layers: readonly IconLayer[], spots: readonly Spot[]): void {
    const { size, pixelsPerCss } = this.picture;
    this.sprites.nextTurn();
    for (const layer of layers) {
      const items = spots.flatMap((spot) => this.item(layer, spot) ?? []);
      if (items.length === 0) continue;
      this.glyphs.begin(pixelsPerCss);
      for (const item of items) this.back(item);
      this.glyphs.draw(size);
      for (const item of items) this.sprite(item);
      this.sprites.draw(size);
      this.glyphs.begin(pixelsPerCss);
      this.texts.begin(pixelsPerCss);
      for (const item of items) if (!isPainted(item)) this.letters(item);
      this.glyphs.draw(size);
      this.texts.draw(size);
    }
  }

  private item(layer: IconLayer, spot: Spot): Item | null {
    const entry = layer.look.list[layer.shown[spot.index] - 1];
    if (!entry) return null;
    const { data, look, backdrop } = this.picture;
    const isEdge = layer.axis === 'edge';
    const [sx, sy] = SIDES[layer.place] ?? SIDES[0];
    const isBadge = sx !== 0 || sy !== 0;
    if (isBadge && layer.axis === 'node' && spot.r < BADGE.disc) return null;
    const most = (layer.place === PLACE.ICON ? null : layer.look.max) ?? Infinity;
    const badge = Math.min(BADGE.max, Math.max(BADGE.min, spot.r * BADGE.share), most / 2);
    // Beside the icon of an edge, which has no disc to sit on the rim of.
    const off = isEdge ? spot.r + badge : spot.r * 0.92;
    const bytes = data.nodeColor?.subarray(4 * spot.index, 4 * spot.index + 4);
    const disc = isEdge || !bytes ? backdrop.center : { r: bytes[0], g: bytes[1], b: bytes[2], a: 1 };
    const shown = isEdge || !bytes ? 1 : (bytes[3] / 255) * look.pointOpacity;
    const left = this.picture[isEdge ? 'leftOfEdge' : 'left'](spot.index);
    const r = isBadge ? badge : Math.min(spot.r, most / 2);
    return { layer, entry, x: spot.x + sx * off, y: spot.y + sy * off, r, alpha: shown, left, disc };
  }

  /** The plate behind an icon, and its border. */
  private back({ layer, entry, x, y, r, alpha, left, disc }: Item): void {
    const { look } = layer;
    const { center } = this.picture.backdrop;
    const isBadge = layer.place !== PLACE.ICON && layer.place !== PLACE.COVER;
    // A faint picture has the background below it.
    const needsPlate = isBadge || layer.axis === 'edge' || (left < 1 && (entry.flag ?? entry.image));
    const own = parseColor(entry.bg ?? null);
    const color = own ?? (needsPlate ? center : null);
    if (color && !isPaintedPlate(look.bg_style)) {
      // A badge keeps off the disc by a rim in the colour of the background.
      if (isBadge) {
        const out = r + 1;
        this.glyphs.plate(x - out, y - out, 2 * out, 2 * out, out, center, alpha);
      }
      const plain = own ?? (isBadge ? disc : color);
      this.glyphs.plate(x - r, y - r, 2 * r, 2 * r, r, mix(center, plain, left), alpha);
    }
    const { border } = look;
    if (border && border.stroke === 'solid' && border.width > 0) {
      const line = parseColor(entry.border_color ?? null) ?? this.inkOn(color ?? disc);
      const width = Math.min(border.width, 0.5 * r);
      this.glyphs.ring(x, y, r - width / 2, width, 0, { ...mix(center, line, left), a: line.a * alpha });
    }
  }

  private inkOn(color: Rgb): Rgb {
    return isLight(color) ? DARK_INK : LIGHT_INK;
  }

  /** The colour below the letters of an item. */
  private ground({ entry, layer, disc }: Item): Rgb {
    const below = layer.axis === 'node' ? disc : this.picture.backdrop.center;
    return parseColor(entry.bg ?? null) ?? below;
  }

  private ink(item: Item): Rgb {
    return parseColor(item.entry.color ?? null) ?? this.inkOn(this.ground(item));
  }

  /** Whatever has colours of its own, or mixes with what is below. */
  private sprite(item: Item): void {
    const { layer, entry, r, alpha, left } = item;
    const { look } = layer;
    const painted = isPainted(item);
    const address = entry.image ?? '';
    const drawn = look.border && look.border.stroke !== 'solid' ? look.border : undefined;
    if (!painted && !entry.flag && !address && !entry.bg_image && !drawn) return;
    const letters = painted && (entry.glyph || entry.text);
    const under = look.blend || isPaintedPlate(look.bg_style) ? css(this.ground(item)) : null;
    const ink = css(this.ink(item));
    const width = drawn ? Math.min(0.5, drawn.width / r) : 0;
    const key = [
      JSON.stringify([look.shape, look.blend, look.style, look.bg_style, look.fg_style, drawn?.stroke]),
      JSON.stringify(entry),
      under,
      letters ? ink : '',
      Math.round(20 * width),
    ].join();
    const draw = (): HTMLCanvasElement | null => {
      const image = address ? this.files.image(address) : entry.flag ? this.files.flag(entry.flag) : null;
      const underImage = entry.bg_image ? this.files.image(entry.bg_image) : null;
      if ((address || entry.flag) && !image) return null;
      if (entry.bg_image && !underImage) return null;
      if (entry.glyph && painted && !this.files.hasFont()) return null;
      const border = drawn && {
        width: Math.round(20 * width) / 20,
        stroke: drawn.stroke,
        color: entry.border_color ?? ink,
      };
      const painting: Painting = {
        under,
        underImage,
        underStyle: look.bg_style,
        image,
        letters: letters ? this.painted(entry, ink) : null,
        style: look.fg_style ?? look.style,
        blend: look.blend,
        round: look.shape !== 'none',
        border: border ?? null,
      };
      return paintSprite(painting);
    };
    this.sprites.add(key, draw, item, alpha * left);
  }

  private painted(entry: Entry, color: string): Painting['letters'] {
    const text = entry.glyph ?? entry.text ?? '';
    const widths = entry.glyph ? this.glyphWidths : this.picture.widths;
    const box = this.boxOf(widths, text);
    const font = entry.glyph ? `"${ICON_FONT}"` : 'sans-serif';
    return { text, font, color, size: sizeFor(box, 1, FILL.icon) };
  }

  /** The ink of a text, by the browser's own metrics. */
  private boxOf(widths: TextWidths, text: string): Box {
    const key = `${widths === this.glyphWidths ? 'g' : 't'}${text}`;
    const known = this.boxes.get(key);
    if (known) return known;
    const em = 32;
    const c = widths.in(400, em);
    c.textBaseline = 'middle';
    const m = c.measureText(text);
    const box = {
      w: Math.max(1, m.actualBoundingBoxLeft + m.actualBoundingBoxRight) / em,
      h: Math.max(1, m.actualBoundingBoxAscent + m.actualBoundingBoxDescent) / em,
      x: (m.actualBoundingBoxRight - m.actualBoundingBoxLeft) / 2 / em,
      y: (m.actualBoundingBoxDescent - m.actualBoundingBoxAscent) / 2 / em,
    };
    if (this.boxes.size > 20_000) this.boxes.clear();
    this.boxes.set(key, box);
    return box;
  }

  private letters(item: Item): void {
    const { entry, layer, x, y, r, alpha } = item;
    const text = entry.glyph ?? entry.text;
    if (!text || (entry.glyph && !this.files.hasFont())) return;
    const widths = entry.glyph ? this.glyphWidths : this.picture.widths;
    const isBadge = layer.place !== PLACE.ICON && layer.place !== PLACE.COVER;
    const box = this.boxOf(widths, text);
    const size = sizeFor(box, r, isBadge ? FILL.badge : FILL.icon);
    if (!entry.glyph && size < TEXT_MIN) return;
    const color = mix(this.picture.backdrop.center, this.ink(item), item.left);
    const word = css(color);
    const ink: TextInk = { text: color, halo: color, haloPx: 0, css: { text: word, halo: word } };
    const at = { text, x: x - box.x * size, y: y - box.y * size, size, weight: 400, opacity: alpha };
    (entry.glyph ? this.glyphs : this.texts).text(at, ink);
  }
}

/** The size in which a text's diagonal fills its share of a disc. */
export function sizeFor({ w, h }: { w: number; h: number }, r: number, share: number): number {
  return Math.min((2 * share * r) / Math.hypot(w, h), 1.4 * r);
}

/** Whether an item's letters are painted into a sprite, to be blended or filtered there. */
function isPainted({ layer }: Item): boolean {
  const { blend, style, fg_style } = layer.look;
  return Boolean(blend) || isPaintedPlate(style) || isPaintedPlate(fg_style);
}

function isPaintedPlate(style: object | undefined): boolean {
  return style !== undefined && Object.keys(style).length > 0;
}
