import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed, pixels, settle, until } from './browser.mjs';
import { GRAPH, SPARSE, withPage } from './context.mjs';

/** How many nodes the panel says are selected; 0 without a panel. */
const selected = (page) =>
  page.evaluate(() => Number(document.querySelector('#selection b')?.textContent.replace(/,/g, '') ?? 0));
const places = (page) =>
  page.evaluate(() =>
    Array.from({ length: window.__viewer.counts.nodes }, (_, i) => window.__viewer.project(i)),
  );

/** Drags along these points of the picture. */
async function drag(page, points) {
  const box = await page.locator('#surface').boundingBox();
  await page.mouse.move(box.x + points[0][0], box.y + points[0][1]);
  await page.mouse.down();
  for (const [x, y] of points.slice(1)) await page.mouse.move(box.x + x, box.y + y, { steps: 4 });
  await page.mouse.up();
}

/** The same with a finger. */
async function swipe(page, points) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Emulation.setTouchEmulationEnabled', { enabled: true });
  const box = await page.locator('#surface').boundingBox();
  const send = (type, touchPoints) => cdp.send('Input.dispatchTouchEvent', { type, touchPoints });
  const place = ([x, y]) => [{ x: box.x + x, y: box.y + y }];
  await send('touchStart', place(points[0]));
  for (const point of points.slice(1)) await send('touchMove', place(point));
  await send('touchEnd', []);
}

/** The nodes strictly inside of a box of the picture. */
const within = (at, [left, top], [right, bottom]) =>
  at.filter(([x, y]) => x > left && x < right && y > top && y < bottom).length;

test('a rectangle selects what is inside, dims the rest, and is added to and taken from', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1&showLabels=false`, {}, async (page) => {
    await settle(page);
    const before = await pixels(page);
    const at = await places(page);
    const [a, b] = [
      [400, 150],
      [760, 460],
    ];
    await page.keyboard.press('r');
    await drag(page, [a, b]);
    const wanted = within(at, a, b);
    await until(async () => (await selected(page)) === wanted);
    assert.ok(wanted > 20, `${wanted}`);
    await settle(page);
    assert.ok(changed(before, await pixels(page), 24) > 0.005 * before.w * before.h, 'the rest is dimmed');
    assert.deepEqual(await places(page), at, 'nothing moved, not even the view');
    const c = [820, 560];
    await page.keyboard.down('Shift');
    await drag(page, [[650, 300], c]);
    await page.keyboard.up('Shift');
    const both = at.filter(
      ([x, y]) => (x > 400 && x < 760 && y > 150 && y < 460) || (x > 650 && x < 820 && y > 300 && y < 560),
    ).length;
    await until(async () => (await selected(page)) === both);
    await page.keyboard.down('Alt');
    await drag(page, [a, b]);
    await page.keyboard.up('Alt');
    await until(async () => (await selected(page)) === both - wanted);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await until(async () => (await selected(page)) === 0);
    await settle(page);
    assert.ok(changed(before, await pixels(page), 24) < 0.001 * before.w * before.h, 'all is as before');
  });
});

test('a lasso holds what its line holds, by mouse and by finger', async () => {
  for (const gesture of [drag, swipe]) {
    await withPage(`dataset=${SPARSE}&play=0&test=1`, {}, async (page) => {
      await settle(page);
      const at = await places(page);
      const { size } = await page.evaluate(() => window.__viewer.doc);
      await page.click('#select-lasso');
      const [w, h] = [size.w, size.h];
      // A triangle: its sides are far from being a box.
      const line = [
        [w * 0.5, 10],
        [w - 90, h - 10],
        [90, h - 10],
        [w * 0.5, 10],
      ];
      await gesture(page, line);
      const side = ([ax, ay], [bx, by], [x, y]) => (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0;
      const inTriangle = (p) =>
        side(line[0], line[1], p) && side(line[1], line[2], p) && side(line[2], line[0], p);
      const wanted = at.filter(inTriangle).length;
      await until(async () => (await selected(page)) === wanted);
      assert.ok(wanted > 0 && wanted < at.length, `${wanted} of ${at.length}`);
    });
  }
});

test('shift click, grow, component, invert and all, by keys and by the buttons', async () => {
  await withPage(`dataset=${SPARSE}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const { nodes, edges, ends } = await page.evaluate(() => {
      const v = window.__viewer;
      return { ...v.counts, ends: Array.from({ length: v.counts.edges }, (_, e) => v.edge(e)) };
    });
    const box = await page.locator('#surface').boundingBox();
    // A node that the pointer finds at its own place.
    const first = await page.evaluate(() => {
      const v = window.__viewer;
      return Array.from({ length: v.counts.nodes }, (_, i) => i).find((i) => v.nodeAt(...v.project(i)) === i);
    });
    const [x, y] = await page.evaluate((i) => window.__viewer.project(i), first);
    await page.keyboard.down('Shift');
    await page.mouse.click(box.x + x, box.y + y);
    await page.keyboard.up('Shift');
    await until(async () => (await selected(page)) === 1);
    const near = new Set([first]);
    for (const [s, d] of ends) {
      if (s === first) near.add(d);
      if (d === first) near.add(s);
    }
    await page.keyboard.press('g');
    await until(async () => (await selected(page)) === near.size);
    const reached = new Set([first]);
    for (let before = 0; before < reached.size; ) {
      before = reached.size;
      for (const [s, d] of ends) if (reached.has(s) || reached.has(d)) reached.add(s).add(d);
    }
    await page.click('#selection button:has-text("Component")');
    await until(async () => (await selected(page)) === reached.size);
    await page.keyboard.press('i');
    await until(async () => (await selected(page)) === nodes - reached.size);
    await page.locator('#surface').focus();
    await page.keyboard.press('Control+a');
    await until(async () => (await selected(page)) === nodes);
    assert.ok(edges > 0);
    await page.click('#selection button:has-text("Clear")');
    await until(async () => (await selected(page)) === 0);
  });
});
