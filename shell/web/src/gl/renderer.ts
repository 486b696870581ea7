import type { Rgb } from '../scene/color.ts';
import type { Size, View } from '../scene/camera.ts';
import type { SizeRule } from '../scene/node-size.ts';
import { shownColors, shownWidths } from '../scene/scene-data.ts';
import type { EdgeList, NodeList, SceneData } from '../scene/scene-data.ts';
import type { TextWidths } from './glyph-atlas.ts';
import type { EdgeBending } from './edge-bending.ts';
import { GlError, GpuTable, InkTarget, Program } from './gpu.ts';
import { Marks } from './marks.ts';
import * as glsl from './shaders.ts';

export interface DrawInput {
  view: View;
  size: Size;
  dpr: number;
  origin: { x: number; y: number };
  tween: number;
  sizes: SizeRule;
  /** Strength of edges without an end in view. */
  passing: number;
  /** Nodes that are drawn, in this order; null for all. */
  nodes: NodeList | null;
  pointOpacity: number;
  ring: number;
  /** How much of its strength everything outside the highlight has lost, 0 to 1. */
  dim: number;
  /** How much of the highlight is drawn, 0 to 1. */
  shine: number;
  light: boolean;
  backCenter: Rgb;
  backEdge: Rgb;
  /** The background is painted by CSS below the canvas. */
  clear: boolean;
  /** Noise on the background, without which its gradient shows rings; it cannot be compressed. */
  noise: boolean;
  curvature: number;
  arrows: boolean;
  edgeOpacity: number;
  alpha: number;
  fade: number;
  fadeLength: number;
  /** 0 to 1: few edges may be wider and have larger arrow heads. */
  room: number;
  highlight: { edges: EdgeList; nodes: Uint32Array } | null;
  /** Edges of rare colours, which are drawn no fainter than `rareOpacity`. */
  rare: EdgeList | null;
  rareOpacity: number;
}

/** What to add to the edge picture in this frame. */
export interface InkStep {
  clear: boolean;
  /** 1 full resolution, 2 half. */
  reduce: number;
  /** Anti-aliased edges of a list, or a range of the shuffled edges as lines. */
  list: EdgeList | null;
  from: number;
  to: number;
  arrows: boolean;
}

/** Strength of edges on a light background, on which lines of the same width look heavier. */
const LIGHT_INK = 0.5;

interface Programs {
  nodes: Program;
  lines: Program;
  quads: Program;
  arrows: Program;
  tone: Program;
}

interface Tables {
  pos: [GpuTable, GpuTable];
  nodeColor: GpuTable;
  nodeSize: GpuTable;
  ends: GpuTable;
  edgeColor: GpuTable;
  edgeWidth: GpuTable;
  near: GpuTable;
  lit: GpuTable;
  rare: GpuTable;
}

/**
 * Draws a graph into a canvas of its own with WebGL2. It decides nothing: what to draw comes with each call.
 * The canvas is opaque, which the browser shows at half the cost, until something below it has to be seen.
 */
export class Renderer {
  canvas: HTMLCanvasElement;
  gl: WebGL2RenderingContext;
  readonly software: boolean;
  readonly edgesMax: number;
  /** Names and rings over the picture. */
  marks: Marks;
  /** Draws what lies between background and edges; null where nothing does. */
  under: ((input: DrawInput) => void) | null = null;
  /** Factor of the widths of edges. */
  edgeScale = 1;
  /** Bends edges; null where they are straight. */
  bending: EdgeBending | null = null;
  /** Colours of edges as they are drawn, of all that there are. */
  shade = (rgba: Uint8Array): Uint8Array => rgba;
  /** Makes what is used in place of a context of the browser, which has none that will do. */
  static instead: (() => WebGL2RenderingContext) | null = null;
  /** The browser took the context, or gave it back. */
  onLost: () => void = () => undefined;
  onRestored: () => void = () => undefined;
  /** Where the colours of the edges at their destinations begin in their table; 0 without such. */
  private farColors = 0;
  private programs: Programs;
  private tables: Tables;
  private ink: InkTarget;
  private orderBuffer: WebGLBuffer | null = null;
  private litBuffer: WebGLBuffer | null = null;
  private someBuffer: WebGLBuffer | null = null;
  private listedNodes: NodeList | null = null;
  private data: SceneData | null = null;
  private opaque = true;
  /** What each table of lines holds. */
  private readonly listed = new Map<GpuTable, EdgeList>();

