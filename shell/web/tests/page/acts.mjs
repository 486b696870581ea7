import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { GRAPH, SPARSE, isMock, withPage } from './context.mjs';
import {
  accessible, faults, graphOf, pixels, settle, swipe, tap, until, visible,
} from './document.mjs';

/** How many nodes the panel says are selected; 0 without a panel. */
const selected = (page) =>
  page.evaluate(() => Number(document.querySelector('#selection b')?.textContent.replace(/,/g, '') ?? 0));

/** A node that the pointer finds at its own place, away from the panels, and that passes a test. */
async function reachable(page, passes = () => true) {
  const found = await page.evaluate(() => {
    const v = window.__viewer;
    return [...Array(v.counts.nodes).keys()]
      .filter((i) => v.project(i) && v.nodeAt(...v.project(i)) === i)
      .map((i) => ({ i, at: v.project(i) }));
  });
  return found.filter(({ i, at }) => at[0] < 640 && at[0] > 210 && at[1] < 380 && passes(i));
}

async function shiftClick(page, { at }) {
  const box = await page.locator('#surface').boundingBox();
  await page.keyboard.down('Shift');
  await page.mouse.click(box.x + at[0], box.y + at[1]);
  await page.keyboard.up('Shift');
}

/** Writes into the search box and takes the text as an expression. */
async function match(page, text) {
  await page.fill('#search', text);
  await page.waitForSelector('[data-match]');
  for (let k = 0; k < 25; k += 1) {
    if ((await page.getAttribute('[data-match]', 'aria-selected')) === 'true') break;
    await page.keyboard.press('ArrowDown');
  }
  await page.keyboard.press('Enter');
}

/** The length of a shortest path in nodes, by rings around the start. */
function pathLength(ends, start, goal) {
  let ring = new Set([start]);
  const seen = new Set(ring);
  for (let length = 1; ring.size > 0; length += 1) {
    if (ring.has(goal)) return length;
    const next = new Set();
    for (const [s, d] of ends) {
      if (ring.has(s) && !seen.has(d)) next.add(d);
      if (ring.has(d) && !seen.has(s)) next.add(s);
    }
    for (const v of next) seen.add(v);
    ring = next;
  }
  return Infinity;
}

test('a shortest path between two selected nodes is added and lit, and goes around what is hidden', async () => {
  await withPage(`dataset=${SPARSE}&play=0&test=1&showLabels=false`, {}, async (page) => {
    await settle(page);
    const { ends } = await graphOf(page);
    const some = await reachable(page);
    const pairs = some.flatMap((a) => some.map((b) => ({ a, b, length: pathLength(ends, a.i, b.i) })));
    const { a, b, length } = pairs
      .filter((pair) => pair.length < Infinity)
      .reduce((best, pair) => (pair.length > best.length ? pair : best));
    assert.ok(length > 3, `${length}`);
    await shiftClick(page, a);
    await until(async () => (await selected(page)) === 1);
    assert.ok(await page.isDisabled('#selection button:has-text("Path")'));
    await shiftClick(page, b);
    await until(async () => (await selected(page)) === 2);
    await page.click('#selection button:has-text("Path")');
    await until(async () => (await selected(page)) === length);
    await settle(page);
    const shot = await pixels(page);
    const color = await page.evaluate((i) => window.__viewer.color(i).slice(0, 3), a.i);
    // A small disc covers the pixel nearest to its middle only in part.
    const near = [-1, 0, 1].flatMap((y) => [-1, 0, 1].map((x) => shot.at(a.at[0] + x, a.at[1] + y)));
    const isLit = (seen) => seen.every((c, k) => Math.abs(c - color[k]) < 30);
    assert.ok(near.some(isLit), `none of ${near.join(' ')} is ${color}`);
  });
});

test('what an expression, a Cypher or a GFQL text finds is selected from the search box', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page, { complaints }) => {
    await settle(page);
    const { degree } = await graphOf(page);
    const many = (n) => degree.filter((d) => d > n).length;
    await match(page, 'degree > 8');
    await until(async () => (await selected(page)) === many(8));
    await match(page, 'degree > 12');
    await until(async () => (await selected(page)) === many(12));
    await match(page, 'degre > 8');
    await page.waitForSelector('[data-match] .refused');
    assert.match(await page.innerText('[data-match]'), /degree/);
    assert.equal(await selected(page), many(12), 'nothing changed');
    if (isMock) {
      await match(page, 'MATCH (n) WHERE n.degree > 9 RETURN n');
      await until(async () => (await selected(page)) === many(9));
      await match(page, '[{"type": "Node", "filter_dict": {"type": "account"}}]');
      await until(async () => (await selected(page)) === Math.ceil(degree.length / 3));
    }
    assert.deepEqual(faults(complaints), []);
  });
});

test('the nodes with the same value, and sets joined, cut and taken away', { skip: !isMock }, async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const { degree } = await graphOf(page);
    const isAccount = (i) => i % 3 === 0;
    const count = (test) => degree.filter((d, i) => test(d, i)).length;
    await shiftClick(page, (await reachable(page, isAccount))[0]);
    await until(async () => (await selected(page)) === 1);
    await page.waitForSelector('#same-value:enabled');
    await page.selectOption('#same-value', 'node:type');
    await until(async () => (await selected(page)) === count((d, i) => isAccount(i)));
    await page.click('#selection button:has-text("Collect")');
    await page.waitForSelector('#panel-collections');
    await match(page, 'degree > 8');
    await until(async () => (await selected(page)) === count((d) => d > 8));
    const choose = async (group) => {
      const value = await page.getAttribute(`#combine optgroup[label="${group}"] option`, 'value');
      await page.selectOption('#combine', value);
    };
    await choose('Keep what is also in');
    await until(async () => (await selected(page)) === count((d, i) => d > 8 && isAccount(i)));
    await match(page, 'degree > 8');
    await until(async () => (await selected(page)) === count((d) => d > 8));
    await choose('Take away');
    await until(async () => (await selected(page)) === count((d, i) => d > 8 && !isAccount(i)));
    await choose('Add');
    await until(async () => (await selected(page)) === count((d, i) => d > 8 || isAccount(i)));
  });
});

