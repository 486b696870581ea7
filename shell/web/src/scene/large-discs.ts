import type { Size } from './camera.ts';
import { DISC_MIN, type Disc } from './labels.ts';
import { diameterOf, type SizeRule } from './node-size.ts';
import type { SceneData } from './scene-data.ts';

/** Discs in view that are large enough to keep names of others off them. */
export function largeDiscs(
  { order, nodeSize, nodeColor }: SceneData,
  sizes: SizeRule,
  size: Size,
  project: (index: number) => [number, number] | null,
): Disc[] {
  const found: Disc[] = [];
  if (!order || !nodeSize) return found;
  for (let k = order.length - 1; k >= 0; k -= 1) {
    const index = order[k];
    const r = diameterOf(nodeSize[index], sizes) / 2;
    if (r < DISC_MIN) break;
    const place = nodeColor?.[4 * index + 3] === 0 ? null : project(index);
    if (!place) continue;
    const [x, y] = place;
    if (x > -r && y > -r && x < size.w + r && y < size.h + r) found.push({ index, x, y, r });
  }
  return found;
}
