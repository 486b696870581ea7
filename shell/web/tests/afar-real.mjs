// Opens an address, waits until its layout has stopped, and prints the groups that stand there in place of
// nodes, with the mean colour of a ring within each: node afar-real.mjs ADDRESS.

import { launch, open, pixels, stopped } from './page/browser.mjs';

const { origin, search } = new URL(process.argv[2]);
const browser = await launch();
try {
  const { page, complaints } = await open(browser, origin, `${search.slice(1)}&test=1&splashAfter=False`);
  await stopped(page);
  // The groups of the picture that was taken: frames that came last may still move them.
  const standing = () => page.evaluate(() => JSON.stringify(window.__viewer.groups));
  let before = '';
  let now = await standing();
  let shot;
  while (before !== now) {
    before = now;
    shot = await pixels(page);
    now = await standing();
  }
  const groups = JSON.parse(now);
  for (const group of groups) {
    const ring = Array.from({ length: 24 }, (_, k) => {
      const angle = (k / 12) * Math.PI;
      return shot.at(group.x + 0.8 * group.r * Math.cos(angle), group.y + 0.8 * group.r * Math.sin(angle));
    });
    group.seen = [0, 1, 2].map((k) => ring.reduce((sum, c) => sum + c[k], 0) / ring.length);
  }
  console.log(JSON.stringify({ groups, complaints }));
} finally {
  await browser.close();
}
