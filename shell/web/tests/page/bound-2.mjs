// Labels along edges, by pixels.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed, pixels, settle } from './browser.mjs';
import { isMock, withPage } from './context.mjs';

const STILL = 'play=0&test=1&menu=false&info=false';
const ON_MOCK = { skip: !isMock };

test('texts lie along their lines, off names and discs, and more come with the view', ON_MOCK, async () => {
  const query = `dataset=tree-60-called&${STILL}`;
  await withPage(query, {}, async (page) => {
    await settle(page);
    for (let k = 0; k < 2; k += 1) {
      await page.mouse.move(500, 320);
      await page.mouse.wheel(0, -300);
    }
    await page.mouse.move(2, 2);
    await settle(page);
    const { ways, names } = await page.evaluate(() => {
      const { edgeLabels: ways, labels: names } = window.__viewer;
      return { ways, names };
    });
    assert.ok(ways.length >= 8, `${ways.length} texts`);
    const shot = await pixels(page);
    for (const way of ways) {
      assert.equal(way.text, `way ${way.edge}`);
      const [cos, sin] = [Math.cos(way.angle), Math.sin(way.angle)];
      assert.ok(cos >= -1e-9, 'none is upside down');
      let bright = 0;
      for (let t = -0.5; t <= 0.5; t += 1 / way.width) {
        for (let up = -4; up <= 4; up += 1) {
          const at = [way.x + t * way.width * cos - up * sin, way.y + t * way.width * sin + up * cos];
          const inside = at[0] >= 0 && at[1] >= 0 && at[0] < shot.w - 1 && at[1] < shot.h - 1;
          if (inside && Math.min(...shot.at(...at)) > 150) bright += 1;
          for (const l of names) {
            const on = Math.abs(at[1] - l.y) < 0.4 * l.h && at[0] > l.x && at[0] < l.x + l.w;
            assert.ok(!on, `${way.text} lies on ${l.text}`);
          }
        }
      }
      assert.ok(bright > 12, `${way.text} has ${bright} bright pixels`);
    }
  });
});

test('the edge under the pointer is named, also where nothing is bound', ON_MOCK, async () => {
  await withPage(`dataset=two&${STILL}&showLabels=false`, {}, async (page) => {
    await settle(page);
    const before = await pixels(page);
    const ends = await page.evaluate(() => [0, 1].map((i) => window.__viewer.project(i)));
    const [x, y] = [0, 1].map((k) => (ends[0][k] + ends[1][k]) / 2);
    await page.mouse.move(x, y + 2);
    await page.waitForFunction(() => window.__viewer.edgeLabels.length === 1);
    await settle(page);
    assert.equal(await page.evaluate(() => window.__viewer.edgeLabels[0].text), 'way 0');
    assert.ok(changed(before, await pixels(page), 60) > 20);
    await page.mouse.move(x, y + 40);
    await page.waitForFunction(() => window.__viewer.edgeLabels.length === 0);
    await settle(page);
    assert.equal(changed(before, await pixels(page), 2), 0);
  });
});

test('of more edges than can be named those of the hovered node are', ON_MOCK, async () => {
  const query = `dataset=community-400-1200-called&${STILL}&showLabelOnHover=false`;
  await withPage(query, {}, async (page) => {
    await settle(page);
    assert.deepEqual(await page.evaluate(() => window.__viewer.edgeLabels), []);
    const [x, y] = await page.evaluate(() => {
      const v = window.__viewer;
      const all = Array.from({ length: v.counts.nodes }, (_, i) => i);
      all.sort((a, b) => v.radius(b) - v.radius(a));
      return v.project(all[0]);
    });
    await page.mouse.move(x, y);
    await page.waitForFunction(() => window.__viewer.doc.hovered >= 0);
    await settle(page);
    const { ways, hovered } = await page.evaluate(() => {
      const v = window.__viewer;
      return { ways: v.edgeLabels.map(({ edge }) => v.edge(edge)), hovered: v.doc.hovered };
    });
    assert.ok(ways.length > 0);
    for (const ends of ways) assert.ok(ends.includes(hovered), `${ends} is an edge of ${hovered}`);
  });
});

