import { toScreen, type Size, type View } from '../scene/camera.ts';
import { fitView, type Fit } from '../scene/fit.ts';

/** Sizes of the discs of collapsed nodes, and the view in which all of each is seen. */

/** Share of the stage that the discs of all nodes take when everything is in view. */
export const AREA = 0.12;
/** Least radius of a disc in pixels. */
const RADIUS_MIN_PX = 11;
/** How far its second rim is from the first. */
export const RIM_PX = 4;
/** A fit is made anew until its scale changes by less than this share, at most so often. */
const STEADY = 1e-3;
const TURNS_MAX = 8;

/** Radius in pixels of a disc for `count` of so many nodes, at a zoom (1: all is in view). */
export function radiusOf(count: number, nodes: number, size: Size, zoom: number): number {
  const area = (AREA * size.w * size.h * count) / Math.max(1, nodes);
  return Math.max(RADIUS_MIN_PX, Math.sqrt(area / Math.PI)) * Math.max(1, zoom) ** 0.55;
}

/** A disc in the coordinates of the graph, which reaches so many pixels at a zoom. */
export interface Reaching {
  x: number;
  y: number;
  reach: (zoom: number) => number;
}

/**
 * The view that shows a box and all of each disc (`engine/raster/src/fit.rs` has the same). Discs reach by
 * pixels beyond their places, so the room that they take depends on the scale, which is found by turns. Zoom
 * is seen in relation to the scale of the whole picture, or to this view's own.
 */
export function fitWithDiscs(fit: Fit, discs: readonly Reaching[], whole: number | null): View {
  const { box, size, panels } = fit;
  let view = fitView(fit);
  // One place fits at any scale.
  if (discs.length === 0 || (box.maxX <= box.minX && box.maxY <= box.minY)) return view;
  const reachOf = (disc: Reaching): number => disc.reach(whole ? view.scale / whole : 1);
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    const all = { ...box };
    for (const disc of discs) {
      const far = reachOf(disc) / view.scale;
      all.minX = Math.min(all.minX, disc.x - far);
      all.maxX = Math.max(all.maxX, disc.x + far);
      all.minY = Math.min(all.minY, disc.y - far);
      all.maxY = Math.max(all.maxY, disc.y + far);
    }
    const before = view.scale;
    view = fitView({ ...fit, box: all });
    if (Math.abs(view.scale / before - 1) < STEADY) break;
  }
  const isCovered = (disc: Reaching): boolean => {
    const [x, y] = toScreen(view, size, disc.x, disc.y);
    return panels.some((panel) => {
      const dx = x - Math.max(panel.x, Math.min(x, panel.x + panel.w));
      const dy = y - Math.max(panel.y, Math.min(y, panel.y + panel.h));
      return Math.hypot(dx, dy) < reachOf(disc);
    });
  };
  // No node may then lie under a panel, so that the view is beside all of them.
  return fit.most >= 0 && discs.some(isCovered) ? fitWithDiscs({ ...fit, most: -1 }, discs, whole) : view;
}

/** Whether a disc is cut at the rim of a view. */
export function isCut({ x, y, reach }: Reaching, view: View, size: Size, zoom: number): boolean {
  const [px, py] = toScreen(view, size, x, y);
  const r = reach(zoom);
  return px < r || py < r || px > size.w - r || py > size.h - r;
}
