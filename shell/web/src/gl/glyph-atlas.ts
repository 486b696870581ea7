import { distanceField } from './distance.ts';
import { pieces, type Piece } from '../scene/scripts.ts';
import { Shelves } from './shelves.ts';

/** Size in which letters are drawn into the atlas, in pixels an em. */
const EM = 32;
/** Pixels around a letter up to which the distance to its outline is kept; halos are no wider. */
export const REACH = 8;
const ROW_HEIGHT = 56;
const WIDTH = 2048;
const ROWS_MAX = 72;
/** Rows that a texture begins with; it grows to twice as many. */
const ROWS_FIRST = 4;
/** Layouts of texts that are kept. */
const KEPT_MAX = 20_000;

export const WEIGHTS = [400, 600] as const;

/**
 * Where a letter lies in a texture, and where it goes: in ems from the start of its text and its middle
 * line, both with `REACH` texels around its outline.
 */
export interface Glyph {
  u: number;
  v: number;
  uw: number;
  vh: number;
  dx: number;
  dy: number;
  w: number;
  h: number;
  /** Texels an em. */
  em: number;
  colored: boolean;
}

/** A letter in its shelf, and how far below the upper end of the shelf it begins. */
type Drawn = Omit<Glyph, 'u' | 'v'> & { top: number };

interface Line {
  /** In ems. */
  width: number;
  parts: { piece: Piece; x: number }[];
}

/** A texture that grows downwards and keeps what it holds. */
class Sheet {
  texture: WebGLTexture | null = null;
  height = 0;
  readonly shelves: Shelves;

  constructor(
    private readonly gl: WebGL2RenderingContext,
    private readonly colored: boolean,
  ) {
    const most = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
    const rows = Math.min(ROWS_MAX, Math.floor(most / ROW_HEIGHT));
    this.shelves = new Shelves(WIDTH, ROW_HEIGHT, colored ? Math.ceil(rows / 4) : rows);
  }

  private grow(): void {
    const { gl } = this;
    if (this.height >= this.shelves.height) return;
    const old = this.texture;
    const height = Math.max(ROWS_FIRST * ROW_HEIGHT, 2 * this.height, this.shelves.height);
    this.texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, this.colored ? gl.RGBA8 : gl.R8, WIDTH, height);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(gl.TEXTURE_2D, side, gl.LINEAR);
    }
    if (old) {
      const frame = gl.createFramebuffer();
      gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, old, 0);
      gl.copyTexSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 0, 0, WIDTH, this.height);
      gl.bindFramebuffer(gl.FRAMEBUFFER, null);
      gl.deleteFramebuffer(frame);
      gl.deleteTexture(old);
    }
    this.height = height;
  }

  drop(): void {
    if (this.texture) this.gl.deleteTexture(this.texture);
    this.texture = null;
  }

  write(x: number, y: number, picture: ImageData, reach: number): void {
    const { gl } = this;
    const { width: w, height: h, data } = picture;
    this.grow();
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    if (this.colored) {
      gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, true);
      gl.texSubImage2D(gl.TEXTURE_2D, 0, x, y, gl.RGBA, gl.UNSIGNED_BYTE, picture);
      gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
      return;
    }
    const coverage = Uint8Array.from({ length: w * h }, (_, k) => data[4 * k + 3]);
    const field = distanceField(coverage, w, h, reach);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, x, y, w, h, gl.RED, gl.UNSIGNED_BYTE, field);
  }
}

/** Widths of texts in ems, by the browser's own metrics, with kerning. */
export class TextWidths {
  private readonly context: CanvasRenderingContext2D;
  private readonly widths = new Map<string, number>();
  private readonly lines = new Map<string, Line>();
  private font = '';
  private weight = 0;

  constructor() {
    // Read back again and again: kept where that costs nothing.
    const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    if (!context) throw new Error('This browser has no 2D canvas.');
    this.context = context;
  }

  /** The font of all texts; what is known of another one is forgotten. */
  setFont(font: string): void {
    if (font === this.font) return;
    this.font = font;
    this.forget();
  }

  forget(): void {
    this.forgetFont();
    this.widths.clear();
    this.lines.clear();
  }

  /** The scratch canvas has lost its state. */
  forgetFont(): void {
    this.weight = 0;
  }

  /** The scratch canvas in a weight. */
  in(weight: number, em = EM): CanvasRenderingContext2D {
    if (this.weight !== weight + 1000 * em) this.context.font = `${weight} ${em}px ${this.font}`;
    this.weight = weight + 1000 * em;
    return this.context;
  }

  private widthOf(text: string, weight: number): number {
    const key = `${weight}${text}`;
    let width = this.widths.get(key);
    if (width === undefined) {
      if (this.widths.size > KEPT_MAX) this.widths.clear();
      width = this.in(weight).measureText(text).width / EM;
      this.widths.set(key, width);
    }
    return width;
  }

