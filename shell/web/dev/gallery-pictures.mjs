// The pictures of the gallery: opens each graph in the dark and in the light theme, waits until it is at
// rest, and writes what the browser shows as WebP.
// Usage: node dev/gallery-pictures.mjs <gallery.json of gallery.py> <account> <password> <folder> [name…]
//        PNG=1 writes PNG instead, for looking at.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch, open, settle, stopped } from '../tests/page/browser.mjs';
import { STAGE } from './frame-cost.mjs';
import { addressOf, galleryOf } from './gallery-list.mjs';

/** A picture may be this large. */
const BYTES_MAX = 300_000;
const [list, account, password, folder, ...only] = process.argv.slice(2);
if (!folder) throw new Error('name gallery.json, an account, its password and a folder');
const { graphs, base, headers } = await galleryOf(list, account, password);
const gallery = graphs.filter(({ name }) => only.length === 0 || only.includes(name));

/** What is shown, as a file: with less quality where it would be too large. */
async function picture(page) {
  const client = await page.context().newCDPSession(page);
  const shot = async (how) => Buffer.from((await client.send('Page.captureScreenshot', how)).data, 'base64');
  if (process.env.PNG) return shot({ format: 'png' });
  for (let quality = 88; ; quality -= 8) {
    const bytes = await shot({ format: 'webp', quality });
    if (bytes.length <= BYTES_MAX || quality <= 40) return bytes;
  }
}

mkdirSync(folder, { recursive: true });
const browser = await launch();
try {
  for (const graph of gallery) {
    for (const theme of ['dark', 'light']) {
      const url = addressOf(graph, { theme });
      // A background of the address would be that of both themes.
      url.searchParams.delete('bg');
      const { page, context, complaints } = await open(browser, base, '', {
        ...STAGE,
        address: url.href,
        before: (blank) => blank.setExtraHTTPHeaders(headers),
      });
      await stopped(page);
      await settle(page);
      // Names fade in.
      await page.waitForTimeout(800);
      await settle(page);
      const bytes = await picture(page);
      const file = `${graph.name}-${theme}.${process.env.PNG ? 'png' : 'webp'}`;
      writeFileSync(join(folder, file), bytes);
      console.log(`${file}: ${(bytes.length / 1000).toFixed(0)} KB`, complaints.join('; '));
      await context.close();
    }
  }
} finally {
  await browser.close();
}
