import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from './browser.mjs';
import { LARGE, withPage } from './context.mjs';

/** Nodes in view, the largest first, and how many of those that are named came with the graph's own names. */
function inView(page) {
  return page.evaluate(() => {
    const v = window.__viewer;
    const { w, h } = v.doc.size;
    const found = [];
    for (let i = 0; i < v.counts.nodes; i += 1) {
      const at = v.project(i);
      if (at && at[0] > 0 && at[1] > 0 && at[0] < w && at[1] < h) {
        found.push({ i, x: at[0], y: at[1], r: v.radius(i) });
      }
    }
    found.sort((a, b) => b.r - a.r || a.i - b.i);
    return { found, w, h };
  });
}

/** From afar groups are named in place of nodes. */
const QUERY = `dataset=${LARGE}&play=0&test=1&info=false&menu=false&superGraph=false`;

const options = { skip: LARGE ? false : 'PAGE_LARGE names no graph: the mock server has no names' };

test('where the picture is zoomed to, nodes are named', options, async () => {
  await withPage(QUERY, {}, async (page) => {
    await settle(page);
    let now = await inView(page);
    for (let turn = 0; turn < 40 && now.found.length > 250; turn += 1) {
      // Towards a node of the middle, so that some stay in view.
      const { x, y } = now.found[Math.floor(now.found.length / 2)];
      await page.mouse.move(x, y);
      await page.mouse.wheel(0, -240);
      await settle(page);
      now = await inView(page);
    }
    assert.ok(now.found.length >= 40 && now.found.length <= 250, `${now.found.length} nodes in view`);
    await page.mouse.move(1, 1);
    await settle(page);
    const labels = await page.evaluate(() => window.__viewer.labels);
    const room = Math.round((now.w * now.h) / 28_000);
    const least = Math.min(now.found.length, room) * 0.6;
    assert.ok(labels.length >= least, `${labels.length} of ${now.found.length} nodes are named, ${least} is the least`);
    const named = new Set(labels.map((label) => label.index));
    const boxes = labels.map((l) => ({ x: l.x, y: l.y - l.h / 2, w: l.w, h: l.h }));
    const near = ({ x, y }) =>
      boxes.some((b) => x + 220 > b.x && x - 220 < b.x + b.w && y + 16 > b.y && y - 16 < b.y + b.h);
    // Panels of the page take room, too.
    const lost = now.found.slice(0, 20).filter((n) => !named.has(n.i) && !near(n));
    assert.ok(lost.length <= 3, `of the twenty largest in view these have room and no name: ${JSON.stringify(lost)}`);
  });
});

test('the neighbours of what is selected are named first', options, async () => {
  await withPage(QUERY, {}, async (page) => {
    await settle(page);
    // A node of many neighbours that nothing covers.
    const hub = (await inView(page)).found[0];
    await page.mouse.click(hub.x, hub.y);
    await settle(page);
    const [selected, labels, around] = await page.evaluate(() => {
      const v = window.__viewer;
      const near = new Set();
      for (let e = 0; e < v.counts.edgesLoaded; e += 1) {
        const [a, b] = v.edge(e);
        if (a === v.doc.selected) near.add(b);
        if (b === v.doc.selected) near.add(a);
      }
      return [v.doc.selected, v.labels.map((l) => l.index), [...near]];
    });
    assert.ok(selected >= 0 && around.length > 0);
    assert.ok(labels.length > 0, 'some are named');
    // Names stand in the order in which they found a place.
    const lit = labels.map((i) => i === selected || around.includes(i));
    const others = lit.indexOf(false);
    assert.ok(others < 0 || !lit.slice(others).includes(true), `nobody else goes before them: ${lit}`);
    assert.ok(lit[0], 'and some of them are named');
  });
});
