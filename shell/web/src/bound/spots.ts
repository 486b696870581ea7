import type { IconLayer } from '../net/icon-frame.ts';
import type { Picture } from '../picture/picture.ts';
import { placesOn, type OnLine } from '../scene/line-curve.ts';
import { rankOf } from '../scene/near.ts';
import type { EdgeList } from '../scene/scene-data.ts';

/** Places of icons in a frame. */

export interface Spot {
  index: number;
  /** Middle on the screen, and the radius of the disc, in pixels. */
  x: number;
  y: number;
  r: number;
}

/** Radius of a disc from which its icon is shown. */
const RADIUS_MIN = 4.5;
/** Discs, and lines, with icons at most. */
const SPOTS_MAX = 4_000;
/** Side of the squares in which discs are looked up. */
const CELL = 32;
/** Radius of the plate that carries the icon of an edge. */
const EDGE_RADIUS = 8;

/** Discs that were put down so far, from the top one downwards. */
class Covered {
  private readonly cells = new Map<number, Spot[]>();

  private static key(x: number, y: number): number {
    return Math.floor(x / CELL) * 65_536 + Math.floor(y / CELL);
  }

  /** Whether a disc that lies over a place was put down before. */
  has(x: number, y: number): boolean {
    const near = this.cells.get(Covered.key(x, y)) ?? [];
    return near.some((disc) => Math.hypot(disc.x - x, disc.y - y) < disc.r);
  }

  put(disc: Spot): void {
    for (let x = disc.x - disc.r; x < disc.x + disc.r + CELL; x += CELL) {
      for (let y = disc.y - disc.r; y < disc.y + disc.r + CELL; y += CELL) {
        const key = Covered.key(x, y);
        const list = this.cells.get(key);
        if (list) list.push(disc);
        else this.cells.set(key, [disc]);
      }
    }
  }
}

/** Discs in view that have room for an icon and whose middle no other disc covers, the lowest first. */
export function discsInView(picture: Picture, layers: readonly IconLayer[]): Spot[] {
  const { order, nodeColor } = picture.data;
  const { w, h } = picture.size;
  const found: Spot[] = [];
  const covered = new Covered();
  if (!order) return found;
  for (let k = order.length - 1; k >= 0 && found.length < SPOTS_MAX; k -= 1) {
    const index = order[k];
    const r = picture.radius(index);
    if (r < RADIUS_MIN) break;
    if (nodeColor?.[4 * index + 3] === 0) continue;
    const at = picture.project(index);
    if (!at || at[0] < -r || at[1] < -r || at[0] > w + r || at[1] > h + r) continue;
    const spot = { index, x: at[0], y: at[1], r };
    const shows = layers.some((layer) => layer.shown[index] > 0);
    if (shows && !covered.has(spot.x, spot.y)) found.push(spot);
    covered.put(spot);
  }
  return found.reverse();
}

/** Places on a line as it is drawn: straight, bent, bundled, or a circle on its node; the best one first. */
export function placesOfLine(picture: Picture, edge: number, packed: number): OnLine[] {
  const { ends } = picture.data;
  const [s, d] = [ends[2 * edge], ends[2 * edge + 1]];
  if (s !== d) return placesOn(picture, edge, packed);
  const a = picture.project(s);
  if (!a) return [];
  // As the shader draws loops: a circle up and to the right of its node.
  const rank = rankOf(packed);
  const size = 4 + 0.64 * picture.radius(s) + 8 * Math.abs(rank) - (rank > 0 ? 4 : 0);
  const out = 0.6 * picture.radius(s) + 2 * size;
  return [{ x: a[0] + 0.5 * out, y: a[1] - 0.866 * out, angle: 0, length: 2 * Math.PI * size }];
}

/** Middles of the lines in view that have an icon and room for it. */
export function linesInView(
  picture: Picture,
  list: EdgeList | null,
  layers: readonly IconLayer[],
): Spot[] {
  const found: Spot[] = [];
  if (!list) return found;
  const { w, h } = picture.size;
  for (let k = 0; k < list.count && found.length < SPOTS_MAX; k += 1) {
    const edge = list.pairs[2 * k];
    if (!layers.some((layer) => layer.shown[edge] > 0)) continue;
    const [middle] = placesOfLine(picture, edge, list.pairs[2 * k + 1]);
    if (!middle || middle.x < 0 || middle.y < 0 || middle.x > w || middle.y > h) continue;
    const { ends } = picture.data;
    const discs = picture.radius(ends[2 * edge]) + picture.radius(ends[2 * edge + 1]);
    if (middle.length - discs < 3.5 * EDGE_RADIUS) continue;
    found.push({ index: edge, x: middle.x, y: middle.y, r: EDGE_RADIUS });
  }
  return found;
}
