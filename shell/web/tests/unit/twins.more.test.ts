import { readFileSync } from 'node:fs';
import { setApart } from '../../src/afar/apart.ts';
import { groupsOf, linksOf, placesOf, type Elements } from '../../src/afar/groups.ts';
import { Level } from '../../src/afar/level.ts';
import { places, straightLine } from '../../src/bound/axes.ts';
import type { AxisRow } from '../../src/net/scene-parts.ts';
import { LABEL_PX, linesToName, placeEdgeLabels } from '../../src/bound/edge-labels.ts';
import { graticule, loadMap, type WorldMap } from '../../src/bound/world-map.ts';
import type { TextWidths } from '../../src/gl/glyph-atlas.ts';
import type { Marks } from '../../src/gl/marks.ts';
import { LabelLayer, type LayerInput } from '../../src/picture/label-layer.ts';
import type { Rect } from '../../src/scene/camera.ts';
import { isLight, parseColor, recolorForLight } from '../../src/scene/color.ts';
import { Hiding } from '../../src/scene/hiding.ts';
import { DISC_MIN, labelBudget, placeLabels, shorten, spotPlace } from '../../src/scene/labels.ts';
import { largestInView } from '../../src/scene/names.ts';
import { ABSENT } from '../../src/scene/positions.ts';
import type { SceneData } from '../../src/scene/scene-data.ts';
import { holdGroup } from './twins.hold.ts';
import { dataOf, listOf, marks, pictureOf, stored, viewOf, type Told } from './twins.scene.ts';

/** Formulae of texts, of what is seen from afar, and of what lies under the edges. */

// What modules of the page look at when they are loaded.
const location = { search: '', hash: '', href: 'http://page/graph/graph.html' };
const document = { createElement: () => ({ getContext: () => null }) };
Object.assign(globalThis, { location, document, innerWidth: 800, innerHeight: 600 });
const { Afar, CONTEXT, MOST } = await import('../../src/afar/afar.ts');
const { CollapsedNodes } = await import('../../src/afar/collapsed.ts');
const { MANY } = await import('../../src/afar/watch.ts');
const documentState = await import('../../src/document/state.ts');
const icons = await import('../../src/bound/icons.ts');
const underlay = await import('../../src/bound/underlay.ts');

const rects = (all: number[][]): Rect[] => all.map(([x, y, w, h]) => ({ x, y, w, h }));
const sides = ([w, h]: number[]): { w: number; h: number } => ({ w, h });

/** Place, radius, size of letters, rank and width; whether it is shown in any case, and highlighted. */
type NameTold = [x: number, y: number, r: number, size: number, rank: number, w: number, ...is: boolean[]];

holdGroup('labels', {
  'how many names': ([w, h]: number[]) => labelBudget(w, h),
  'size of a name': (r: number) => {
    const layer = new LabelLayer({ line: () => ({ width: 1 }) } as unknown as TextWidths, {
      must: 0,
      shorten: false,
      still: true,
    });
    layer.setLabels([{ index: 0, text: 'a' }]);
    return layer.sizeOf(0, r)?.h;
  },
  'long names': ([text, most]: [string, number]) => shorten(text, most),
  'places around a disc': (of: { x: number; y: number; r: number; size: number; width: number }) =>
    Array.from({ length: 8 }, (_, spot) => spotPlace(spot, of, of.width)),
  'choice and places of names': (of: { size: number[]; names: NameTold[]; panels: number[][] }) => {
    const candidates = of.names.map(([x, y, r, size, rank, , must, lit], index) => {
      // What is not highlighted weighs little, as in `candidates` of label-layer.ts.
      const weight = lit ? r : r / 1000;
      return { index, text: String(index), x, y, r, weight, rank, size, bold: false, must };
    });
    const found = placeLabels({
      candidates,
      width: of.size[0],
      height: of.size[1],
      obstacles: rects(of.panels),
      discs: candidates.filter(({ r }) => r >= DISC_MIN),
      shown: new Map(),
      measure: (text) => of.names[Number(text)][5],
    });
    return found.map(({ index, tx, ty }) => [index, tx, ty]);
  },
});

