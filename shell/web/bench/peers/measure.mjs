// One library at one size in a fresh browser: first frame, new positions of all nodes, a pan, memory.

import { readFileSync, writeFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { browserProcesses, STAGE } from '../../dev/frame-cost.mjs';
import { START } from '../../tests/page/browser.mjs';
import { decodePng } from '../../tests/png.mjs';
import { turned } from './graph.mjs';
import { instrument } from './instrument.mjs';
import { FRAMES_ARGUMENT, prepareFrames } from './ours.mjs';

/** What takes longer is ended and counts as this long. */
const LIMIT_MS = 60_000;
const UPDATES = 3;
const STEPS = 5;
const STEP_PX = 20;
/** No drawing for this long: the picture is whole. */
const QUIET_MS = 1500;

class Ended extends Error {}

function limited(promise, what) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Ended(what)), LIMIT_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
/** Processes of browsers before, which may take a while to end. */
let before = new Set();
const processes = () => browserProcesses().filter(({ pid }) => !before.has(pid));
/** CPU milliseconds of the browser that is measured: the page's process and that of the GPU. */
const cpu = () => processes().reduce((sum, { ms }) => sum + ms, 0);

/** In the page: when the first frame after `since` that drew all was finished. */
async function wholeFrame([since, elements, quiet]) {
  const { frames } = window.__bench;
  const ours = Boolean(window.__viewer);
  const drawn = (f) => f.lines + f.points + f.instances + f.triangles;
  for (;;) {
    if (!ours) {
      const whole = frames.find((f) => f.start >= since && drawn(f) >= elements);
      if (whole) return { end: whole.end, frames: 1, lines: 0 };
    } else {
      await window.__viewer.settle();
      // The page draws edges in pieces, and names after them: what counts is the last piece of the edges.
      const inked = frames.filter((f) => f.start >= since && (f.lines > 0 || f.triangles > 1000));
      const last = inked.at(-1);
      if (last && performance.now() - last.end > quiet) {
        const lines = inked.reduce((sum, f) => sum + f.lines, 0);
        return { end: last.end, frames: inked.length, lines };
      }
    }
    await new Promise((done) => setTimeout(done, 5));
  }
}

/** Megabytes that each kind of process has for itself and its part of what is shared; the most it had. */
function memory() {
  const sum = { gpu: 0, renderer: 0, rendererPeak: 0 };
  for (const { pid, kind } of processes()) {
    const field = (file, name) => {
      const text = readFileSync(`/proc/${pid}/${file}`, 'utf8');
      const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text);
      return Number(found?.[1] ?? 0) / 1024;
    };
    sum[kind] += field('smaps_rollup', 'Pss');
    if (kind === 'renderer') sum.rendererPeak = Math.max(sum.rendererPeak, field('status', 'VmHWM'));
  }
  return sum;
}

/** Shares of pixels that are not background: of the stage, and of its middle, which only edges cross. */
function inked(png) {
  const { w, h, data } = decodePng(png);
  const lit = (x0, x1, y0, y1) => {
    let count = 0;
    for (let y = y0; y < y1; y += 1) {
      for (let x = x0; x < x1; x += 1) {
        const k = 4 * (y * w + x);
        // The background of our page goes up to 30.
        if (Math.max(data[k], data[k + 1], data[k + 2]) > 38) count += 1;
      }
    }
    return count / ((x1 - x0) * (y1 - y0));
  };
  const [cx, cy] = [Math.round(w / 2), Math.round(h / 2)];
  return { all: lit(0, w, 48, h), middle: lit(cx - 60, cx + 60, cy - 60, cy + 60) };
}

async function firstFrame({ page, address, elements, library }) {
  const spent = cpu();
  await page.goto(address, { waitUntil: 'commit' });
  const ours = library === 'graphlume';
  const isReady = (own) => {
    if (!own) return Boolean(window.peer?.update);
    const { edges = 0, edgesLoaded } = window.__viewer?.counts ?? {};
    return edges > 0 && edges === edgesLoaded;
  };
  await page.waitForFunction(isReady, ours, { timeout: 0 });
  const { end, lines } = await page.evaluate(wholeFrame, [0, elements, QUIET_MS]);
  // When the last byte of the graph had come: what the server and the network did is before it.
  const arrived = await page.evaluate(() => {
    const of = (entries) => entries.filter((e) => /edges\.bin|\.bin$/.test(new URL(e.name).pathname));
    return Math.max(...of(performance.getEntriesByType('resource')).map((e) => e.responseEnd));
  });
  return { firstMs: end, firstAfterDataMs: end - arrived, firstCpuMs: cpu() - spent, edgesDrawn: lines };
}