test('the selection is kept alone or hidden, by mouse and by finger', async () => {
  for (const theme of ['dark', 'light']) {
    await withPage(`dataset=${GRAPH}&play=0&test=1&theme=${theme}`, {}, async (page, { complaints }) => {
      await settle(page);
      const { degree } = await graphOf(page);
      const high = degree.filter((d) => d > 8).length;
      await match(page, 'degree > 8');
      await until(async () => (await selected(page)) === high);
      await accessible(page, '#selection');
      await page.click('#selection button:has-text("Keep only")');
      await visible(page, high);
      assert.equal(await page.getAttribute('#undo', 'title'), `Undo: Keep ${high} nodes`);
      await page.click('#undo');
      await visible(page, degree.length);
      assert.equal(await selected(page), high, 'what was selected still is');
      await page.click('#selection button:has-text("Hide")');
      await visible(page, degree.length - high);
      assert.equal(await selected(page), 0, 'hidden nodes are not selected');
      assert.deepEqual(faults(complaints), []);
    });
  }
  await withPage(`dataset=${GRAPH}&play=0&test=1`, { width: 390, height: 780 }, async (page) => {
    await settle(page);
    await tap(page, '#select-rectangle');
    const box = await page.locator('#surface').boundingBox();
    const [x, y] = [box.x + 60, box.y + 120];
    await swipe(page, [[x, y], [x + 100, y + 100], [x + 230, y + 260]]);
    await until(async () => (await selected(page)) > 0);
    await page.waitForSelector('#same-value:enabled');
    const count = await selected(page);
    const outside = await page.evaluate(() =>
      [...document.querySelectorAll('#selection *')].some((part) => {
        const { left, right } = part.getBoundingClientRect();
        return left < -0.5 || right > innerWidth + 0.5;
      }),
    );
    assert.equal(outside, false);
    await page.click('#selection button:has-text("Keep only")');
    await visible(page, count);
  });
});

test('selected nodes are pinned, and released after a reload', { skip: !isMock }, async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1&showLabels=false`, {}, async (page) => {
    await settle(page);
    const [node] = await reachable(page, (i) => i > 100);
    await shiftClick(page, node);
    await until(async () => (await selected(page)) === 1);
    const ring = async () => {
      const { at, radius } = await page.evaluate(
        (i) => ({ at: window.__viewer.project(i), radius: window.__viewer.radius(i) }),
        node.i,
      );
      const shot = await pixels(page);
      let white = 0;
      for (let k = 0; k < 60; k += 1) {
        const r = Math.max(3, radius) + 2;
        const c = shot.at(at[0] + r * Math.cos(k / 9.55), at[1] + r * Math.sin(k / 9.55));
        if (Math.min(...c) > 120) white += 1;
      }
      return white;
    };
    await settle(page);
    assert.ok((await ring()) < 10);
    await page.click('#selection button:has-text("Pin")');
    await until(async () => (await page.getAttribute('#undo', 'title')) === 'Undo: Pin 1 node');
    await settle(page);
    await until(async () => (await ring()) > 30);
    await page.reload();
    await page.waitForFunction(() => window.__viewer?.ready === true);
    await settle(page);
    await until(async () => (await ring()) > 30);
    const box = await page.locator('#surface').boundingBox();
    await page.mouse.click(box.x + node.at[0], box.y + node.at[1]);
    await page.click('.card.pinned .wide');
    await page.waitForSelector('.card.pinned .wide', { state: 'detached' });
    await page.keyboard.press('Escape');
    await settle(page);
    await until(async () => (await ring()) < 10);
  });
});

test('the selection is saved as a file, and opened as a dataset of its own', { skip: !isMock }, async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page, { context }) => {
    await settle(page);
    const { degree } = await graphOf(page);
    const high = [...degree.keys()].filter((i) => degree[i] > 20);
    await match(page, 'degree > 20');
    await until(async () => (await selected(page)) === high.length);
    const saved = async (option) => {
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.selectOption('#export-selection', option),
      ]);
      return [file.suggestedFilename(), await readFile(await file.path(), 'utf8')];
    };
    const [name, csv] = await saved('nodes csv');
    assert.equal(name, `${GRAPH}-nodes.csv`);
    const [head, ...rows] = csv.split('\n');
    assert.equal(head, 'id,degree,x,y');
    assert.deepEqual(rows.map((row) => Number(row.split(',')[0])), high);
    const [, json] = await saved('edges json');
    assert.ok(JSON.parse(json).every(({ src, dst }) => degree[src] > 20 && degree[dst] > 20));
    const [opened] = await Promise.all([
      context.waitForEvent('page'),
      page.click('#selection button:has-text("New dataset")'),
    ]);
    await opened.waitForFunction(() => window.__viewer?.ready === true);
    assert.equal(await opened.evaluate(() => window.__viewer.counts.nodes), high.length);
  });
});
