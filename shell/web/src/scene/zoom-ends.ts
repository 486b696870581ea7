import type { Size } from './camera.ts';
import type { CameraControl } from './camera-control.ts';
import { SIZE_MIN, type SizeRule } from './node-size.ts';
import { isPlaced } from './positions.ts';
import type { SceneData } from './scene-data.ts';

/** Share of the screen's smaller side that a node takes where zooming in ends. */
const NODE_SHARE = 1 / 3;
/** A disc that is larger at fit counts as this one: large discs keep nobody from a near look. */
const DISC_MAX = 4;
/** Pixels of the longer side of the whole graph where zooming out ends. */
const GRAPH_PX = 12;

/** What the ends depend on. */
export interface Zoomed {
  size: Size;
  fitScale: number;
  zoom: number;
  sizes: SizeRule;
  data: Pick<SceneData, 'order' | 'nodeSize' | 'nodeHidden'>;
  positions: { current: Float32Array };
}

/** Keeps a camera between the ends, also where an address has asked for more. */
export function endZoom(picture: Zoomed & { camera: CameraControl }): void {
  const { camera } = picture;
  camera.ends = (asked) => zoomEnds(picture, asked);
  camera.view = { ...camera.view, scale: camera.within(camera.view.scale, picture.fitScale) };
}

/**
 * The scales between which somebody who asks for one may zoom. Discs grow with zoom to the power of 0.55.
 * Zooming in ends where the smallest visible disc would take a third of the screen's smaller side, did it not
 * stop growing at 64 px: some 1,000 times as near as the fit, where steps of positions (16 bits a side) are
 * some 10 px apart. Zooming out ends where the whole graph is 12 px long. The unit of places is no matter.
 */
export function zoomEnds(picture: Zoomed, asked: number): [number, number] {
  const { size, fitScale, zoom, sizes, data, positions } = picture;
  const { order, nodeSize, nodeHidden } = data;
  const least = nodeSize?.[order?.find((i) => !nodeHidden?.[i]) ?? 0] ?? 16;
  const { floor, contrast, scale } = sizes;
  const atFit = ((floor + contrast * (least - floor)) / 4) * (scale / Math.max(1e-3, zoom) ** 0.55);
  const disc = Math.min(DISC_MAX, Math.max(SIZE_MIN, atFit));
  const high = fitScale * ((Math.min(size.w, size.h) * NODE_SHARE) / disc) ** (1 / 0.55);
  const low = fitScale / 20;
  // All places are looked at only where it matters.
  return [asked < low ? Math.min(low, GRAPH_PX / extent(positions.current)) : low, high];
}

/** The longer side of the box of all places. */
function extent(xy: Float32Array): number {
  const low = [Infinity, Infinity];
  const high = [-Infinity, -Infinity];
  xy.forEach((c, k) => {
    if (!isPlaced(c)) return;
    low[k & 1] = Math.min(low[k & 1], c);
    high[k & 1] = Math.max(high[k & 1], c);
  });
  return Math.max(high[0] - low[0], high[1] - low[1]);
}
