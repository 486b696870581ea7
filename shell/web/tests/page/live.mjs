import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asked, changed, pixels, settle, stopped, until } from './browser.mjs';
import { GRAPH, SPARSE, isMock, newSession, withPage } from './context.mjs';
import { PositionLog } from '../position-log.mjs';

const seq = (page) => page.evaluate(() => window.__viewer.seq);
const places = (page) =>
  page.evaluate(() =>
    Array.from({ length: window.__viewer.counts.nodes }, (_, i) => window.__viewer.project(i)),
  );

/**
 * Waits for so many position frames after `start`. On a slow machine the layout may be over before the page
 * is ready: then it is told to go on.
 */
async function moved(page, start, frames) {
  await until(async () => {
    const [now, playing] = await page.evaluate(() => [window.__viewer.seq, window.__viewer.doc.playing]);
    if (now > start + frames) return true;
    if (!playing) await page.click('#play');
    return false;
  });
}

test('a live layout moves, then stops and says so', async () => {
  const log = new PositionLog();
  const before = (fresh) => log.watch(fresh);
  await withPage(`dataset=${GRAPH}&play=2000&test=1`, { before }, async (page) => {
    assert.match(await page.textContent('#play'), /layout/i);
    const start = await seq(page);
    const first = await pixels(page);
    await moved(page, start, 2);
    await until(async () => changed(first, await pixels(page), 24) > 0.02 * first.w * first.h);
    await stopped(page);
    // The frame that ends the motion may come after the word that it has ended.
    await until(() => !log.isRunning);
    await settle(page);
    await page.waitForFunction(() =>
      document.querySelector('#play').textContent.includes('Resume layout'),
    );
    const { size } = await page.evaluate(() => window.__viewer.doc);
    const inside = (await places(page)).filter(
      ([x, y]) => x >= 0 && y >= 0 && x <= size.w && y <= size.h,
    );
    const { nodes } = await page.evaluate(() => window.__viewer.counts);
    assert.ok(inside.length >= 0.99 * nodes, `${inside.length} of ${nodes} in sight`);
    const last = await seq(page);
    const frame = await page.evaluate(() => window.__viewer.frame);
    await asked(page, 40);
    await settle(page);
    assert.equal(await seq(page), last, 'no position frame after the end');
    assert.ok(
      (await page.evaluate(() => window.__viewer.frame)) - frame <= 2,
      'nothing is redrawn at rest',
    );
  });
});

test('pause and resume', async () => {
  const log = new PositionLog();
  const before = (fresh) => log.watch(fresh);
  await withPage(`dataset=${GRAPH}&play=8000&test=1`, { before }, async (page) => {
    await moved(page, await seq(page), 0);
    await page.click('#play');
    await page.waitForFunction(() => document.querySelector('#play').textContent.includes('Resume'));
    await until(() => !log.isRunning);
    await settle(page);
    const paused = await seq(page);
    await asked(page, 40);
    assert.equal(await seq(page), paused);
    await page.keyboard.press('Tab');
    await page.locator('#surface').focus();
    await page.keyboard.press(' ');
    await page.waitForFunction((from) => window.__viewer.seq > from, paused);
  });
});

test('a late joiner sees the picture of those who were there', async () => {
  // Which labels were there first depends on when one joined, so they are left out.
  const query = `dataset=${GRAPH}&play=2000&test=1&showLabels=false&session=${newSession()}`;
  await withPage(query, {}, async (first) => {
    const joined = await seq(first);
    await moved(first, joined, 3);
    await withPage(query, {}, async (second) => {
      assert.ok((await seq(second)) > joined);
      await stopped(first);
      await stopped(second);
      // A page that has stopped may still be gliding to its last frame.
      await until(async () => {
        const [a, b] = [await places(first), await places(second)];
        return Math.max(...a.map(([x, y], i) => Math.hypot(x - b[i][0], y - b[i][1]))) < 0.5;
      });
      const differ = changed(await pixels(first), await pixels(second), 24);
      assert.ok(differ < 0.015 * 1000 * 600, `${differ} pixels differ`);
    });
  });
});