test('a background picture has its place, its size and its blend mode', ON_MOCK, async () => {
  await withPage(`dataset=two-1-pictured&${STILL}`, {}, async (page) => {
    await settle(page);
    const shot = await pixels(page);
    // 128, 192, 255 times 192, 0, 0.
    const [left, right] = [shot.at(100, 600), shot.at(300, 600)];
    assert.ok(Math.abs(left[0] - 96) < 6 && left[1] < 6 && left[2] < 6, `left ${left}`);
    assert.ok(Math.abs(right[0] - 192) < 6 && right[1] < 6 && right[2] < 6, `right ${right}`);
  });
});

test('the graph blends with its background as bound', ON_MOCK, async () => {
  await withPage(`dataset=two-1-screened&${STILL}&showLabels=false`, {}, async (page) => {
    await settle(page);
    const shot = await pixels(page);
    const [x, y] = await page.evaluate(() => window.__viewer.project(0));
    const [background, node] = [shot.at(20, 600), shot.at(x, y)];
    assert.ok(background.every((c, k) => Math.abs(c - [128, 192, 255][k]) < 6), `background ${background}`);
    // What the disc differs from the background by: 109, 185, 252 from 128, 192, 255.
    assert.ok(node.every((c, k) => Math.abs(c - [19, 7, 3][k]) < 12), `node ${node}`);
  });
});

test('lines are as wide as bound, and run from the colour of one end to the other', ON_MOCK, async () => {
  await withPage(`dataset=two-1-graded&${STILL}&showLabels=false`, {}, async (page) => {
    await settle(page);
    const shot = await pixels(page);
    const [[ax, ay], [bx, by]] = await page.evaluate(() => [0, 1].map((i) => window.__viewer.project(i)));
    const across = (t) => {
      const [x, y] = [ax + t * (bx - ax), ay + t * (by - ay)];
      const [nx, ny] = [-(by - ay), bx - ax].map((c) => c / Math.hypot(bx - ax, by - ay));
      return Array.from({ length: 25 }, (_, k) => shot.at(x + (k - 12) * nx, y + (k - 12) * ny));
    };
    const [near, far] = [across(0.25), across(0.75)].map((line) => line[12]);
    assert.ok(near[0] > near[2] + 40, `red at one end: ${near}`);
    assert.ok(far[2] > far[0] + 40, `blue at the other: ${far}`);
    const wide = across(0.5).filter((c) => Math.max(...c) > 50).length;
    assert.ok(wide >= 6, `${wide} pixels wide`);
  });
});

test('an edge runs from the colour bound to its source to that of its destination', ON_MOCK, async () => {
  await withPage(`dataset=two-1-ended&${STILL}&showLabels=false`, {}, async (page) => {
    await settle(page);
    const shot = await pixels(page);
    const ends = await page.evaluate(() => [0, 1].map((i) => window.__viewer.project(i)));
    const on = (t) => shot.at(...[0, 1].map((k) => ends[0][k] + t * (ends[1][k] - ends[0][k])));
    const [near, far] = [on(0.2), on(0.8)];
    assert.ok(near[0] > near[1] + 40 && near[0] > near[2] + 40, `red at the source: ${near}`);
    assert.ok(far[1] > far[0] + 40 && far[1] > far[2] + 40, `green at the destination: ${far}`);
  });
});

/** Bundles the edges and puts the pointer where nothing is. */
async function bundle(page) {
  await page.click('#bundle');
  await page.waitForSelector('#bundle[aria-pressed="true"]');
  await page.mouse.move(1, 1);
  await settle(page);
}

const far = (a, b) => Math.max(...a.map((c, k) => Math.abs(c - b[k])));

