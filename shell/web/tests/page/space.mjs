import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GRAPH, isMock, newSession, withPage } from './context.mjs';
import { pixels, same, settle, swipe, until } from './document.mjs';

// The third dimension: a lattice whose layers, each of a colour, lie behind one another in the plane.

const LATTICE = process.env.PAGE_SPACE ?? 'lattice-4';
const QUERY = `dataset=${LATTICE}&play=0&test=1&theme=dark&edgeOpacity=0&showLabels=false`;
const LAYERS = 4;

const isOn = async (page) => (await page.locator('#space').getAttribute('aria-pressed')) === 'true';

/** Switches the third dimension on or off, and waits until that is drawn. */
async function turnSpace(page, on) {
  await page.locator('#space').click();
  await until(async () => (await isOn(page)) === on);
  await settle(page);
}

/** Where nodes are, how large and of which colour. */
function nodes(page) {
  return page.evaluate(() => {
    const v = window.__viewer;
    return Array.from({ length: v.counts.nodes }, (_, i) => {
      const at = v.project(i);
      return { i, at, r: v.radius(i), color: v.color(i).slice(0, 3), hit: v.nodeAt(...at) };
    });
  });
}

const far = (a, b) => Math.max(...a.map((c, k) => Math.abs(c - b[k])));
const spread = (list) => Math.max(...list) - Math.min(...list);
const layerOf = (i) => Math.floor(i / LAYERS ** 2);

async function drag(page, from, to, { button = 'left', key } = {}) {
  const box = await page.locator('#surface').boundingBox();
  if (key) await page.keyboard.down(key);
  await page.mouse.move(box.x + from[0], box.y + from[1]);
  await page.mouse.down({ button });
  for (let k = 1; k <= 4; k += 1) {
    const at = (axis) => from[axis] + ((to[axis] - from[axis]) * k) / 4;
    await page.mouse.move(box.x + at(0), box.y + at(1));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  }
  await page.mouse.up({ button });
  if (key) await page.keyboard.up(key);
  await page.mouse.move(box.x + 3, box.y + 3);
  await settle(page);
}

test('only where nodes have a third coordinate there is a button for it', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, {}, async (page) => {
    await settle(page);
    assert.equal(await page.locator('#space').count(), 0);
  });
});

test('in 3D layers come apart, each node where it is seen, the near ones larger and brighter', async () => {
  await withPage(QUERY, {}, async (page, { complaints }) => {
    await settle(page);
    const flat = await nodes(page);
    const before = await pixels(page);
    // In the plane the layers lie on one another: a place has one colour.
    const column = flat.filter(({ i }) => i % LAYERS ** 2 === 5);
    assert.ok(spread(column.map(({ at }) => at[0])) < 0.5 && spread(column.map(({ at }) => at[1])) < 0.5);
    await turnSpace(page, true);
    const seen = await nodes(page);
    const apart = seen.filter(({ i }) => i % LAYERS ** 2 === 5);
    for (let k = 1; k < LAYERS; k += 1) {
      const [a, b] = [apart[k - 1].at, apart[k].at];
      assert.ok(Math.hypot(b[0] - a[0], b[1] - a[1]) > 12, `${k}`);
    }
    // What is nearer is larger: the last layer is in front.
    assert.ok(apart[LAYERS - 1].r > 1.15 * apart[0].r, `${apart.map(({ r }) => r)}`);
    const shot = await pixels(page);
    const own = seen.filter(({ at, color, hit, i }) => hit === i && far(shot.at(...at), color) < 24);
    const hits = seen.filter(({ hit, i }) => hit === i);
    assert.ok(hits.length > 0.7 * seen.length, `${hits.length} of ${seen.length} are hit`);
    assert.ok(own.length > 0.95 * hits.length, `${own.length} of ${hits.length} have their own colour`);
    // The far layer is fainter than in the plane, by the colour on the screen.
    const back = shot.at(3, 3);
    const light = ({ at }) => far(shot.at(...at), back);
    const of = (layer) => hits.filter(({ i }) => layerOf(i) === layer);
    const full = (list) => list.map((node) => light(node) / far(flat[node.i].color, back));
    const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
    const [rear, front] = [mean(full(of(0))), mean(full(of(LAYERS - 1)))];
    assert.ok(front > 1.25 * rear, `${front} in front, ${rear} behind`);
    // All of it fits the screen.
    const { w, h } = await page.evaluate(() => window.__viewer.doc.size);
    assert.ok(seen.every(({ at: [x, y] }) => x > 0 && y > 0 && x < w && y < h));
    await turnSpace(page, false);
    const after = await nodes(page);
    assert.deepEqual(after.map(({ color, r }) => [color, r]), flat.map(({ color, r }) => [color, r]));
    assert.ok(after.every(({ at }, k) => far(at, flat[k].at) < 0.6));
    const again = await pixels(page);
    const differ = before.data.filter((c, k) => Math.abs(c - again.data[k]) > 24).length;
    assert.ok(differ < 0.002 * before.data.length, `${differ} of ${before.data.length} bytes`);
    assert.deepEqual(complaints, []);
  });
});

