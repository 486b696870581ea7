// Opens addresses one after another in one browser and prints what each page counts, as one line of JSON:
// node counts.mjs ADDRESS..
//
// `nodes` and `edges` are those of the picture, `shown` is what the page says in words that can be seen.

import { launch, open } from './page/browser.mjs';

const browser = await launch();
try {
  const seen = [];
  for (const address of process.argv.slice(2)) {
    const { origin, search } = new URL(address);
    const small = { width: 1000, height: 420 };
    const { page, context, complaints } = await open(browser, origin, search.slice(1), small);
    await page.evaluate(() => window.__viewer.settle());
    const { nodes, edges } = await page.evaluate(() => window.__viewer.counts);
    const shown = (await page.locator('#counts').innerText()).replace(/\s+/g, ' ');
    seen.push({ nodes, edges, shown, errors: complaints });
    await context.close();
  }
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