/** A name, place, radius, opacity and number of nodes; widths of the name as it is cut, and of the number. */
type GroupTold = [string, x: number, y: number, r: number, opacity: number, count: number, number[], number];

/** The names of communities on their discs, as the view from afar adds them. */
function groupNames(of: { size: number[]; groups: GroupTold[]; panels: number[][] }): unknown {
  const widths = new Map<string, number>();
  for (const [name, , , , , count, bold, plain] of of.groups) {
    [22, 11].forEach((most, k) => widths.set(`true ${shorten(name, most)}`, bold[k]));
    widths.set(`false ${count.toLocaleString('en')}`, plain);
  }
  const measure = (text: string, size: number, bold: boolean): number =>
    (widths.get(`${bold} ${text}`) ?? NaN) * size;
  const groups = of.groups.map(([name, x, y, r, opacity, count]) => ({ name, x, y, r, opacity, count }));
  groups.sort((a, b) => b.count - a.count);
  const found: unknown[] = [];
  const text = (at: { text: string; x: number; y: number; size: number; opacity: number }): void => {
    found.push([at.text, at.x, at.y, at.size, at.opacity]);
  };
  const color = { r: 0, g: 0, b: 0, a: 1 };
  const style = { text: color, halo: color };
  const input = { style, size: sides(of.size), snap: 0, obstacles: rects(of.panels) };
  const names = Afar.prototype as unknown as { addNames(marks: Marks, input: LayerInput): void };
  const afar = { viewer: { labels: { measure } }, groups, obstacles: [] };
  names.addNames.call(afar as never, { text } as unknown as Marks, input as unknown as LayerInput);
  return found;
}

/** What of a line between two discs is seen, as the view from afar adds it. */
function between([ax, ay, bx, by, ra, rb]: number[]): unknown {
  let found: unknown = null;
  const line = (a: number[], b: number[]): void => void (found = [...a, ...b]);
  const level = {
    links: [{ a: 0, b: 1, count: 1 }],
    shown: [1, 1],
    groups: [{ color: [0, 0, 0] }, { color: [0, 0, 0] }],
    bodies: [{ r: ra }, { r: rb }],
  };
  const afar = { viewer: { picture: { camera: { view: { scale: 1 } } } }, blobs: { line } };
  const lines = Afar.prototype as unknown as { addLines(of: unknown, at: number[][], aside: number): void };
  lines.addLines.call(afar as never, level, [[ax, ay], [bx, by]], 1);
  return found;
}

holdGroup('names', {
  'nodes asked for their names': (of: Told & { most: number; lit?: number[] }) => {
    const { nodeSize, nodeHidden: hidden } = dataOf(of);
    const view = { view: viewOf(of.view), size: sides(of.size), origin: { x: 0, y: 0 } };
    const lit = of.lit ? new Set(of.lit) : null;
    return largestInView({ xy: stored(of.xy), nodeSize, hidden, lit, ...view }, of.most);
  },
  'names of communities': groupNames,
  'line between two discs': between,
});

holdGroup('edge-labels', {
  'texts along edges': (of: Told & { texts: string[]; widths: number[]; panels: number[][] }) => {
    const picture = pictureOf(of);
    const found = placeEdgeLabels({
      picture,
      lines: linesToName(Object.assign(picture, { drawnLines: listOf(of) })),
      nameOf: (edge) => of.texts[edge],
      taken: rects(of.panels),
      measure: (text) => of.widths[of.texts.indexOf(text)] * LABEL_PX,
      hovered: -1,
    });
    return found.map(({ text, x, y, angle }) => {
      return { text, at: [x, y], turn: [Math.cos(angle), Math.sin(angle)] };
    });
  },
});

/** A graph in groups. */
type Grouped = Pick<Told, 'xy' | 'sizes' | 'ends' | 'hidden'> & { colors: number[]; of: number[] };

