import { batch } from '@preact/signals';
import { toBits64 } from '../document/bits.ts';
import type { Rule } from '../net/messages.ts';
import { fitBox, toGraph } from '../scene/camera.ts';
import type { Joining, Point } from '../state/lazy.ts';
import type { ColorKey, Swatch } from '../state/legend.ts';
import * as store from '../state/store.ts';
import type { Viewer } from '../state/viewer.ts';
import { combine, selectText, type Algebra, type Tools } from './acts.ts';
import { Emphasis } from './emphasis.ts';
import { pickEntry } from './legend.ts';
import { shortestPath } from './path.ts';
import { corners, edgesWithin, inside, selectedParts, Selection } from './selection.ts';

/** Edges among the selected nodes that are drawn bright. */
const EDGES_MAX = 20_000;

const JOINING: Record<Algebra | 'replace', Joining> = {
  union: 'add',
  intersection: 'common',
  difference: 'remove',
  replace: 'replace',
};

/** Selecting many nodes: with the pointer, with keys and with the buttons of the panel. */
export class SelectionTools implements Tools {
  selection: Selection;
  /** Edges that are selected by themselves. */
  private edges: readonly number[] = [];
  /** What a script emphasizes in place of the selection. */
  private readonly emphasis: Emphasis;
  private readonly shape: SVGPolygonElement;

  constructor(
    private readonly viewer: Viewer,
    stage: HTMLElement,
  ) {
    this.selection = new Selection(viewer.picture.data.numNodes);
    this.selection.hide(viewer.picture.data.nodeHidden);
    this.emphasis = new Emphasis(viewer.picture);
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('class', 'selecting');
    svg.setAttribute('aria-hidden', 'true');
    this.shape = document.createElementNS('http://www.w3.org/2000/svg', 'polygon');
    svg.append(this.shape);
    stage.append(svg);
  }

  private get ends(): Uint32Array {
    const { data } = this.viewer.picture;
    return data.ends.subarray(0, 2 * data.edgesKnown);
  }

  /** Another graph is shown. */
  forget(): void {
    this.selection = new Selection(this.viewer.picture.data.numNodes);
    this.edges = [];
    this.emphasis.set([], [], true);
    this.show();
  }

  /** Other nodes are hidden than before. */
  hiddenChanged(): void {
    this.selection.hide(this.viewer.picture.data.nodeHidden);
    const before = store.selectedCount.value + store.selectedEdges.value;
    if (before > 0 || this.selection.count > 0 || this.emphasis.any) this.show();
  }

  /** The edges that are selected by themselves and can be seen. */
  visibleEdges(): number[] {
    const { edgeHidden } = this.viewer.picture.data;
    return this.edges.filter((edge) => !edgeHidden?.[edge]);
  }

  /** Shows what is selected. */
  private show(): void {
    const { selection, viewer } = this;
    const edges = this.visibleEdges();
    batch(() => {
      store.selectedCount.value = selection.count;
      store.selectedEdges.value = edges.length;
      store.selections.value += 1;
      store.pinnedCard.value = null;
    });
    viewer.focus.selected = -1;
    const parts = selectedParts(selection.count, edges.length);
    const words = parts.map(({ number, word }) => `${number} ${word}`).join(' and ');
    store.announcement.value = words ? `Selected: ${words}.` : 'Nothing is selected.';
    this.light(edges);
  }

  /** Emphasizes what a script says, or else what is selected. */
  private light(edges: number[]): void {
    const { selection, viewer } = this;
    if (!this.emphasis.show()) {
      const some = selection.count + edges.length > 0;
      // An edge is seen with its ends.
      const ends = edges.flatMap((e) => [this.ends[2 * e], this.ends[2 * e + 1]]);
      const nodes = new Set([...selection.nodes(), ...ends]);
      const within = edgesWithin(selection, this.ends, EDGES_MAX, viewer.picture.data.edgeHidden);
      viewer.picture.lightUp(some ? [...nodes] : null, [...new Set([...edges, ...within])]);
    }
    viewer.relabel();
  }

  /** Selects nodes and edges in place of what is selected. */
  choose(marks: Uint8Array, edges: readonly number[]): void {
    this.selection.join(marks, 'replace');
    this.edges = [...new Set(edges)].sort((a, b) => a - b);
    this.show();
  }

  /** Emphasizes nodes and edges in place of what is selected, until it is told to emphasize none. */
  emphasize(nodes: readonly number[], edges: readonly number[], darken: boolean): void {
    this.emphasis.set(nodes, edges, darken);
    this.light(this.visibleEdges());
  }

  private line(points: readonly Point[], tool: store.Tool): Point[] {
    return tool === 'rectangle' ? corners(points[0], points[points.length - 1]) : [...points];
  }

  /** Draws the line around what a gesture is about to select, in pixels. */
  draw(points: readonly Point[], tool: store.Tool): void {
    const text = this.line(points, tool).map((p) => `${p.x},${p.y}`);
    this.shape.setAttribute('points', text.join(' '));
  }

