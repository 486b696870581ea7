// Screenshots of the page in many states, for looking at.
// Usage: node dev/shots.mjs <base url> <folder> [name…]

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { launch, open, settle, stopped } from '../tests/page/browser.mjs';

const [base, folder, ...only] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });

const SHOTS = {
  'full-5k': { query: 'dataset=community-5000-15000&play=0', width: 1440, height: 900 },
  'full-20k': { query: 'dataset=community-20000-60000&play=0', width: 1440, height: 900 },
  'full-100k': { query: 'dataset=community-100000-300000&play=0', width: 1440, height: 900 },
  'frame-900': { query: 'dataset=community-5000-15000&play=0', width: 900, height: 600 },
  'frame-400': { query: 'dataset=community-500-1500&play=0', width: 400, height: 300 },
  'frame-560': { query: 'dataset=community-500-1500&play=0', width: 560, height: 400 },
  light: { query: 'dataset=community-5000-15000&play=0&theme=light', width: 1440, height: 900 },
  bg: { query: 'dataset=community-5000-15000&play=0&bg=%23333339&menu=false', width: 900, height: 600 },
  live: { query: 'dataset=community-5000-15000&play=8000', width: 1440, height: 900, live: 2500 },
  star: { query: 'dataset=star-200&play=0', width: 1000, height: 700 },
  two: { query: 'dataset=two&play=0', width: 1000, height: 700 },
  one: { query: 'dataset=one&play=0', width: 600, height: 420 },
  multi: { query: 'dataset=multi&play=0', width: 800, height: 600 },
  complete: { query: 'dataset=complete-60&play=0', width: 800, height: 600 },
  tree: { query: 'dataset=tree-120&play=0', width: 1000, height: 700 },
  isolated: { query: 'dataset=isolated-500&play=0', width: 800, height: 600 },
  empty: { query: 'dataset=empty', width: 1000, height: 640 },
  failed: { query: 'dataset=failed', width: 1000, height: 640, wait: '#failed' },
  missing: { query: 'dataset=missing', width: 1000, height: 640, wait: '#missing' },
  signin: { query: 'dataset=private', width: 1000, height: 640, wait: '#signin' },
  loading: { query: 'dataset=loading', width: 1000, height: 640, wait: '#loading' },
  splash: { query: 'dataset=two&splashAfter=true', width: 800, height: 500, wait: '#splash' },
  hover: { query: 'dataset=community-5000-15000&play=0', width: 1440, height: 900, act: 'hover' },
  zoom: { query: 'dataset=community-20000-60000&play=0', width: 1280, height: 800, act: 'zoom' },
  search: { query: 'dataset=community-5000-15000&play=0', width: 1100, height: 700, act: 'search' },
};

async function act(page, what) {
  const box = await page.locator('#surface').boundingBox();
  const hub = await page.evaluate(() => window.__viewer.project(window.__viewer.labels[2].index));
  if (what === 'hover') await page.mouse.move(box.x + hub[0], box.y + hub[1]);
  if (what === 'zoom') {
    await page.mouse.move(box.x + hub[0], box.y + hub[1]);
    for (let k = 0; k < 5; k += 1) await page.mouse.wheel(0, -200);
    await page.mouse.move(box.x + 5, box.y + 5);
  }
  if (what === 'search') {
    await page.fill('#search', 'entity 1');
    await page.waitForSelector('#hits li');
  }
  await page.waitForTimeout(400);
  await settle(page);
}

const browser = await launch();
for (const [name, shot] of Object.entries(SHOTS)) {
  if (only.length > 0 && !only.includes(name)) continue;
  const { page, context, complaints } = await open(browser, base, shot.query, {
    ...shot,
    wait: !shot.wait,
  });
  if (shot.wait) await page.waitForSelector(shot.wait);
  else if (shot.live) await page.waitForTimeout(shot.live);
  else await stopped(page);
  if (!shot.live) await page.waitForTimeout(500);
  if (!shot.live && !shot.wait) await settle(page);
  if (shot.act) await act(page, shot.act);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  console.log(name, complaints.join(' | '));
  await context.close();
}
await browser.close();
