import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asked, census, pixels, settle, until } from './browser.mjs';
import { GRAPH, SPARSE, isMock, withPage } from './context.mjs';
import { PositionLog } from '../position-log.mjs';

const project = (page, i) => page.evaluate((k) => window.__viewer.project(k), i);

/** A node that stands alone, and one far from it that is no neighbour. */
function loneNode(page) {
  return page.evaluate(() => {
    const v = window.__viewer;
    const n = v.counts.nodes;
    const all = Array.from({ length: n }, (_, i) => ({ i, at: v.project(i), r: v.radius(i) }));
    const order = [...all].sort((a, b) => b.r - a.r);
    const over = (a, b) => Math.hypot(a.at[0] - b.at[0], a.at[1] - b.at[1]) < a.r + b.r + 4;
    const lone = order.find((a) => !order.some((b) => b !== a && b.r >= a.r * 0.6 && over(a, b)));
    const near = new Set([lone.i]);
    for (let e = 0; e < v.counts.edges; e += 1) {
      const [s, d] = v.edge(e);
      if (s === lone.i) near.add(d);
      if (d === lone.i) near.add(s);
    }
    const away = (a) => Math.abs(a.at[0] - lone.at[0]) > 340 || Math.abs(a.at[1] - lone.at[1]) > 260;
    const far = order.find(
      (a) => !near.has(a.i) && away(a) && !all.some((b) => near.has(b.i) && over(a, b)),
    );
    return { lone, far };
  });
}

test('the wheel keeps the point under the cursor, dragging pans 1:1, fit shows everything', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const box = await page.locator('#surface').boundingBox();
    const before = await project(page, 5);
    await page.mouse.move(box.x + before[0], box.y + before[1]);
    const [mx, my] = [Math.round(before[0]), Math.round(before[1])];
    for (const turn of [-300, -200, 150]) await page.mouse.wheel(0, turn);
    await settle(page);
    const zoomed = await project(page, 5);
    assert.ok(Math.hypot(zoomed[0] - mx, zoomed[1] - my) < 4, `${zoomed} is near ${mx},${my}`);
    // A place without a node, which would stay instead.
    const { spot, other } = await page.evaluate(() => {
      const { view, size } = window.__viewer.doc;
      let x = 20;
      while (window.__viewer.nodeAt(x, 20) >= 0) x += 5;
      const graph = [view.cx + (x - size.w / 2) / view.scale, view.cy - (20 - size.h / 2) / view.scale];
      return { spot: [x, 20], other: graph };
    });
    await page.mouse.move(box.x + spot[0], box.y + spot[1]);
    await page.waitForFunction(() => window.__viewer.doc.hovered < 0);
    await page.mouse.wheel(0, -400);
    await settle(page);
    const same = await page.evaluate(([gx, gy]) => {
      const { view, size } = window.__viewer.doc;
      return [size.w / 2 + (gx - view.cx) * view.scale, size.h / 2 - (gy - view.cy) * view.scale];
    }, other);
    assert.ok(Math.hypot(same[0] - spot[0], same[1] - spot[1]) < 1, `${same}`);
    const still = await project(page, 5);
    await page.keyboard.press('ArrowDown');
    await settle(page);
    assert.ok(Math.abs((await project(page, 5))[1] - still[1] + 80) < 1);
    await page.keyboard.press('f');
    await settle(page);
    const { inside, nodes } = await page.evaluate(() => {
      const v = window.__viewer;
      const stage = document.querySelector('.stage').getBoundingClientRect();
      const panels = [...document.querySelectorAll('[data-over]')].map((p) => p.getBoundingClientRect());
      const free = (x, y) => !panels.some((p) => x > p.left && x < p.right && y > p.top && y < p.bottom);
      const at = Array.from({ length: v.counts.nodes }, (_, i) => v.project(i));
      const ok = ([x, y]) =>
        x >= 0 && y >= 0 && x <= stage.width && y <= stage.height && free(x, y + stage.top);
      return { inside: at.filter(ok).length, nodes: at.length };
    });
    assert.ok(inside >= 0.99 * nodes, `${inside} of ${nodes}`);
  });
});

