import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GRAPH, SPARSE, isMock, newSession, withPage } from './context.mjs';
import {
  accessible, counted, faults, filter, graphOf, pixels, same, settle, tap, until, visible,
} from './document.mjs';

/** How many nodes are left when those with less than two edges are taken away again and again. */
function core2(nodes, ends) {
  const left = new Set(Array(nodes).keys());
  for (let before = Infinity; left.size < before;) {
    before = left.size;
    const degree = new Map();
    for (const [s, d] of ends) {
      if (!left.has(s) || !left.has(d)) continue;
      for (const v of [s, d]) degree.set(v, (degree.get(v) ?? 0) + 1);
    }
    for (const v of [...left]) if ((degree.get(v) ?? 0) < 2) left.delete(v);
  }
  return left.size;
}

const count = (degree, test) => degree.filter(test).length;

test('a filter hides nodes and edges from the picture, the pointer, the names and the counts', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page, { complaints }) => {
    await settle(page);
    const { degree, ends, at } = await graphOf(page);
    await filter(page, 'degree > 8');
    await visible(page, count(degree, (d) => d > 8));
    // The counts are there before the frame in which nodes are gone.
    await settle(page);
    const within = ends.filter(([s, d]) => degree[s] > 8 && degree[d] > 8).length;
    assert.deepEqual(await counted(page), [count(degree, (d) => d > 8), degree.length, within, ends.length]);
    const gone = degree.findIndex((d, i) => d <= 8 && at[i][0] > 100 && at[i][0] < 600);
    const [places, hit, named] = await page.evaluate(
      ([i, x, y]) => {
        const v = window.__viewer;
        return [v.project(i), v.nodeAt(x, y), v.labels.map(({ index }) => index)];
      },
      [gone, ...at[gone]],
    );
    assert.equal(places, null);
    assert.ok(hit < 0 || degree[hit] > 8, `node ${hit} is hit`);
    assert.ok(named.length > 0 && named.every((i) => degree[i] > 8), 'only visible nodes are named');
    await page.locator('#surface').focus();
    await page.keyboard.press('Control+a');
    await until(async () => (await page.innerText('#selection b')) === String(count(degree, (d) => d > 8)));
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+z');
    await visible(page, degree.length);
    await page.keyboard.press('Control+Shift+z');
    await visible(page, count(degree, (d) => d > 8));
    await page.keyboard.press('Control+z');
    await visible(page, degree.length);
    await page.keyboard.press('Control+y');
    await visible(page, count(degree, (d) => d > 8));
    assert.deepEqual(faults(complaints), []);
  });
});

test('where a hidden node was there is nothing, and undo brings the same picture back', async () => {
  for (const theme of ['dark', 'light']) {
    const query = `dataset=${GRAPH}&play=0&test=1&showLabels=false&edgeOpacity=0&theme=${theme}`;
    await withPage(query, {}, async (page) => {
      await page.click('#open-filters');
      await settle(page);
      const before = await pixels(page);
      const { degree, at, radius } = await graphOf(page);
      await filter(page, 'degree > 8');
      await visible(page, count(degree, (d) => d > 8));
      const after = await pixels(page);
      const off = (i, j) => Math.hypot(at[i][0] - at[j][0], at[i][1] - at[j][1]) - radius[j];
      const far = (i) => at.every((_, j) => degree[j] <= 8 || off(i, j) > 4);
      const free = (i) => at[i][0] > 200 && at[i][0] < 650;
      const gone = degree.flatMap((d, i) => (d <= 8 && free(i) && far(i) ? [i] : []));
      assert.ok(gone.length > 50, `${gone.length}`);
      const unlike = (shot, i) => {
        const [a, b] = [shot.at(...at[i]), theme === 'dark' ? [18, 21, 29] : [252, 252, 254]];
        return Math.max(...a.map((c, k) => Math.abs(c - b[k])));
      };
      // Some of them lay under the dark rim of another one.
      assert.ok(gone.filter((i) => unlike(before, i) > 25).length > 0.9 * gone.length);
      assert.deepEqual(gone.filter((i) => unlike(after, i) > 18), []);
      assert.ok(unlike(after, degree.findIndex((d, i) => d > 20 && free(i))) > 25);
      await page.click('#undo');
      await visible(page, degree.length);
      await page.waitForSelector('[data-filter]', { state: 'detached' });
      await settle(page);
      assert.ok(same(before, await pixels(page)));
    });
  }
});

