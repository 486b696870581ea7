// Cost of a frame: CPU time of Chromium's GPU process and of the page's renderer while the picture is
// panned, for each frame that was painted. On a machine without a GPU the GPU process draws in software, so
// this is the cost of the picture itself. Times of the wall clock say nothing on a shared machine.
// Usage: node dev/frame-cost.mjs <address of a graph>… (Linux: it reads /proc).

import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { START, open, settle, stopped } from '../tests/page/browser.mjs';

/** Ticks of the clock in which Linux counts CPU time, a second. */
const TICKS_PER_S = 100;
export const STAGE = { width: 1440, height: 900 };

/** Process ids with their parents and command lines. */
function processes() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        // The name in brackets may hold spaces.
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        const ticks = Number(fields[11]) + Number(fields[12]);
        return [{ pid: Number(pid), parent: Number(fields[1]), command, ticks }];
      } catch {
        return []; // It has ended since the folder was listed.
      }
    });
}

/** The processes of this program's browsers that draw: the one of the GPU, and those of pages. */
export function browserProcesses() {
  const all = processes();
  const mine = new Set([process.pid]);
  for (let grown = 0; grown !== mine.size;) {
    grown = mine.size;
    for (const { pid, parent } of all) if (mine.has(parent)) mine.add(pid);
  }
  return all
    .filter(({ pid }) => mine.has(pid))
    .flatMap(({ pid, command, ticks }) => {
      const ms = (1000 * ticks) / TICKS_PER_S;
      if (command.includes('--type=gpu-process')) return [{ pid, ms, kind: 'gpu' }];
      return command.includes('--type=renderer') ? [{ pid, ms, kind: 'renderer' }] : [];
    });
}

/** CPU milliseconds that this program's browsers have used so far, by kind of process. */
export function browserMs() {
  const sum = { gpu: 0, renderer: 0 };
  for (const { kind, ms } of browserProcesses()) sum[kind] += ms;
  return sum;
}

/** Pans the picture to and fro with the mouse; answers what a painted frame cost in CPU milliseconds. */
export async function panCost(page, steps = 120) {
  const box = await page.locator('#surface').boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + 8];
  const frames = () => page.evaluate(() => window.__viewer.frame);
  const painted = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  await settle(page);
  await page.mouse.move(x, y);
  await page.mouse.down();
  // The first moves are not counted: programs are built and tables uploaded there.
  const move = async (k) => {
    await page.mouse.move(x + 160 * Math.sin(k / 8), y + 3 * Math.sin(k / 3));
    await painted();
  };
  for (let k = 1; k <= 20; k += 1) await move(k);
  const [before, first] = [browserMs(), await frames()];
  for (let k = 21; k <= 20 + steps; k += 1) await move(k);
  const [after, last] = [browserMs(), await frames()];
  await page.mouse.up();
  await settle(page);
  const count = Math.max(1, last - first);
  return {
    frames: last - first,
    gpu: (after.gpu - before.gpu) / count,
    renderer: (after.renderer - before.renderer) / count,
  };
}

/** Opens an address of a page as the tests do. */
export async function openAddress(browser, address, options = STAGE) {
  const { page, context } = await open(browser, new URL(address).origin, '', { ...options, address });
  await stopped(page);
  return { page, context };
}

async function main(addresses) {
  const browser = await chromium.launch(START);
  for (const address of addresses) {
    const { page, context } = await openAddress(browser, address);
    const { nodes, edges } = await page.evaluate(() => window.__viewer.counts);
    const { frames, gpu, renderer } = await panCost(page);
    const sum = (gpu + renderer).toFixed(0);
    console.log(
      `${nodes} nodes, ${edges} edges: ${sum} CPU-ms a frame (${gpu.toFixed(0)} in the GPU process,`,
      `${renderer.toFixed(0)} in the renderer; ${frames} frames) ${address}`,
    );
    await context.close();
  }
  await browser.close();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
