// Coast lines and borders of a TopoJSON file of countries, as lines in degrees: makes
// engine/raster/world/lines.json, from which the server draws and which the page's build copies, of the
// package world-atlas. Only for another version of it.
// Usage: node dev/map-lines.mjs

import { readFileSync, writeFileSync } from 'node:fs';

/** Hundredths of a degree. */
const UNIT = 100;

/** Adds up the steps of an arc. */
function degrees({ arcs, transform }, at) {
  const { scale, translate } = transform;
  let [x, y] = [0, 0];
  return arcs[at].map(([dx, dy]) => {
    x += dx;
    y += dy;
    return [x * scale[0] + translate[0], y * scale[1] + translate[1]];
  });
}

/** How often countries use each arc: once a coast, twice a border. */
function uses(world) {
  const count = new Uint8Array(world.arcs.length);
  const walk = (part) => {
    if (Array.isArray(part)) part.forEach(walk);
    else count[part < 0 ? ~part : part] += 1;
  };
  for (const { arcs } of world.objects.countries.geometries) walk(arcs ?? []);
  return count;
}

/** Cuts a line where the file closes countries along the date line and along the south pole. */
function cut(line) {
  const parts = [[]];
  const edge = ([x]) => Math.abs(x) > 179.99;
  line.forEach((at, k) => {
    const before = line[k - 1];
    const closing = before && ((edge(before) && edge(at)) || (before[1] < -85 && at[1] < -85));
    // From one side of the map to the other.
    const around = before && Math.abs(before[0] - at[0]) > 180;
    if (closing || around) parts.push([]);
    parts.at(-1).push(at);
  });
  return parts.filter((part) => part.length > 1);
}

/** Steps in whole units from point to point, beginning at 0, 0. */
function steps(line) {
  let [x, y] = [0, 0];
  return line.flatMap((at) => {
    const [u, v] = at.map((c) => Math.round(c * UNIT));
    const step = [u - x, v - y];
    [x, y] = [u, v];
    return step;
  });
}

/** `{unit, coasts, borders}`: lists of lines, each of steps in hundredths of a degree. */
function lines(world) {
  const count = uses(world);
  const of = (times) =>
    [...count.keys()]
      .filter((at) => (times === 1 ? count[at] === 1 : count[at] > 1))
      .flatMap((at) => cut(degrees(world, at)))
      .map(steps);
  return { unit: UNIT, coasts: of(1), borders: of(2) };
}

const atlas = new URL('../node_modules/world-atlas/countries-110m.json', import.meta.url);
const world = JSON.parse(readFileSync(atlas, 'utf8'));
const file = new URL('../../../engine/raster/world/lines.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(lines(world))}\n`);
