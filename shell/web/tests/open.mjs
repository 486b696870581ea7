// Opens one address the way a person would and prints what was seen as one line of JSON:
// node open.mjs ADDRESS [SCREENSHOT.png]

import { census, launch, open, pixels } from './page/browser.mjs';
import { PositionLog } from './position-log.mjs';

const [address, shot] = process.argv.slice(2);
const { origin, search } = new URL(address);
const browser = await launch();
try {
  const log = new PositionLog();
  const { page, complaints } = await open(browser, origin, search.slice(1), {
    width: 1440,
    height: 900,
    before: (fresh) => log.watch(fresh),
  });
  const settled = await page
    .waitForFunction(() => window.__viewer.doc.playing === false)
    .then(() => true, () => false);
  await page.evaluate(() => window.__viewer.settle());
  if (shot) await page.screenshot({ path: shot });
  const picture = await pixels(page);
  const counts = await page.evaluate(() => window.__viewer.counts);
  const { moved } = log;
  const said = await page.locator('.notices').allInnerTexts();
  console.log(JSON.stringify({ ...counts, ...census(picture), moved, settled, said, errors: complaints }));
} finally {
  await browser.close();
}
