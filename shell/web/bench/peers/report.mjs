// Tables of what run.mjs has measured: medians over the browsers, and how many times as much as our page.
// Usage: node bench/peers/report.mjs <lines.jsonl>

import { readFileSync } from 'node:fs';

const [file] = process.argv.slice(2);
const rows = readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const { bundles, versions } = JSON.parse(readFileSync(`${file}.about.json`, 'utf8'));
const LIBRARIES = ['graphlume', 'sigma', 'cosmos', 'cytoscape'];
/** What is measured, of which phase it is, and the digits after the point. */
const CELLS = [
  ['first frame, s', 'first frame', (r) => r.firstMs / 1000],
  ['  of it after the last byte of the graph, s', 'first frame', (r) => r.firstAfterDataMs / 1000],
  ['  CPU, s', 'first frame', (r) => r.firstCpuMs / 1000],
  ['new positions to whole picture, s', 'new positions', (r) => r.updateMs / 1000],
  ['  CPU, s', 'new positions', (r) => r.updateCpuMs / 1000],
  ['frame of a pan, s', 'pan', (r) => r.panMs / 1000],
  ['  CPU, s', 'pan', (r) => r.panCpuMs / 1000],
  ['last move to whole picture, s', 'pan', (r) => (r.panWholeMs ?? r.panMs) / 1000],
  ['JavaScript heap, MB', 'memory', (r) => r.heapMb + r.buffersMb],
  ['renderer process, MB', 'memory', (r) => r.renderer],
  ['  at its peak, MB', 'memory', (r) => r.rendererPeak],
  ['GPU process, MB', 'memory', (r) => r.gpu],
];

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
const text = (v) => (v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2));

/** The median of a cell; null where more than half of the browsers were ended before it was done. */
function valueOf(list, phase, of) {
  const done = list.filter(({ ended }) => !ended.includes('first frame') && !ended.includes(phase));
  return 2 * done.length < list.length || done.length === 0 ? null : median(done.map(of));
}

console.log(`Versions: ${Object.entries(versions).map(([name, v]) => `${name} ${v}`).join(', ')}.\n`);
console.log('| compressed JavaScript, KB | start | all |\n|---|---:|---:|');
for (const name of LIBRARIES) {
  const { start, all } = bundles[name];
  console.log(`| ${name} | ${(start / 1000).toFixed(1)} | ${(all / 1000).toFixed(1)} |`);
}
for (const size of [...new Set(rows.map((r) => r.size))]) {
  const own = rows.filter((r) => r.size === size);
  const browsers = LIBRARIES.map((name) => own.filter((r) => r.library === name).length);
  console.log(`\n### ${size}: ${browsers.join(', ')} browsers\n`);
  console.log(`| | ${LIBRARIES.join(' | ')} |\n|---|${'---:|'.repeat(LIBRARIES.length)}`);
  for (const [title, phase, of] of CELLS) {
    const values = LIBRARIES.map((name) => valueOf(own.filter((r) => r.library === name), phase, of));
    const cells = values.map((v, k) => {
      if (!own.some((r) => r.library === LIBRARIES[k])) return 'not run';
      if (v !== null && !Number.isFinite(v)) return 'unknown';
      if (v === null) return title.includes(' s') ? 'ended at 60 s' : '-';
      const times = k > 0 && values[0] ? ` (${(v / values[0]).toFixed(1)} ×)` : '';
      return text(v) + times;
    });
    console.log(`| ${title.replace(/^ +/, '&nbsp;&nbsp;')} | ${cells.join(' | ')} |`);
  }
}
