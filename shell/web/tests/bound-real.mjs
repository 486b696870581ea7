// Opens an address and prints how much of every node's disc, and of the stage, has each of some colours:
// node bound-real.mjs ADDRESS [[r,g,b],…]; its edge labels, and how many pixels its coast lines change.

import { changed, launch, open, pixels, settle } from './page/browser.mjs';

const [address, wanted] = process.argv.slice(2);
const colors = JSON.parse(wanted ?? '[]');
const { origin, search } = new URL(address);
const browser = await launch();

/** Shares of pixels near each colour. */
function shares(found) {
  const near = (a, b) => a.every((channel, k) => Math.abs(channel - b[k]) <= 40);
  return colors.map((color) => found.filter((c) => near(c, color)).length / Math.max(1, found.length));
}

try {
  const query = `${search.slice(1)}&test=1&menu=false&edgeOpacity=0.6&splashAfter=False`;
  const { page, complaints } = await open(browser, origin, query);
  await settle(page);
  const discs = await page.evaluate(() => {
    const v = window.__viewer;
    const all = Array.from({ length: v.counts.nodes }, (_, i) => i);
    return all.map((i) => ({ at: v.project(i), r: v.radius(i) }));
  });
  const labels = await page.evaluate(() => window.__viewer.edgeLabels.map(({ text }) => text));
  const shot = await pixels(page);
  const within = ({ at: [x, y], r }) => {
    const found = [];
    for (let py = Math.ceil(y - r); py <= y + r; py += 1) {
      for (let px = Math.ceil(x - r); px <= x + r; px += 1) {
        if (Math.hypot(px + 0.5 - x, py + 0.5 - y) < 0.85 * r) found.push(shot.at(px, py));
      }
    }
    return found;
  };
  const stage = [];
  for (let y = 0; y < shot.h; y += 1) for (let x = 0; x < shot.w; x += 1) stage.push(shot.at(x, y));
  const told = [...complaints];
  await page.route('**/bound/map.json', (route) => route.abort());
  await page.reload();
  await page.waitForFunction(() => window.__viewer?.ready === true);
  await settle(page);
  const coasts = changed(shot, await pixels(page), 16);
  const seen = { nodes: discs.map((disc) => shares(within(disc))), stage: shares(stage), labels };
  console.log(JSON.stringify({ ...seen, coasts, complaints: told }));
} finally {
  await browser.close();
}