test('in 3D edges are fainter the farther they are, with colours of their own as without', async () => {
  const ratio = {};
  for (const own of isMock ? ['', '-green'] : ['']) {
    const query = `dataset=${LATTICE}${own}&play=0&test=1&theme=dark&pointSize=0.2&showLabels=false&edgeOpacity=1`;
    await withPage(query, {}, async (page) => {
      await settle(page);
      const flat = await nodes(page);
      const lines = async () => {
        const seen = await nodes(page);
        const ends = await page.evaluate(() => {
          const v = window.__viewer;
          return Array.from({ length: v.counts.edges }, (_, e) => v.edge(e));
        });
        const shot = await pixels(page);
        const back = shot.at(3, 3);
        const middles = ends.map(([s, d]) => [0, 1].map((k) => (seen[s].at[k] + seen[d].at[k]) / 2));
        const around = [-1, 0, 1].flatMap((x) => [-1, 0, 1].map((y) => [x, y]));
        // The colour of the most ink near the middle of a line, from which others keep away.
        const most = ([x, y]) => Math.max(...around.map(([dx, dy]) => far(shot.at(x + dx, y + dy), back)));
        const isFree = (at) => middles.every((o) => o === at || Math.hypot(o[0] - at[0], o[1] - at[1]) > 9);
        const within = (layer) => ends.flatMap(([s, d], e) => {
          const isIn = layerOf(s) === layer && layerOf(d) === layer;
          return isIn && isFree(middles[e]) ? [most(middles[e])] : [];
        });
        const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
        // In relation to what the colour would be without nearness.
        const plain = (layer) => far(own ? [0, 255, 80] : flat[layer * LAYERS ** 2].color, back);
        const [rear, front] = [0, LAYERS - 1].map((layer) => {
          const list = within(layer);
          assert.ok(list.length > 4, `${list.length} lines of layer ${layer}`);
          return median(list) / plain(layer);
        });
        return front / rear;
      };
      const before = await pixels(page);
      await turnSpace(page, true);
      ratio[own] = await lines();
      await turnSpace(page, false);
      const again = await pixels(page);
      assert.ok(same(before, again), 'in the plane all is as it was');
    });
    assert.ok(ratio[own] > 1.25, `${own}: ${ratio[own]} times as much ink in front`);
  }
});

