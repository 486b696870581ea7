import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GRAPH, isMock, newSession, withPage } from './context.mjs';
import { filter, graphOf, pixels, same, settle, until } from './document.mjs';

// One disc in place of many nodes: a step of the shared document.

const QUERY = `dataset=${GRAPH}&play=0&test=1&showLabels=false`;
const discsOf = (page) => page.evaluate(() => window.__viewer.groups.filter(({ id }) => id !== undefined));
const far = (a, b) => Math.max(...a.map((c, k) => Math.abs(c - b[k])));

/** Selects what a rectangle holds and presses Collapse; answers how many nodes that are. */
async function collapseRectangle(page, [x0, y0, x1, y1]) {
  const box = await page.locator('#surface').boundingBox();
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + x0, box.y + y0);
  await page.mouse.down();
  await page.mouse.move(box.x + x1, box.y + y1, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await page.waitForSelector('#selection');
  const count = Number((await page.innerText('#selection b')).replace(/,/g, ''));
  await page.click('#selection button:has-text("Collapse")');
  await until(async () => (await discsOf(page)).length === 1);
  await settle(page);
  return count;
}

test('selected nodes become one disc with their number, and undo and redo bring both pictures back', async () => {
  await withPage(QUERY, {}, async (page, { complaints }) => {
    await settle(page);
    const before = await pixels(page);
    const { at, ends } = await graphOf(page);
    const area = [300, 120, 620, 460];
    const inside = at.flatMap(([x, y], i) => (x > 300 && x < 620 && y > 120 && y < 460 ? [i] : []));
    const count = await collapseRectangle(page, area);
    assert.equal(count, inside.length);
    const [disc] = await discsOf(page);
    assert.equal(disc.count, count);
    assert.notEqual(disc.name, '');
    const middle = [0, 1].map((k) => inside.reduce((sum, i) => sum + at[i][k], 0) / count);
    assert.ok(Math.hypot(disc.x - middle[0], disc.y - middle[1]) < 2, `${middle} and ${disc.x}, ${disc.y}`);
    const shot = await pixels(page);
    const rim = Array.from({ length: 24 }, (_, k) => {
      const angle = (k / 12) * Math.PI;
      return shot.at(disc.x + (disc.r - 0.5) * Math.cos(angle), disc.y + (disc.r - 0.5) * Math.sin(angle));
    });
    assert.ok(rim.filter((c) => far(c, disc.color) < 70).length > 14, `${rim[0]} of ${disc.color}`);
    // Nodes that were there are drawn and hit no more.
    const hit = await page.evaluate((list) => {
      return list.map((i) => [window.__viewer.project(i), i]).filter(([place]) => place !== null);
    }, inside);
    assert.deepEqual(hit, []);
    const gone = inside.filter((i) => Math.hypot(at[i][0] - disc.x, at[i][1] - disc.y) > disc.r + 30);
    const changed = gone.filter((i) => far(before.at(...at[i]), shot.at(...at[i])) > 25);
    assert.ok(changed.length > 0.6 * gone.length, `${changed.length} of ${gone.length}`);
    assert.ok(ends.length > 0);
    await page.click('#undo');
    await until(async () => (await discsOf(page)).length === 0);
    await settle(page);
    assert.ok(same(before, await pixels(page)), 'undone, the picture is what it was');
    await page.click('#redo');
    await until(async () => (await discsOf(page)).length === 1);
    await settle(page);
    assert.ok(same(shot, await pixels(page)), 'and again what it was made');
    assert.deepEqual(complaints, []);
  });
});

test('edges from outside end at the disc', { skip: !isMock }, async () => {
  await withPage('dataset=star-200&play=0&test=1&showLabels=false&info=false', {}, async (page) => {
    await settle(page);
    const { at } = await graphOf(page);
    const hub = at[0];
    // Leaves of one corner, without the hub.
    const { w, h } = await page.evaluate(() => window.__viewer.doc.size);
    await collapseRectangle(page, [hub[0] + 25, hub[1] + 25, w - 90, h - 20]);
    const [disc] = await discsOf(page);
    const shot = await pixels(page);
    const [x, y] = [(hub[0] + disc.x) / 2, (hub[1] + disc.y) / 2];
    const near = [-2, -1, 0, 1, 2].flatMap((dx) => [-2, -1, 0, 1, 2].map((dy) => shot.at(x + dx, y + dy)));
    assert.ok(Math.max(...near.map((c) => Math.max(...c))) > 70, 'a line leads to it');
  });
});

test('a double click expands, and so does the button; another page sees both', async () => {
  const query = `${QUERY}&session=${newSession()}`;
  await withPage(query, {}, async (page) => {
    await withPage(query, {}, async (other) => {
      await settle(page);
      await collapseRectangle(page, [300, 120, 620, 460]);
      await until(async () => (await discsOf(other)).length === 1);
      const [[a], [b]] = [await discsOf(page), await discsOf(other)];
      assert.deepEqual([a.count, a.name], [b.count, b.name]);
      const box = await page.locator('#surface').boundingBox();
      await page.mouse.dblclick(box.x + a.x, box.y + a.y);
      for (const one of [page, other]) await until(async () => (await discsOf(one)).length === 0);
      await page.click('#undo');
      await until(async () => (await discsOf(other)).length === 1);
      await other.click('#expand');
      for (const one of [page, other]) await until(async () => (await discsOf(one)).length === 0);
      assert.equal(await page.locator('#expand').count(), 0);
    });
  });
});

