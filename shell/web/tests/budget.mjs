// The built page: the compressed JavaScript of each entry at its start, and of each chunk that is loaded on
// demand; nothing inlined, nothing from elsewhere.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

/** What a page may load before its first picture. */
const START_MAX = 50_000;
/** What is loaded when first needed. */
const CHUNK_MAX = 12_000;
/** Chunks that were larger when that limit came and grow no more, but for hashes of others in them. */
const LARGER = { bound: 12_240, more: 12_630 };

const dist = fileURLToPath(new URL('../dist', import.meta.url));
const scripts = readdirSync(join(dist, 'assets')).filter((name) => name.endsWith('.js'));
const read = (name) => readFileSync(join(dist, 'assets', name));
const packed = new Map(scripts.map((name) => [name, gzipSync(read(name), { level: 9 }).length]));
const sum = (names) => names.reduce((total, name) => total + packed.get(name), 0);
const bytes = Buffer.concat(scripts.map(read));
/** Pages, each with the scripts that it names: its own, and those that this one cannot start without. */
const entries = readdirSync(dist)
  .filter((name) => name.endsWith('.html'))
  .map((name) => {
    const html = readFileSync(join(dist, name), 'utf8');
    return { name, html, start: scripts.filter((script) => html.includes(script)) };
  });
const early = new Set(entries.flatMap(({ start }) => start));

const faults = [
  [scripts.some((name) => !/-[\w-]{8}\.js$/.test(name)), 'a script without a hash in its name'],
  [/\beval\(|new Function\(/.test(bytes.toString()), 'eval'],
];
for (const { name, html, start } of entries) {
  const size = sum(start);
  console.log(`${name}: ${size} of ${START_MAX} compressed bytes at the start`);
  faults.push(
    [size > START_MAX, `${size} compressed bytes at the start of ${name}; at most ${START_MAX} are allowed`],
    [/<script(?![^>]*\ssrc=)/.test(html), `an inline script in ${name}`],
    [/<style|\sstyle=/.test(html), `an inline style in ${name}`],
    [/(src|href)="(https?:)?\/\//.test(html), `an address outside the server in ${name}`],
  );
}
for (const script of scripts.filter((name) => !early.has(name))) {
  const name = script.slice(0, -'-12345678.js'.length);
  const most = LARGER[name] ?? CHUNK_MAX;
  const size = packed.get(script);
  console.log(`${name}: ${size} of ${most}`);
  faults.push([size > most, `a chunk ${name} of ${size} compressed bytes; at most ${most} are allowed`]);
}
console.log(`all: ${sum(scripts)} compressed bytes, ${bytes.length} bytes`);
for (const [found, what] of faults) if (found) console.error(`The page has ${what}.`);
process.exit(faults.some(([found]) => found) ? 1 : 0);
