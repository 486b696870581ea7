import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GRAPH, SPARSE, isMock, withPage } from './context.mjs';
import { accessible, counted, faults, graphOf, pixels, same, settle, swipe } from './document.mjs';
import { until, visible } from './document.mjs';

/** Edges of the bins of a column, as the server tells them. */
const edgesOf = (page, column, more = '') =>
  page.evaluate(
    async ([name, rest]) => {
      const { searchParams } = new URL(location.href);
      const [session, dataset] = ['session', 'dataset'].map((key) => searchParams.get(key));
      const address = `../viz/${session}/bins?dataset=${dataset}&columns=${name}&bins=32${rest}`;
      return (await (await fetch(address)).json()).histograms[0].edges;
    },
    [column, more],
  );

const far = (a, b) => Math.max(...a.map((c, k) => Math.abs(c - b[k])));

async function openPanel(page) {
  await page.click('#open-histograms');
  await page.waitForSelector('[data-column="node:degree"] .chart');
}

const chart = (name) => `[data-column="node:${name}"] .chart`;

/** The place in the page of a share of a chart's width. */
async function places(page, name, ...shares) {
  const { x, y, width, height } = await page.locator(chart(name)).boundingBox();
  return shares.map((share) => [x + share * width, y + height / 2]);
}

async function drag(page, name, from, to) {
  const [a, b] = await places(page, name, from, to);
  await page.mouse.move(...a);
  await page.mouse.down();
  await page.mouse.move(...b, { steps: 8 });
  await page.mouse.up();
}

const inside = (degree, low, high) => degree.filter((d) => d >= low && d <= high).length;

test('the histograms open with a click, and by themselves only when the address says so', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    assert.equal(await page.locator('#panel-histograms').count(), 0);
    await openPanel(page);
    await page.click('#open-histograms');
    assert.equal(await page.locator('#panel-histograms').count(), 0);
  });
  await withPage(`dataset=${GRAPH}&play=0&test=1&showHistograms=true`, {}, async (page) => {
    await page.waitForSelector('[data-column="node:degree"] .chart');
  });
});

test('a brush is drawn, moved, resized and removed, and a gesture is one step of undo', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page, { complaints }) => {
    await settle(page);
    const { degree } = await graphOf(page);
    const edges = await edgesOf(page, 'node:degree');
    await openPanel(page);
    // Whole numbers may have fewer bins than were asked for.
    const n = edges.length - 1;
    const [low, high] = [1, Math.max(3, Math.floor(0.3 * n))];
    const shows = (from, to) => visible(page, inside(degree, edges[from], edges[to]));
    await drag(page, 'degree', (low + 0.5) / n, (high - 0.5) / n);
    await shows(low, high);
    const middle = (low + high) / 2;
    await drag(page, 'degree', middle / n, (middle + 2) / n);
    await shows(low + 2, high + 2);
    await drag(page, 'degree', (high + 2) / n, (high + 4.5) / n);
    await shows(low + 2, high + 5);
    for (const by of [2, 0]) {
      await page.keyboard.press('Control+z');
      await shows(low + by, high + by);
    }
    assert.match(await page.getAttribute('#undo', 'title'), /^Undo: Brush degree/);
    const [[x, y]] = await places(page, 'degree', 0.9);
    await page.mouse.dblclick(x, y);
    await visible(page, degree.length);
    assert.equal(await page.locator('.brush').count(), 0);
    assert.deepEqual(faults(complaints), []);
  });
});