function groupedData(of: Grouped): SceneData {
  const data = dataOf({ ...of, size: [1, 1], view: [0, 0, 1], zoom: 1, pointSize: 1, bound: false });
  of.colors.forEach((rgb, v) => data.nodeColor?.set([rgb >> 16, (rgb >> 8) & 255, rgb & 255], 4 * v));
  return data;
}

const elementsOf = ({ current: xy, nodeColor, nodeSize, nodeHidden }: SceneData): Elements => ({
  xy,
  nodeColor,
  nodeSize,
  nodeHidden,
});

holdGroup('groups', {
  'groups, where they are, and what joins them': (of: Grouped & { most: number; least: number }) => {
    const data = groupedData(of);
    const level = Uint16Array.from(of.of);
    const groups = groupsOf(level, elementsOf(data), of.most, of.least);
    const at = placesOf(level, groups, elementsOf(data));
    const links = linksOf(level, groups, data, 2 * groups.length);
    return {
      groups: groups.map((group, k) => {
        const [x, y, sx, sy] = at.subarray(4 * k, 4 * k + 4);
        return { ...group, at: [x, y], far: [sx, sy] };
      }),
      links: links.map(({ a, b, count }) => [a, b, count]),
    };
  },
});

type Levelled = Grouped & { fine: number[]; area: number; scales: number[] };

holdGroup('level', {
  'discs that stand apart': (all: number[]) => {
    const bodies = Array.from({ length: all.length / 3 }, (_, k) => {
      const [x, y, r] = all.slice(3 * k, 3 * k + 3);
      return { x, y, r };
    });
    setApart(bodies);
    return bodies.flatMap(({ x, y }) => [x, y]);
  },
  'levels of groups': (of: Levelled) => {
    const data = groupedData(of);
    const coarse = new Level(Uint16Array.from(of.of), 20, null);
    const fine = new Level(Uint16Array.from(of.fine), 30, coarse);
    for (const level of [coarse, fine]) {
      level.regroup(data);
      level.replace(data, { area: of.area });
    }
    const told = ({ total, bodies, spacing, parents }: Level): unknown => ({
      total,
      bodies: bodies.flatMap(({ x, y, r }) => [x, y, r]),
      spacing: [...spacing],
      parents,
    });
    const shown = of.scales.map((scale) => {
      coarse.look(scale, true);
      fine.look(scale, false);
      return [[...coarse.shown], [...fine.shown]];
    });
    return { coarse: told(coarse), fine: told(fine), shown };
  },
});

holdGroup('collapsed', {
  'collapsed nodes': (of: Grouped & { members: number[][] }) => {
    const data = groupedData(of);
    const hiding = new Hiding();
    hiding.masks = { node: data.nodeHidden, edge: data.edgeHidden };
    const picture = {
      data,
      hiding,
      positions: { current: data.current, previous: data.current.slice(), origin: { x: 0, y: 0 } },
      camera: { view: { cx: 0, cy: 0, scale: 1 }, following: false },
      size: { w: 800, h: 600 },
      zoom: 1,
      moved: () => undefined,
      hide: (axis: 'node' | 'edge', mask: Uint8Array | null) => {
        data[`${axis}Hidden`] = hiding.with(axis, mask);
      },
    };
    const viewer = { epoch: 1, picture, relabel: () => undefined };
    const entries = of.members.map((_, k) => ({ id: `${k}`, name: `${k}`, rule: { nodes: `${k}` } }));
    documentState.collapsed.value = entries as never;
    // Members come from the server: here they are known already.
    const known = of.members.map((list, k): [string, Uint8Array] => {
      return [JSON.stringify(entries[k].rule), marks(data.numNodes, list) ?? new Uint8Array(data.numNodes)];
    });
    const own = { of: null, epoch: 1, discs: [], busy: false, widened: false };
    const made = { viewer, members: new Map(known), ...own };
    type Made = Pick<InstanceType<typeof CollapsedNodes>, 'discs'> & { apply(entries: unknown): void };
    const nodes = Object.assign(Object.create(CollapsedNodes.prototype), made) as Made;
    nodes.apply(entries);
    const listed = (mask: Uint8Array | null): number[] => [...(mask ?? []).keys()].filter((k) => mask?.[k]);
    return {
      discs: nodes.discs.map(({ name, count, color, x, y }) => ({ name, count, color, at: [x, y] })),
      xy: Array.from(data.current, (c) => (c === Math.fround(ABSENT) ? null : c)),
      hidden: [listed(data.nodeHidden), listed(data.edgeHidden)],
    };
  },
});

