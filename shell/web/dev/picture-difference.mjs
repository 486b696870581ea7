// How far the server's picture of a session is from the page's: opens the page of a session with names and bars off, asks
// the server for the same picture, and prints the share of the pixels that differ, as the check 6 of the viewer has it: a
// pixel differs when a channel does by more than 24 of 255 after both pictures were blurred over 5 by 5 pixels.
// Usage: node dev/picture-difference.mjs <base url> <dataset or session=…> [folder for the pictures] [light]

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch, open, settle, stopped } from '../tests/page/browser.mjs';
import { decodePng } from '../tests/png.mjs';

const [WIDTH, HEIGHT] = [1440, 900];
const FAR = 24;
const REACH = 2;

/** The mean of each channel over the pixels around, as far as there are any. */
function blurred({ w, h, data }) {
  const along = (from, width, height, to) => {
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        for (let c = 0; c < 3; c += 1) {
          let [sum, count] = [0, 0];
          for (let k = Math.max(0, x - REACH); k <= Math.min(width - 1, x + REACH); k += 1) {
            sum += from(k, y, c);
            count += 1;
          }
          to(x, y, c, sum / count);
        }
      }
    }
  };
  const rows = new Float32Array(3 * w * h);
  const both = new Float32Array(3 * w * h);
  along(
    (x, y, c) => data[4 * (y * w + x) + c],
    w,
    h,
    (x, y, c, value) => (rows[3 * (y * w + x) + c] = value),
  );
  along(
    (y, x, c) => rows[3 * (y * w + x) + c],
    h,
    w,
    (y, x, c, value) => (both[3 * (y * w + x) + c] = value),
  );
  return both;
}

const [base, what, folder, theme = 'dark'] = process.argv.slice(2);
const query = what.startsWith('session=') ? what : `dataset=${what}`;
const browser = await launch();
try {
  const off = 'menu=false&info=false&showLabels=false&showPointsOfInterest=false&test=true&bg=';
  const { page } = await open(browser, base, `${query}&${off}&theme=${theme}`, {
    width: WIDTH,
    height: HEIGHT,
  });
  await stopped(page);
  await settle(page);
  // Bars, buttons and notices are no part of the picture.
  await page.addStyleTag({ content: 'body * { visibility: hidden } canvas { visibility: visible !important }' });
  await settle(page);
  const shown = await page.screenshot();
  const session = new URL(page.url()).searchParams.get('session');
  const view = await page.evaluate(() => window.__viewer.doc);
  const address = `${base}/viz/${session}/picture.png?width=${WIDTH}&height=${HEIGHT}&theme=${theme}`;
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status} ${await answer.text()}`);
  const drawn = Buffer.from(await answer.arrayBuffer());
  if (folder) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'page.png'), shown);
    writeFileSync(join(folder, 'server.png'), drawn);
  }
  const [a, b] = [shown, drawn].map((png) => blurred(decodePng(png)));
  let differ = 0;
  for (let i = 0; i < a.length; i += 3) {
    differ += [0, 1, 2].some((c) => Math.abs(a[i + c] - b[i + c]) > FAR) ? 1 : 0;
  }
  const share = (100 * differ) / (WIDTH * HEIGHT);
  console.log(`${what} ${theme}: ${share.toFixed(2)} % of the pixels differ (view ${JSON.stringify(view.view)})`);
  process.exitCode = share > 2 ? 1 : 0;
} finally {
  await browser.close();
}
