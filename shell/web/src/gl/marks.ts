import type { Size } from '../scene/camera.ts';
import type { Rgb } from '../scene/color.ts';
import { GlyphAtlas, REACH, type TextWidths } from './glyph-atlas.ts';
import { GpuTable, Program } from './gpu.ts';
import { KIND, MARK_TEXELS, MARKS_FS, MARKS_VS } from './mark-shaders.ts';

const FLOATS = 4 * MARK_TEXELS;

export interface TextMark {
  text: string;
  /** Left end and middle line in CSS pixels, and the size of an em. */
  x: number;
  y: number;
  size: number;
  weight: number;
  opacity: number;
}

export interface TextInk {
  text: Rgb;
  halo: Rgb;
  /** Half of what the halo adds to the width of a line, in CSS pixels; 0 for none. */
  haloPx: number;
  /** The same colours as CSS, for letters that are kept in colours. */
  css: { text: string; halo: string };
}

/** Letters, plates and rings over the picture, drawn in the order in which they are added. */
export class Marks {
  private program: Program;
  private table: GpuTable;
  private atlas: GlyphAtlas;
  private data = new Float32Array(FLOATS * 256);
  private count = 0;
  private dpr = 1;

  constructor(
    private gl: WebGL2RenderingContext,
    readonly widths: TextWidths,
  ) {
    this.program = new Program(gl, MARKS_VS, MARKS_FS);
    this.table = new GpuTable(gl, 'rgba32f');
    this.atlas = new GlyphAtlas(gl, widths);
  }

  /** Letters of another font are other letters. */
  forgetLetters(): void {
    this.atlas.drop();
    this.atlas = new GlyphAtlas(this.gl, this.widths);
  }

  /** Begins the marks of a frame, `dpr` device pixels to a CSS pixel. */
  begin(dpr: number): void {
    this.count = 0;
    this.dpr = dpr;
    this.atlas.nextTurn();
  }

  private add(values: number[]): void {
    if (FLOATS * (this.count + 1) > this.data.length) {
      const more = new Float32Array(2 * this.data.length);
      more.set(this.data);
      this.data = more;
    }
    this.data.set(values, FLOATS * this.count);
    this.count += 1;
  }

  /** Answers whether there was room for the letters. */
  text(mark: TextMark, ink: TextInk): boolean {
    const { x, y, size } = mark;
    const glyphs = this.atlas.glyphsOf(mark.text, mark.weight, ink.css);
    if (!glyphs) return false;
    // All halos before all letters: that of one must not lie on the next.
    for (const halo of ink.haloPx > 0 ? [true, false] : [false]) {
      const color = halo ? ink.halo : ink.text;
      for (const g of glyphs) {
        if (g.colored && halo) continue;
        // No more of the letter's surroundings than its halo fills.
        const near = ((halo ? ink.haloPx : 0) + 0.8 / this.dpr) * (g.em / size);
        const cut = g.colored ? 0 : Math.max(0, REACH - near);
        const [inset, less] = [(cut / g.em) * size, 2 * cut];
        const kind = g.colored ? KIND.colored : KIND.letter;
        const alpha = mark.opacity * (g.colored ? 1 : color.a);
        this.add([
          ...[x + g.dx * size + inset, y + g.dy * size + inset],
          ...[g.w * size - 2 * inset, g.h * size - 2 * inset],
          ...[g.u + cut, g.v + cut, g.uw - less, g.vh - less],
          ...[color.r / 255, color.g / 255, color.b / 255, alpha],
          ...[kind, (size * this.dpr) / g.em, halo ? ink.haloPx * this.dpr : 0, 0],
        ]);
      }
    }
    return true;
  }

  /** A rectangle with round corners. */
  plate(x: number, y: number, w: number, h: number, radius: number, color: Rgb, opacity: number): void {
    const { r, g, b, a } = color;
    this.add([
      ...[x - 1, y - 1, w + 2, h + 2],
      ...[w / 2, h / 2, radius, 0],
      ...[r / 255, g / 255, b / 255, a * opacity],
      ...[KIND.plate, this.dpr, 0, 0],
    ]);
  }

  /** A circle's line around a place; `glow` pixels of light around it. */
  ring(x: number, y: number, radius: number, width: number, glow: number, color: Rgb): void {
    const half = radius + width + glow + 1;
    const { r, g, b, a } = color;
    this.add([
      ...[x - half, y - half, 2 * half, 2 * half],
      ...[radius, width, glow, 0],
      ...[r / 255, g / 255, b / 255, a],
      ...[KIND.ring, this.dpr, 0, 0],
    ]);
  }

  /** Draws what was added onto the canvas. */
  draw(size: Size): void {
    if (this.count === 0) return;
    const { gl, table, program } = this;
    table.reserve(this.count * MARK_TEXELS);
    table.write(this.data, this.count * MARK_TEXELS);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    program.use();
    const { plain, colored } = this.atlas.textures;
    [null, plain, colored].forEach((texture, k) => {
      // Something has to be bound where nothing is looked up.
      table.bind(k);
      if (texture) gl.bindTexture(gl.TEXTURE_2D, texture);
    });
    program.int('uMarks', 0).int('uLetters', 1).int('uColored', 2).float('uSize', size.w, size.h);
    gl.drawArrays(gl.TRIANGLES, 0, 6 * this.count);
  }
}
