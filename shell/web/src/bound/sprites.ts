import { GpuTable, Program } from '../gl/gpu.ts';
import { Shelves } from '../gl/shelves.ts';
import type { Size } from '../scene/camera.ts';
import { SPRITE, SPRITE_TEXELS, SPRITES_FS, SPRITES_SIDE, SPRITES_VS } from './bound-shaders.ts';

/** Small pictures in colours of their own: flags, images, and what is blended with its disc. */

/** Pixels around it that stay empty, so that smaller copies do not take up their neighbours. */
const GAP = 4;
const SIDE = SPRITES_SIDE;
const FLOATS = 4 * SPRITE_TEXELS;

/** A texture of pictures by key, of which those unused for longest give way, and what is to be drawn. */
export class Sprites {
  private readonly program: Program;
  private readonly table: GpuTable;
  /** Made when the first picture comes. */
  private texture: WebGLTexture | null = null;
  private readonly shelves = new Shelves(SIDE, SPRITE + GAP, Math.floor(SIDE / (SPRITE + GAP)));
  private data = new Float32Array(FLOATS * 256);
  private count = 0;
  private stale = false;

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.program = new Program(gl, SPRITES_VS, SPRITES_FS);
    this.table = new GpuTable(gl, 'rgba32f');
  }

  private make(): void {
    const { gl } = this;
    this.texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texStorage2D(gl.TEXTURE_2D, 4, gl.RGBA8, SIDE, SIDE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
  }

  nextTurn(): void {
    this.shelves.nextTurn();
  }

  /** Adds a picture around a middle; `draw` makes it when it is new: null while it is not there yet. */
  add(
    key: string,
    draw: () => TexImageSource | null,
    disc: { x: number; y: number; r: number },
    alpha: number,
  ): void {
    let spot = this.shelves.find(key);
    if (!spot) {
      const picture = draw();
      spot = picture && this.shelves.add(key, SPRITE + GAP);
      if (!picture || !spot) return;
      if (!this.texture) this.make();
      const { gl } = this;
      gl.bindTexture(gl.TEXTURE_2D, this.texture);
      gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, true);
      gl.texSubImage2D(gl.TEXTURE_2D, 0, spot.x, spot.y, gl.RGBA, gl.UNSIGNED_BYTE, picture);
      gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
      this.stale = true;
    }
    if (FLOATS * (this.count + 1) > this.data.length) {
      const more = new Float32Array(2 * this.data.length);
      more.set(this.data);
      this.data = more;
    }
    const { x, y, r } = disc;
    this.data.set([x - r, y - r, 2 * r, 2 * r, spot.x, spot.y, alpha, 0], FLOATS * this.count);
    this.count += 1;
  }

  /** Draws what was added since the last time. */
  draw(size: Size): void {
    const { gl, table, count } = this;
    this.count = 0;
    if (count === 0) return;
    table.reserve(count * SPRITE_TEXELS);
    table.write(this.data, count * SPRITE_TEXELS);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.program.use();
    table.bind(0);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    if (this.stale) gl.generateMipmap(gl.TEXTURE_2D);
    this.stale = false;
    this.program.int('uSprites', 0).int('uAtlas', 1).float('uSize', size.w, size.h);
    gl.drawArrays(gl.TRIANGLES, 0, 6 * count);
  }
}
