// The built page: at most 50 KB of compressed JavaScript at the start, 120 KB with what is loaded on demand,
// nothing inlined, nothing from elsewhere.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
const scripts = readdirSync(join(dist, 'assets')).filter((name) => name.endsWith('.js'));
const read = (name) => readFileSync(join(dist, 'assets', name));
const packed = (names) => names.reduce((sum, name) => sum + gzipSync(read(name), { level: 9 }).length, 0);
const bytes = Buffer.concat(scripts.map(read));
const html = readFileSync(join(dist, 'graph.html'), 'utf8');
// What the page itself names: its script, and what that cannot start without.
const first = packed(scripts.filter((name) => html.includes(name)));
const all = packed(scripts);
console.log(`JavaScript: ${bytes.length} bytes; compressed ${first} at the start, ${all} in all`);

const faults = [
  [first > 50_000, 'more than 50 KB of compressed JavaScript at the start'],
  [all > 120_000, 'more than 120 KB of compressed JavaScript'],
  [/<script(?![^>]*\ssrc=)/.test(html), 'an inline script'],
  [/<style|\sstyle=/.test(html), 'an inline style'],
  [/(src|href)="(https?:)?\/\//.test(html), 'an address outside the server'],
  [scripts.some((name) => !/-[\w-]{8}\.js$/.test(name)), 'a script without a hash in its name'],
  [/\beval\(|new Function\(/.test(bytes.toString()), 'eval'],
];
for (const [found, what] of faults) if (found) console.error(`The page has ${what}.`);
process.exit(faults.some(([found]) => found) ? 1 : 0);
