// Opens an address and prints the rows of its legend, how many glyphs and pictures stand before them, and how
// many of its pixels are near each of some colours: node legend-real.mjs ADDRESS [[r,g,b],…]

import { launch, open, pixels, settle, until } from './page/browser.mjs';

const [address, wanted] = process.argv.slice(2);
const { origin, search } = new URL(address);
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
  const { data } = await pixels(page, '.legend');
  const near = (color) => {
    let count = 0;
    for (let k = 0; k < data.length; k += 4) {
      if (color.every((channel, c) => Math.abs(channel - data[k + c]) <= 40)) count += 1;
    }
    return count;
  };
  const counts = JSON.parse(wanted ?? '[]').map(near);
  console.log(JSON.stringify({ rows: names.sort(), glyphs, pictures, counts, complaints }));
} finally {
  await browser.close();
}
