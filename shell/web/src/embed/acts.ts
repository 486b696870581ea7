import * as state from '../document/state.ts';
import { whyNoPlay } from '../state/layout-words.ts';
import type { LiveViewer } from '../state/live-viewer.ts';
import { selecting } from '../state/selecting.ts';
import * as store from '../state/store.ts';
import type { Viewer } from '../state/viewer.ts';
import { LEFT_PANELS } from './calls.ts';
import { middleBox } from './middle.ts';

/** Acts of embedding scripts that are no steps of the document. What cannot be done is thrown. */

const NO_LINK = 'there is no connection to the server; ask again when the page is connected.';
const TOO_SMALL = 'the frame is too small for panels; make it at least 480 by 320 pixels.';

/** A value as messages show it. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** Runs the layout, or stops it. */
export function play(viewer: LiveViewer, on: boolean): void {
  viewer.play(on);
  if (store.playing.value === on) return;
  const why = whyNoPlay(store.steers.value, store.link.value) || NO_LINK;
  throw new Error(`toggleClustering(${on}): ${why}`);
}

/** Opens or closes the panel of filters and exclusions, or that of the histograms. */
export function togglePanel(act: 'filters' | 'exclusions' | 'histograms', values: Values): void {
  const path = 'histograms.controls.0.selected';
  const paths = act === 'histograms' ? [path] : LEFT_PANELS;
  const on = paths.some((name) => values.get(name) === true);
  if (on && store.tiny.value) throw new Error(`The panel ${act} cannot be opened: ${TOO_SMALL}`);
  state.toggle(act === 'histograms' ? act : 'filters', on);
}

/** What one call of a script sets, by path below the view. */
export type Values = ReadonlyMap<string, unknown>;

export function zoom(viewer: Viewer, value: unknown): void {
  const { picture } = viewer;
  const level = Number(value);
  if (!(level > 0) || !Number.isFinite(level) || typeof value === 'boolean') {
    throw new Error(`zoom is ${shown(value)}; it takes a number above 0, of which 1 shows everything.`);
  }
  picture.camera.take();
  picture.camera.set({ ...picture.camera.view, scale: picture.camera.within(picture.fitScale * level) });
  viewer.refresh();
}

/** Brings a place of the graph to the middle: `{x, y}`, or one number for both. */
export function center(viewer: Viewer, values: Values): void {
  const { camera } = viewer.picture;
  const at = (axis: 'x' | 'y', otherwise: number): number => {
    const value = values.get(`camera.center.${axis}`) ?? otherwise;
    const own = typeof value === 'object' ? (value as { x?: unknown; y?: unknown })[axis] : value;
    if (typeof own === 'number' && Number.isFinite(own)) return own;
    throw new Error(`center is ${shown(value)}; it takes a number, or {x, y} in coordinates of the graph.`);
  };
  const { cx, cy } = camera.view;
  const place = { cx: at('x', cx), cy: at('y', cy) };
  camera.take();
  camera.set({ ...camera.view, ...place });
  viewer.refresh();
}

/** Shows everything, or the middle of it: that share of the nodes, as a part of 1 or in percent. */
export function autocenter(viewer: Viewer, percentile: unknown): void {
  if (percentile === undefined || percentile === null) {
    viewer.fit();
    return;
  }
  const given = Number(percentile);
  if (!(given > 0 && given <= 100)) {
    const takes = 'it takes a number above 0, up to 1 or, in percent, 100';
    throw new Error(`The percentile of autocenter is ${shown(percentile)}; ${takes}.`);
  }
  const share = given > 1 ? given / 100 : given;
  const { picture } = viewer;
  const { positions, size, camera } = picture;
  const box = share < 1 ? middleBox(positions.current, positions.origin, share) : null;
  if (!box) {
    viewer.fit();
    return;
  }
  const { current: xy, origin } = positions;
  const most = picture.data.numNodes;
  const view = picture.fit({ box, size, panels: picture.obstacles(), xy, origin, most });
  camera.take();
  camera.fly(view, size, performance.now());
  viewer.refresh();
}

/** The numbers of a list that name elements; thrown where one names none. */
function numbers(call: string, field: 'point' | 'edge', list: unknown, count: number): number[] {
  if (list === undefined || list === null) return [];
  const kind = field === 'point' ? 'nodes' : 'edges';
  if (!Array.isArray(list)) {
    throw new Error(`${call}: ${field} is ${shown(list)}; it takes a list of numbers of ${kind}.`);
  }
  return list.map((value: unknown) => {
    const number = typeof value === 'number' ? value : /^\d+$/.test(String(value)) ? Number(value) : -1;
    if (Number.isInteger(number) && number >= 0 && number < count) return number;
    const there = count > 0 ? `the ${kind} have the numbers 0 to ${count - 1}` : `there are no ${kind}`;
    throw new Error(`${call}: ${field} has ${shown(value)}; ${there}.`);
  });
}

/** The nodes and edges that a script names, by the numbers under which the page draws them. */
function elements(viewer: Viewer, call: string, what: unknown): { nodes: number[]; edges: number[] } {
  const { point, edge } = (what ?? {}) as { point?: unknown; edge?: unknown };
  const { numNodes, numEdges, edgesKnown } = viewer.picture.data;
  const nodes = numbers(call, 'point', point, numNodes);
  const edges = numbers(call, 'edge', edge, numEdges);
  const late = edges.find((number) => number >= edgesKnown);
  if (late === undefined) return { nodes, edges };
  throw new Error(`${call}: edge ${late} is still on its way to the page; ask again later.`);
}

/** Selects nodes and edges in place of what is selected. */
export async function select(viewer: Viewer, what: unknown): Promise<true> {
  const { nodes, edges } = elements(viewer, 'setSelectionExternal', what);
  const marks = new Uint8Array(viewer.picture.data.numNodes);
  for (const node of nodes) marks[node] = 1;
  (await selecting()).choose(marks, edges);
  return true;
}

/** Emphasizes nodes and edges, and leaves alone what is selected; nothing ends that. */
export async function highlight(viewer: Viewer, what: unknown): Promise<true> {
  const { nodes, edges } = elements(viewer, 'setHighlightExternal', what);
  const { darken } = (what ?? {}) as { darken?: unknown };
  (await selecting()).emphasize(nodes, edges, darken !== false);
  return true;
}
