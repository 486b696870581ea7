// Starting the browser and opening the page, shared by the page tests and by screenshots.

import { chromium } from 'playwright-core';

const FLAGS = [
  '--no-sandbox',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  '--ignore-gpu-blocklist',
  '--force-device-scale-factor=1',
  '--force-color-profile=srgb',
  '--disable-gpu-watchdog',
];

/** Starts Chromium; `CHROMIUM` names another executable. */
export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
}

/**
 * Opens the page of a dataset, or another `address` that leads there, and collects what it complains about;
 * `before` gets the page while blank.
 */
export async function open(browser, base, query, options = {}) {
  const { width = 1000, height = 640, wait = true, before, cookie, address } = options;
  const context = await browser.newContext({ viewport: { width, height } });
  if (cookie) await context.addCookies([cookie]);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  before?.(page);
  const complaints = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.origin !== base)
      complaints.push(`request to ${url.origin}`);
  });
  page.on('dialog', (dialog) => dialog.dismiss());
  await page.goto(address ?? `${base}/graph/graph.html?${query}`);
  if (wait) await page.waitForFunction(() => window.__viewer?.ready === true, null, { timeout: 60_000 });
  return { page, context, complaints };
}

/** Waits until everything that is on its way has been drawn. */
export function settle(page) {
  return page.evaluate(() => window.__viewer.settle());
}

/** Waits until the layout has stopped and been drawn. */
export async function stopped(page) {
  await page.waitForFunction(() => window.__viewer.doc.playing === false, null, { timeout: 60_000 });
  await settle(page);
}

/** The screenshot as raw RGBA, decoded by the browser itself. */
export async function pixels(page, selector = '#surface') {
  const png = await page.locator(selector).screenshot();
  return decode(page, png);
}

async function decode(page, png) {
  const { w, h, text } = await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const c = canvas.getContext('2d');
    c.drawImage(bitmap, 0, 0);
    const { data } = c.getImageData(0, 0, bitmap.width, bitmap.height);
    let out = '';
    for (let at = 0; at < data.length; at += 32_768) {
      out += String.fromCharCode(...data.subarray(at, at + 32_768));
    }
    return { w: bitmap.width, h: bitmap.height, text: btoa(out) };
  }, png.toString('base64'));
  const data = Buffer.from(text, 'base64');
  const at = (x, y) => {
    const k = 4 * (Math.round(y) * w + Math.round(x));
    return [data[k], data[k + 1], data[k + 2]];
  };
  return { w, h, data, at, png };
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
