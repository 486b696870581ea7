import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitView } from '../../src/scene/fit.ts';
import { fitWithDiscs, radiusOf, RIM_PX } from '../../src/afar/disc-fit.ts';
import { givenBox, percentileBox, toGraph, toScreen, viewBox } from '../../src/scene/camera.ts';
import type { Box, View } from '../../src/scene/camera.ts';
import { isDirected } from '../../src/scene/direction.ts';
import { clippedLength, inkLength, inkRule, passingAt } from '../../src/scene/ink.ts';
import { curveOf, isAlong } from '../../src/scene/line-curve.ts';
import { NearEdges } from '../../src/scene/near-edges.ts';
import { countOf, edgeList, packedOf, rankOf } from '../../src/scene/near.ts';
import { diameterOf } from '../../src/scene/node-size.ts';
import { rareEdges, rareOpacity } from '../../src/scene/rare-edges.ts';
import { Picture } from '../../src/picture/picture.ts';
import { discsInView, linesInView, placesOfLine, type Spot } from '../../src/bound/spots.ts';
import type { IconLayer } from '../../src/net/icon-frame.ts';
import { difference, holdGroup, num } from './twins.hold.ts';
import { dataOf, Dice, listOf, marks, pictureOf, sizesOf, stored, viewOf, type Told } from './twins.scene.ts';

/** Formulae of fits, views, lines and their ink. Those of texts and of what is afar: twins.more.test.ts. */

test('a difference is found where it is, and rounding is none', () => {
  const of = (a: unknown, b: unknown): string | undefined => difference(a, b, 1e-5)?.at;
  assert.equal(of([1000, 0], [1000.001, 0.001]), undefined);
  assert.equal(of([1000, [0]], [1000, [0.1]]), '[1][0]');
  assert.equal(of({ a: { b: 1e-20 } }, { a: { b: 1.1e-20 } }), '.a.b');
  assert.equal(of({ a: 'NaN', c: null }, { a: NaN, c: null }), undefined);
  for (const [a, b] of [[1, '1'], [[1], [1, 2]], [null, []], [{}, { a: 1 }], ['NaN', 0]]) {
    assert.notEqual(difference(a, b, 1e-5), null, `${a} and ${b}`);
  }
});

const HERE = { x: 0, y: 0 };

interface Places {
  xy?: Told['xy'];
  many?: [number, number];
}

/** Places that are told one by one, or by a seed and how many. */
function placesOf({ xy, many }: Places): Float32Array {
  if (xy) return stored(xy);
  const [seed, count] = many ?? [0, 0];
  const dice = new Dice(seed);
  const out = new Float32Array(2 * count);
  for (let k = 0; k < out.length; k += 2) {
    const wide = dice.below(500) === 0 ? 4_000 : 100;
    out[k] = dice.between(-wide, wide);
    out[k + 1] = dice.between(-wide, wide);
  }
  return out;
}

const listed = (box: Box | null): number[] | null => box && [box.minX, box.minY, box.maxX, box.maxY];
const told = ({ cx, cy, scale }: View): unknown => ({ middle: [cx, cy], scale });
const sides = ([w, h]: number[]): { w: number; h: number } => ({ w, h });

interface Fitted {
  xy: Told['xy'];
  given: boolean;
  size: number[];
  hidden?: number[];
  discs?: { x: number; y: number; count: number }[];
  whole?: number | null;
}

function fitted({ xy, given, size, hidden, discs = [], whole = null }: Fitted): unknown {
  const all = stored(xy);
  const gone = marks(all.length / 2, hidden);
  const current = all.map((c, k) => (gone?.[k >> 1] ? NaN : c));
  const box = given ? givenBox(current, HERE) : percentileBox(current, HERE);
  if (!box) return null;
  const fit = { box, size: sides(size), panels: [], xy: current, origin: HERE, most: 0 };
  const reaching = discs.map(({ x, y, count }) => ({
    x,
    y,
    reach: (zoom: number) => radiusOf(count, all.length / 2, fit.size, zoom) + RIM_PX,
  }));
  return told(fitWithDiscs(fit, reaching, whole));
}