/** Whether a pixel or one around it has ink: it is not of the background, which changes slowly. */
function isInked(shot, x, y, reach = 1.5) {
  const back = shot.at(3, shot.h - 3);
  for (let dx = -reach; dx <= reach; dx += 1) {
    for (let dy = -reach; dy <= reach; dy += 1) if (far(shot.at(x + dx, y + dy), back) > 40) return true;
  }
  return false;
}

test('texts of bundled edges lie along their curves', ON_MOCK, async () => {
  const look = 'play=0&test=1&info=false&pointOpacity=0&edgeOpacity=1&showArrows=false&showLabels=';
  const shots = {};
  let ways = [];
  for (const [name, shows] of [['community-120-220', false], ['community-120-220-called', true]]) {
    await withPage(`dataset=${name}&${look}${shows}`, { width: 1300, height: 900 }, async (page) => {
      await settle(page);
      // Large enough that some lines are longer than their texts.
      await page.mouse.move(650, 450);
      await page.mouse.wheel(0, -700);
      await settle(page);
      await bundle(page);
      shots[name] = await pixels(page);
      ways = await page.evaluate(() => window.__viewer.edgeLabels.map((label) => ({
        ...label,
        ends: window.__viewer.edge(label.edge).map((node) => window.__viewer.project(node)),
      })));
    });
  }
  const lines = shots['community-120-220'];
  // Of an edge that is led elsewhere, the text is beside its curve and not beside its straight line.
  const aside = ways.filter(({ x, y, ends: [a, b] }) => {
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    return Math.abs((x - a[0]) * dy - (y - a[1]) * dx) / Math.hypot(dx, dy) > 20;
  });
  assert.ok(aside.length >= 3, `${aside.length} of ${ways.length} texts lie aside of straight lines`);
  for (const { x, y, angle, width, text } of aside) {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const on = [-0.4, -0.2, 0, 0.2, 0.4].map((t) => {
      // 7.5 px below the text runs its line, from which the curve may stray by 3.5 px.
      return isInked(lines, x + t * width * cos - 7.5 * sin, y + t * width * sin + 7.5 * cos, 3.5);
    });
    assert.ok(on.every(Boolean), `${text} at ${x}, ${y}: ${on}`);
  }
});

test('how many edges a bundled line stands for is written on it', ON_MOCK, async () => {
  const query = 'dataset=ropes-200&play=0&test=1&info=false&showLabelOnHover=false&showArrows=false';
  await withPage(query, {}, async (page) => {
    await settle(page);
    const ends = await page.evaluate(() => [0, 12].map((i) => window.__viewer.project(i)));
    const hover = async () => {
      await page.mouse.move(...ends[0].map((c, k) => c + (k === 1 ? 44 : 0)));
      await page.waitForFunction(() => window.__viewer.doc.hovered === 0);
      await settle(page);
      return pixels(page);
    };
    // Letters are brighter than any line.
    const letters = (shot, [x, y]) => {
      let count = 0;
      for (let dx = -24; dx <= 24; dx += 1) {
        for (let dy = -8; dy <= 8; dy += 1) if (Math.min(...shot.at(x + dx, y + dy)) > 170) count += 1;
      }
      return count;
    };
    const middle = [0, 1].map((k) => (ends[0][k] + ends[1][k]) / 2);
    const straight = await hover();
    assert.ok(letters(straight, middle) > 20, `${letters(straight, middle)} on the straight line`);
    await bundle(page);
    const shot = await hover();
    assert.equal(letters(shot, middle), 0, 'none where no line is');
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/counts.png` });
    // Both numbers stand above, where the curve goes through the middles of the rings.
    let [count, top] = [0, shot.h];
    for (let x = ends[0][0] + 40; x < ends[1][0] - 40; x += 1) {
      for (let y = 40; y < middle[1] - 20; y += 1) {
        if (Math.min(...shot.at(x, y)) <= 170) continue;
        count += 1;
        top = Math.min(top, y);
      }
    }
    assert.ok(count > 40, `${count} pixels of letters on the curve`);
    assert.ok(middle[1] - top > 40, `${middle[1] - top} px above the straight line`);
  });
});