  /** `host` is the element that the canvas fills. */
  constructor(
    host: HTMLElement,
    readonly widths: TextWidths,
  ) {
    this.canvas = this.makeCanvas();
    host.prepend(this.canvas);
    this.gl = this.makeContext();
    this.software = isSoftware(this.gl);
    this.edgesMax = GpuTable.capacity(this.gl);
    this.programs = this.makePrograms();
    this.tables = this.makeTables();
    this.ink = new InkTarget(this.gl, this.software);
    this.marks = new Marks(this.gl, widths);
  }

  private makeCanvas(): HTMLCanvasElement {
    const canvas = document.createElement('canvas');
    canvas.id = 'picture';
    canvas.addEventListener('webglcontextlost', (event) => event.preventDefault());
    canvas.addEventListener('webglcontextlost', () => this.onLost());
    canvas.addEventListener('webglcontextrestored', () => this.onRestored());
    return canvas;
  }

  private makeContext(): WebGL2RenderingContext {
    const gl = Renderer.instead?.() ?? this.canvas.getContext('webgl2', {
      alpha: !this.opaque,
      antialias: false,
      depth: false,
      stencil: false,
      powerPreference: 'high-performance',
    });
    if (!gl) throw new GlError('This browser has no WebGL 2.');
    return gl;
  }

  /** Whether nothing below the canvas is seen. A context cannot change that: another takes its place. */
  setOpaque(opaque: boolean): void {
    if (opaque === this.opaque) return;
    this.opaque = opaque;
    const old = this.canvas;
    this.canvas = this.makeCanvas();
    this.canvas.width = old.width;
    this.canvas.height = old.height;
    const before = this.gl;
    this.gl = this.makeContext();
    this.restore();
    old.replaceWith(this.canvas);
    // Gives its memory back at once; a page has few contexts.
    before.getExtension('WEBGL_lose_context')?.loseContext();
  }

  private makePrograms(): Programs {
    const { gl } = this;
    if (!gl.getExtension('EXT_color_buffer_float') && !gl.getExtension('EXT_color_buffer_half_float')) {
      throw new GlError('This browser cannot draw into float textures.');
    }
    return {
      nodes: new Program(gl, glsl.NODES_VS, glsl.NODES_FS),
      lines: new Program(gl, glsl.LINES_VS, glsl.LINES_FS),
      quads: new Program(gl, glsl.QUADS_VS, glsl.QUADS_FS),
      arrows: new Program(gl, glsl.ARROWS_VS, glsl.ARROWS_FS),
      tone: new Program(gl, glsl.SCREEN_VS, glsl.TONE_FS),
    };
  }

  private makeTables(): Tables {
    const table = (kind: ConstructorParameters<typeof GpuTable>[1]): GpuTable =>
      new GpuTable(this.gl, kind);
    const tables = {
      pos: [table('rg32f'), table('rg32f')] as [GpuTable, GpuTable],
      nodeColor: table('rgba8'),
      nodeSize: table('r8'),
      ends: table('rg32ui'),
      edgeColor: table('rgba8'),
      edgeWidth: table('r8'),
      near: table('rg32ui'),
      lit: table('rg32ui'),
      rare: table('rg32ui'),
    };
    const { edgeColor, edgeWidth, near, lit, rare } = tables;
    for (const one of [edgeColor, edgeWidth, near, lit, rare]) one.reserve(1);
    return tables;
  }

  /** Rebuilds everything after the browser gave the context back. */
  restore(): void {
    this.programs = this.makePrograms();
    this.tables = this.makeTables();
    this.ink = new InkTarget(this.gl, this.software);
    this.marks = new Marks(this.gl, this.widths);
    this.orderBuffer = null;
    this.litBuffer = this.someBuffer = this.listedNodes = null;
    this.listed.clear();
    if (this.data) this.setScene(this.data);
  }

  /** Takes a new graph: makes room and uploads what is there. */
  setScene(data: SceneData): void {
    this.data = data;
    const { tables } = this;
    const edges = Math.min(data.numEdges, this.edgesMax);
    for (const one of [...tables.pos, tables.nodeColor, tables.nodeSize]) one.reserve(data.numNodes);
    tables.ends.reserve(edges);
    if (data.edgeColor) tables.edgeColor.reserve(edges);
    this.listed.clear();
    this.uploadPositions(true);
    this.uploadStyle();
    this.uploadEdges(0);
  }

  /** The newest positions; `both` writes the frame before as well. */
  uploadPositions(both: boolean): void {
    const { data, tables } = this;
    if (!data) return;
    if (both) tables.pos[0].write(data.previous, data.numNodes);
    else tables.pos = [tables.pos[1], tables.pos[0]];
    tables.pos[1].write(data.current, data.numNodes);
  }