interface Boxed {
  box: number[];
  size: number[];
  nodes: number;
  panels: number[][];
}

holdGroup('fit', {
  'box of most places': (places: Places) => listed(percentileBox(placesOf(places), HERE)),
  'box of given places': (places: Places) => listed(givenBox(placesOf(places), HERE)),
  'view of a box beside panels': (of: Boxed) => {
    const [minX, minY, maxX, maxY] = of.box;
    const panels = of.panels.map(([x, y, w, h]) => ({ x, y, w, h }));
    // No node may be under a panel, which is so only beside all of them.
    const rest = { xy: new Float32Array(2 * of.nodes), origin: HERE, most: -1 };
    return told(fitView({ box: { minX, minY, maxX, maxY }, size: sides(of.size), panels, ...rest }));
  },
  'view of a drawing': fitted,
  'reach of a disc': (of: { count: number; nodes: number; size: number[]; zoom: number }) =>
    radiusOf(of.count, of.nodes, sides(of.size), of.zoom) + RIM_PX,
  'view of a drawing with discs': fitted,
});

holdGroup('view', {
  'pixels of places and back': (of: Pick<Told, 'size' | 'view'> & { xy: number[]; pixels: number[] }) => {
    const pairs = (all: number[]): [number, number][] =>
      Array.from({ length: all.length / 2 }, (_, k) => [all[2 * k], all[2 * k + 1]]);
    const [view, size] = [viewOf(of.view), sides(of.size)];
    return {
      pixels: pairs(of.xy).flatMap(([x, y]) => toScreen(view, size, x, y)),
      places: pairs(of.pixels).flatMap(([x, y]) => toGraph(view, size, x, y)),
    };
  },
  diameters: (of: Pick<Told, 'sizes' | 'size' | 'zoom' | 'pointSize' | 'bound'>) => {
    const rule = sizesOf(of);
    return of.sizes.map((size) => diameterOf(size, rule));
  },
  'length of half the ink': (of: { size: number[]; zoom: number }) => {
    const draws = Picture.prototype as unknown as { drawInput(tween: number): { fadeLength: number } };
    const picture = { size: sides(of.size), zoom: of.zoom, look: {}, backdrop: {} };
    const rest = { camera: {}, positions: {}, adjusters: [], dimming: {}, rare: null, lit: null };
    return draws.drawInput.call({ ...picture, ...rest }, 1).fadeLength;
  },
});

interface Listed {
  edges: number[];
  ends: number[];
  looks: number[] | null;
}

holdGroup('lines', {
  'lines of edges': ({ edges, ends, looks }: Listed) => {
    const list = edgeList(edges, Uint32Array.from(ends), looks && Uint32Array.from(looks));
    const lines = Array.from({ length: list.count }, (_, k) => {
      const [edge, packed] = list.pairs.subarray(2 * k, 2 * k + 2);
      return [edge, rankOf(packed), countOf(packed)];
    });
    return { lines, curved: list.curved };
  },
});

holdGroup('near', {
  'edges in view': (of: Told & { most: number }) => {
    const data = dataOf(of);
    // Of fewer edges than may be drawn all are.
    const near = new NearEdges(false);
    Object.assign(near, { limit: of.most });
    const list = near.list(data, viewBox(viewOf(of.view), sides(of.size)), 0, 0, true);
    return list && [...list.pairs].filter((_, k) => k % 2 === 0).sort((a, b) => a - b);
  },
  'how many edges are drawn one by one': () => (new NearEdges(false) as unknown as { limit: number }).limit,
});

