// Opens an address, switches the third dimension on and off, and prints where nodes are in the plane, in
// space and in the plane again, with what is seen there: node space-real.mjs ADDRESS.

import { launch, open, pixels, settle } from './page/browser.mjs';

const { origin, search } = new URL(process.argv[2]);
const browser = await launch();

async function nodes(page) {
  await settle(page);
  const found = await page.evaluate(() => {
    const v = window.__viewer;
    return Array.from({ length: v.counts.nodes }, (_, i) => {
      const [x, y] = v.project(i);
      return { x, y, r: v.radius(i), color: v.color(i), hit: v.nodeAt(x, y) === i };
    });
  });
  const shot = await pixels(page);
  return found.map((node) => ({ ...node, seen: shot.at(node.x, node.y) }));
}

async function turn(page, on) {
  await page.locator('#space').click();
  await page.locator(`#space[aria-pressed=${on}]`).waitFor();
}

try {
  const query = `${search.slice(1)}&test=1&splashAfter=False&showLabels=false`;
  const { page, complaints } = await open(browser, origin, query);
  const flat = await nodes(page);
  await turn(page, true);
  const space = await nodes(page);
  await turn(page, false);
  const back = await nodes(page);
  const names = await page.evaluate(async (count) => {
    const { searchParams } = new URL(location.href);
    const all = Array.from({ length: count }, (_, i) => i).join(',');
    const path = `../viz/${searchParams.get('session')}/names?nodes=${all}&dataset=${searchParams.get('dataset')}`;
    return (await (await fetch(path)).json()).names;
  }, flat.length);
  console.log(JSON.stringify({ flat, space, back, names, complaints }));
} finally {
  await browser.close();
}
