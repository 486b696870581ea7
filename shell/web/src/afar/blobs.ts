import { GpuTable, Program } from '../gl/gpu.ts';
import type { Marks } from '../gl/marks.ts';
import type { Renderer } from '../gl/renderer.ts';
import type { Size } from '../scene/camera.ts';
import { BLOBS_FS, BLOBS_VS, BLOB_TEXELS } from './blob-shaders.ts';

const FLOATS = 4 * BLOB_TEXELS;

export type Place = readonly [number, number];
export type Color = readonly [number, number, number];

/** Soft discs and lines over the picture, drawn in the order in which they are added. */
export class Blobs {
  private program: Program | null = null;
  private table: GpuTable | null = null;
  /** A context that was lost and came back has other marks: what is on the device is then gone. */
  private marks: Marks | null = null;
  private data = new Float32Array(FLOATS * 256);
  private count = 0;

  begin(): void {
    this.count = 0;
  }

  private add(values: readonly number[]): void {
    if (FLOATS * (this.count + 1) > this.data.length) {
      const more = new Float32Array(2 * this.data.length);
      more.set(this.data);
      this.data = more;
    }
    this.data.set(values, FLOATS * this.count);
    this.count += 1;
  }

  disc(x: number, y: number, r: number, ink: { inside: Color; rim: Color }, fill: number, rim: number): void {
    const [inside, around] = [ink.inside, ink.rim].map((color) => color.map((c) => c / 255));
    this.add([x, y, r, rim, ...inside, fill, ...around, -1]);
  }

  line(from: Place, to: Place, ends: [Color, Color], alpha: number, width: number): void {
    const [a, b] = ends.map((color) => color.map((c) => c / 255));
    this.add([from[0], from[1], to[0], to[1], ...a, alpha, ...b, width]);
  }

  /** Draws what was added onto the canvas. */
  draw(renderer: Renderer, size: Size): void {
    if (this.count === 0) return;
    const { gl, marks } = renderer;
    if (this.marks !== marks || !this.program || !this.table) {
      this.marks = marks;
      this.program = new Program(gl, BLOBS_VS, BLOBS_FS);
      this.table = new GpuTable(gl, 'rgba32f');
    }
    const { program, table } = this;
    table.reserve(this.count * BLOB_TEXELS);
    table.write(this.data, this.count * BLOB_TEXELS);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    program.use();
    table.bind(0);
    program.int('uBlobs', 0).float('uSize', size.w, size.h);
    gl.drawArrays(gl.TRIANGLES, 0, 6 * this.count);
  }
}
