import { ROW, ROW_BITS } from './shaders.ts';

/** Small helpers over WebGL2: programs with their uniforms, and data tables kept in textures. */

export class GlError extends Error {}

export class Program {
  readonly handle: WebGLProgram;
  private readonly places = new Map<string, WebGLUniformLocation | null>();

  constructor(
    private readonly gl: WebGL2RenderingContext,
    vertex: string,
    fragment: string,
  ) {
    this.handle = gl.createProgram();
    const shaders = [this.compile(gl.VERTEX_SHADER, vertex), this.compile(gl.FRAGMENT_SHADER, fragment)];
    for (const shader of shaders) gl.attachShader(this.handle, shader);
    gl.linkProgram(this.handle);
    if (!gl.getProgramParameter(this.handle, gl.LINK_STATUS) && !gl.isContextLost()) {
      const logs = [gl.getProgramInfoLog(this.handle), ...shaders.map((s) => gl.getShaderInfoLog(s))];
      throw new GlError(`shader does not build: ${logs.join(' ')}`);
    }
    for (const shader of shaders) gl.deleteShader(shader);
  }

  private compile(type: number, source: string): WebGLShader {
    const shader = this.gl.createShader(type);
    if (!shader) throw new GlError('the browser gave no shader');
    this.gl.shaderSource(shader, source);
    this.gl.compileShader(shader);
    return shader;
  }

  use(): this {
    this.gl.useProgram(this.handle);
    return this;
  }

  private at(name: string): WebGLUniformLocation | null {
    let place = this.places.get(name);
    if (place === undefined) {
      place = this.gl.getUniformLocation(this.handle, name);
      this.places.set(name, place);
    }
    return place;
  }

  int(name: string, value: number): this {
    this.gl.uniform1i(this.at(name), value);
    return this;
  }

  float(name: string, ...v: number[]): this {
    const place = this.at(name);
    if (v.length === 1) this.gl.uniform1f(place, v[0]);
    else if (v.length === 2) this.gl.uniform2f(place, v[0], v[1]);
    else if (v.length === 3) this.gl.uniform3f(place, v[0], v[1], v[2]);
    else this.gl.uniform4f(place, v[0], v[1], v[2], v[3]);
    return this;
  }

  flags(name: string, a: boolean, b: boolean, c: boolean): this {
    this.gl.uniform3i(this.at(name), Number(a), Number(b), Number(c));
    return this;
  }
}

type Data = Float32Array | Uint32Array | Uint8Array;

const FORMATS = {
  rg32f: { internal: 'RG32F', format: 'RG', type: 'FLOAT', width: 2 },
  rg32ui: { internal: 'RG32UI', format: 'RG_INTEGER', type: 'UNSIGNED_INT', width: 2 },
  rgba32f: { internal: 'RGBA32F', format: 'RGBA', type: 'FLOAT', width: 4 },
  rgba8: { internal: 'RGBA8', format: 'RGBA', type: 'UNSIGNED_BYTE', width: 4 },
  r8: { internal: 'R8', format: 'RED', type: 'UNSIGNED_BYTE', width: 1 },
} as const;

/** An indexed table of values in a texture that is `ROW` texels wide. */
export class GpuTable {
  private texture: WebGLTexture | null = null;
  private rows = 0;

  constructor(
    private readonly gl: WebGL2RenderingContext,
    private readonly kind: keyof typeof FORMATS,
  ) {}

  /** Entries that fit into the largest texture of this device. */
  static capacity(gl: WebGL2RenderingContext): number {
    return (gl.getParameter(gl.MAX_TEXTURE_SIZE) as number) * ROW;
  }

  /** Makes room for `count` entries; the content is lost when the texture has to grow. */
  reserve(count: number): void {
    const rows = Math.max(1, Math.ceil(count / ROW));
    if (this.texture && rows <= this.rows) return;
    const { gl } = this;
    const f = FORMATS[this.kind];
    if (this.texture) gl.deleteTexture(this.texture);
    this.texture = gl.createTexture();
    this.rows = rows;
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl[f.internal], ROW, rows);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
    }
  }

  /** Writes entries `first..first + count`, taken from the start of `data`. */
  write(data: Data, count: number, first = 0): void {
    const { gl } = this;
    const f = FORMATS[this.kind];
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    let done = 0;
    while (done < count) {
      const at = first + done;
      const x = at & (ROW - 1);
      const left = count - done;
      // Whole rows in one call, the ragged ends in calls of their own.
      const rows = x === 0 ? Math.max(1, Math.floor(left / ROW)) : 1;
      const w = x === 0 && left >= ROW ? ROW : Math.min(left, ROW - x);
      const y = at >> ROW_BITS;
      gl.texSubImage2D(gl.TEXTURE_2D, 0, x, y, w, rows, gl[f.format], gl[f.type], data, done * f.width);
      done += w * rows;
    }
  }

  bind(unit: number): void {
    this.gl.activeTexture(this.gl.TEXTURE0 + unit);
    this.gl.bindTexture(this.gl.TEXTURE_2D, this.texture);
  }

  drop(): void {
    if (this.texture) this.gl.deleteTexture(this.texture);
    this.texture = null;
    this.rows = 0;
  }
}

/** A float colour target that edges are added up in. */
export class InkTarget {
  private texture: WebGLTexture | null = null;
  private frame: WebGLFramebuffer | null = null;
  w = 0;
  h = 0;

  /** Halves of floats are less to move for a GPU; on a processor converting them took a tenth of a frame. */
  constructor(
    private readonly gl: WebGL2RenderingContext,
    private readonly software: boolean,
  ) {}

  private get format(): number {
    const { gl } = this;
    const has = (name: string): boolean => gl.getExtension(name) !== null;
    const whole = this.software && has('EXT_float_blend') && has('OES_texture_float_linear');
    return whole ? gl.RGBA32F : gl.RGBA16F;
  }

  /** Binds the target at this size; answers whether its content was kept. */
  bind(w: number, h: number): boolean {
    const { gl } = this;
    if (this.frame && this.w === w && this.h === h) {
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.frame);
      return true;
    }
    if (this.texture) gl.deleteTexture(this.texture);
    this.texture = gl.createTexture();
    this.w = w;
    this.h = h;
    gl.activeTexture(gl.TEXTURE0 + 7);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, this.format, w, h);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    this.frame ??= gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.texture, 0);
    return false;
  }

  sample(unit: number): void {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    // Until edges are drawn there is none, and nothing is read from it.
    if (!this.texture) return;
    // Pixel on pixel there is nothing to interpolate.
    const filter = this.w === gl.drawingBufferWidth ? gl.NEAREST : gl.LINEAR;
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, filter);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, filter);
  }
}