interface Axis {
  row: AxisRow;
  size: number[];
  view: Told['view'];
  label: [number, number];
}

/** Coasts and borders, at a place. */
const maps = new Map<string, WorldMap>();
const lines = readFileSync('../../engine/raster/world/lines.json', 'utf8');
Object.assign(globalThis, { fetch: async () => new Response(lines) });
const PLACES = [[1, 0, 0], [7.5, -40, 1000.25]];
for (const [scale, x, y] of PLACES) maps.set(`${scale}`, await loadMap({ scale, x, y }));

holdGroup('underlay', {
  'ends of axes': ({ row, size, view }: Axis) => {
    const [{ cx, cy, scale }, { w, h }] = [viewOf(view), sides(size)];
    const [ax, ay, bx, by] = straightLine(row, { cx, cy, scale }, { w, h });
    const seen = (x: number, y: number): number[] => [w / 2 + (x - cx) * scale, h / 2 - (y - cy) * scale];
    return [...seen(ax, ay), ...seen(bx, by)];
  },
  "places of an axis's label": ({ row, size, view, label }: Axis) =>
    [...places(row, viewOf(view), sides(size), ...label)].map(({ x, y, w, h }) => [x, y, w, h]),
  'map of the world': (of: { place: number[]; of: string; line?: number }) => {
    const [scale, x, y] = of.place;
    if (of.of === 'graticule') return graticule({ scale, x, y });
    return Array.from(maps.get(`${scale}`)?.[of.of as 'coasts' | 'borders'][of.line ?? 0] ?? []);
  },
  'inks of the underlay': (of: string | { theme: 'dark' | 'light'; of: keyof typeof underlay.STRENGTH }) => {
    if (typeof of === 'string') return [underlay.BAND_PX, underlay.LABEL_PX, underlay.DASH_PX];
    const { r, g, b } = underlay.INK[of.theme];
    return { color: [r, g, b], opacity: underlay.STRENGTH[of.of][of.theme] };
  },
});

const { BADGE, DARK_INK, FILL, LIGHT_INK, SIDES, sizeFor, TEXT_MIN } = icons;
const MEASURES: Record<string, unknown> = {
  'fill of an icon': FILL.icon,
  'fill of a badge': FILL.badge,
  'share of a badge': BADGE.share,
  'least badge': BADGE.min,
  'greatest badge': BADGE.max,
  'least disc with badges': BADGE.disc,
  'least text': TEXT_MIN,
  'dark ink': [DARK_INK.r, DARK_INK.g, DARK_INK.b],
  'light ink': [LIGHT_INK.r, LIGHT_INK.g, LIGHT_INK.b],
};

holdGroup('look', {
  'size of a sign': ({ box: [w, h], r, share }: { box: number[]; r: number; share: number }) =>
    sizeFor({ w, h }, r, share),
  'sides of badges': (place: number) => SIDES[place],
  'measures of icons': (name: string) => MEASURES[name],
  'measures of the view from afar': (name: 'many' | 'most' | 'left') =>
    ({ many: MANY, most: [...MOST], left: [CONTEXT.nodes, CONTEXT.edges] })[name],
  'colours on light': (rgba: number[]) => [...recolorForLight(Uint8Array.from(rgba), new Uint8Array(1))],
  backgrounds: (text: string) => {
    const color = parseColor(text);
    return color && { rgb: [color.r, color.g, color.b].map(Math.round), light: isLight(color) };
  },
});