test('in 3D the nearer of two nodes on one spot lies over the other and is hit', async () => {
  await withPage(`${QUERY}&pointSize=3`, {}, async (page) => {
    await settle(page);
    await turnSpace(page, true);
    // Nearly from the front, so that layers overlap, and later ones are nearer.
    await drag(page, [60, 60], [115, 25], { button: 'right' });
    const seen = await nodes(page);
    const shot = await pixels(page);
    let covered = 0;
    for (const a of seen) {
      const b = seen[a.i + LAYERS ** 2];
      if (!b) continue;
      const at = [0, 1].map((k) => (a.at[k] + b.at[k]) / 2);
      const share = ({ at: p, r }) => Math.hypot(p[0] - at[0], p[1] - at[1]) / r;
      const around = seen.filter((node) => share(node) < 1.2);
      if (around.length < 2 || around.some((node) => share(node) > 0.8)) continue;
      const front = around[around.length - 1];
      covered += 1;
      assert.ok(far(shot.at(...at), front.color) < 30, `${a.i} under ${front.i}`);
      assert.equal(await page.evaluate(([x, y]) => window.__viewer.nodeAt(x, y), at), front.i);
    }
    assert.ok(covered >= 3, `${covered} pairs`);
  });
});

test('in 3D nodes of the same colour are found however far they are', async () => {
  await withPage(QUERY, {}, async (page) => {
    await settle(page);
    await turnSpace(page, true);
    const seen = await nodes(page);
    const one = seen.find(({ i, hit, r }) => hit === i && r > 3);
    const box = await page.locator('#surface').boundingBox();
    await page.keyboard.down('Shift');
    await page.mouse.click(box.x + one.at[0], box.y + one.at[1]);
    await page.keyboard.up('Shift');
    await page.click('#selection button:has-text("Same colour")');
    const count = () => page.innerText('#selection b');
    await until(async () => (await count()) === String(LAYERS ** 2));
  });
});

test('in 3D right drag, a modifier and keys turn, plain drag pans, the wheel zooms', async () => {
  await withPage(QUERY, {}, async (page) => {
    await settle(page);
    const spans = async () => {
      const list = await nodes(page);
      const column = list.filter(({ i }) => i % LAYERS ** 2 === 5);
      return column[LAYERS - 1].at.map((c, k) => c - column[0].at[k]);
    };
    await turnSpace(page, true);
    const first = await spans();
    for (const how of [{ button: 'right' }, { key: 'Control' }, { key: 'Alt' }]) {
      const before = await spans();
      await drag(page, [60, 60], [180, 60], how);
      const after = await spans();
      assert.ok(Math.abs(after[0] - before[0]) > 15, `${JSON.stringify(how)}: ${before} ${after}`);
    }
    const before = await spans();
    await page.keyboard.press('Shift+ArrowDown');
    await settle(page);
    assert.ok(Math.abs((await spans())[1] - before[1]) > 4);
    const still = await spans();
    const view = () => page.evaluate(() => window.__viewer.doc.view);
    const was = await view();
    await drag(page, [60, 60], [160, 90]);
    assert.ok(far(await spans(), still) < 0.5, 'a plain drag does not turn');
    assert.ok(Math.abs((await view()).cx - was.cx) > 1e-6);
    await page.mouse.move(500, 300);
    await page.mouse.wheel(0, -300);
    await settle(page);
    assert.ok((await view()).scale > was.scale);
    assert.notDeepEqual(await spans(), first);
    await page.keyboard.press('f');
    await settle(page);
    const { w, h } = await page.evaluate(() => window.__viewer.doc.size);
    const isIn = ({ at: [x, y] }) => x > 0 && y > 0 && x < w && y < h;
    assert.ok((await nodes(page)).every(isIn), 'fit shows all');
  });
});