test('hidden edges leave no ink where they were', { skip: !isMock }, async () => {
  await withPage('dataset=two&play=0&test=1&showLabels=false&info=false', {}, async (page) => {
    await settle(page);
    const middle = async () => {
      const [a, b] = await page.evaluate(() => [window.__viewer.project(0), window.__viewer.project(1)]);
      const shot = await pixels(page);
      return shot.at((a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
    };
    const bright = (c) => Math.max(...c);
    assert.ok(bright(await middle()) > 90, 'the edge is there');
    await filter(page, 'edge:weight > 5');
    await page.waitForSelector('[data-filter]');
    await page.click('[aria-label="Close Filters"]');
    await settle(page);
    await until(async () => bright(await middle()) < 50);
    await page.click('#undo');
    await settle(page);
    await until(async () => bright(await middle()) > 90);
  });
});

test('what cannot be read is said in red with a suggestion, and nothing changes', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const before = await counted(page);
    await filter(page, 'degre > 3');
    await page.waitForFunction(() => document.querySelector('#filter-problem').textContent !== '');
    assert.match(await page.textContent('#filter-problem'), /degre.*degree/s);
    assert.equal(await page.inputValue('#filter-text'), 'degre > 3', 'the text stays to be mended');
    assert.deepEqual(await counted(page), before);
    assert.equal(await page.locator('[data-filter]').count(), 0);
    assert.ok(await page.isDisabled('#undo'));
  });
});

test('filters are turned off, renamed and removed, and each says what it does', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page, { complaints }) => {
    await settle(page);
    const { degree } = await graphOf(page);
    const [some, few] = [count(degree, (d) => d > 4), count(degree, (d) => d > 12)];
    await filter(page, 'degree > 4');
    await visible(page, some);
    await filter(page, 'degree > 12', 'Hide');
    await visible(page, some - few);
    const texts = await page.locator('[data-filter] .under > :first-child').allInnerTexts();
    const plain = (n) => n.toLocaleString('en');
    assert.deepEqual(texts, [`keeps ${plain(some)} nodes`, `hides ${plain(few)} nodes`]);
    assert.equal(await page.getAttribute('#undo', 'title'), 'Undo: Hide degree > 12');
    await page.click('[data-filter] >> nth=1 >> [role=switch]');
    await visible(page, some);
    await page.click('[data-filter] >> nth=0 >> [title=Rename]');
    await page.keyboard.type('the busy ones');
    await page.keyboard.press('Enter');
    await page.waitForSelector('[data-filter] :text("the busy ones")');
    await page.click('[data-filter] >> nth=0 >> [title=Remove]');
    await visible(page, degree.length);
    assert.equal(await page.locator('[data-filter]').count(), 1);
    await accessible(page, '#panel-filters');
    await accessible(page, '.bar');
    assert.deepEqual(faults(complaints), []);
  });
});

test('filters by structure: degree, core, orphans, the component and what is near', async () => {
  await withPage(`dataset=${SPARSE}&play=0&test=1&theme=light`, {}, async (page, { complaints }) => {
    await settle(page);
    const { degree, ends } = await graphOf(page);
    await page.click('#open-filters');
    await page.fill('#quick-degree', '3');
    await page.click('[aria-label="Add Degree at least"]');
    const high = degree.map((d) => d >= 3);
    await visible(page, high.filter(Boolean).length);
    const touched = new Set(ends.filter(([s, d]) => high[s] && high[d]).flat());
    await page.click('[aria-label="Nodes without visible edges"]');
    await visible(page, touched.size);
    await page.click('#undo');
    await page.click('#undo');
    await visible(page, degree.length);
    await page.fill('#quick-core', '2');
    await page.click('[aria-label="Add Core number at least"]');
    await until(async () => (await counted(page))[0] === core2(degree.length, ends));
    await page.click('#undo');
    await visible(page, degree.length);
    await page.click('#quick-component');
    await page.waitForSelector('#notice');
    const one = await page.evaluate(() => {
      const v = window.__viewer;
      const free = (i) => v.nodeAt(...v.project(i)) === i && v.project(i)[0] < 650;
      return [...Array(v.counts.nodes).keys()].find(free);
    });
    const [x, y] = await page.evaluate((i) => window.__viewer.project(i), one);
    const box = await page.locator('#surface').boundingBox();
    await page.mouse.click(box.x + x, box.y + y);
    const near = new Set([one, ...ends.filter((pair) => pair.includes(one)).flat()]);
    await page.click('[aria-label="Add Steps around selection"]');
    await visible(page, near.size);
    await accessible(page, '#panel-filters');
    assert.deepEqual(faults(complaints), []);
  });
});

