import type { Box } from './camera.ts';
import { edgeList, edgesInBox } from './near.ts';
import type { EdgeList, SceneData } from './scene-data.ts';

/** Edges that the near tier draws one by one. */
const NEAR_MAX = { software: 20_000, hardware: 120_000 };
/** While things move, the edges in view are searched at most this often. */
const SEARCH_EVERY_MS = 300;

/** The edges in view when they are few, searched anew when the view leaves the part searched last. */
export class NearEdges {
  private found: { list: EdgeList | null; box: Box | null; version: number; at: number } | null = null;
  private readonly limit: number;

  constructor(software: boolean) {
    this.limit = software ? NEAR_MAX.software : NEAR_MAX.hardware;
  }

  /** Edges, their colours or the device's memory have changed. */
  forget(): void {
    this.found = null;
  }

  /** The lines of a view, whose coordinates are those of the positions; null when they are too many. */
  list(data: SceneData, view: Box, version: number, now: number, resting: boolean): EdgeList | null {
    if (data.edgesKnown < data.numEdges) return null;
    if (data.numEdges <= this.limit) {
      this.found ??= { list: allEdges(data), box: null, version: 0, at: now };
      return this.found.list;
    }
    const { found } = this;
    if (found?.box && contains(found.box, view) && found.version === version) return found.list;
    // Searching all edges costs some milliseconds: at rest, or now and then while things move.
    if (!resting && found && now - found.at < SEARCH_EVERY_MS) {
      return found.box && contains(found.box, view) ? found.list : null;
    }
    const box = grow(view, 0.35);
    const near = edgesInBox(data.ends, data.edgesKnown, data.current, box, this.limit, data.edgeHidden);
    const list = near && edgeList(near, data.ends, looks(data));
    this.found = { list, box, version, at: now };
    return list;
  }
}

/** Colours of the edges as one number each, by which parallel edges are told apart. */
export function looks(data: SceneData): Uint32Array | null {
  const { edgeColor } = data;
  return edgeColor && new Uint32Array(edgeColor.buffer, 0, edgeColor.length >> 2);
}

function allEdges(data: SceneData): EdgeList {
  const { numEdges, edgeHidden } = data;
  let all = Uint32Array.from({ length: numEdges }, (_, e) => e);
  if (edgeHidden) all = all.filter((e) => !edgeHidden[e]);
  return edgeList(all, data.ends, looks(data));
}

function contains(outer: Box, inner: Box): boolean {
  return (
    outer.minX <= inner.minX &&
    outer.maxX >= inner.maxX &&
    outer.minY <= inner.minY &&
    outer.maxY >= inner.maxY
  );
}

function grow(box: Box, by: number): Box {
  const w = (box.maxX - box.minX) * by;
  const h = (box.maxY - box.minY) * by;
  return { minX: box.minX - w, maxX: box.maxX + w, minY: box.minY - h, maxY: box.maxY + h };
}
