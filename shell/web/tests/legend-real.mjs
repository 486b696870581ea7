// Opens an address and prints the rows of its legend, and how many glyphs and pictures stand before them:
// node legend-real.mjs ADDRESS

import { launch, open, settle, until } from './page/browser.mjs';

const { origin, search } = new URL(process.argv[2]);
const browser = await launch();
try {
  const query = `${search.slice(1)}&test=1&splashAfter=False`;
  const { page, complaints } = await open(browser, origin, query);
  await settle(page);
  await page.waitForSelector('.legend .sign');
  // Flags and the font come after what draws them.
  await until(async () => (await page.locator('.legend .mark').count()) > 0);
  await settle(page);
  await page.waitForSelector('.legend .mark :is(img, .glyph)');
  const rows = page.locator('.legend li', { has: page.locator('.sign') });
  const glyphs = await page.locator('.legend .mark .glyph').count();
  const pictures = await page.locator('.legend .mark img').count();
  const names = await rows.locator('.name').allInnerTexts();
  console.log(JSON.stringify({ rows: names.sort(), glyphs, pictures, complaints }));
} finally {
  await browser.close();
}
