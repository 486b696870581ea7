import { Bundle } from '../../src/afar/bundle.ts';
import type { Renderer } from '../../src/gl/renderer.ts';
import { Picture } from '../../src/picture/picture.ts';
import { toScreen, type View } from '../../src/scene/camera.ts';
import { largeDiscs } from '../../src/scene/large-discs.ts';
import { edgeList } from '../../src/scene/near.ts';
import { diameterOf, type SizeRule } from '../../src/scene/node-size.ts';
import { ABSENT, isPlaced } from '../../src/scene/positions.ts';
import { orderBySize, type EdgeList, type SceneData } from '../../src/scene/scene-data.ts';
import { num } from './twins.hold.ts';

/** What is seen of a graph, as samples tell it. */
export interface Told {
  xy: (number | string | null)[];
  sizes: number[];
  ends: number[];
  size: [number, number];
  view: [number, number, number];
  zoom: number | string;
  pointSize: number;
  bound: boolean;
  hidden?: [number[], number[]];
  faint?: number[];
  groups?: number[];
  curvature?: number;
}

/** Where stored coordinates are told from: a place with which no rounding comes in. */
export const ORIGIN = { x: 8, y: -4 };

/** Stored coordinates, as position frames leave them: a node that has not both of them has none. */
export function stored(xy: Told['xy'], origin = { x: 0, y: 0 }): Float32Array {
  const out = Float32Array.from(xy, num);
  for (let k = 0; k < out.length; k += 2) {
    const absent = !Number.isFinite(out[k] + out[k + 1]);
    out[k] = absent ? ABSENT : out[k] - origin.x;
    out[k + 1] = absent ? ABSENT : out[k + 1] - origin.y;
  }
  return out;
}

/** 1 for each of so many that is listed; null where none is. */
export function marks(count: number, listed: readonly number[] = []): Uint8Array | null {
  if (listed.length === 0) return null;
  const out = new Uint8Array(count);
  for (const k of listed) out[k] = 1;
  return out;
}

export function dataOf(told: Told, origin = { x: 0, y: 0 }): SceneData {
  const current = stored(told.xy, origin);
  const [numNodes, numEdges] = [told.xy.length / 2, told.ends.length / 2];
  const nodeColor = new Uint8Array(4 * numNodes).fill(255);
  for (const v of told.faint ?? []) nodeColor[4 * v + 3] = 0;
  const nodeSize = Uint8Array.from(told.sizes);
  return {
    numNodes,
    numEdges,
    previous: current,
    current,
    nodeColor,
    nodeSize,
    order: orderBySize(nodeSize),
    ends: Uint32Array.from(told.ends),
    edgesKnown: numEdges,
    edgeColor: null,
    edgeColorSome: false,
    edgeWidth: null,
    nodeHidden: marks(numNodes, told.hidden?.[0]),
    edgeHidden: marks(numEdges, told.hidden?.[1]),
  };
}

export function viewOf([cx, cy, scale]: Told['view']): View {
  return { cx, cy, scale };
}

type Sized = Pick<Told, 'sizes' | 'size' | 'zoom' | 'pointSize' | 'bound'>;

/** How sizes become diameters in the page's picture. */
export function sizesOf(told: Sized): SizeRule {
  const nodeSize = Uint8Array.from(told.sizes);
  const getter = Object.getOwnPropertyDescriptor(Picture.prototype, 'sizes')?.get;
  return getter?.call({
    data: { nodeSize, order: orderBySize(nodeSize) },
    look: { pointSize: told.pointSize },
    zoom: num(told.zoom),
    size: { w: told.size[0], h: told.size[1] },
    sizesBound: told.bound,
  }) as SizeRule;
}

/** The lines of all edges that are not hidden. */
export function listOf(told: Told): EdgeList {
  const edges = Uint32Array.from({ length: told.ends.length / 2 }, (_, e) => e);
  return edgeList(edges.filter((e) => !told.hidden?.[1].includes(e)), Uint32Array.from(told.ends));
}

/** As much of the page's picture as lines, icons and texts look at. */
export function pictureOf(told: Told): Picture {
  const data = dataOf(told, ORIGIN);
  const view = viewOf(told.view);
  const size = { w: told.size[0], h: told.size[1] };
  const rule = sizesOf(told);
  let bending: Bundle | null = null;
  if (told.groups) {
    bending = new Bundle({} as Renderer);
    bending.place(Uint16Array.from(told.groups), data);
  }
  const at = (v: number): [number, number] | null => {
    const [x, y] = data.current.subarray(2 * v, 2 * v + 2);
    if (data.nodeHidden?.[v] || !isPlaced(x) || !isPlaced(y)) return null;
    return [x + ORIGIN.x, y + ORIGIN.y];
  };
  const project = (v: number): [number, number] | null => {
    const place = at(v);
    return place && toScreen(view, size, ...place);
  };
  return {
    size,
    camera: { view },
    look: { curvature: told.curvature ?? 0 },
    data,
    positions: { origin: ORIGIN, current: data.current },
    renderer: { bending },
    at,
    project,
    radius: (v: number) => diameterOf(data.nodeSize?.[v] ?? 16, rule) / 2,
    discs: () => largeDiscs(data, rule, size, project),
    drawnLines: listOf(told),
  } as unknown as Picture;
}

/** Numbers as good as at random, as the samples' makers have them (a linear congruence). */
export class Dice {
  constructor(private state: number) {}

  below(most: number): number {
    this.state = (Math.imul(this.state, 1_664_525) + 1_013_904_223) >>> 0;
    return (this.state >>> 8) % most;
  }

  between(low: number, high: number): number {
    return low + this.below(Math.max(1, Math.trunc((high - low) * 8))) / 8;
  }
}
