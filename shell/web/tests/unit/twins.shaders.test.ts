import { BLOBS_FS, BLOBS_VS } from '../../src/afar/blob-shaders.ts';
import { BENT_QUADS_VS } from '../../src/afar/bundle-shaders.ts';
import type { Program } from '../../src/gl/gpu.ts';
import { Renderer } from '../../src/gl/renderer.ts';
import { ARROWS_VS, NODES_FS, NODES_VS, QUADS_VS, TONE_FS } from '../../src/gl/shaders.ts';
import { passingAt } from '../../src/scene/ink.ts';
import { packedOf } from '../../src/scene/near.ts';
import { Shader, type Value } from './glsl.ts';
import { holdGroup } from './twins.hold.ts';
import { dataOf, listOf, ORIGIN, pictureOf, sizesOf, viewOf, type Told } from './twins.scene.ts';

/** What shaders compute, run by an interpreter of their text. */

type Globals = Record<string, Value>;
type Colored = Told & { colors: number[][]; own?: number[][]; some?: boolean; widths?: number[] };

const quads = new Shader(QUADS_VS);
const arrows = new Shader(ARROWS_VS);
const bentQuads = new Shader(BENT_QUADS_VS);

/** The uniforms of a program, by the renderer's own code. */
function uniforms(told: Colored, more: { light?: boolean; fade?: number } = {}): Globals {
  const [{ cx, cy, scale }, [w, h]] = [viewOf(told.view), told.size];
  const found: Globals = {};
  const kept = (name: string, ...values: Value[]): unknown => {
    found[name] = values.length === 1 ? values[0] : values;
    return program;
  };
  const program = { float: kept, int: kept, flags: kept } as unknown as Program;
  const table = { bind: () => undefined };
  const tables = { pos: [table, table], nodeColor: table, nodeSize: table, ends: table, edgeColor: table };
  const data = dataOf(told);
  if (told.own) data.edgeColor = Uint8Array.from(told.own.flat());
  if (told.widths) data.edgeWidth = Uint8Array.from(told.widths);
  data.edgeColorSome = told.some === true;
  const renderer = Object.assign(Object.create(Renderer.prototype), {
    tables: { ...tables, edgeWidth: table },
    data,
    farColors: 0,
  }) as { edgeUniforms(p: Program, input: unknown): void };
  const zoom = Number(told.zoom);
  renderer.edgeUniforms(program, {
    view: { cx, cy, scale },
    size: { w, h },
    origin: { x: 0, y: 0 },
    tween: 1,
    sizes: sizesOf(told),
    light: more.light === true,
    passing: passingAt(zoom),
    fade: more.fade ?? 0.5,
    // As `drawInput` of picture.ts has it, which a formula of its own holds.
    fadeLength: 160 * zoom * (Math.min(w, h) / 800),
  });
  const { current, ends } = data;
  const byte = (bytes: ArrayLike<number>, at: number): number => bytes[at] / 255;
  const of4 = (lists: number[][]) => (k: number): Value => lists[k].map((c) => c / 255);
  return {
    ...found,
    uPos0: (k) => [current[2 * k], current[2 * k + 1]],
    uPos1: (k) => [current[2 * k], current[2 * k + 1]],
    uNodeColor: of4(told.colors),
    uNodeSize: (k) => [byte(told.sizes, k)],
    uEnds: (k) => [ends[2 * k], ends[2 * k + 1]],
    uEdgeColor: of4(told.own ?? []),
    uEdgeWidth: (k) => [byte(told.widths ?? [], k)],
    uCurvature: told.curvature ?? 0,
  };
}

const place = (data: Globals, v: number): Value => (data.uPos1 as (k: number) => Value)(v);