test('a double click on a community collapses it', async () => {
  const many = process.env.PAGE_LARGE ?? 'community-20000-60000';
  await withPage(`dataset=${many}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    const [group] = await page.evaluate(() => window.__viewer.groups);
    const view = await page.evaluate(() => window.__viewer.doc.view);
    const box = await page.locator('#surface').boundingBox();
    await page.mouse.dblclick(box.x + group.x + 0.5 * group.r, box.y + group.y);
    await until(async () => (await discsOf(page)).length === 1);
    const [disc] = await discsOf(page);
    assert.deepEqual([disc.name, disc.count], [group.name, group.count]);
    assert.deepEqual(await page.evaluate(() => window.__viewer.doc.view), view, 'it stays where it is');
    await settle(page);
    const left = await page.evaluate(() => window.__viewer.groups.filter((one) => one.id === undefined));
    assert.ok(left.every(({ top }) => top !== group.top), 'its community is not there beside it');
  });
});

/** Shares of a disc's rim that are seen on the stage in about its colour. */
async function rimOf(page, disc) {
  const shot = await pixels(page);
  const at = Array.from({ length: 48 }, (_, k) => {
    const angle = (k / 24) * Math.PI;
    return [disc.x + (disc.r - 0.5) * Math.cos(angle), disc.y + (disc.r - 0.5) * Math.sin(angle)];
  });
  const inside = at.filter(([x, y]) => x >= 0 && y >= 0 && x <= shot.w - 1 && y <= shot.h - 1);
  const lit = inside.filter(([x, y]) => far(shot.at(x, y), disc.color) < 70);
  return { inside: inside.length / 48, lit: lit.length / 48 };
}

test('what is fitted has room for a disc that is far from all else', { skip: !isMock }, async () => {
  for (const size of [{ width: 1000, height: 640 }, { width: 420, height: 800 }]) {
    await withPage('dataset=tree-300&play=0&test=1&showLabels=false', size, async (page) => {
      await settle(page);
      const { w, h } = await page.evaluate(() => window.__viewer.doc.size);
      // Of the left half, a disc larger than the margin in which a fit leaves room for nodes.
      await collapseRectangle(page, [1, 60, w * 0.5, h - 1]);
      await page.keyboard.press('f');
      await settle(page);
      const [disc] = await discsOf(page);
      const label = `${w} × ${h}: ${disc.x}, ${disc.y}, ${disc.r}`;
      assert.ok(disc.r > 35, label);
      const far = [disc.x - disc.r, w - disc.x - disc.r, disc.y - disc.r, h - disc.y - disc.r];
      assert.ok(Math.min(...far) > 4, `the second rim is on the stage, too: ${label}`);
      const { inside, lit } = await rimOf(page, disc);
      assert.ok(inside === 1 && lit > 0.6, `${label}: ${inside} ${lit}`);
      // No panel lies over it.
      const over = await page.evaluate(() => window.__viewer.obstacles);
      const apart = (p) =>
        Math.hypot(
          disc.x - Math.max(p.x, Math.min(disc.x, p.x + p.w)),
          disc.y - Math.max(p.y, Math.min(disc.y, p.y + p.h)),
        ) - disc.r;
      assert.ok(over.every((panel) => apart(panel) > 0), `${label}: ${over.map(apart)}`);
    });
  }
});

test('a disc of which a filter leaves one node stays, and one of which it leaves none goes', async () => {
  await withPage(QUERY, {}, async (page, { complaints }) => {
    await settle(page);
    const { at, degree } = await graphOf(page);
    const inside = at.flatMap(([x, y], i) => (x > 300 && x < 620 && y > 120 && y < 460 ? [i] : []));
    await collapseRectangle(page, [300, 120, 620, 460]);
    const [before] = await discsOf(page);
    // Only nodes of the highest degree of the disc that no other of its nodes has.
    const often = (d) => inside.filter((i) => degree[i] === d).length;
    const alone = Math.max(...inside.map((i) => degree[i]).filter((d) => often(d) === 1));
    await filter(page, `degree = ${alone}`);
    await until(async () => (await discsOf(page))[0]?.count !== before.count);
    await settle(page);
    const [disc, ...more] = await discsOf(page);
    assert.deepEqual([disc?.count, disc?.name, more.length], [1, before.name, 0]);
    const { lit } = await rimOf(page, disc);
    assert.ok(lit > 0.6, `${lit}`);
    await page.click('#undo');
    await until(async () => (await discsOf(page))[0]?.count === before.count);
    await filter(page, 'degree > 100000');
    await until(async () => (await discsOf(page)).length === 0);
    assert.deepEqual(complaints, []);
  });
});
