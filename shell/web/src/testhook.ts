import { afar } from './state/afar.ts';
import { bound } from './state/bound.ts';
import type { EdgeLabel, ShownGroup } from './state/lazy.ts';
import * as store from './state/store.ts';
import type { LiveViewer } from './state/live-viewer.ts';

/** `window.__viewer`: what tests of the page may see. Everything is read-only except under `?test=1`. */
export interface ViewerHook {
  readonly ready: boolean;
  readonly frame: number;
  readonly seq: number;
  readonly counts: { nodes: number; edges: number; edgesLoaded: number };
  readonly doc: Record<string, unknown>;
  readonly labels: { index: number; text: string; x: number; y: number; w: number; h: number }[];
  /** Groups in place of nodes, in pixels of the stage. */
  readonly groups: readonly ShownGroup[];
  /** What is written along lines: the middle, the direction and the width of each text. */
  readonly edgeLabels: readonly EdgeLabel[];
  /** Panels that names keep off, in pixels of the stage. */
  readonly obstacles: { x: number; y: number; w: number; h: number }[];
  /** Width and height that the name of a node would have, as far as the page knows it. */
  nameOf(index: number): { w: number; h: number } | null;
  /** Pixels of the canvas a CSS pixel, in the last frame. */
  readonly sharpness: number;
  project(index: number): [number, number] | null;
  nodeAt(x: number, y: number): number;
  radius(index: number): number;
  color(index: number): [number, number, number, number];
  edge(drawn: number): [number, number];
  /** Resolves when everything that is on its way has been drawn. */
  settle(): Promise<void>;
  /** Only with `?test=1`: breaks the connection as a lost network would. */
  drop?(): void;
}

function doc(viewer: LiveViewer): Record<string, unknown> {
  const { camera, fitScale, size } = viewer.picture;
  return {
    phase: store.phase.value,
    link: store.link.value,
    playing: store.playing.value,
    layout: store.layoutState.value,
    iterations: store.iterations.value,
    epoch: viewer.epoch,
    hovered: viewer.focus.hovered,
    selected: viewer.focus.selected,
    view: { ...camera.view },
    following: camera.following,
    fitScale,
    size,
    theme: store.theme.value,
    software: viewer.picture.renderer.software,
    collections: store.collections.value,
    shown: store.shown.value,
    shared: store.instruments.value?.snapshot() ?? null,
  };
}

async function settle(viewer: LiveViewer): Promise<void> {
  const frame = (): Promise<number> => new Promise((done) => requestAnimationFrame(done));
  for (let calm = 0; calm < 2;) {
    await frame();
    calm = viewer.settled ? calm + 1 : 0;
    if (!viewer.settled) await new Promise((done) => setTimeout(done, 10));
  }
}

export function installHook(viewer: LiveViewer): void {
  const { picture } = viewer;
  const hook: ViewerHook = {
    get ready() {
      return (store.phase.value === 'ready' && store.panels.value !== null) || store.phase.value === 'empty';
    },
    get frame() {
      return picture.frames;
    },
    get seq() {
      return viewer.seq;
    },
    get counts() {
      const { numNodes, numEdges, edgesKnown } = picture.data;
      return { nodes: numNodes, edges: numEdges, edgesLoaded: edgesKnown };
    },
    get doc() {
      return doc(viewer);
    },
    get labels() {
      return viewer.labels.visible;
    },
    get groups() {
      return afar.layer?.groups ?? [];
    },
    get edgeLabels() {
      return bound?.edgeLabels ?? [];
    },
    get obstacles() {
      return viewer.obstacles('[data-over], .card');
    },
    nameOf: (index) => viewer.labels.sizeOf(index, picture.radius(index)),
    get sharpness() {
      return picture.pixelsPerCss;
    },
    project: (index) => picture.project(index),
    nodeAt: (x, y) => picture.nodeAt(x, y),
    radius: (index) => picture.radius(index),
    color: (index) => {
      const at = picture.data.nodeColor?.subarray(4 * index, 4 * index + 4) ?? [0, 0, 0, 0];
      return [at[0], at[1], at[2], at[3]];
    },
    edge: (drawn) => [picture.data.ends[2 * drawn], picture.data.ends[2 * drawn + 1]],
    settle: () => settle(viewer),
  };
  if (store.params.test) hook.drop = () => viewer.link.breakForTest();
  Object.defineProperty(window, '__viewer', { value: Object.freeze(hook), configurable: false });
}
