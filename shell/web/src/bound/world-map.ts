import type { MapPlace } from '../net/scene-parts.ts';
import type { Points } from './world-lines.ts';

/** Coast lines, borders and a graticule, as lines in the coordinates of the nodes. */

export interface WorldMap {
  coasts: Points[];
  borders: Points[];
}

interface MapFile {
  /** Steps a degree. */
  unit: number;
  coasts: number[][];
  borders: number[][];
}

/** Where maps of this projection end. */
const LATITUDE_MAX = 85.0511;
/** Degrees between the lines of the graticule. */
const STEP = 30;

function projected(latitude: number): number {
  const within = Math.max(-LATITUDE_MAX, Math.min(LATITUDE_MAX, latitude));
  return (Math.asinh(Math.tan((within * Math.PI) / 180)) * 180) / Math.PI;
}

function line(steps: number[], unit: number, place: MapPlace): Float64Array {
  const out = new Float64Array(steps.length);
  let [u, v] = [0, 0];
  for (let k = 0; k + 1 < steps.length; k += 2) {
    u += steps[k];
    v += steps[k + 1];
    out[k] = place.scale * (u / unit) + place.x;
    out[k + 1] = place.scale * projected(v / unit) + place.y;
  }
  return out;
}

/** The file of coasts and borders, placed. */
export async function loadMap(place: MapPlace): Promise<WorldMap> {
  const answer = await fetch('./bound/map.json');
  if (!answer.ok) throw new Error(`the map answers ${answer.status}`);
  const { unit, coasts, borders } = (await answer.json()) as MapFile;
  const of = (lines: number[][]): Points[] => lines.map((steps) => line(steps, unit, place));
  return { coasts: of(coasts), borders: of(borders) };
}

/** Meridians and parallels every 30 degrees. */
export function graticule(place: MapPlace): Points[] {
  const at = (lon: number, lat: number): [number, number] => [
    place.scale * lon + place.x,
    place.scale * projected(lat) + place.y,
  ];
  const lines: Points[] = [];
  for (let lon = -180; lon <= 180; lon += STEP) {
    lines.push([...at(lon, -LATITUDE_MAX), ...at(lon, LATITUDE_MAX)]);
  }
  for (let lat = -60; lat <= 60; lat += STEP) lines.push([...at(-180, lat), ...at(180, lat)]);
  return lines;
}