  /** Ends a gesture; without points it is given up. */
  finish(points: readonly Point[], tool: store.Tool, how: Joining): void {
    this.shape.removeAttribute('points');
    if (points.length === 0) return;
    const { camera, size, positions } = this.viewer.picture;
    const line = this.line(points, tool).map((p) => {
      const [x, y] = toGraph(camera.view, size, p.x, p.y);
      return { x: x - positions.origin.x, y: y - positions.origin.y };
    });
    this.selection.join(inside(positions.current, line), how);
    if (how === 'replace') this.edges = [];
    this.show();
  }

  toggle(index: number): void {
    // The node whose card is open is the first of those that are selected.
    const one = this.viewer.focus.selected;
    if (this.selection.count === 0 && one >= 0 && one !== index) this.selection.toggle(one);
    this.selection.toggle(index);
    this.show();
  }

  /** Joins marked nodes with what is selected; what is found afresh takes its place. */
  join(marks: Uint8Array, how: Algebra | 'replace'): void {
    this.start();
    this.selection.join(marks, JOINING[how]);
    if (how === 'replace') this.edges = [];
    this.show();
  }

  /** Selects the elements of an entry of the legend, or hides them. */
  legend(key: ColorKey, swatch: Swatch, hides: boolean): Promise<void> {
    return pickEntry(this, this.viewer.picture, key, swatch, hides);
  }

  /** Selects what a rule keeps. */
  select(rule: Rule): Promise<void> {
    return combine(this, 'replace', rule);
  }

  /** Selects what a text finds; answers what is wrong with it. */
  match(text: string): Promise<string | null> {
    return selectText(this, text);
  }

  /** Adds a shortest path between the two selected nodes. */
  path(): void {
    const [a, b] = this.selection.nodes(2);
    const { numNodes, edgeHidden } = this.viewer.picture.data;
    if (b === undefined) return;
    const path = shortestPath(numNodes, this.ends, a, b, edgeHidden);
    if (!path) {
      store.notice.value = 'No visible edges lead from one of the two nodes to the other.';
      return;
    }
    const marks = new Uint8Array(numNodes);
    for (const v of path) marks[v] = 1;
    this.selection.join(marks, 'add');
    this.show();
  }

  do(what: 'all' | 'invert' | 'clear'): void {
    this.selection[what]();
    this.edges = [];
    this.show();
  }

  grow(): void {
    this.start();
    this.selection.grow(this.ends, this.viewer.picture.data.edgeHidden);
    this.show();
  }

  component(): void {
    this.start();
    this.selection.component(this.ends, this.viewer.picture.data.edgeHidden);
    this.show();
  }

  sameColor(): void {
    const rgba = this.viewer.picture.ownColor;
    this.start();
    if (rgba) this.selection.sameColor(rgba);
    this.show();
  }

  /** What is done to the selected nodes is done to the one whose card is open, where no others are. */
  private start(): void {
    const one = this.viewer.focus.selected;
    if (this.selection.count === 0 && one >= 0) this.selection.toggle(one);
  }

  /** What is selected, or else the node whose card is open: a mark for each, and how many. */
  chosen(): { marks: Uint8Array; count: number; bits64: () => Promise<string> } {
    const marks = this.selection.visible;
    const one = this.viewer.focus.selected;
    if (this.selection.count === 0 && one >= 0) marks[one] = 1;
    const count = marks.reduce((sum, mark) => sum + mark, 0);
    return { marks, count, bits64: () => toBits64(marks) };
  }

  /** All that is connected with what is selected. */
  async componentOf(): Promise<{ bits64: string; count: number }> {
    const { picture } = this.viewer;
    const around = new Selection(picture.data.numNodes);
    around.join(this.chosen().marks, 'replace');
    around.hide(picture.data.nodeHidden);
    around.component(this.ends, picture.data.edgeHidden);
    return { bits64: await toBits64(around.visible), count: around.count };
  }

  /** Shows all that is selected. */
  fit(): void {
    const { viewer } = this;
    const { camera, size } = viewer.picture;
    const places = this.selection.nodes().flatMap((v) => [viewer.picture.at(v) ?? []]);
    const [xs, ys] = [0, 1].map((c) => places.map((place) => place[c]).filter(Number.isFinite));
    if (xs.length === 0) return;
    const least = (values: number[]): number => values.reduce((a, b) => Math.min(a, b));
    const most = (values: number[]): number => values.reduce((a, b) => Math.max(a, b));
    const box = { minX: least(xs), maxX: most(xs), minY: least(ys), maxY: most(ys) };
    // One place has no box to show; it is gone to as a search does.
    if (box.minX === box.maxX && box.minY === box.maxY) return viewer.flyTo(this.selection.nodes(1)[0]);
    const margin = 0.12 * Math.min(size.w, size.h);
    const free = { x: margin, y: margin, w: size.w - 2 * margin, h: size.h - 2 * margin };
    camera.take();
    camera.fly(fitBox(box, free, size), size, performance.now());
    viewer.refresh();
  }
}
