import type { Box } from '../scene/camera.ts';

/**
 * The box around the middle of the positions: on each axis it leaves out as many at both ends, and has the
 * given share of them. Null when no position is finite.
 */
export function middleBox(xy: Float32Array, origin: { x: number; y: number }, share: number): Box | null {
  const ends = [0, 1].map((axis) => {
    const values = xy.filter((value, index) => index % 2 === axis && Math.abs(value) < 1e30).sort();
    const out = ((1 - share) / 2) * (values.length - 1);
    return [values[Math.floor(out)], values[values.length - 1 - Math.floor(out)]];
  });
  const [[minX, maxX], [minY, maxY]] = ends;
  if (minX === undefined || minY === undefined) return null;
  return { minX: minX + origin.x, maxX: maxX + origin.x, minY: minY + origin.y, maxY: maxY + origin.y };
}