function places(told: Colored): unknown {
  const globals = uniforms(told);
  const list = listOf(told);
  const h = told.size[1];
  return Array.from({ length: list.count }, (_, k) => {
    const [edge, packed] = list.pairs.subarray(2 * k, 2 * k + 2);
    const [s, d] = told.ends.slice(2 * edge, 2 * edge + 2);
    const rank = (packed & 255) - 128;
    const curve = quads.call('curveOf', [[s, d], rank, place(globals, s), place(globals, d)], globals);
    const at = [0, 0.125, 0.5, 0.75, 1].flatMap((t) => {
      const [x, y] = quads.call('at', [curve, t], globals) as number[];
      // Rows count from the top in pictures.
      return [x, h - y];
    });
    return { edge, rank, at };
  });
}

function bent(told: Colored): unknown {
  const globals = uniforms(told);
  const { hubs } = pictureOf(told).renderer.bending as unknown as { hubs: Float32Array };
  const { count, pairs } = listOf(told);
  // Stored coordinates of `pictureOf` are told from a place of its own.
  globals.uHubs = (k) => [hubs[2 * k] + ORIGIN.x, hubs[2 * k + 1] + ORIGIN.y];
  const pixel = (at: Value): Value => bentQuads.call('pixel', [at], globals);
  return Array.from({ length: count }, (_, k) => {
    const edge = pairs[2 * k];
    const [s, d] = told.ends.slice(2 * edge, 2 * edge + 2);
    const [from, to] = [s, d].map((v) => bentQuads.call('hub', [v], globals));
    if (!bentQuads.call('bends', [from, to], globals)) return [];
    const [a, b] = [s, d].map((v) => pixel(place(globals, v)));
    const at = [0, 0.125, 0.5, 0.75, 1].flatMap((t) => {
      const [x, y] = bentQuads.call('bent', [a, pixel(from), pixel(to), b, t], globals) as number[];
      return [x, told.size[1] - y];
    });
    return [[edge, at]];
  }).flat();
}

function inkOf(told: Colored & { light: boolean; fade: number }): unknown {
  const globals = uniforms(told, told);
  return Array.from({ length: told.ends.length / 2 }, (_, e) => {
    const [s, d] = told.ends.slice(2 * e, 2 * e + 2);
    const [a, b] = [place(globals, s), place(globals, d)];
    const [p, q] = [a, b].map((at) => quads.call('pixel', [at], globals) as number[]);
    const color = (v: number, far: boolean): Value => quads.call('edgeColor', [e, v, far], globals);
    const span = Math.hypot(p[0] - q[0], p[1] - q[1]);
    return {
      colors: [color(s, false), color(d, true)].flat(),
      width: quads.call('edgeWidth', [e], globals),
      left: [quads.call('passing', [a, b], globals), quads.call('fade', [span], globals)],
    };
  });
}

function heads(told: Colored & { room: number; width: number }): unknown {
  const list = listOf(told);
  const own = { uWidth: told.width, uArrow: 5.5 + 3.5 * told.room, uGain: 1 };
  const globals: Globals = { ...uniforms(told), ...own };
  globals.uList = (k) => [list.pairs[2 * k], list.pairs[2 * k + 1]];
  return Array.from({ length: list.count }, (_, k) => {
    const [edge, packed] = list.pairs.subarray(2 * k, 2 * k + 2);
    const after = arrows.main({ ...globals, gl_VertexID: 3 * k });
    const line = [edge, (packed & 255) - 128, packed >>> 8];
    // A line that is too short has no corner.
    if (after.tip === undefined) return [...line, null];
    const [[x, y], [dx, dy]] = [after.tip as number[], after.dir as number[]];
    const [alpha] = (after.col as number[]).slice(3);
    const left = Number(after.w) / alpha;
    return [...line, { tip: [x, told.size[1] - y], turn: [dx, -dy], length: after.len, left }];
  });
}

const [nodesVs, nodesFs] = [new Shader(NODES_VS), new Shader(NODES_FS)];

/** The columns and rows of which samples tell, of a picture of so many. */
function looked(columns: number, rows: number): [number, number][] {
  const all = [Math.floor(rows / 2), Math.floor(rows / 2) + 3, Math.floor(rows / 4)];
  return all.flatMap((row) => {
    return Array.from({ length: Math.ceil(columns / 2) }, (_, k): [number, number] => [2 * k, row]);
  });
}

