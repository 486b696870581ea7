// House rules of the page's sources: length of files and lines, and words that the compiler lets pass.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const LINES_MAX = 500;
const COLUMNS_MAX = 110;
const FORBIDDEN = [
  [/\bas any\b|: any[;,)\]=]|<any>/, '`any`'],
  [/@ts-(ignore|nocheck)/, 'a silenced compiler'],
  [/\beval\(|new Function\(|innerHTML|dangerouslySet/, 'code or markup made of text'],
  [/console\.(log|debug)\(|\bdebugger\b/, 'a leftover of debugging'],
  [/\bvar\s/, '`var`'],
  [/[^=!]==[^=]|!=[^=]/, 'a loose comparison'],
];
const complaints = [];

for (const folder of ['src', 'tests', 'dev']) {
  for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.(ts|tsx|mjs|css)$/.test(entry.name)) continue;
    // Made by a program.
    if (entry.name.endsWith('.samples.ts') || entry.name === 'page-messages.ts') continue;
    const path = join(entry.parentPath ?? entry.path, entry.name);
    const lines = readFileSync(path, 'utf8').split('\n');
    if (lines.length > LINES_MAX + 1) complaints.push(`${path}: ${lines.length - 1} lines`);
    // Style sheets keep one rule a line.
    if (entry.name.endsWith('.css')) continue;
    lines.forEach((line, at) => {
      const isCode = folder === 'src' && !entry.name.endsWith('shaders.ts');
      const words = isCode ? FORBIDDEN : [];
      for (const [word, what] of words) {
        if (word.test(line)) complaints.push(`${path}:${at + 1}: ${what}`);
      }
      // A long literal cannot be broken.
      if (/(["'`])(?:(?!\1).){70,}\1/.test(line)) return;
      if (line.length > COLUMNS_MAX) complaints.push(`${path}:${at + 1}: ${line.length} columns`);
    });
  }
}
for (const complaint of complaints) console.error(complaint);
process.exit(complaints.length === 0 ? 0 : 1);