// How many bins there are is the server's to say; the mock server has 32 of each column.
test('a brush by keys alone and by finger', { skip: !isMock }, async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const { degree } = await graphOf(page);
    const edges = await edgesOf(page, 'node:degree');
    await page.locator('#open-histograms').focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector(chart('degree'));
    await settle(page);
    const view = await page.evaluate(() => window.__viewer.doc.view);
    const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'));
    for (let k = 0; k < 60 && (await focused()) !== 'Range of degree'; k += 1) {
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('ArrowLeft');
    await visible(page, inside(degree, edges[8], edges[24]));
    for (let k = 0; k < 5; k += 1) await page.keyboard.press('ArrowLeft');
    await visible(page, inside(degree, edges[3], edges[19]));
    await page.keyboard.press('Shift+ArrowLeft');
    await visible(page, inside(degree, edges[3], edges[18]));
    await page.keyboard.press('Escape');
    await visible(page, degree.length);
    assert.equal(await focused(), 'Range of degree');
    assert.deepEqual(await page.evaluate(() => window.__viewer.doc.view), view, 'the picture stayed');
  });
  await withPage(`dataset=${GRAPH}&play=0&test=1`, { width: 390, height: 780 }, async (page) => {
    await settle(page);
    const { degree } = await graphOf(page);
    const edges = await edgesOf(page, 'node:degree');
    await openPanel(page);
    await swipe(page, await places(page, 'degree', 0.2 / 32, 2 / 32, 4.5 / 32));
    await visible(page, inside(degree, edges[0], edges[5]));
  });
});

test('bars show what all have and, bright, what passes all filters', { skip: !isMock }, async () => {
  for (const theme of ['dark', 'light']) {
    await withPage(`dataset=${GRAPH}&play=0&test=1&theme=${theme}`, {}, async (page, { complaints }) => {
      await settle(page);
      await openPanel(page);
      const accent = theme === 'dark' ? [90, 169, 255] : [23, 105, 210];
      const bright = async (name) => {
        const { data } = await pixels(page, chart(name));
        let count = 0;
        for (let k = 0; k < data.length; k += 4) {
          if (accent.every((c, i) => Math.abs(c - data[k + i]) < 12)) count += 1;
        }
        return count;
      };
      const [amount, seen] = [await bright('amount'), await bright('first%20seen')];
      assert.ok(amount > 2000 && seen > 2000, `${amount} ${seen}`);
      await drag(page, 'amount', 0.26, 0.49);
      await until(async () => (await bright('first%20seen')) < 0.5 * seen);
      assert.ok((await bright('amount')) > 0.9 * amount, 'its own brush does not cut a histogram');
      await page.click('[data-column="node:type"] button:has-text("person")');
      await until(async () => (await bright('amount')) < 0.85 * amount);
      await accessible(page, '#panel-histograms');
      assert.deepEqual(faults(complaints), []);
    });
  }
});

test('values of a category are kept by clicks, and sought', { skip: !isMock }, async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const { degree } = await graphOf(page);
    await openPanel(page);
    const accounts = Math.ceil(degree.length / 3);
    await page.click('[data-column="node:type"] button:has-text("account")');
    await visible(page, accounts);
    await page.click('[data-column="node:type"] button:has-text("person")');
    await visible(page, degree.length);
    await page.click('[data-column="node:type"] button:has-text("account")');
    await visible(page, degree.length - accounts);
    await page.fill('#column-search', 'cit');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await page.fill('[aria-label="Search values of city"]', 'city 4');
    const texts = () => page.locator('[data-column="node:city"] .categories .word').allInnerTexts();
    await until(async () => {
      const list = await texts();
      return list.length > 0 && list.every((text) => text.startsWith('city 4'));
    });
    await page.click('[data-column="node:city"] [aria-label="Remove city"]');
    await page.waitForSelector('[data-column="node:city"]', { state: 'detached' });
  });
});

test('a column by powers, and ends of dates that can be read', { skip: !isMock }, async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const { degree } = await graphOf(page);
    await openPanel(page);
    const ends = page.locator('[data-column="node:first%20seen"] .ends');
    assert.match(await ends.innerText(), /2026-07-03\s+2026-09-30/);
    const plain = await page.getAttribute(`${chart('degree')} .total`, 'd');
    await page.click('[aria-label="Log scale of degree"]');
    await until(async () => (await page.getAttribute(`${chart('degree')} .total`, 'd')) !== plain);
    const edges = await edgesOf(page, 'node:degree', '&log=node:degree');
    await drag(page, 'degree', 16.5 / 32, 31.9 / 32);
    await visible(page, inside(degree, edges[16], edges[32]));
  });
});

