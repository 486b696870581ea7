// Files that a page needs only where a dataset binds icons, flags or places on a map, made from packages
// into `dist/bound`: the icon font, all flags in one file, coast lines and borders, and their licences.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawings, FILE, shapes } from './flag-shapes.mjs';

const web = fileURLToPath(new URL('..', import.meta.url));
const module = (...path) => join(web, 'node_modules', ...path);
const out = join(web, 'dist', 'bound');

mkdirSync(out, { recursive: true });
copyFileSync(module('font-awesome', 'fonts', 'fontawesome-webfont.woff2'), join(out, 'icons.woff2'));

// What the server draws as well is that of its files (dev/map-lines.mjs and dev/flag-shapes.mjs make them).
const raster = join(web, '..', '..', 'engine', 'raster');
const flags = drawings();
if (shapes(flags) !== readFileSync(FILE, 'utf8')) {
  throw new Error('engine/raster/flags/flags.json is not made of the package circle-flags: run node dev/flag-shapes.mjs');
}
writeFileSync(join(out, 'flags.json'), `${JSON.stringify(flags)}\n`);
copyFileSync(join(raster, 'world', 'lines.json'), join(out, 'map.json'));
const font = readFileSync(module('font-awesome', 'fonts', 'fontawesome-webfont.ttf'));
if (!font.equals(readFileSync(join(raster, 'fonts', 'FontAwesome.ttf')))) {
  throw new Error('engine/raster/fonts/FontAwesome.ttf is not that of the package font-awesome; copy it from there');
}

const licences = [
  readFileSync(join(web, 'licences', 'font-awesome.txt'), 'utf8'),
  `The flags are those of circle-flags:\n\n${readFileSync(module('circle-flags', 'LICENSE.md'), 'utf8')}`,
  'Coast lines and borders: made with Natural Earth (https://www.naturalearthdata.com), public domain, from the ' +
    `package world-atlas:\n\n${readFileSync(module('world-atlas', 'LICENSE'), 'utf8')}`,
];
const rule = `\n\n${'='.repeat(78)}\n\n`;
writeFileSync(join(out, 'LICENCES.txt'), `${licences.map((text) => text.trim()).join(rule)}\n`);
