import { placesOn, type Lines } from './line-curve.ts';
import { packedOf, type Bundle } from './near.ts';

/** Pixels of a line between the discs at its ends from which a number has room there. */
const FREE_PX = 36;

/** How many edges each of some lines stands for, on the line, where there is room to say so. */
export function countsOn(
  picture: Lines & { radius(index: number): number },
  lines: readonly Bundle[],
): { text: string; x: number; y: number }[] {
  return lines.flatMap(({ edge, rank, count }) => {
    const [s, d] = picture.data.ends.subarray(2 * edge, 2 * edge + 2);
    const place = placesOn(picture, edge, packedOf(rank, count)).at(0);
    if (!place || place.length - picture.radius(s) - picture.radius(d) < FREE_PX) return [];
    return [{ text: `×${count.toLocaleString('en')}`, x: place.x, y: place.y }];
  });
}