test('by finger on a phone, and by keys alone', async () => {
  const phone = { width: 390, height: 780 };
  await withPage(`dataset=${GRAPH}&play=0&test=1`, phone, async (page) => {
    await settle(page);
    const { degree } = await graphOf(page);
    await tap(page, '#open-filters');
    await page.waitForSelector('#panel-filters');
    await page.fill('#filter-text', 'degree > 8');
    await tap(page, '.expression button:has-text("Keep")');
    await visible(page, count(degree, (d) => d > 8));
    await tap(page, '[data-filter] [role=switch]');
    await visible(page, degree.length);
    const outside = await page.evaluate(() =>
      [...document.querySelectorAll('.dock *, .rail *')].filter((part) => {
        const { left, right } = part.getBoundingClientRect();
        return left < -0.5 || right > innerWidth + 0.5;
      }).length,
    );
    assert.equal(outside, 0);
  });
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const { degree } = await graphOf(page);
    await page.locator('#open-filters').focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('#panel-filters');
    const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.ariaLabel);
    for (let k = 0; k < 60 && (await focused()) !== 'filter-text'; k += 1) await page.keyboard.press('Tab');
    await page.keyboard.type('degree > 8');
    await page.keyboard.press('Enter');
    await visible(page, count(degree, (d) => d > 8));
    for (let k = 0; k < 9 && (await focused()) !== 'degree > 8'; k += 1) await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await visible(page, degree.length);
  });
});

test('the buttons of the panels are free of them at every width', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, { height: 620 }, async (page) => {
    await settle(page);
    for (const width of [360, 480, 560, 679, 680, 760, 899, 900, 1000, 1280]) {
      await page.setViewportSize({ width, height: 620 });
      await page.waitForFunction((w) => innerWidth === w, width);
      await settle(page);
      for (const name of ['filters', 'collections', 'histograms']) {
        await page.click(`#open-${name}`);
        await page.waitForSelector(`#panel-${name}`);
        await page.click(`#open-${name}`);
        await page.waitForSelector(`#panel-${name}`, { state: 'detached' });
      }
    }
  });
});

test('what another changes is seen and said, also after a lost connection', { skip: !isMock }, async () => {
  const session = newSession();
  const query = `dataset=${GRAPH}&play=0&test=1&session=${session}`;
  await withPage(query, {}, async (ann) => {
    await withPage(query, {}, async (ben) => {
      await Promise.all([settle(ann), settle(ben)]);
      const { degree } = await graphOf(ann);
      await filter(ann, 'degree > 8');
      await visible(ben, count(degree, (d) => d > 8));
      assert.equal((await ben.textContent('#news')).trim(), 'ann filtered degree > 8');
      assert.equal(await ann.locator('#news').count(), 0);
      assert.ok(await ben.isDisabled('#undo'), 'undo takes back what one did oneself');
      await ben.evaluate(() => window.__viewer.drop());
      await filter(ann, 'degree > 12');
      await visible(ben, count(degree, (d) => d > 12));
      await ben.waitForFunction(() => window.__viewer.doc.link === 'live');
      await ben.click('#open-filters');
      assert.equal(await ben.locator('[data-filter]').count(), 2);
    });
  });
});

test('a page that only watches changes what it sees itself, and says so', { skip: !isMock }, async () => {
  const query = `dataset=${GRAPH}&play=0&test=1&session=watch-${newSession()}`;
  await withPage(query, {}, async (ann) => {
    await withPage(query, {}, async (ben) => {
      await Promise.all([settle(ann), settle(ben)]);
      const { degree } = await graphOf(ben);
      await filter(ben, 'degree > 8');
      await visible(ben, count(degree, (d) => d > 8));
      assert.match(await ben.textContent('#news'), /Only you see/);
      assert.equal((await counted(ann))[0], degree.length);
      await ben.click('#undo');
      await visible(ben, degree.length);
      await ben.waitForFunction(() => document.querySelector('#news') === null);
    });
  });
});