test('nodes get their colour and their size from a column, and back', { skip: !isMock }, async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    await openPanel(page);
    await settle(page);
    const colors = () => page.evaluate(() => [0, 1, 2, 3, 4].map((i) => window.__viewer.color(i).join()));
    const before = await colors();
    await page.click('[aria-label="Colour nodes by type"]');
    await until(async () => (await colors()).join() !== before.join());
    const [a, b, c, d] = await colors();
    assert.ok(a === d && b === c && a !== b, 'accounts have one colour and persons another');
    await until(async () => (await page.innerText('.legend')).startsWith('type'));
    const spot = await page.evaluate(() => {
      const v = window.__viewer;
      const free = (i) => v.nodeAt(...v.project(i)) === i && v.radius(i) > 5 && v.project(i)[0] < 600;
      const i = [...Array(v.counts.nodes).keys()].find(free);
      return { at: v.project(i), color: v.color(i).slice(0, 3) };
    });
    await settle(page);
    const seen = (await pixels(page)).at(...spot.at);
    assert.ok(seen.every((x, k) => Math.abs(x - spot.color[k]) < 14), `${seen} is not ${spot.color}`);
    const radius = () => page.evaluate(() => window.__viewer.radius(1500));
    const small = await radius();
    await page.click('[aria-label="Size nodes by amount"]');
    await until(async () => (await radius()) > small);
    assert.equal(await page.getAttribute('[aria-label="Size nodes by amount"]', 'aria-pressed'), 'true');
    await page.click('#undo');
    await page.click('[aria-label="Colour nodes by type"]');
    await until(async () => (await colors()).join() === before.join());
    assert.equal(await radius(), small);
    assert.equal((await counted(page))[0], (await counted(page))[1]);
  });
});

test('nodes get icons and opacities from a column, and back', { skip: !isMock }, async () => {
  const query = `dataset=${SPARSE}&play=0&test=1&showLabels=false&pointSize=2`;
  await withPage(query, {}, async (page, { complaints }) => {
    await settle(page);
    await openPanel(page);
    await settle(page);
    // Nodes that no panel covers and that are large enough for an icon.
    const discs = await page.evaluate(() => {
      const v = window.__viewer;
      const all = [...Array(v.counts.nodes).keys()].map((i) => [...v.project(i), v.radius(i)]);
      const isFree = (x, y) => document.elementFromPoint(x, y)?.tagName === 'CANVAS';
      return all.filter(([x, y, r]) => x < 700 && r > 7 && isFree(x, y));
    });
    assert.ok(discs.length > 3, `${discs.length} discs`);
    const steps = [-0.5, -0.25, 0, 0.25, 0.5];
    // Pixels on a disc that are others than before.
    const others = (x, y, r) => {
      const spots = steps.flatMap((dx) => steps.map((dy) => [x + dx * r, y + dy * r]));
      return spots.filter((at) => far(before.at(...at), after.at(...at)) > 40).length;
    };
    const before = await pixels(page);
    await page.click('[aria-label="Icons of nodes by type"]');
    await settle(page);
    const after = await pixels(page);
    const changed = discs.filter((disc) => others(...disc) > 2).length;
    assert.ok(changed > 0.8 * discs.length, `${changed} of ${discs.length} discs show something`);
    await page.click('#undo');
    await settle(page);
    assert.ok(same(before, await pixels(page)), 'without icons the picture is what it was');

    const alpha = () => page.evaluate(() => [0, 1, 2, 3].map((i) => window.__viewer.color(i)[3]).join());
    const whole = await alpha();
    await page.click('[aria-label="Opacity of nodes by degree"]');
    await until(async () => (await alpha()) !== whole);
    await settle(page);
    assert.ok(!same(before, await pixels(page)), 'nodes of few neighbours are faint');
    await page.click('#undo');
    await until(async () => (await alpha()) === whole);
    assert.deepEqual(complaints, []);
  });
});