/** One update of all positions: from its arrival to the end of the frame that shows all of it, in ms. */
async function update({ page, library, graph, elements }, k) {
  const ours = library === 'graphlume';
  if (!ours) {
    const bytes = Buffer.from(turned(graph.xy, k + 1).buffer).toString('base64');
    await page.evaluate((text) => {
      const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
      window.__bench.next = new Float32Array(raw.buffer);
    }, bytes);
  }
  const spent = cpu();
  const since = await page.evaluate((own) => {
    const { sockets, ready, next } = window.__bench;
    const now = performance.now();
    if (own) sockets.at(-1).dispatchEvent(new MessageEvent('message', { data: ready.shift() }));
    else window.peer.update(next);
    return now;
  }, ours);
  const { end } = await page.evaluate(wholeFrame, [since, elements, ours ? 400 : 0]);
  return { ms: end - since, cpuMs: cpu() - spent };
}

async function updates(run) {
  if (run.library === 'graphlume') await run.page.evaluate(prepareFrames, FRAMES_ARGUMENT(UPDATES + 1));
  const took = [];
  const start = Date.now();
  for (let k = 0; k <= UPDATES; k += 1) {
    // Who is slow does it less often, at least once.
    if (Date.now() - start > LIMIT_MS) break;
    took.push(await limited(update(run, k), 'new positions'));
  }
  // The first is not counted where there are others: buffers get their size there.
  const counted = took.length > 1 ? took.slice(1) : took;
  const all = (key) => median(counted.map((one) => one[key]));
  return { updateMs: all('ms'), updateCpuMs: all('cpuMs'), updates: counted.length };
}

/** In the page: how long after a move of the mouse the frame that shows it was finished. */
async function movedFrame([count, all, own]) {
  const { frames, moves } = window.__bench;
  const drawn = (f) => f.lines + f.points + f.instances + f.triangles;
  for (;;) {
    const at = moves[count];
    const frame = at && frames.find((f) => f.start >= at && (own || drawn(f) >= all));
    if (frame) return frame.end - at;
    await new Promise((done) => setTimeout(done, 1));
  }
}

async function pan({ page, library, elements }) {
  // In a corner, where nothing is drawn.
  const [x, y] = [STAGE.width - 140, 100];
  const ours = library === 'graphlume';
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x - 5, y);
  const took = [];
  const [spent, start] = [cpu(), Date.now()];
  for (let k = 1; k <= STEPS && Date.now() - start < LIMIT_MS; k += 1) {
    const known = await page.evaluate(() => window.__bench.moves.length);
    await page.mouse.move(x - 5 - k * STEP_PX, y);
    took.push(await limited(page.evaluate(movedFrame, [known, elements, ours]), 'pan'));
  }
  const found = { panMs: median(took), panCpuMs: (cpu() - spent) / took.length, steps: took.length };
  const last = await page.evaluate(() => window.__bench.moves.at(-1));
  await page.mouse.up();
  if (ours) {
    const { end } = await limited(page.evaluate(wholeFrame, [last, elements, QUIET_MS]), 'pan');
    found.panWholeMs = end - last;
  }
  return found;
}

/** The figures of one library; phases that take 60 s are named in `ended`, and their figures are missing. */
export async function measure({ library, address, counts, graph, headers, shot }) {
  before = new Set(browserProcesses().map(({ pid }) => pid));
  const browser = await chromium.launch(START);
  const found = { ended: [] };
  try {
    const context = await browser.newContext({ viewport: STAGE, reducedMotion: 'reduce' });
    const page = await context.newPage();
    const faults = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('crash', () => faults.push('the page crashed'));
    page.setDefaultTimeout(0);
    if (headers && library === 'graphlume') await page.setExtraHTTPHeaders(headers);
    await page.addInitScript(instrument);
    const run = { page, address, library, graph, elements: counts.nodes + counts.edges };
    const client = await context.newCDPSession(page);
    const phases = {
      'first frame': () => firstFrame(run),
      memory: async () => {
        await client.send('HeapProfiler.collectGarbage');
        const { usedSize, backingStorageSize } = await client.send('Runtime.getHeapUsage');
        const png = await page.screenshot({ timeout: 0 });
        if (shot) writeFileSync(shot, png);
        const heap = { heapMb: usedSize / 2 ** 20, buffersMb: (backingStorageSize ?? 0) / 2 ** 20 };
        return { ...heap, ...memory(), ink: inked(png) };
      },
      'new positions': () => updates(run),
      pan: () => pan(run),
    };
    for (const [name, phase] of Object.entries(phases)) {
      try {
        const own = name === 'new positions' || name === 'pan';
        Object.assign(found, await (own ? phase() : limited(phase(), name)));
      } catch (error) {
        found.ended.push(name);
        if (!(error instanceof Ended)) found.error = String(error).slice(0, 300);
        // Without a picture there is nothing else to measure.
        if (name === 'first frame') break;
      }
    }
    if (faults.length > 0) found.faults = faults.slice(0, 3);
  } finally {
    // A page that hangs is not asked.
    await Promise.race([browser.close(), new Promise((done) => setTimeout(done, 5000))]);
  }
  return found;
}