  /** The pieces of a text with their places. */
  line(text: string, weight: number): Line {
    const key = `${weight}${text}`;
    const known = this.lines.get(key);
    if (known) return known;
    const parts: Line['parts'] = [];
    let x = 0;
    let last = '';
    for (const piece of pieces(text)) {
      // What two letters are together wider than apart is their kerning.
      if (last !== '') x += this.widthOf(last + piece.text, weight) - this.widthOf(piece.text, weight);
      parts.push({ piece, x });
      last = piece.text;
    }
    const line = { width: last === '' ? 0 : x + this.widthOf(last, weight), parts };
    if (this.lines.size > KEPT_MAX) this.lines.clear();
    this.lines.set(key, line);
    return line;
  }
}

/**
 * Letters of names as textures: distances to their outlines, and what has colours of its own as it is.
 * Letters are drawn when they are first needed; where there is no room, those unused for longest give way.
 */
export class GlyphAtlas {
  private readonly plain: Sheet;
  private readonly colored: Sheet;
  private readonly glyphs = new Map<string, Drawn>();

  constructor(
    gl: WebGL2RenderingContext,
    private readonly widths: TextWidths,
  ) {
    this.plain = new Sheet(gl, false);
    this.colored = new Sheet(gl, true);
  }

  /** Begins a look at everything that is drawn now. */
  nextTurn(): void {
    this.plain.shelves.nextTurn();
    this.colored.shelves.nextTurn();
  }

  /** Gives the textures back. */
  drop(): void {
    this.plain.drop();
    this.colored.drop();
  }

  get textures(): { plain: WebGLTexture | null; colored: WebGLTexture | null } {
    return { plain: this.plain.texture, colored: this.colored.texture };
  }

  /**
   * The letters of a text; null when there is no room for them beside what else is drawn. `ink` are the
   * colours of letters and halo, for pieces that are kept in colours.
   */
  glyphsOf(text: string, weight: number, ink: { text: string; halo: string }): Glyph[] | null {
    const found: Glyph[] = [];
    for (const { piece, x } of this.widths.line(text, weight).parts) {
      if (piece.text.trim() === '') continue;
      const glyph = this.glyph(piece, weight, ink);
      if (!glyph) return null;
      found.push({ ...glyph, dx: glyph.dx + x });
    }
    return found;
  }

  private glyph(piece: Piece, weight: number, ink: { text: string; halo: string }): Glyph | null {
    const sheet = piece.colored ? this.colored : this.plain;
    const key = `${weight}${piece.colored ? ink.text : ''}|${piece.text}`;
    const known = this.glyphs.get(key);
    const spot = sheet.shelves.find(key);
    if (known && spot) return { ...known, u: spot.x, v: spot.y + known.top };
    const drawn = this.drawn(piece, weight, ink);
    const place = sheet.shelves.add(key, drawn.picture.width);
    if (!place) return null;
    sheet.write(place.x, place.y, drawn.picture, REACH);
    if (this.glyphs.size > KEPT_MAX) this.glyphs.clear();
    this.glyphs.set(key, drawn.glyph);
    return { ...drawn.glyph, u: place.x, v: place.y + drawn.glyph.top };
  }

  private drawn(
    piece: Piece,
    weight: number,
    ink: { text: string; halo: string },
  ): { picture: ImageData; glyph: Drawn } {
    this.widths.in(weight).textBaseline = 'middle';
    const full = this.widths.in(weight).measureText(piece.text);
    const room = WIDTH - 2 * REACH - 2;
    // A text that is wider than the atlas is drawn smaller there.
    const wide = Math.max(1, full.actualBoundingBoxLeft + full.actualBoundingBoxRight);
    const em = EM * Math.min(1, room / wide);
    const box = em === EM ? full : this.widths.in(weight, em).measureText(piece.text);
    const left = Math.ceil(box.actualBoundingBoxLeft) + REACH;
    const w = Math.min(WIDTH, Math.max(1, left + Math.ceil(box.actualBoundingBoxRight) + REACH));
    const { canvas } = this.widths.in(weight, em);
    // A canvas that changes its size forgets its font.
    if (canvas.width < w || canvas.height < ROW_HEIGHT) {
      canvas.width = WIDTH;
      canvas.height = ROW_HEIGHT;
      this.widths.forgetFont();
    }
    const c = this.widths.in(weight, em);
    c.clearRect(0, 0, w, ROW_HEIGHT);
    c.textBaseline = 'middle';
    c.fillStyle = piece.colored ? ink.text : '#fff';
    if (piece.colored) {
      c.lineJoin = 'round';
      c.lineWidth = REACH;
      c.strokeStyle = ink.halo;
      c.strokeText(piece.text, left, ROW_HEIGHT / 2);
    }
    c.fillText(piece.text, left, ROW_HEIGHT / 2);
    const picture = c.getImageData(0, 0, w, ROW_HEIGHT);
    const middle = ROW_HEIGHT / 2;
    const top = Math.max(0, Math.floor(middle - box.actualBoundingBoxAscent) - REACH);
    const bottom = Math.min(ROW_HEIGHT, Math.ceil(middle + box.actualBoundingBoxDescent) + REACH);
    const size = { uw: w, vh: bottom - top, w: w / em, h: (bottom - top) / em };
    const glyph = { ...size, top, dx: -left / em, dy: (top - middle) / em, em, colored: piece.colored };
    return { picture, glyph };
  }
}