  /** Colours and sizes of nodes. */
  uploadNodes(): void {
    const { data, tables } = this;
    if (!data) return;
    if (data.nodeColor) {
      tables.nodeColor.write(shownColors(data.nodeColor, data.nodeHidden), data.numNodes);
    }
    if (data.nodeSize) tables.nodeSize.write(data.nodeSize, data.numNodes);
  }

  /** Colours, sizes and the drawing order. */
  uploadStyle(): void {
    const { data, tables, gl } = this;
    if (!data) return;
    this.uploadNodes();
    this.uploadEdgeColors();
    const edges = Math.min(data.numEdges, this.edgesMax);
    const widths = shownWidths(data);
    if (widths) {
      tables.edgeWidth.reserve(edges);
      tables.edgeWidth.write(widths, edges);
    }
    if (data.order) {
      this.orderBuffer ??= gl.createBuffer();
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.orderBuffer);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, data.order, gl.STATIC_DRAW);
    }
  }

  /** Colours of edges: behind those at the sources there may be those at the destinations. */
  uploadEdgeColors(): void {
    const { data, tables } = this;
    if (!data?.edgeColor) return;
    const edges = Math.min(data.numEdges, this.edgesMax);
    const all = this.shade(new Uint8Array(data.edgeColor.buffer));
    this.farColors = all.length > 4 * edges && edges === data.numEdges ? edges : 0;
    tables.edgeColor.reserve(edges + this.farColors);
    tables.edgeColor.write(all, edges + this.farColors);
  }

  /** Edge ends that arrived from `first` on. */
  uploadEdges(first: number): void {
    const { data } = this;
    if (!data) return;
    const known = Math.min(data.edgesKnown, this.edgesMax);
    if (known > first) this.tables.ends.write(data.ends.subarray(2 * first), known - first, first);
  }

  /** Adds edges to the edge picture, or starts it anew. */
  drawInk(input: DrawInput, step: InkStep): void {
    const { gl, data } = this;
    if (!data) return;
    const w = Math.max(1, Math.round((input.size.w * input.dpr) / step.reduce));
    const h = Math.max(1, Math.round((input.size.h * input.dpr) / step.reduce));
    const kept = this.ink.bind(w, h);
    gl.viewport(0, 0, w, h);
    if (step.clear || !kept) {
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
    }
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE);
    // A line is one device pixel wide whatever the resolution; keep its ink constant.
    const lineGain = this.edgeScale / (step.reduce * Math.min(1.5, input.dpr) ** 0.5);
    if (step.list) {
      this.drawList(input, step.list, this.tables.near, 1, 1 + 0.5 * input.room, step.arrows);
    } else if (step.to > step.from) {
      const { bending } = this;
      const lines = bending ? bending.use('lines') : this.programs.lines.use();
      const each = 2 * (bending?.segments ?? 1);
      this.edgeUniforms(lines, input).float('uGain', lineGain);
      gl.drawArrays(gl.LINES, each * step.from, each * (step.to - step.from));
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** Paints background, edges, highlight and nodes on the canvas. `inkScale` scales a sample up. */
  drawScreen(input: DrawInput, inkScale: number, hasInk: boolean): void {
    const { gl, data } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.disable(gl.BLEND);
    this.drawTone(input, inkScale, hasInk && !this.under);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    if (this.under) {
      this.under(input);
      this.drawTone({ ...input, clear: true }, inkScale, hasInk);
    }
    if (!data || !data.nodeColor || !data.nodeSize || !data.order) return;
    this.drawRare(input);
    const { nodes } = input;
    if (nodes && nodes !== this.listedNodes) this.someBuffer = this.fill(this.someBuffer, nodes.list);
    this.listedNodes = nodes;
    const drawn = nodes ? this.someBuffer : this.orderBuffer;
    this.drawNodes(input, drawn, (nodes?.list ?? data.order).length, input.dim);
    const lit = input.highlight;
    if (!lit) return;
    // Many edges at once become a veil, so each gets fainter.
    const strength = Math.max(0.16, Math.min(0.95, 14 / Math.sqrt(lit.edges.count + 1)));
    const plain = { ...input, fade: 0, alpha: 1, passing: 1 };
    this.drawList(plain, lit.edges, this.tables.lit, strength * input.shine, 1.4, input.arrows);
    this.litBuffer = this.fill(this.litBuffer, lit.nodes);
    this.drawNodes(input, this.litBuffer, lit.nodes.length, 0);
  }

  private fill(buffer: WebGLBuffer | null, list: Uint32Array): WebGLBuffer {
    const { gl } = this;
    const filled = buffer ?? gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, filled);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, list, gl.DYNAMIC_DRAW);
    return filled;
  }

  /** Rare colours over the others, where these are so many that each edge is faint. */
  private drawRare(input: DrawInput): void {
    const { rare, rareOpacity, alpha, edgeOpacity, dim } = input;
    if (!rare || alpha >= rareOpacity) return;
    const gain = (rareOpacity - alpha) * edgeOpacity * (1 - dim);
    this.drawList({ ...input, fade: 0, passing: 1 }, rare, this.tables.rare, gain, 1, false);
  }

  private drawTone(input: DrawInput, inkScale: number, hasInk: boolean): void {
    const { gl } = this;
    const tone = this.programs.tone.use();
    this.ink.sample(7);
    tone.int('uInk', 7).int('uHasInk', Number(hasInk)).int('uClear', Number(input.clear));
    tone.float('uNoise', input.noise ? 1 / 255 : 0);
    tone.float('uInkScale', input.alpha * inkScale * (input.light ? LIGHT_INK : 1));
    tone.float('uOpacity', input.edgeOpacity * (1 - input.dim));
    tone.float('uBackCenter', ...unit(input.backCenter)).float('uBackEdge', ...unit(input.backEdge));
    tone.float('uAspect', input.size.w / Math.max(1, input.size.h));
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  private drawNodes(input: DrawInput, order: WebGLBuffer | null, count: number, dim: number): void {
    const { gl } = this;
    const p = this.viewUniforms(this.programs.nodes.use(), input);
    p.float('uDpr', input.dpr).float('uDim', dim).float('uOpacity', input.pointOpacity);
    p.float('uBack', ...unit(input.backCenter)).float('uRing', input.ring);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, order);
    gl.drawElements(gl.POINTS, count, gl.UNSIGNED_INT, 0);
  }

  private drawList(
    input: DrawInput,
    list: EdgeList,
    table: GpuTable,
    gain: number,
    width: number,
    arrows: boolean,
  ): void {
    const { gl } = this;
    if (list.count === 0) return;
    if (this.listed.get(table) !== list) {
      table.reserve(list.count);
      table.write(list.pairs, list.count);
      this.listed.set(table, list);
    }
    const { bending } = this;
    const curved = bending !== null || list.curved || input.curvature > 0;
    const segments = curved ? (list.count > 5000 ? 8 : 14) : 1;
    const both: ['quads' | 'arrows', number][] = [['quads', 6 * segments]];
    if (arrows) both.push(['arrows', 3]);
    for (const [kind, vertices] of both) {
      const p = this.edgeUniforms(bending ? bending.use(kind) : this.programs[kind].use(), input);
      table.bind(6);
      p.int('uList', 6).int('uSegments', segments).float('uCurvature', input.curvature);
      p.float('uWidth', width * this.edgeScale)
        .float('uGain', gain)
        .float('uArrow', 5.5 + 3.5 * input.room);
      gl.drawArrays(gl.TRIANGLES, 0, list.count * vertices);
    }
  }

  private viewUniforms(p: Program, input: DrawInput): Program {
    const { view, size, origin } = input;
    const { tables } = this;
    tables.pos[0].bind(0);
    tables.pos[1].bind(1);
    tables.nodeColor.bind(2);
    tables.nodeSize.bind(3);
    p.int('uPos0', 0).int('uPos1', 1).int('uNodeColor', 2).int('uNodeSize', 3);
    const sx = (2 * view.scale) / size.w;
    const sy = (2 * view.scale) / size.h;
    p.float('uView', sx, sy, (origin.x - view.cx) * sx, (origin.y - view.cy) * sy);
    p.float('uSize', size.w, size.h).float('uTween', input.tween);
    const { floor, contrast, scale } = input.sizes;
    return p.float('uSizes', floor, contrast, scale);
  }

  private edgeUniforms(p: Program, input: DrawInput): Program {
    const { tables, data } = this;
    this.viewUniforms(p, input);
    tables.ends.bind(4);
    tables.edgeColor.bind(5);
    tables.edgeWidth.bind(8);
    p.int('uEnds', 4).int('uEdgeColor', 5).int('uEdgeWidth', 8).int('uFarColors', this.farColors);
    const some = data?.edgeColorSome === true;
    const widths = Boolean(data?.edgeWidth ?? data?.edgeHidden);
    p.flags('uHasEdge', Boolean(data?.edgeColor), widths, some);
    p.float('uTint', 0.82, input.light ? 0.94 : 0.82);
    p.float('uPassing', input.passing).float('uFade', input.fade);
    return p.float('uFadeLength', input.fadeLength);
  }
}

function unit(c: Rgb): [number, number, number] {
  return [c.r / 255, c.g / 255, c.b / 255];
}

function isSoftware(gl: WebGL2RenderingContext): boolean {
  const info = gl.getExtension('WEBGL_debug_renderer_info');
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}
