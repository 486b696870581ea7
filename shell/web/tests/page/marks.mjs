// Names, sizes and resolution of the picture, by pixels.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodePng } from '../png.mjs';
import { changed, pixels, settle } from './browser.mjs';
import { GRAPH, SPARSE, isMock, withPage } from './context.mjs';

const STILL = 'play=0&test=1&menu=false&info=false';
const DISC_PX = 5;

const nodesInView = (page) =>
  page.evaluate(() => {
    const v = window.__viewer;
    const { w, h } = v.doc.size;
    const all = Array.from({ length: v.counts.nodes }, (_, i) => ({ i, at: v.project(i), r: v.radius(i) }));
    return all
      .filter(({ at }) => at && at[0] >= 0 && at[1] >= 0 && at[0] <= w && at[1] <= h)
      .map(({ i, at: [x, y], r }) => ({ i, x, y, r }));
  });

const labelsOf = (page) => page.evaluate(() => window.__viewer.labels);

/** Brightest pixel within a box. */
function brightest(shot, { x, y, w, h }) {
  let most = 0;
  for (let py = Math.max(0, Math.floor(y)); py < Math.min(shot.h, y + h); py += 1) {
    for (let px = Math.max(0, Math.floor(x)); px < Math.min(shot.w, x + w); px += 1) {
      most = Math.max(most, Math.min(...shot.at(px, py)));
    }
  }
  return most;
}

test('each name is written where it is said to be, in the one canvas of the picture', async () => {
  await withPage(`dataset=${GRAPH}&${STILL}`, {}, async (page) => {
    await settle(page);
    const shot = await pixels(page);
    const labels = await labelsOf(page);
    assert.ok(labels.length >= 15, `${labels.length} names`);
    for (const l of labels) {
      const light = brightest(shot, { x: l.x, y: l.y - l.h / 2, w: l.w, h: l.h });
      assert.ok(light > 180, `${l.text} has no pixel brighter than ${light}`);
    }
    assert.equal(await page.locator('#surface canvas').count(), 1);
  });
});

test('no name lies on the disc of another node', async () => {
  for (const dataset of [GRAPH, SPARSE]) {
    await withPage(`dataset=${dataset}&${STILL}`, { width: 1440, height: 900 }, async (page) => {
      await settle(page);
      const [nodes, labels] = [await nodesInView(page), await labelsOf(page)];
      const discs = nodes.filter((n) => n.r >= DISC_PX);
      const on = (l, d) => {
        const dx = d.x - Math.max(l.x, Math.min(d.x, l.x + l.w));
        const dy = d.y - Math.max(l.y - l.h / 2, Math.min(d.y, l.y + l.h / 2));
        return Math.hypot(dx, dy) < d.r;
      };
      const covered = labels.filter((l) => discs.some((d) => d.i !== l.index && on(l, d)));
      assert.deepEqual(covered.map((l) => l.text), []);
      assert.ok(labels.length >= 40, `${labels.length} names of ${nodes.length} nodes`);
    });
  }
});

/** Pixels of a box that have a clear colour of their own. */
function coloured(shot, { x, y, w, h }) {
  let count = 0;
  for (let py = Math.floor(y); py < y + h; py += 1) {
    for (let px = Math.floor(x); px < x + w; px += 1) {
      const c = shot.at(px, py);
      if (Math.max(...c) - Math.min(...c) > 90) count += 1;
    }
  }
  return count;
}

test('names of every script are written, emoji in their colours', { skip: !isMock }, async () => {
  await withPage(`dataset=scripts-12&${STILL}&edgeOpacity=0`, {}, async (page) => {
    await settle(page);
    const shot = await pixels(page);
    const labels = await labelsOf(page);
    const named = ['Latin', 'Arabic', 'Hebrew', 'Han', 'Devanagari', 'Cyrillic', 'Hangul'];
    const scripts = named.map((name) => new RegExp(`\\p{Script=${name}}`, 'u'));
    for (const script of [...scripts, /\u0301/, /\p{Emoji_Presentation}/u]) {
      const l = labels.find(({ text }) => script.test(text));
      assert.ok(l, `a name with ${script} is shown`);
      const box = { x: l.x, y: l.y - l.h / 2, w: l.w, h: l.h };
      assert.ok(brightest(shot, box) > 150 || coloured(shot, box) > 10, `${l.text} is written`);
    }
  });
});