test('in 3D names follow their nodes, a drag moves no node, and bundles wait', async () => {
  await withPage(`dataset=${LATTICE}&play=0&test=1&theme=dark`, {}, async (page) => {
    await settle(page);
    await turnSpace(page, true);
    await drag(page, [60, 60], [220, 110], { button: 'right' });
    const seen = await nodes(page);
    const labels = await page.evaluate(() => window.__viewer.labels);
    assert.ok(labels.length > 3, `${labels.length} names`);
    for (const { index, x, y, w, h } of labels) {
      const [px, py] = seen[index].at;
      const gap = Math.hypot(Math.max(x - px, 0, px - x - w), Math.max(y - py, 0, py - y - h));
      assert.ok(gap < seen[index].r + 16, `${index} is named ${gap} px away`);
    }
    const front = seen.find(({ i, hit }) => hit === i && layerOf(i) === LAYERS - 1);
    await drag(page, front.at, [front.at[0] + 60, front.at[1]]);
    const moved = await nodes(page);
    // The picture was panned: all moved by the same.
    const by = moved.map(({ at }, k) => at[0] - seen[k].at[0]);
    assert.ok(spread(by) < 0.5, `${by[front.i]} against ${by[0]}`);
    const bundle = page.locator('#bundle');
    if (await bundle.count()) assert.ok(await bundle.isDisabled());
  });
});

test('a third dimension that cannot be loaded is said, and the plane stays', { skip: !isMock }, async () => {
  await withPage(QUERY, {}, async (page) => {
    await settle(page);
    const refusal = { status: 503, body: '{"message":"Too busy."}' };
    await page.route('**/depth.bin*', (route) => route.fulfill(refusal));
    await page.locator('#space').click();
    await page.getByText('The third dimension could not be loaded: Too busy.').waitFor();
    assert.equal(await isOn(page), false);
    await page.unroute('**/depth.bin*');
    await turnSpace(page, true);
  });
});

test('in 3D a layout that moves goes on, and the plane has its nodes where others see them', async () => {
  const session = `session=${newSession()}`;
  const query = `dataset=${LATTICE}&play=6000&test=1&theme=dark&edgeOpacity=0&showLabels=false&${session}`;
  await withPage(query, {}, async (page) => {
    const seq = (of) => of.evaluate(() => window.__viewer.seq);
    await page.locator('#space').click();
    await until(() => isOn(page));
    const before = await seq(page);
    await until(async () => (await seq(page)) > before + 4);
    assert.ok(await isOn(page));
    await page.waitForFunction(() => window.__viewer.doc.playing === false);
    await settle(page);
    // In space, its layers are apart.
    const seen = await nodes(page);
    assert.ok(Math.hypot(...[0, 1].map((k) => seen[5].at[k] - seen[5 + LAYERS ** 2].at[k])) > 8);
    await turnSpace(page, false);
    await page.keyboard.press('f');
    await settle(page);
    await withPage(query, {}, async (other) => {
      await settle(other);
      await other.keyboard.press('f');
      await settle(other);
      const [a, b] = [await nodes(page), await nodes(other)];
      const off = Math.max(...a.map(({ at }, k) => far(at, b[k].at)));
      assert.ok(off < 0.5, `${off} px away`);
    });
  });
});

test('in 3D nodes are shown in place of communities, and one finger turns', { skip: !isMock }, async () => {
  const query = QUERY.replace(LATTICE, 'lattice-15');
  await withPage(query, {}, async (page) => {
    await settle(page);
    const groups = () => page.evaluate(() => window.__viewer.groups.length);
    // So far away that communities stand in place of nodes.
    const leave = async () => {
      await page.mouse.move(500, 300);
      for (let k = 0; k < 6; k += 1) await page.mouse.wheel(0, 400);
      await settle(page);
    };
    await leave();
    assert.ok((await groups()) > 0);
    await turnSpace(page, true);
    assert.equal(await groups(), 0);
    assert.ok(await page.locator('#groups').isDisabled());
    await page.keyboard.press('f');
    await settle(page);
    const at = () => page.evaluate(() => [0, 3374].map((i) => window.__viewer.project(i)[0]));
    const [a, b] = await at();
    await swipe(page, Array.from({ length: 6 }, (_, k) => [80 + 20 * k, 300]));
    const frame = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
    await frame().then(frame);
    await settle(page);
    const [c, d] = await at();
    assert.ok(Math.abs(d - c - (b - a)) > 20, `${[a, b, c, d]}`);
    await turnSpace(page, false);
    await leave();
    assert.ok((await groups()) > 0);
  });
});
