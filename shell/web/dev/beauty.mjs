// Beauty of pictures in figures: for each address of a graph a line of a table, and 1 as the exit
// code when a bar is missed. What the page knows it tells (window.__viewer); every figure is computed here.
// Usage: node dev/beauty.mjs <address of a graph>… ; BARS='{"png":1e9}' sets bars anew by name.
//        node dev/beauty.mjs <gallery.json of gallery.py> <account> <password> [name…]
//
//   nodes     in view
//   names     shown: 40 or more where 40 nodes are in view, unless no node without a name has room for one
//   covered   names that lie on a disc of 5 px or more that is not their own
//   unnamed   of the 20 largest nodes in view, those without a name that have room at one of eight places
//   overlap   nodes whose discs overlap that of another, in percent
//   filled    box of the nodes between the 5th and 95th percentile, as part of the stage, in percent
//   frame     CPU-ms a frame while panned (frame-cost.mjs)
//   png       the saved picture of twice the resolution, in KB

import { stat } from 'node:fs/promises';
import { chromium } from 'playwright-core';
import { START, settle } from '../tests/page/browser.mjs';
import { STAGE, openAddress, panCost } from './frame-cost.mjs';
import { addressOf, galleryOf } from './gallery-list.mjs';

const OWN = JSON.parse(process.env.BARS ?? '{}');
const BARS = { names: 40, covered: 0, unnamed: 0, frame: 80, png: 600, ...OWN };
/** Graphs with more nodes than this have no bar for their file: there is more in it than names and discs. */
const PNG_NODES = 100;
const DISC_PX = 5;
const LARGEST = 20;

/** What the page says of its nodes and names, within the stage. */
function told(page) {
  return page.evaluate(() => {
    const v = window.__viewer;
    const { w, h } = v.doc.size;
    const nodes = [];
    for (let i = 0; i < v.counts.nodes; i += 1) {
      const at = v.project(i);
      if (at && at[0] >= 0 && at[1] >= 0 && at[0] <= w && at[1] <= h) {
        nodes.push({ i, x: at[0], y: at[1], r: v.radius(i) });
      }
    }
    nodes.sort((a, b) => b.r - a.r || a.i - b.i);
    return { w, h, nodes, labels: v.labels, panels: v.obstacles };
  });
}

/** Texts and widths of the names that some nodes would have. */
function wouldBe(page, indices) {
  return page.evaluate((list) => list.map((i) => window.__viewer.nameOf(i)), indices);
}

const touches = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
const onDisc = (box, d) => {
  const dx = d.x - Math.max(box.x, Math.min(d.x, box.x + box.w));
  const dy = d.y - Math.max(box.y, Math.min(d.y, box.y + box.h));
  return Math.hypot(dx, dy) < d.r;
};
/** Boxes of the letters of the names shown: their size without the room above and below. */
const boxOf = (l) => ({ x: l.x, y: l.y - l.h / 2, w: l.w, h: l.h });

/** Eight boxes around a disc, a text's usual distance away from it. */
function around({ x, y, r }, { w, h }) {
  const line = 1.15 * h;
  const [near, far] = [r + 2, r + 4 + 0.15 * h];
  const slant = near / Math.SQRT2;
  const at = (left, middle) => ({ x: left, y: middle - line / 2, w, h: line });
  return [
    at(x + far, y),
    at(x - far - w, y),
    at(x - w / 2, y - near - line / 2),
    at(x - w / 2, y + near + line / 2),
    at(x + slant, y - slant - line / 2),
    at(x + slant, y + slant + line / 2),
    at(x - slant - w, y - slant - line / 2),
    at(x - slant - w, y + slant + line / 2),
  ];
}

/** Whether a name of this size has room beside its node; names keep three pixels from others and panels. */
function hasRoom(node, name, { w, h, labels, panels, discs }) {
  const taken = [...labels.map((l) => grown(boxOf({ ...l, h: 1.15 * l.h }), 3)), ...panels];
  return around(node, name).some((box) => {
    const wide = grown(box, 3);
    if (wide.x < 0 || wide.y < 0 || wide.x + wide.w > w || wide.y + wide.h > h) return false;
    return !taken.some((o) => touches(wide, o)) && !discs.some((d) => d.i !== node.i && onDisc(box, d));
  });
}

const grown = (b, by) => ({ x: b.x - by, y: b.y - by, w: b.w + 2 * by, h: b.h + 2 * by });

