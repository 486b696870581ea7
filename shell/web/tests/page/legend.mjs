import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GRAPH, isMock, withPage } from './context.mjs';
import { accessible, faults, graphOf, pixels, settle, tap, until, visible } from './document.mjs';

const selected = (page) =>
  page.evaluate(() => Number(document.querySelector('#selection b')?.textContent.replace(/,/g, '') ?? 0));

/** The first entry of the legend: its words and its count. */
async function first(page) {
  const [name, count] = await Promise.all(
    ['.name', '.count'].map((part) => page.locator(`.legend li ${part}`).first().innerText()),
  );
  return { name, count: Number(count.replace(/,/g, '')) };
}

test('a click on the legend selects, Alt click and the small button hide', async () => {
  for (const theme of ['dark', 'light']) {
    await withPage(`dataset=${GRAPH}&play=0&test=1&theme=${theme}`, {}, async (page, { complaints }) => {
      await settle(page);
      const { degree } = await graphOf(page);
      const before = await pixels(page);
      const { name, count } = await first(page);
      await page.click('.legend li button');
      await until(async () => (await selected(page)) === count);
      await settle(page);
      // Those that are selected keep their colour, the others are dimmed.
      const spot = await page.evaluate(() => {
        const v = window.__viewer;
        const big = (i) => v.radius(i) > 6 && v.nodeAt(...v.project(i)) === i;
        const seen = [...Array(v.counts.nodes).keys()].filter(big);
        return seen.map((i) => ({ at: v.project(i), color: v.color(i).join() }));
      });
      const chosen = await page.evaluate(() => {
        const swatch = document.querySelector('.legend li i');
        return `${getComputedStyle(swatch).backgroundColor.match(/\d+/g).slice(0, 3)},255`;
      });
      const after = await pixels(page);
      const moved = ({ at }) => {
        const [a, b] = [before.at(...at), after.at(...at)];
        return Math.max(...a.map((c, k) => Math.abs(c - b[k])));
      };
      const free = spot.filter(({ at }) => at[1] < 420);
      // Communities of a real graph share hues, and its large nodes may all be of others.
      if (isMock) assert.ok(free.filter(({ color }) => color === chosen).some((one) => moved(one) < 12));
      assert.ok(free.filter(({ color }) => color !== chosen).some((one) => moved(one) > 40));
      await page.keyboard.down('Alt');
      await page.click('.legend li button');
      await page.keyboard.up('Alt');
      await visible(page, degree.length - count);
      assert.match(await page.getAttribute('#undo', 'title'), new RegExp(`^Undo: Hide .* ${name}$`));
      await page.click('#undo');
      await visible(page, degree.length);
      await page.hover('.legend li');
      await page.click('.legend li .hide');
      await visible(page, degree.length - count);
      await page.click('#undo');
      await visible(page, degree.length);
      await accessible(page, '.legend');
      assert.deepEqual(faults(complaints), []);
    });
  }
});

test('the legend by keys and by finger', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const { degree } = await graphOf(page);
    const { count } = await first(page);
    await page.locator('.legend li button').first().focus();
    await page.keyboard.press('Enter');
    await until(async () => (await selected(page)) === count);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await visible(page, degree.length - count);
  });
  await withPage(`dataset=${GRAPH}&play=0&test=1`, { width: 760, height: 780 }, async (page) => {
    await settle(page);
    const { count } = await first(page);
    await tap(page, '.legend li button >> nth=0');
    await until(async () => (await selected(page)) === count);
  });
});

test('of 150,000 edges one in a hundred is red, and is seen', { skip: !isMock }, async () => {
  for (const theme of ['dark', 'light']) {
    const query = `dataset=community-3000-150000-red&play=0&test=1&showLabels=false&theme=${theme}`;
    await withPage(query, {}, async (page) => {
      await settle(page);
      const red = async () => {
        const { data } = await pixels(page);
        let count = 0;
        for (let k = 0; k < data.length; k += 4) {
          const [r, g, b] = data.subarray(k, k + 3);
          // Clearly redder than the orange nodes and the grey edges, and on white than the brick red ones.
          const near = theme === 'light' ? 12 : 26;
          if (r > 120 && r - g > 55 && r - b > 55 && Math.abs(g - b) < near) count += 1;
        }
        return count;
      };
      const many = await red();
      assert.ok(many > 600, `${many} pixels are red`);
      const ends = new Set((await graphOf(page)).ends.filter((_, e) => e % 100 === 7).flat());
      const alarm = page.locator('.legend li button', { hasText: 'alarm' });
      await alarm.click();
      await until(async () => (await selected(page)) === ends.size);
      await page.click('#selection button:has-text("Clear")');
      // Without any edges there is next to no red: it does not come from nodes.
      await page.goto(`${page.url()}&edgeOpacity=0`);
      await page.waitForFunction(() => window.__viewer?.ready === true);
      await settle(page);
      assert.ok((await red()) < 0.2 * many);
    });
  }
});