test('a moving picture may be coarse, one at rest is not', async () => {
  const query = `dataset=${GRAPH}&play=0&menu=false&info=false`;
  await withPage(query, {}, async (page) => {
    await settle(page);
    const sharpness = () => page.evaluate(() => window.__viewer.sharpness);
    const software = await page.evaluate(() => window.__viewer.doc.software);
    assert.equal(await sharpness(), 1);
    await page.mouse.move(300, 300);
    await page.mouse.down();
    const seen = [];
    for (let k = 1; k <= 8; k += 1) {
      await page.mouse.move(300 + 6 * k, 300);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
      seen.push(await sharpness());
    }
    if (software) assert.ok(Math.min(...seen) === 0.5, String(seen));
    assert.ok(seen.every((share) => share >= 0.5 && share <= 1), String(seen));
    await page.mouse.up();
    await settle(page);
    assert.equal(await sharpness(), 1);
    // At rest it is the picture of a page that never moved.
    const [w, h] = await page.evaluate(() => {
      const canvas = document.querySelector('#picture');
      return [canvas.width, canvas.height];
    });
    assert.deepEqual([w, h], [1000, 640]);
  });
});

test('under test=1 a picture is whole also while it moves', async () => {
  await withPage(`dataset=${GRAPH}&${STILL}`, {}, async (page) => {
    await settle(page);
    await page.mouse.move(300, 300);
    await page.mouse.wheel(0, -240);
    assert.equal(await page.evaluate(() => window.__viewer.sharpness), 1);
  });
});

test('names that are switched off let the page come to rest', async () => {
  await withPage(`dataset=${GRAPH}&play=0&showLabels=false`, {}, async (page) => {
    await settle(page);
    assert.deepEqual(await labelsOf(page), []);
  });
});