/** Nodes of which the disc overlaps another's, found by a grid as wide as the largest disc. */
function overlapping(nodes) {
  const cell = Math.max(1, 2 * nodes.reduce((most, n) => Math.max(most, n.r), 0));
  const cells = new Map();
  const key = (x, y) => `${Math.floor(x / cell)} ${Math.floor(y / cell)}`;
  for (const n of nodes) cells.set(key(n.x, n.y), [...(cells.get(key(n.x, n.y)) ?? []), n]);
  const steps = [-cell, 0, cell];
  return nodes.filter((n) =>
    steps.some((dx) =>
      steps.some((dy) =>
        (cells.get(key(n.x + dx, n.y + dy)) ?? []).some(
          (o) => o.i !== n.i && Math.hypot(o.x - n.x, o.y - n.y) < o.r + n.r,
        ),
      ),
    ),
  ).length;
}

function filled({ nodes, w, h }) {
  const span = (values) => {
    const sorted = values.sort((a, b) => a - b);
    return sorted[Math.floor(0.95 * (sorted.length - 1))] - sorted[Math.ceil(0.05 * (sorted.length - 1))];
  };
  return (span(nodes.map((n) => n.x)) * span(nodes.map((n) => n.y))) / (w * h);
}

/** Size of the picture as the page saves it, in KB. */
async function savedKb(page) {
  await page.click('#export');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#export-save')]);
  return (await stat(await download.path())).size / 1000;
}

/** The figures of one graph at rest, as it is opened. */
export async function figures(page) {
  await settle(page);
  const seen = await told(page);
  const { nodes, labels } = seen;
  const discs = nodes.filter((n) => n.r >= DISC_PX);
  const named = new Set(labels.map((l) => l.index));
  const covered = labels.filter((l) => discs.some((d) => d.i !== l.index && onDisc(boxOf(l), d))).length;
  const bare = nodes.filter((n) => !named.has(n.i));
  const names = await wouldBe(page, bare.map((n) => n.i));
  const free = bare.filter((n, k) => names[k] && hasRoom(n, names[k], { ...seen, discs }));
  // Of nodes of one size those with names count first: any of them may be the twentieth.
  const bySize = [...nodes].sort((a, b) => b.r - a.r || Number(named.has(b.i)) - Number(named.has(a.i)));
  const largest = new Set(bySize.slice(0, LARGEST).map((n) => n.i));
  return {
    nodes: nodes.length,
    names: labels.length,
    room: free.length,
    covered,
    unnamed: free.filter((n) => largest.has(n.i)).length,
    overlap: (100 * overlapping(nodes)) / Math.max(1, nodes.length),
    filled: 100 * filled(seen),
  };
}

/** Which bars the figures of a graph miss. */
export function missed(f, bars = BARS) {
  const faults = [];
  if (f.nodes >= bars.names && f.names < bars.names && f.room > 0) faults.push('names');
  if (f.covered > bars.covered) faults.push('covered');
  if (f.unnamed > bars.unnamed) faults.push('unnamed');
  if (f.frame > bars.frame) faults.push('frame');
  if (f.nodes <= PNG_NODES && f.png > bars.png) faults.push('png');
  return faults;
}

/** What to look at: addresses as they are, or the graphs of a gallery. */
async function asked([first, ...rest]) {
  if (!first?.endsWith('.json')) return { addresses: [first, ...rest].filter(Boolean), headers: {} };
  const [account, password, ...names] = rest;
  const { graphs, headers } = await galleryOf(first, account, password);
  const chosen = graphs.filter(({ name }) => names.length === 0 || names.includes(name));
  // Of nodes and their names: from afar communities would stand in their place.
  const nodes = { superGraph: 'false' };
  return { addresses: chosen.map((graph) => addressOf(graph, nodes).href), headers };
}

async function main(words) {
  const { addresses, headers } = await asked(words);
  const browser = await chromium.launch(START);
  const options = { ...STAGE, before: (page) => page.setExtraHTTPHeaders(headers) };
  const columns = ['nodes', 'names', 'covered', 'unnamed', 'overlap', 'filled', 'frame', 'png'];
  console.log([...columns.map((name) => name.padStart(8)), ' missed'].join(''));
  let faults = 0;
  for (const address of addresses) {
    const { page, context } = await openAddress(browser, address, options);
    const f = await figures(page);
    const { gpu, renderer } = await panCost(page, 60);
    Object.assign(f, { frame: gpu + renderer, png: await savedKb(page) });
    const misses = missed(f);
    faults += misses.length;
    const title = await page.title();
    const cells = columns.map((name) => f[name].toFixed(0).padStart(8));
    console.log(`${cells.join('')} ${misses.join(', ') || '-'}  ${title}`);
    await context.close();
  }
  await browser.close();
  process.exit(faults === 0 ? 0 : 1);
}

if (process.argv[1]?.endsWith('beauty.mjs')) await main(process.argv.slice(2));