test('a lost connection is said, the picture stays usable, and it comes back by itself', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const before = await places(page);
    // The way back may be quicker than the next look from here, so the page itself keeps what it showed.
    await page.evaluate(() => {
      window.__shown = new Set();
      const look = () => {
        window.__shown.add(document.body.dataset.connected);
        if (document.querySelector('#banner')) window.__shown.add('banner');
      };
      const all = { attributes: true, childList: true, subtree: true };
      new MutationObserver(look).observe(document.documentElement, all);
      window.__viewer.drop();
    });
    await page.waitForFunction(() => window.__shown.has('false') && window.__shown.has('banner'));
    await page.keyboard.press('ArrowLeft');
    await settle(page);
    const [x] = await page.evaluate(() => window.__viewer.project(0));
    assert.ok(Math.abs(x - before[0][0] - 80) < 1, 'panned while away');
    await page.waitForSelector('body[data-connected="true"]');
    await page.waitForFunction(() => !document.querySelector('#banner'));
    await settle(page);
    const [again] = await page.evaluate(() => window.__viewer.project(0));
    assert.ok(Math.abs(again - x) < 1, 'the camera stayed');
    assert.equal(await page.evaluate(() => window.__viewer.doc.phase), 'ready');
  });
});

test('a first visit without websockets shows the graph by polling', async () => {
  const before = (fresh) =>
    fresh.addInitScript(() => {
      window.WebSocket = class {
        static OPEN = 1;
        constructor() {
          setTimeout(() => this.onclose?.({ code: 1006, reason: '' }));
        }
        close() {}
      };
    });
  await withPage(`dataset=${GRAPH}&play=0&test=1`, { before }, async (page) => {
    await page.waitForFunction(() => {
      const { edges, edgesLoaded } = window.__viewer.counts;
      return edges > 0 && edgesLoaded === edges;
    });
    assert.equal(await page.evaluate(() => window.__viewer.doc.link), 'polling');
    assert.ok((await places(page)).every((at) => at !== null), 'every node has a place');
    assert.match(await page.textContent('#notice'), /blocked by a proxy/);
    // Name, legend, colours and labels come without a socket, too.
    await settle(page);
    assert.match(await page.title(), / · Graphlume$/);
    assert.ok((await page.locator('.legend').count()) > 0, 'a legend');
    const colors = await page.evaluate(() =>
      Array.from({ length: window.__viewer.counts.nodes }, (_, k) => window.__viewer.color(k).join()),
    );
    assert.ok(new Set(colors).size > 1, 'more than one colour');
    await page.waitForFunction(() => window.__viewer.labels.length > 0);
    assert.ok(await page.isDisabled('#play'));
    assert.match(await page.getAttribute('#play', 'title'), /websocket/);
  });
});

test('a layout by name is shown to all, fills the view and is undone by forces', { skip: isMock }, async () => {
  const session = newSession();
  await withPage(`dataset=${SPARSE}&play=0&session=${session}&test=1`, {}, async (page) => {
    await settle(page);
    assert.equal(await page.inputValue('#layouts'), '');
    await page.selectOption('#layouts', 'circle');
    await page.waitForFunction(
      () => document.querySelector('#layouts[aria-busy="false"]')?.value === 'circle',
    );
    const ring = async () => {
      const at = await places(page);
      const middle = [0, 1].map((c) => at.reduce((sum, p) => sum + p[c], 0) / at.length);
      const radii = at.map((p) => Math.hypot(p[0] - middle[0], p[1] - middle[1]));
      return { least: Math.min(...radii), most: Math.max(...radii) };
    };
    await until(async () => {
      await settle(page);
      const { size } = await page.evaluate(() => window.__viewer.doc);
      const { least, most } = await ring();
      return most < 1.02 * least && 2 * most > 0.6 * Math.min(size.w, size.h);
    });
    await withPage(`dataset=${SPARSE}&session=${session}&test=1`, {}, async (other) => {
      await other.waitForFunction(() => document.querySelector('#layouts').value === 'circle');
      assert.ok(await other.locator('#layouts').isDisabled(), 'who watches is not offered it');
    });
    await page.selectOption('#layouts', 'kk');
    await until(async () => {
      await settle(page);
      const { least, most } = await ring();
      return most > 1.5 * least;
    });
    await page.click('#play');
    await page.waitForFunction(() => window.__viewer.doc.iterations > 0);
  });
});