holdGroup('rare', {
  'edges of rare colours': ({ runs, some }: { runs: [number[], number][]; some: boolean }) => {
    const bytes = runs.flatMap(([color, count]) => Array.from({ length: count }, () => color));
    const ranges: [number, number][] = [];
    for (const e of rareEdges(Uint8Array.from(bytes.flat()), some)) {
      const last = ranges.at(-1);
      if (last && last[1] + 1 === e) last[1] = e;
      else ranges.push([e, e]);
    }
    return ranges;
  },
  'opacity of rare edges': rareOpacity,
});

holdGroup('direction', {
  'whether edges show a direction': ({ nodes, ends }: { nodes: number; ends: number[] }) =>
    isDirected(Uint32Array.from(ends), ends.length / 2, nodes),
});

holdGroup('ink', {
  'edges that pass through': (zoom: unknown) => passingAt(num(zoom)),
  'length of a line within the picture': ([w, h, ax, ay, bx, by]: number[]) =>
    clippedLength({ minX: 0, minY: 0, maxX: w, maxY: h }, ax, ay, bx, by),
  'ink of a picture': (of: Told & { drawn: number }) => {
    const data = dataOf(of);
    const [view, { w, h }] = [viewOf(of.view), sides(of.size)];
    const box = viewBox(view, { w, h });
    const passing = passingAt(num(of.zoom));
    const { ends, current, numEdges, edgeHidden } = data;
    const length = inkLength(ends, current, box, view.scale, numEdges, edgeHidden, passing);
    return { ...inkRule(w * h, length * of.drawn) };
  },
});

/** The points of lines of a list that is in the sample's result, or of all. */
function ways(of: Told): unknown {
  const picture = pictureOf(of);
  const list = edgeList(Uint32Array.from({ length: of.ends.length / 2 }, (_, e) => e), picture.data.ends);
  return Array.from({ length: list.count }, (_, k) => {
    const [edge, packed] = list.pairs.subarray(2 * k, 2 * k + 2);
    const [s, d] = picture.data.ends.subarray(2 * edge, 2 * edge + 2);
    if (picture.data.nodeHidden?.[s] || picture.data.nodeHidden?.[d]) return [];
    return [[edge, rankOf(packed), countOf(packed), curveOf(picture, edge, packed)?.flat() ?? null]];
  }).flat();
}

holdGroup('bundle', { 'control points of bundled edges': ways, 'control points of lines': ways });

/** Icons on all but every fourth element. */
const shown = Uint16Array.from({ length: 4_096 }, (_, k) => Number(k % 4 !== 2));
const ICONS = [{ axis: 'node', place: 0, shown } as IconLayer];
const spotted = (spots: Spot[]): unknown => spots.map(({ index, x, y, r }) => [index, [x, y, r]]);

holdGroup('spots', {
  'discs with icons': (of: Told) => spotted(discsInView(pictureOf(of), ICONS)),
  'lines with icons': (of: Told) => spotted(linesInView(pictureOf(of), listOf(of), ICONS)),
  'places on lines for a text': (of: Told & { width: number }) => {
    const picture = pictureOf(of);
    const list = listOf(of);
    const { w, h } = picture.size;
    return Array.from({ length: list.count }, (_, k) => {
      const [edge, packed] = list.pairs.subarray(2 * k, 2 * k + 2);
      const [s, d] = picture.data.ends.subarray(2 * edge, 2 * edge + 2);
      if (!picture.project(s) || !picture.project(d)) return [];
      const curve = curveOf(picture, edge, packed) ?? [];
      const places = placesOfLine(picture, edge, packedOf(rankOf(packed), countOf(packed)));
      const inView = places.filter(({ x, y }) => x >= 0 && y >= 0 && x <= w && y <= h);
      const one = (place: (typeof places)[0]): unknown => {
        const { x, y, angle, length } = place;
        const turn = [Math.cos(angle), Math.sin(angle)];
        return { at: [x, y], turn, length, along: isAlong(curve, place, of.width) };
      };
      return [inView.map(one)];
    }).flat();
  },
});
