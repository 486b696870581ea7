// Reads the examples of a client's documentation out of the installed package.

import { readFile } from 'node:fs/promises';

const RULE = /^\s*\* ?/;

/** The examples of a file's documentation comments, each with the function that it belongs to. */
function ofComments(source) {
  const found = [];
  for (const match of source.matchAll(/\/\*\*[\s\S]*?\*\//g)) {
    const rest = source.slice(match.index + match[0].length);
    const next = /^\s*export (?:function|const|class)?\s*(\{ ?)?(\w+)/.exec(rest);
    let current = null;
    for (const line of match[0].split('\n').slice(1, -1)) {
      const text = line.replace(RULE, '');
      if (/^@\w/.test(text)) {
        current = text.startsWith('@example') ? { of: next?.[2] ?? 'Client', lines: [] } : null;
        if (current) found.push(current);
      } else current?.lines.push(text);
    }
  }
  return found.map(({ of, lines }) => ({ of, text: lines.join('\n') }));
}

/** The blocks of code of a text in Markdown. */
function ofMarkdown(text) {
  const blocks = text.matchAll(/```javascript\n([\s\S]*?)```/g);
  return [...blocks].map(([, code]) => ({ of: 'README', text: code }));
}

/** All examples of the JavaScript client; what a module would import is in scope where they run. */
export async function jsExamples(folder) {
  const source = await readFile(`${folder}/src/index.js`, 'utf8');
  const readme = await readFile(`${folder}/README.md`, 'utf8');
  const plain = (text) => text.replace(/^```\w*$/gm, '').replace(/^\s*import .*$/gm, '');
  const all = [...ofComments(source), ...ofMarkdown(readme)];
  return all.map(({ of, text }) => ({ of, text: plain(text).trim() }));
}

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;

/** Whether a text is a program. */
export function parses(text) {
  try {
    new AsyncFunction('names', `with (names) { ${text} }`);
    return true;
  } catch {
    return false;
  }
}

/** Mends misprints, without which a text is no program. */
export function mended(text) {
  return text
    .replace(/\)\)\);(\s*\.subscribe)/, '))$1')
    .replace(/\);(\s*\.subscribe)/, ')$1')
    .replace(/;(\s*)\}\)(\s*\.subscribe)/, '$1)$2')
    .replace(/,?(\s*)\}\)(\s*\.subscribe)/, '$1)$2')
    .replace(/\)\s*\}\s*\}\)\);/, ') }));')
    .replaceAll('subcribe', 'subscribe');
}
