// Opens one address the way a person would and prints what was seen as one line of JSON:
// node open.mjs ADDRESS [SCREENSHOT.png]

import { census, launch, open, pixels } from './page/browser.mjs';

const [address, shot] = process.argv.slice(2);
const { origin, search } = new URL(address);
const browser = await launch();
try {
  const { page, complaints } = await open(browser, origin, search.slice(1), { width: 1440, height: 900 });
  const first = await page.evaluate(() => window.__viewer.seq);
  // A graph that starts at rest may already have settled; otherwise frames keep coming until it does.
  const moved = await page
    .waitForFunction((seq) => window.__viewer.seq > seq, first, { timeout: 15_000 })
    .then(() => true, () => false);
  const settled = await page
    .waitForFunction(() => window.__viewer.doc.playing === false, null, { timeout: 60_000 })
    .then(() => true, () => false);
  await page.evaluate(() => window.__viewer.settle());
  if (shot) await page.screenshot({ path: shot });
  const picture = await pixels(page);
  const counts = await page.evaluate(() => window.__viewer.counts);
  console.log(JSON.stringify({ ...counts, ...census(picture), moved, settled, errors: complaints }));
} finally {
  await browser.close();
}