test('the saved picture has its names and no noise', async () => {
  await withPage(`dataset=${SPARSE}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    await page.click('#export');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#export-save')]);
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    const file = Buffer.concat(chunks);
    const { w, h, data } = decodePng(file);
    const size = await page.evaluate(() => window.__viewer.doc.size);
    assert.deepEqual([w, h], [2 * size.w, 2 * size.h]);
    const at = (x, y) => [...data.subarray(4 * (y * w + x), 4 * (y * w + x) + 3)];
    // A corner without anything in it has one colour.
    const corner = at(0, 0).join();
    for (let x = 0; x < 40; x += 1) assert.equal(at(x, 3).join(), corner);
    const shot = { w, h, at };
    for (const l of await labelsOf(page)) {
      const box = { x: 2 * l.x, y: 2 * l.y - l.h, w: 2 * l.w, h: 2 * l.h };
      assert.ok(brightest(shot, box) > 180, `${l.text} is in the file`);
    }
    // What is on the screen is as before.
    const before = await pixels(page);
    await settle(page);
    assert.equal(changed(before, await pixels(page)), 0);
  });
});

test('sizes stand further apart when zoomed in, and none is above 64 px', async () => {
  await withPage(`dataset=${GRAPH}&${STILL}&showLabels=false`, {}, async (page) => {
    await settle(page);
    const sizes = () =>
      page.evaluate(() => {
        const v = window.__viewer;
        return Array.from({ length: v.counts.nodes }, (_, i) => v.radius(i));
      });
    const before = await sizes();
    for (let turn = 0; turn < 2; turn += 1) {
      await page.mouse.move(500, 320);
      await page.mouse.wheel(0, -400);
      await settle(page);
    }
    const after = await sizes();
    assert.ok(Math.max(...after) <= 32, `${Math.max(...after)} is the largest radius`);
    const order = before.map((r, i) => [r, i]).sort((a, b) => a[0] - b[0]);
    // No two sizes of different degree have become one.
    for (let k = 1; k < order.length; k += 1) {
      const [a, b] = [order[k - 1], order[k]];
      if (b[0] > a[0] + 0.01) assert.ok(after[b[1]] > after[a[1]], `${a[1]} and ${b[1]} have one size`);
    }
    const few = (list) => [...list].sort((a, b) => a - b);
    const contrast = (list) => few(list)[Math.floor(0.85 * list.length)] / few(list)[0];
    assert.ok(contrast(after) > 1.2 * contrast(before), `${contrast(before)} became ${contrast(after)}`);
  });
});

/** Whether a graph's picture changes when arrow heads are asked for, or told not to be. */
async function withArrows(dataset) {
  const shots = [];
  for (const arrows of ['', '&showArrows=true', '&showArrows=false']) {
    await withPage(`dataset=${dataset}&${STILL}&showLabels=false${arrows}`, {}, async (page) => {
      await settle(page);
      shots.push(await pixels(page));
    });
  }
  return { asTold: changed(shots[0], shots[1], 24), asNone: changed(shots[0], shots[2], 24) };
}

test('arrow heads are drawn where edges show that they have a direction', { skip: !isMock }, async () => {
  // A cycle among the parallel edges of `multi`; a tree is written as an undirected one would be.
  const multi = await withArrows('multi');
  assert.ok(multi.asTold === 0 && multi.asNone > 20, JSON.stringify(multi));
  const tree = await withArrows('tree-90');
  assert.ok(tree.asNone === 0 && tree.asTold > 20, JSON.stringify(tree));
});

test('a background below the canvas is seen through it, and gives way to the theme', { skip: !isMock }, async () => {
  await withPage(`dataset=community-77-254-backed&${STILL.replace('&menu=false', '')}`, {}, async (page) => {
    await settle(page);
    const shot = await pixels(page);
    const [left, right] = [shot.at(3, shot.h / 2), shot.at(shot.w - 4, shot.h / 2)];
    assert.ok(left[0] > 50 && left[2] < 12, `left ${left}`);
    assert.ok(right[2] > 50 && right[0] < 12, `right ${right}`);
    const opaque = () =>
      page.evaluate(() => {
        const context = document.querySelector('#picture').getContext('webgl2');
        return !context.getContextAttributes().alpha;
      });
    assert.equal(await opaque(), false);
    const labels = await labelsOf(page);
    for (const l of labels) {
      assert.ok(brightest(shot, { x: l.x, y: l.y - l.h / 2, w: l.w, h: l.h }) > 150, `${l.text} is written`);
    }
    // The user's theme paints the background itself again.
    await page.click('#theme');
    await settle(page);
    assert.equal(await opaque(), true);
    const white = (await pixels(page)).at(3, 300);
    assert.ok(Math.min(...white) > 225, String(white));
  });
});

test('an edge that only passes through the view fades', { skip: !isMock }, async () => {
  await withPage(`dataset=two&${STILL}&showLabels=false`, {}, async (page) => {
    await settle(page);
    const ends = () => page.evaluate(() => [0, 1].map((i) => window.__viewer.project(i)));
    const middle = async () => {
      const [[ax, ay], [bx, by]] = await ends();
      return [(ax + bx) / 2, (ay + by) / 2];
    };
    const strength = async () => {
      const [x, y] = await middle();
      const shot = await pixels(page);
      const back = Math.max(...shot.at(500, 20));
      return brightest(shot, { x: x - 4, y: y - 4, w: 8, h: 8 }) - back;
    };
    const before = await strength();
    for (let turn = 0; turn < 4; turn += 1) {
      await page.mouse.move(...(await middle()));
      await page.mouse.wheel(0, -500);
      await settle(page);
    }
    await page.mouse.move(2, 2);
    await settle(page);
    const out = (await ends()).every(([x, y]) => x < -200 || x > 1200 || y < -150 || y > 800);
    assert.ok(out, `both ends are out of view: ${JSON.stringify(await ends())}`);
    const after = await strength();
    assert.ok(after > 8 && after < 0.7 * before, `${before} became ${after}`);
  });
});
