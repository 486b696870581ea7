// The built page: at most 160 KB of JavaScript, 50 KB compressed, nothing inlined, nothing from elsewhere.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
const scripts = readdirSync(join(dist, 'assets')).filter((name) => name.endsWith('.js'));
const bytes = Buffer.concat(scripts.map((name) => readFileSync(join(dist, 'assets', name))));
const packed = gzipSync(bytes, { level: 9 }).length;
console.log(`JavaScript: ${bytes.length} bytes, ${packed} compressed`);

const html = readFileSync(join(dist, 'graph.html'), 'utf8');
const faults = [
  [bytes.length > 160_000, 'more than 160 KB of JavaScript'],
  [packed > 50_000, 'more than 50 KB of compressed JavaScript'],
  [/<script(?![^>]*\ssrc=)/.test(html), 'an inline script'],
  [/<style|\sstyle=/.test(html), 'an inline style'],
  [/(src|href)="(https?:)?\/\//.test(html), 'an address outside the server'],
  [scripts.some((name) => !/-[\w-]{8}\.js$/.test(name)), 'a script without a hash in its name'],
  [/\beval\(|new Function\(/.test(bytes.toString()), 'eval'],
];
for (const [found, what] of faults) if (found) console.error(`The page has ${what}.`);
process.exit(faults.some(([found]) => found) ? 1 : 0);
