import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GRAPH, isMock, withPage } from './context.mjs';
import { accessible, faults, filter, graphOf, pixels, settle, swipe, until } from './document.mjs';

const names = (page) => page.locator('#collections-list .words').allInnerTexts();

/** Makes collections of what these expressions keep, and turns the filters off. */
async function collect(page, ...texts) {
  for (const text of texts) {
    await filter(page, text);
    await page.waitForSelector(`[data-filter] >> text="${text}"`);
    await page.click(`[data-filter]:has-text("${text}") [role=switch]`);
  }
  await page.click('#open-collections');
  for (const text of texts) {
    const option = page.locator('#collect-filter option', { hasText: text });
    await page.selectOption('#collect-filter', await option.getAttribute('value'));
    await until(async () => (await names(page))[0] === text);
  }
}

/** The colour of a node, as `#rrggbb`. */
const colorOf = (page, i) =>
  page.evaluate((at) => {
    const [r, g, b] = window.__viewer.color(at);
    return `#${[r, g, b].map((c) => c.toString(16).padStart(2, '0')).join('')}`;
  }, i);

test('collections colour nodes; they are renamed, recoloured, turned off and deleted', async () => {
  for (const theme of ['dark', 'light']) {
    const query = `dataset=${GRAPH}&play=0&test=1&showLabels=false&theme=${theme}`;
    await withPage(query, {}, async (page, opened) => {
      await settle(page);
      const { degree } = await graphOf(page);
      const hub = degree.indexOf(Math.max(...degree));
      const before = await colorOf(page, hub);
      await collect(page, 'degree > 8');
      await until(async () => (await colorOf(page, hub)) !== before);
      await page.locator('[aria-label="Colour of degree > 8"]').fill('#ff0080');
      await until(async () => (await colorOf(page, hub)) === '#ff0080');
      await page.click('[aria-label="Close Filters"]');
      await settle(page);
      const shot = await pixels(page);
      let pink = 0;
      for (let k = 0; k < shot.data.length; k += 4) {
        const [r, g, b] = shot.data.subarray(k, k + 3);
        if (Math.abs(r - 255) + g + Math.abs(b - 128) < 40) pink += 1;
      }
      assert.ok(pink > 500, `${pink} pixels are pink`);
      await page.click('[aria-label="Rename degree > 8"]');
      await page.keyboard.type('Hubs');
      await page.keyboard.press('Enter');
      await until(async () => (await names(page))[0] === 'Hubs');
      const high = degree.filter((d) => d > 8).length.toLocaleString('en');
      assert.equal(await page.innerText('[data-entry] .plain'), `${high} elements`);
      await accessible(page, '#panel-collections');
      await page.click('[data-entry] .plain');
      await until(async () => (await page.innerText('#selection b')) === high);
      await page.click('#selection button:has-text("Clear")');
      await page.click('[data-entry] [role=switch]');
      await until(async () => (await colorOf(page, hub)) === before);
      await page.click('#undo');
      await until(async () => (await colorOf(page, hub)) === '#ff0080');
      await page.click('[aria-label="Delete Hubs"]');
      await until(async () => (await colorOf(page, hub)) === before);
      assert.equal(await page.locator('[data-entry]').count(), 0);
      assert.deepEqual(faults(opened.complaints), []);
    });
  }
});

