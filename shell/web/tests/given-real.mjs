// Opens the address of a dataset with positions, has the forces run, takes that back, and prints what was
// seen each time: node given-real.mjs ADDRESS [SCREENSHOT.png]

import { changed, launch, open, pixels, settle } from './page/browser.mjs';

const [address, shot] = process.argv.slice(2);
const { origin, search } = new URL(address);
const browser = await launch();

/** Where the nodes are on the screen, and what the page says of the layout. */
async function look(page) {
  await settle(page);
  return page.evaluate(() => {
    const v = window.__viewer;
    const picker = document.querySelector('#layouts');
    return {
      at: Array.from({ length: v.counts.nodes }, (_, i) => v.project(i)),
      menu: picker.selectedOptions[0].textContent,
      word: document.querySelector('#link .word')?.textContent ?? '',
      title: document.querySelector('#link').getAttribute('title'),
      iterations: v.doc.iterations,
      undo: document.querySelector('#undo')?.getAttribute('title') ?? '',
    };
  });
}

/** Waits until the menu of layouts shows this. */
function shows(page, word) {
  const has = (wanted) => document.querySelector('#layouts').selectedOptions[0].textContent === wanted;
  return page.waitForFunction(has, word);
}

try {
  const query = `${search.slice(1)}&test=1&splashAfter=False`;
  const { page, complaints } = await open(browser, origin, query, { width: 1200, height: 800 });
  const given = await look(page);
  const whole = await pixels(page);
  if (shot) await page.screenshot({ path: shot });
  await page.selectOption('#layouts', { label: 'Forces' });
  await page.waitForFunction(() => window.__viewer.doc.iterations > 0 && !window.__viewer.doc.playing);
  const moved = await look(page);
  await page.click('#undo');
  await shows(page, 'Given positions');
  const back = await look(page);
  await page.click('#redo');
  await shows(page, 'Forces');
  const again = await look(page);
  await page.selectOption('#layouts', { label: 'Given positions' });
  await page.waitForFunction(() => document.querySelector('#link .word')?.textContent === 'as given');
  const last = await look(page);
  const told = [...complaints];
  await page.route('**/bound/map.json', (route) => route.abort());
  await page.reload();
  await page.waitForFunction(() => window.__viewer?.ready === true);
  await settle(page);
  const coasts = changed(whole, await pixels(page), 16);
  console.log(JSON.stringify({ given, moved, back, again, last, coasts, complaints: told }));
} finally {
  await browser.close();
}
