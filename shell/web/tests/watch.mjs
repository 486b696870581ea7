// A browser with any number of pages, driven line by line: reads one JSON command a line and prints one JSON
// answer a line. Commands: open {page, query, token}, look {page, indices}, panel {page},
// title {page, click}, button {page, words}, shot {page, path}.

import { createInterface } from 'node:readline';
import { launch, open, pixels, settle, stopped } from './page/browser.mjs';

const base = process.argv[2];
const browser = await launch();
const pages = new Map();

/** The colour of the screen in the middle of each node. */
async function look({ page: name, indices }) {
  const { page } = pages.get(name);
  await settle(page);
  const places = await page.evaluate((list) => list.map((i) => window.__viewer.project(i)), indices);
  const shot = await pixels(page);
  return places.map(([x, y]) => shot.at(x, y));
}

const commands = {
  async open({ page: name, query, token }) {
    const domain = new URL(base).hostname;
    const opened = await open(browser, base, query, {
      width: 900,
      height: 600,
      wait: false,
      cookie: token ? { name: 'graphlume_jwt', value: token, domain, path: '/' } : undefined,
    });
    pages.set(name, opened);
    const { page } = opened;
    await page.waitForFunction(() => window.__viewer?.ready === true);
    await stopped(page);
    return new URL(page.url()).searchParams.get('session');
  },
  look,
  /** Waits until the nodes have these colours on the screen, give or take a little; answers milliseconds. */
  async until({ page, indices, colors, within }) {
    const began = Date.now();
    for (;;) {
      const seen = await look({ page, indices });
      const same = seen.every((c, i) => c.every((x, k) => Math.abs(x - colors[i][k]) <= 12));
      if (same) return { ms: Date.now() - began };
      if (Date.now() - began > within) return { ms: null, seen };
    }
  },
  async panel({ page: name }) {
    const { page } = pages.get(name);
    const rows = page.locator('#collections li');
    const texts = await rows.evaluateAll((list) =>
      list.map((li) => [
        li.querySelector('.name').textContent,
        li.querySelector('.count')?.textContent ?? null,
        getComputedStyle(li.querySelector('i')).backgroundColor,
      ]),
    );
    return { rows: texts, complaints: pages.get(name).complaints };
  },
  /** The title of the list of collections, null when it is not there; clicks on it first when told to. */
  async title({ page: name, click }) {
    const title = pages.get(name).page.locator('#collections .legend-title');
    if (click) await title.click();
    return (await title.count()) === 0 ? null : (await title.innerText()).replace(/\s+/g, ' ').trim();
  },
  /** Clicks on a row of the collections in the legend; answers how many nodes are selected then. */
  async pick({ page: name, row }) {
    const { page } = pages.get(name);
    await page.locator('#collections li', { hasText: row }).locator('button').first().click();
    await page.waitForSelector('#selection b');
    await settle(page);
    return page.locator('#selection b').innerText();
  },
  /** Waits until the layout's button has these words; answers what the page says of the layout. */
  async button({ page: name, words }) {
    const { page } = pages.get(name);
    const has = (words) => document.querySelector('#play')?.textContent.includes(words);
    await page.waitForFunction(has, words);
    return page.evaluate(() => window.__viewer.doc.layout);
  },
  async shot({ page: name, path }) {
    await pages.get(name).page.screenshot({ path });
    return path;
  },
  async close({ page: name }) {
    await pages.get(name).context.close();
    pages.delete(name);
    return null;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  try {
    const { command, ...rest } = JSON.parse(line);
    console.log(JSON.stringify({ ok: await commands[command](rest) }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error?.stack ?? error) }));
  }
}
await browser.close();