test('the topmost collection covers the others; buttons, mouse and finger move it', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1&showLabels=false`, {}, async (page) => {
    await settle(page);
    const { degree } = await graphOf(page);
    const hub = degree.indexOf(Math.max(...degree));
    await collect(page, 'degree > 1', 'degree > 4', 'degree > 8');
    const order = (...list) => {
      const wanted = list.map((n) => `degree > ${n}`).join();
      return until(async () => (await names(page)).join() === wanted);
    };
    await order(8, 4, 1);
    const colors = {};
    for (const n of [1, 4, 8]) colors[n] = await page.inputValue(`[aria-label="Colour of degree > ${n}"]`);
    await until(async () => (await colorOf(page, hub)) === colors[8]);
    await page.click('[aria-label="Move degree > 8 down"]');
    await order(4, 8, 1);
    await until(async () => (await colorOf(page, hub)) === colors[4]);
    await page.click('[aria-label="Move degree > 1 up"]');
    await order(4, 1, 8);
    assert.ok(await page.isDisabled('[aria-label="Move degree > 4 up"]'));
    await page.locator('[data-entry] >> nth=0').scrollIntoViewIfNeeded();
    const middle = async (selector) => {
      const { x, y, width, height } = await page.locator(selector).boundingBox();
      return [x + width / 2, y + height / 2];
    };
    await page.mouse.move(...(await middle('[data-entry] >> nth=2 >> .grip')));
    await page.mouse.down();
    await page.mouse.move(...(await middle('[data-entry] >> nth=0')), { steps: 5 });
    await page.mouse.up();
    await order(8, 4, 1);
    await until(async () => (await colorOf(page, hub)) === colors[8]);
    const from = await middle('[data-entry] >> nth=0 >> .grip');
    const to = await middle('[data-entry] >> nth=1');
    await swipe(page, [from, [from[0], (from[1] + to[1]) / 2], [from[0], to[1]]]);
    await order(4, 8, 1);
    await page.locator('[aria-label="Move degree > 8 up"]').focus();
    await page.keyboard.press('Enter');
    await order(8, 4, 1);
  });
});

test('what the server refuses is said: at most ten collections', { skip: !isMock }, async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page, { complaints }) => {
    await settle(page);
    await page.locator('#surface').focus();
    await page.keyboard.press('Control+a');
    await page.waitForSelector('#selection');
    await page.click('#open-collections');
    for (let k = 1; k <= 10; k += 1) {
      await page.click('#collect');
      await until(async () => (await page.locator('[data-entry]').count()) === k);
    }
    await page.click('#collect');
    await page.waitForSelector('#notice');
    assert.match(await page.innerText('#notice'), /at most 10/);
    assert.equal(await page.locator('[data-entry]').count(), 10);
    assert.deepEqual(faults(complaints), []);
  });
});

test('a colour that somebody chose is the same in both themes, even a built-in hue', async () => {
  const query = `dataset=${GRAPH}&play=0&test=1&showLabels=false&theme=light`;
  await withPage(query, {}, async (page) => {
    await settle(page);
    const { degree } = await graphOf(page);
    const hub = degree.indexOf(Math.max(...degree));
    const others = await page.evaluate(() => {
      const v = window.__viewer;
      return Array.from({ length: v.counts.nodes }, (_, i) => v.color(i).join());
    });
    // Built-in hues that nobody chose are those of a light page.
    assert.ok(!others.some((rgba) => rgba.startsWith('109,185,252')));
    await collect(page, `degree = ${degree[hub]}`);
    await page.locator(`[aria-label="Colour of degree = ${degree[hub]}"]`).fill('#6db9fc');
    await until(async () => (await colorOf(page, hub)) === '#6db9fc');
    await page.click('[aria-label="Close Collections"]');
    await page.click('[aria-label="Close Filters"]');
    await settle(page);
    const [x, y] = (await graphOf(page)).at[hub];
    const [r, g, b] = (await pixels(page)).at(x, y);
    assert.ok(Math.abs(r - 109) + Math.abs(g - 185) + Math.abs(b - 252) < 8, `${[r, g, b]}`);
    const now = await page.evaluate(() => {
      const v = window.__viewer;
      return Array.from({ length: v.counts.nodes }, (_, i) => v.color(i).join());
    });
    const changed = now.filter((rgba, i) => rgba !== others[i]);
    const members = degree.filter((d) => d === degree[hub]).length;
    assert.equal(changed.length, members, 'all others are as they were');
    // In the dark theme it is the same.
    await page.click('#theme');
    await until(() => page.evaluate(() => window.__viewer.doc.theme === 'dark'));
    await settle(page);
    assert.equal(await colorOf(page, hub), '#6db9fc');
  });
});