test('zooming in ends over a node that stays in sight, zooming out with the graph in sight', async () => {
  await withPage(`dataset=${SPARSE}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const { lone } = await loneNode(page);
    const box = await page.locator('#surface').boundingBox();
    // Beside its middle: the node stays, and not the point of its disc.
    await page.mouse.move(box.x + lone.at[0] + 2, box.y + lone.at[1] + 1);
    await page.waitForFunction((i) => window.__viewer.doc.hovered === i, lone.i);
    const turn = async (dy) => {
      for (let k = 0; k < 60; k += 1) await page.mouse.wheel(0, dy);
      await settle(page);
      return page.evaluate(() => window.__viewer.doc.view.scale);
    };
    const end = await turn(-400);
    const at = await project(page, lone.i);
    assert.ok(Math.hypot(at[0] - lone.at[0], at[1] - lone.at[1]) < 2, `${at} from ${lone.at}`);
    const shot = await pixels(page);
    assert.ok(shot.at(at[0], at[1]).some((channel) => channel > 60), 'the node is drawn');
    const zoom = end / (await page.evaluate(() => window.__viewer.doc.fitScale));
    assert.ok(zoom > 300 && zoom < 10_000, `zoom ${zoom}`);
    assert.ok(Math.abs((await turn(-400)) / end - 1) < 1e-9, 'it was the end');
    for (const act of ['+', '+']) await page.keyboard.press(act);
    await page.click('.zoom [aria-label="Zoom in"]');
    await settle(page);
    assert.ok(Math.abs((await page.evaluate(() => window.__viewer.doc.view.scale)) / end - 1) < 1e-9);
    await page.mouse.move(box.x + lone.at[0], box.y + lone.at[1]);
    await turn(400);
    const { long, inside } = await page.evaluate(() => {
      const v = window.__viewer;
      const all = Array.from({ length: v.counts.nodes }, (_, i) => v.project(i));
      const sides = [0, 1].map((c) => all.map((place) => place[c]));
      const [w, h] = sides.map((side) => Math.max(...side) - Math.min(...side));
      const { size } = v.doc;
      const isIn = ([x, y]) => x > 0 && y > 0 && x < size.w && y < size.h;
      return { long: Math.max(w, h), inside: all.every(isIn) };
    });
    assert.ok(inside && long > 8 && long < 60, `${long} px, ${inside}`);
  });
});

test('one selected node, or the part that an address asks for, is shown no nearer than the end', async () => {
  const query = `dataset=${SPARSE}&play=0&test=1`;
  const zoomOf = (page) => page.evaluate(() => window.__viewer.doc.view.scale / window.__viewer.doc.fitScale);
  await withPage(`${query}&left=0&right=1e-9&bottom=0&top=1e-9`, {}, async (page) => {
    await settle(page);
    await page.waitForFunction(() => window.__viewer.doc.view.scale / window.__viewer.doc.fitScale < 10_000);
    await page.keyboard.press('f');
    await settle(page);
    const { lone } = await loneNode(page);
    const box = await page.locator('#surface').boundingBox();
    await page.keyboard.down('Shift');
    await page.mouse.click(box.x + lone.at[0], box.y + lone.at[1]);
    await page.keyboard.up('Shift');
    await page.click('#selection button[title="Show all that is selected"]');
    await settle(page);
    const zoom = await zoomOf(page);
    assert.ok(zoom > 1 && zoom < 100, `${zoom}`);
  });
});

test('dragging the background pans 1:1', async () => {
  await withPage(`dataset=${SPARSE}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const box = await page.locator('#surface').boundingBox();
    const spot = await page.evaluate(() => {
      for (let x = 20; x < 500; x += 10) if (window.__viewer.nodeAt(x, 300) < 0) return [x, 300];
      return null;
    });
    const before = await project(page, 0);
    await page.mouse.move(box.x + spot[0], box.y + spot[1]);
    await page.mouse.down();
    await page.mouse.move(box.x + spot[0] + 20, box.y + spot[1] + 5, { steps: 3 });
    await page.mouse.move(box.x + spot[0] + 60, box.y + spot[1] + 40, { steps: 4 });
    await page.mouse.up();
    await settle(page);
    const after = await project(page, 0);
    assert.ok(
      Math.abs(after[0] - before[0] - 60) < 1 && Math.abs(after[1] - before[1] - 40) < 1,
      `${after} ${before}`,
    );
  });
});

