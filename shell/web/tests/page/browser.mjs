// Starting the browser and opening the page, shared by the page tests and by screenshots.

import { chromium } from 'playwright-core';
import { decodePng } from '../png.mjs';

const FLAGS = [
  '--no-sandbox',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  '--ignore-gpu-blocklist',
  '--force-device-scale-factor=1',
  '--force-color-profile=srgb',
  '--disable-gpu-watchdog',
];

/** How Chromium is started; `CHROMIUM` names another executable. */
export const START = { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS };

/** What WebGL and the device report: warnings to the browser, and faults to us. */
export const OF_WEBGL = /WebGL|\bGL[_ ]/;

/** How long a test waits before it takes something to hang; how far below it stays decides nothing. */
export const HANG_MS = 120_000;

/**
 * A browser: the one at the address in `BROWSER_WS` (browser-server.mjs), of which closing it closes what was
 * opened here, or one of its own.
 */
export function launch() {
  const shared = process.env.BROWSER_WS;
  return shared ? chromium.connect(shared) : chromium.launch(START);
}

/**
 * Opens the page of a dataset, or another `address` that leads there, and collects what it complains about;
 * `before` gets the page while blank, and is waited for.
 */
export async function open(browser, base, query, options = {}) {
  const { width = 1000, height = 640, wait = true, before, cookie, address, dense = 1 } = options;
  const context = await browser.newContext({ viewport: { width, height }, deviceScaleFactor: dense });
  if (cookie) await context.addCookies([cookie]);
  const page = await context.newPage();
  page.setDefaultTimeout(HANG_MS);
  await before?.(page);
  const complaints = [];
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' || OF_WEBGL.test(text)) complaints.push(text);
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.origin !== base)
      complaints.push(`request to ${url.origin}`);
  });
  page.on('dialog', (dialog) => dialog.dismiss());
  await page.goto(address ?? `${base}/graph/graph.html?${query}`);
  if (wait) await page.waitForFunction(() => window.__viewer?.ready === true);
  return { page, context, complaints };
}

/** Waits until `condition` holds, looking again and again. */
export async function until(condition) {
  while (!(await condition())) await new Promise((done) => setTimeout(done, 20));
}

/** Waits until everything that is on its way has been drawn. */
export function settle(page) {
  return page.evaluate(() => window.__viewer.settle());
}

/** Asks the server for the cards of nodes, one after another: what it had to say before, it has said then. */
export function asked(page, count) {
  return page.evaluate(async (limit) => {
    const { searchParams } = new URL(location.href);
    const address = (i) => `../viz/${searchParams.get('session')}/node/${i}?dataset=${searchParams.get('dataset')}`;
    for (let i = 0; i < limit; i += 1) await (await fetch(address(i))).json();
  }, count);
}

/** Waits until the layout has stopped and been drawn. */
export async function stopped(page) {
  await page.waitForFunction(() => window.__viewer.doc.playing === false);
  await settle(page);
}

/** What is on the screen within an element, as raw RGBA. */
export async function pixels(page, selector = '#surface') {
  const { x, y, width, height } = await page.locator(selector).boundingBox();
  const view = page.viewportSize();
  const client = await page.context().newCDPSession(page);
  const { data: text } = await client.send('Page.captureScreenshot', {
    format: 'png',
    clip: { x, y, width, height, scale: 1 },
    captureBeyondViewport: x + width > view.width || y + height > view.height,
    // Packed less, and exact all the same: most of a test's time went into packing.
    optimizeForSpeed: true,
  });
  await client.detach();
  const { w, h, data } = decodePng(Buffer.from(text, 'base64'));
  const at = (px, py) => {
    const k = 4 * (Math.round(py) * w + Math.round(px));
    return [data[k], data[k + 1], data[k + 2]];
  };
  return { w, h, data, at };
}

/** Share of pixels that are clearly not background, and the hues that they show. */
export function census({ w, h, data }) {
  let lit = 0;
  const hues = new Map();
  for (let k = 0; k < data.length; k += 4) {
    const [r, g, b] = [data[k], data[k + 1], data[k + 2]];
    const high = Math.max(r, g, b);
    const low = Math.min(r, g, b);
    if (high < 44) continue;
    lit += 1;
    if (high - low < 40) continue;
    const d = high - low;
    const hue = high === r ? ((g - b) / d + 6) % 6 : high === g ? (b - r) / d + 2 : (r - g) / d + 4;
    const bucket = Math.floor(hue * 2);
    hues.set(bucket, (hues.get(bucket) ?? 0) + 1);
  }
  return { lit: lit / (w * h), hues: [...hues.values()].filter((count) => count > 50).length };
}

/** Pixels of which some channel differs by more than `limit`. */
export function changed(a, b, limit = 0) {
  let count = 0;
  for (let k = 0; k < a.data.length; k += 4) {
    const d = Math.max(
      Math.abs(a.data[k] - b.data[k]),
      Math.abs(a.data[k + 1] - b.data[k + 1]),
      Math.abs(a.data[k + 2] - b.data[k + 2]),
    );
    if (d > limit) count += 1;
  }
  return count;
}
