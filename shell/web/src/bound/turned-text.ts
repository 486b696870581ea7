import { GlyphAtlas, REACH, type TextWidths } from '../gl/glyph-atlas.ts';
import { GpuTable, Program } from '../gl/gpu.ts';
import type { TextInk } from '../gl/marks.ts';
import type { Size } from '../scene/camera.ts';
import { TURNED_FS, TURNED_TEXELS, TURNED_VS } from './bound-shaders.ts';

const FLOATS = 4 * TURNED_TEXELS;

export interface TurnedMark {
  text: string;
  /** The middle of the text in CSS pixels, its direction clockwise in radians, and the size of an em. */
  x: number;
  y: number;
  angle: number;
  size: number;
  opacity: number;
}

/** Texts that lie along lines, by the same distance fields as names. */
export class TurnedText {
  private readonly program: Program;
  private readonly table: GpuTable;
  private atlas: GlyphAtlas;
  private data: number[] = [];
  private dpr = 1;

  constructor(
    private readonly gl: WebGL2RenderingContext,
    private readonly widths: TextWidths,
  ) {
    this.program = new Program(gl, TURNED_VS, TURNED_FS);
    this.table = new GpuTable(gl, 'rgba32f');
    this.atlas = new GlyphAtlas(gl, widths);
  }

  forgetLetters(): void {
    this.atlas.drop();
    this.atlas = new GlyphAtlas(this.gl, this.widths);
  }

  begin(dpr: number): void {
    this.data = [];
    this.dpr = dpr;
    this.atlas.nextTurn();
  }

  add(mark: TurnedMark, ink: TextInk): void {
    const { text, x, y, angle, size } = mark;
    const glyphs = this.atlas.glyphsOf(text, 400, ink.css);
    if (!glyphs) return;
    const start = -this.widths.line(text, 400).width / 2;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    // All halos before all letters: that of one must not lie on the next.
    for (const halo of [true, false]) {
      const color = halo ? ink.halo : ink.text;
      for (const g of glyphs) {
        if (g.colored && halo) continue;
        const near = ((halo ? ink.haloPx : 0) + 0.8 / this.dpr) * (g.em / size);
        const cut = g.colored ? 0 : Math.max(0, REACH - near);
        const inset = (cut / g.em) * size;
        this.data.push(
          ...[x, y, cos, sin],
          ...[(start + g.dx) * size + inset, g.dy * size + inset],
          ...[g.w * size - 2 * inset, g.h * size - 2 * inset],
          ...[g.u + cut, g.v + cut, g.uw - 2 * cut, g.vh - 2 * cut],
          ...[color.r / 255, color.g / 255, color.b / 255, mark.opacity * (g.colored ? 1 : color.a)],
          ...[Number(g.colored), (size * this.dpr) / g.em, halo ? ink.haloPx * this.dpr : 0, 0],
        );
      }
    }
  }

  draw(size: Size): void {
    const count = this.data.length / FLOATS;
    if (count === 0) return;
    const { gl, table } = this;
    table.reserve(count * TURNED_TEXELS);
    table.write(Float32Array.from(this.data), count * TURNED_TEXELS);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const program = this.program.use();
    const { plain, colored } = this.atlas.textures;
    [null, plain, colored].forEach((texture, unit) => {
      // Something has to be bound where nothing is looked up.
      table.bind(unit);
      if (texture) gl.bindTexture(gl.TEXTURE_2D, texture);
    });
    program.int('uMarks', 0).int('uLetters', 1).int('uColored', 2).float('uSize', size.w, size.h);
    gl.drawArrays(gl.TRIANGLES, 0, 6 * count);
  }
}