function disc(told: Colored & { scale: number; stroke: number; opacity: number; back: number[] }): unknown {
  const [w, h] = told.size.map((side) => Math.trunc(side * told.scale));
  const own = { uDpr: told.scale, uDim: 0, uBack: told.back, uOpacity: told.opacity, uRing: told.stroke };
  const after = nodesVs.main({ ...uniforms(told), ...own, gl_VertexID: 0 });
  const [x, y] = after.gl_Position as number[];
  const size = Number(after.gl_PointSize);
  const [cx, cy] = [((x + 1) / 2) * w, ((1 - y) / 2) * h];
  return looked(w, h).map(([column, row]) => {
    const coord = [(column + 0.5 - cx) / size + 0.5, (row + 0.5 - cy) / size + 0.5];
    const isIn = coord.every((c) => c >= 0 && c <= 1);
    const { vColor, vRadius } = after;
    const ink = isIn && nodesFs.main({ gl_PointCoord: coord, vColor, vRadius, uBack: told.back }).oColor;
    return [column, row, ink || [0, 0, 0, 0]];
  });
}

const [blobsVs, blobsFs] = [new Shader(BLOBS_VS), new Shader(BLOBS_FS)];

function blob({ texels }: { texels: number[] }): unknown {
  const table = (k: number): Value => texels.slice(4 * k, 4 * k + 4);
  const at = (vertex: number): Globals =>
    blobsVs.main({ uBlobs: table, uSize: [32, 32], gl_VertexID: vertex }) as Globals;
  const corners = [0, 1, 5].map(at);
  const [o, a, b] = corners.map(({ p }) => p as number[]);
  const [uo, ua, ub] = corners.map(({ vUv }) => vUv as number[]);
  const { vShape, vColor, vOther } = corners[0];
  // From a pixel to what the corners of its quad are given.
  const [ax, ay, bx, by] = [a[0] - o[0], a[1] - o[1], b[0] - o[0], b[1] - o[1]];
  const whole = ax * by - ay * bx;
  return looked(32, 32).map(([column, row]) => {
    const [x, y] = [column + 0.5 - o[0], row + 0.5 - o[1]];
    const [s, t] = [(x * by - y * bx) / whole, (ax * y - ay * x) / whole];
    const vUv = [0, 1].map((c) => uo[c] + s * (ua[c] - uo[c]) + t * (ub[c] - uo[c]));
    const isIn = s >= 0 && s <= 1 && t >= 0 && t <= 1;
    const ink = isIn && blobsFs.main({ vUv, vShape, vColor, vOther }).oColor;
    return [column, row, ink || [0, 0, 0, 0]];
  });
}

const toneFs = new Shader(TONE_FS);

interface Toned {
  columns: number;
  rows: number;
  inks: number[][];
  back: number[];
  clear: boolean;
  scale: number;
  opacity: number;
}

function toned(of: Toned): unknown {
  return of.inks.map((ink, k) => {
    const after = toneFs.main({
      vUv: [((k % of.columns) + 0.5) / of.columns, (Math.floor(k / of.columns) + 0.5) / of.rows],
      uInk: () => ink,
      uHasInk: true,
      uInkScale: of.scale,
      uOpacity: of.opacity,
      uBackCenter: of.back.slice(0, 3),
      uBackEdge: of.back.slice(3),
      uClear: of.clear,
      uNoise: 0,
      uAspect: of.columns / of.rows,
    });
    return after.oColor;
  });
}

holdGroup('shaders', {
  'places on lines': places,
  'places on bundled lines': bent,
  'width of a line for many': (count: number) => quads.call('swell', [[0, packedOf(0, count)]], {}),
  'ink of an edge': inkOf,
  'arrow heads': heads,
  'disc of a node': disc,
  'disc of a community': blob,
  'line between communities': blob,
  'tone map': toned,
});
