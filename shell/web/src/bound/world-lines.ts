import { GpuTable, Program } from '../gl/gpu.ts';
import type { Size, View } from '../scene/camera.ts';
import type { Rgb } from '../scene/color.ts';
import { LINE_TEXELS, LINES_FS, LINES_VS } from './bound-shaders.ts';

/** Lines that lie in the world of the nodes: axes, coasts, borders. */

/** What draws them. */
export function linesProgram(gl: WebGL2RenderingContext): Program {
  return new Program(gl, LINES_VS, LINES_FS);
}

export type Points = ArrayLike<number>;

/** Lines of one look, kept on the device: pairs of coordinates each. */
export class WorldLines {
  private readonly table: GpuTable;
  private segments = 0;

  constructor(
    private readonly gl: WebGL2RenderingContext,
    private readonly program: Program,
    lines: readonly Points[],
    private readonly origin: { x: number; y: number },
  ) {
    const count = lines.reduce((sum, line) => sum + Math.max(0, line.length / 2 - 1), 0);
    const data = new Float32Array(4 * LINE_TEXELS * count);
    for (const line of lines) {
      let start = 0;
      for (let k = 2; k < line.length; k += 2) {
        const [ax, ay, bx, by] = [line[k - 2], line[k - 1], line[k], line[k + 1]];
        const ends = [ax - origin.x, ay - origin.y, bx - origin.x, by - origin.y];
        data.set([...ends, start, 0, 0, 0], 4 * LINE_TEXELS * this.segments);
        start += Math.hypot(bx - ax, by - ay);
        this.segments += 1;
      }
    }
    this.table = new GpuTable(gl, 'rgba32f');
    this.table.reserve(LINE_TEXELS * this.segments);
    this.table.write(data, LINE_TEXELS * this.segments);
  }

  drop(): void {
    this.table.drop();
  }

  draw(view: View, size: Size, look: { ink: Rgb; width: number; dash: number }): void {
    const { gl, origin } = this;
    if (this.segments === 0) return;
    const { program } = this;
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    program.use();
    this.table.bind(0);
    const { r, g, b, a } = look.ink;
    const x = (origin.x - view.cx) * view.scale + size.w / 2;
    const y = (view.cy - origin.y) * view.scale + size.h / 2;
    program.int('uLines', 0).float('uView', view.scale, -view.scale, x, y).float('uSize', size.w, size.h);
    program.float('uInk', r / 255, g / 255, b / 255, a).float('uWidth', look.width).float('uDash', look.dash);
    gl.drawArrays(gl.TRIANGLES, 0, 6 * this.segments);
  }
}
