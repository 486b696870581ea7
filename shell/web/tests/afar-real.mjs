// Opens an address and prints the groups that stand there in place of nodes, with the mean colour of a ring
// within each: node afar-real.mjs ADDRESS.

import { launch, open, pixels, settle } from './page/browser.mjs';

const { origin, search } = new URL(process.argv[2]);
const browser = await launch();
try {
  const { page, complaints } = await open(browser, origin, `${search.slice(1)}&test=1&splashAfter=False`);
  await settle(page);
  const groups = await page.evaluate(() => window.__viewer.groups);
  const shot = await pixels(page);
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