test('hovering shows the card and dims what is far; a click keeps it; Escape lets go', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1&showLabels=false`, {}, async (page) => {
    await settle(page);
    const { lone, far } = await loneNode(page);
    const box = await page.locator('#surface').boundingBox();
    const before = await pixels(page);
    await page.mouse.move(box.x + lone.at[0], box.y + lone.at[1]);
    await page.waitForSelector('.card.hover dl:not(.pending)');
    await settle(page);
    if (isMock)
      assert.match(await page.textContent('.card.hover .head'), new RegExp(`entity ${lone.i}$`));
    assert.match(await page.textContent('.card.hover'), /degree/);
    const after = await pixels(page);
    const bright = ({ at }, shot) =>
      shot.at(Math.floor(at[0]), Math.floor(at[1])).reduce((p, q) => p + q, 0);
    assert.ok(bright(far, after) < 0.6 * bright(far, before), 'a far node is dimmed');
    assert.ok(bright(lone, after) > 0.9 * bright(lone, before), 'the node itself is not');
    await page.mouse.click(box.x + lone.at[0], box.y + lone.at[1]);
    await page.waitForSelector('.card.pinned');
    await page.mouse.move(box.x + 3, box.y + 3);
    await settle(page);
    assert.equal(await page.locator('.card.pinned').count(), 1);
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => !document.querySelector('.card'));
  });
});

test('search lists the label first, Enter centres and selects the node', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const label = await page.evaluate(() => window.__viewer.labels[1].text);
    await page.keyboard.press('/');
    await page.keyboard.type(label);
    await page.waitForSelector('#hits li');
    assert.equal(await page.textContent('#hits li:first-child .label'), label);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.card.pinned');
    await settle(page);
    const { selected, size } = await page.evaluate(() => window.__viewer.doc);
    const at = await project(page, selected);
    assert.ok(Math.hypot(at[0] - size.w / 2, at[1] - size.h / 2) < 2, `${at}`);
  });
});

test('a dragged node stays where it was put', async () => {
  const log = new PositionLog();
  const before = (fresh) => log.watch(fresh);
  await withPage(`dataset=${SPARSE}&play=0&test=1`, { before }, async (page) => {
    await settle(page);
    const { lone } = await loneNode(page);
    const { frames } = log;
    const box = await page.locator('#surface').boundingBox();
    await page.mouse.move(box.x + lone.at[0], box.y + lone.at[1]);
    await page.mouse.down();
    await page.mouse.move(box.x + lone.at[0] + 50, box.y + lone.at[1] + 30, { steps: 5 });
    await page.mouse.up();
    // The server has the node there, too, and says so once the layout does not move.
    await until(() => log.frames > frames);
    await asked(page, 40);
    await until(() => !log.isRunning);
    await settle(page);
    const at = await project(page, lone.i);
    assert.ok(Math.hypot(at[0] - lone.at[0] - 50, at[1] - lone.at[1] - 30) < 3, `${at} from ${lone.at}`);
  });
});

test('two fingers zoom about their middle', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const scale = () => page.evaluate(() => window.__viewer.doc.view.scale);
    const before = await scale();
    const cdp = await page.context().newCDPSession(page);
    const touch = (type, gap) =>
      cdp.send('Input.dispatchTouchEvent', {
        type,
        touchPoints:
          gap === null ? [] : [-1, 1].map((side, id) => ({ x: 500 + side * gap, y: 330, id })),
      });
    await touch('touchStart', 50);
    for (const gap of [60, 80, 100]) await touch('touchMove', gap);
    await touch('touchEnd', null);
    await settle(page);
    assert.ok(Math.abs((await scale()) / before - 2) < 0.1, `${(await scale()) / before}`);
  });
});

test('the picture is saved as a PNG of twice the size', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, { width: 800, height: 500 }, async (page) => {
    await settle(page);
    const waiting = page.waitForEvent('download');
    await page.click('#export');
    await page.click('#export-save');
    const stream = await (await waiting).createReadStream();
    const pieces = [];
    for await (const piece of stream) pieces.push(piece);
    const png = Buffer.concat(pieces);
    assert.equal(png.readUInt32BE(16), 1600);
    assert.equal(png.readUInt32BE(20), 2 * (500 - 44));
    await page.setContent(
      `<img id="surface" src="data:image/png;base64,${png.toString('base64')}" style="width:1600px">`,
    );
    await page.waitForFunction(() => document.querySelector('img').complete);
    const { lit } = census(await pixels(page));
    assert.ok(lit > 0.02, `lit ${lit}`);
  });
});

test('a question mark lists the keys; Ctrl+A marks the text of a field and of nothing else', async () => {
  await withPage(`dataset=${SPARSE}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    await page.keyboard.press('?');
    await page.waitForSelector('#keys');
    assert.match(await page.textContent('#keys'), /Search nodes/);
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => !document.querySelector('#keys'));
    await page.keyboard.press('Control+a');
    assert.equal(await page.evaluate(() => String(getSelection())), '');
    await page.keyboard.press('/');
    await page.keyboard.type('two words');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('x');
    assert.equal(await page.inputValue('#search'), 'x');
  });
});
