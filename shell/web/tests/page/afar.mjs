import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GRAPH, isMock, withPage } from './context.mjs';
import { filter, pixels, same, settle, until } from './document.mjs';

// The view from afar: groups of nodes in place of nodes that cannot be told apart.

const MANY = process.env.PAGE_LARGE ?? 'community-20000-60000';
const QUERY = `dataset=${MANY}&play=0&test=1`;

const groupsOf = (page) => page.evaluate(() => window.__viewer.groups);
const scaleOf = (page) => page.evaluate(() => window.__viewer.doc.view.scale);
const far = (a, b) => Math.max(...a.map((c, k) => Math.abs(c - b[k])));
const mean = (colors) => [0, 1, 2].map((k) => colors.reduce((sum, c) => sum + c[k], 0) / colors.length);

/** The colours on a ring around the middle of a group, halfway between its name and its rim. */
function inside(shot, { x, y, r }) {
  const angles = Array.from({ length: 24 }, (_, k) => (k / 24) * 2 * Math.PI);
  return angles.map((a) => shot.at(x + 0.82 * r * Math.cos(a), y + 0.82 * r * Math.sin(a)));
}

/** What a pixel within a group is about: its colour, towards the background by 0.45. */
const wanted = (color, back) => color.map((c, k) => 0.55 * c + 0.45 * back[k]);

for (const theme of ['dark', 'light']) {
  test(`communities stand in place of nodes that cannot be told apart (${theme})`, async () => {
    await withPage(`${QUERY}&theme=${theme}`, {}, async (page, { complaints }) => {
      await settle(page);
      const groups = await groupsOf(page);
      const [nodes, stage] = await page.evaluate(() => {
        return [window.__viewer.counts.nodes, window.__viewer.doc.size];
      });
      const large = groups.filter(({ r, level }) => r > 20 && level === 0);
      assert.ok(large.length >= 5, `${groups.length} groups, ${large.length} of them large`);
      assert.ok(groups.reduce((sum, { count }) => sum + count, 0) <= nodes);
      const shot = await pixels(page);
      const back = shot.at(4, stage.h - 4);
      for (const group of large.slice(0, 5)) {
        const found = mean(inside(shot, group));
        const off = far(found, wanted(group.color, back));
        assert.ok(off < 45, `${group.name} is ${found}, of ${group.color}`);
      }
      // No two discs lie on one another.
      for (const a of large) {
        for (const b of large) {
          const span = Math.hypot(a.x - b.x, a.y - b.y);
          if (a.at < b.at) assert.ok(span > 0.97 * (a.r + b.r), `${a.at} ${b.at}`);
        }
      }
      assert.deepEqual(complaints, []);
    });
  });
}

test('groups are named by their largest node, in letters on the picture, and their nodes are not', async () => {
  await withPage(QUERY, {}, async (page) => {
    await settle(page);
    const groups = await groupsOf(page);
    assert.ok(groups.every(({ name }) => name !== ''));
    const labels = await page.evaluate(() => window.__viewer.labels.map(({ index }) => index));
    assert.deepEqual(labels.filter((index) => groups.some(({ top }) => top === index)), []);
    const [largest] = groups;
    const shot = await pixels(page);
    let [light, dark] = [0, 0];
    for (let dx = -30; dx <= 30; dx += 1) {
      for (let dy = -14; dy <= 4; dy += 1) {
        const c = shot.at(largest.x + dx, largest.y + dy);
        if (Math.min(...c) > 200) light += 1;
        if (Math.max(...c) < 60) dark += 1;
      }
    }
    assert.ok(light > 40 && dark > 40, `${light} pixels of letters, ${dark} of their halos`);
    // The next frames have the same names.
    for (let turn = 0; turn < 3; turn += 1) {
      await page.mouse.move(3 + turn, 3);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('ArrowRight');
      await settle(page);
      assert.ok(far(mean(inside(shot, largest)), mean(inside(await pixels(page), largest))) < 6);
      const now = await pixels(page);
      let letters = 0;
      for (let dx = -30; dx <= 30; dx += 1) {
        if (Math.min(...now.at(largest.x + dx, largest.y - 5)) > 200) letters += 1;
      }
      assert.ok(letters > 5, `${letters} pixels of letters in a later frame`);
    }
    const sizes = await page.evaluate((top) => {
      const v = window.__viewer;
      const of = (i) => v.radius(i);
      return [of(top), Math.max(...Array.from({ length: 200 }, (_, k) => of(k * 97)))];
    }, largest.top);
    assert.ok(sizes[0] >= sizes[1] * 0.5, `${sizes}`);
  });
});

test('without labels communities have no letters', async () => {
  await withPage(`${QUERY}&showLabels=false`, {}, async (page) => {
    await settle(page);
    const [largest] = await groupsOf(page);
    const shot = await pixels(page);
    const steps = (most) => Array.from({ length: 2 * most + 1 }, (_, k) => k - most);
    const places = steps(14).flatMap((dy) => steps(30).map((dx) => shot.at(largest.x + dx, largest.y + dy)));
    assert.equal(places.filter((c) => Math.min(...c) > 200).length, 0, 'pixels of letters');
    assert.ok(far(mean(places), wanted(largest.color, shot.at(4, 4))) < 45);
  });
});

test('zoomed in, groups open, and each node has its own colour again', async () => {
  await withPage(`${QUERY}&edgeOpacity=0&showLabels=false`, {}, async (page) => {
    await settle(page);
    const before = (await groupsOf(page)).length;
    assert.ok(before > 4);
    for (let turn = 0; turn < 30 && (await groupsOf(page)).length > 0; turn += 1) {
      const group = (await groupsOf(page))[0];
      const box = await page.locator('#surface').boundingBox();
      const [x, y] = [Math.min(900, Math.max(100, group.x)), Math.min(500, Math.max(80, group.y))];
      await page.mouse.move(box.x + x, box.y + y);
      await page.mouse.wheel(0, -240);
      await settle(page);
    }
    assert.equal((await groupsOf(page)).length, 0);
    await page.mouse.wheel(0, -500);
    await settle(page);
    await page.mouse.move(1, 1);
    await settle(page);
    const nodes = await page.evaluate(() => {
      const v = window.__viewer;
      const { w, h } = v.doc.size;
      const near = [];
      for (let i = 0; i < v.counts.nodes; i += 1) {
        const at = v.project(i);
        if (at && at[0] > 0 && at[1] > 0 && at[0] < w && at[1] < h) near.push({ i, at, r: v.radius(i) });
      }
      // Those that no other lies on.
      const isFree = ({ i, at: [x, y], r }) =>
        r > 4 && x > 220 && y > 20 && x < w - 80 && y < h - 20 &&
        near.every((b) => b.i === i || Math.hypot(b.at[0] - x, b.at[1] - y) > b.r + 1);
      return near.filter(isFree).map(({ i, at }) => ({ at, color: v.color(i).slice(0, 3) }));
    });
    assert.ok(nodes.length > 5, `${nodes.length} nodes in view`);
    const shot = await pixels(page);
    const own = nodes.filter(({ at, color }) => far(shot.at(...at), color) < 40);
    assert.ok(own.length > 0.95 * nodes.length, `${own.length} of ${nodes.length}`);
  });
});

test('a click on a group goes to it, so near that it opens', async () => {
  await withPage(QUERY, {}, async (page) => {
    await settle(page);
    const [group] = await groupsOf(page);
    const before = await scaleOf(page);
    const box = await page.locator('#surface').boundingBox();
    await page.mouse.click(box.x + group.x + 0.6 * group.r, box.y + group.y);
    await until(async () => (await scaleOf(page)) > before);
    await settle(page);
    const left = (await groupsOf(page)).filter(({ level, at }) => level === group.level && at === group.at);
    assert.deepEqual(left.filter(({ opacity }) => opacity > 0.1), []);
    const place = await page.evaluate((i) => window.__viewer.project(i), group.top);
    const { w, h } = await page.evaluate(() => window.__viewer.doc.size);
    const seen = place[0] > 0 && place[0] < w && place[1] > 0 && place[1] < h;
    assert.ok(seen, `its largest node is at ${place}`);
  });
});

test('groups count what filters leave, and where few nodes are left each is shown', async () => {
  await withPage(QUERY, {}, async (page) => {
    await settle(page);
    const all = await groupsOf(page);
    await filter(page, 'degree > 2');
    const sum = (groups) => groups.reduce((total, { count }) => total + count, 0);
    await until(async () => {
      const now = sum(await groupsOf(page));
      return now > 0 && now < sum(all);
    });
    await settle(page);
    const [degree, shown] = await page.evaluate(() => {
      const v = window.__viewer;
      const of = Array(v.counts.nodes).fill(0);
      for (let e = 0; e < v.counts.edges; e += 1) for (const end of v.edge(e)) of[end] += 1;
      return [of, v.groups.filter(({ level }) => level === 0)];
    });
    const left = degree.filter((d) => d > 2).length;
    assert.ok(sum(shown) <= left && sum(shown) > 0.5 * left, `${sum(shown)} of ${left}`);
    await filter(page, 'degree > 60');
    await until(async () => (await groupsOf(page)).length === 0);
  });
});

test('groups are switched off and on, and the picture is that of the nodes again', async () => {
  await withPage(`${QUERY}&showLabels=false`, {}, async (page) => {
    await settle(page);
    const [group] = await groupsOf(page);
    const on = await pixels(page);
    await page.click('#groups');
    await until(async () => (await groupsOf(page)).length === 0);
    await settle(page);
    const off = await pixels(page);
    assert.ok(far(mean(inside(on, group)), mean(inside(off, group))) > 12, 'the disc is gone');
    await page.click('#groups');
    await until(async () => (await groupsOf(page)).length > 0);
    await settle(page);
    assert.ok(far(mean(inside(on, group)), mean(inside(await pixels(page), group))) < 4);
  });
});

test('groups follow the layout while it runs', { skip: !isMock }, async () => {
  await withPage(`dataset=${MANY}&play=1500&test=1`, {}, async (page) => {
    await page.waitForFunction(() => window.__viewer.groups.length > 0);
    await page.waitForFunction(() => window.__viewer.doc.playing === false);
    await settle(page);
    const [group] = await groupsOf(page);
    // The mock's communities have the same colour and follow one another.
    const middle = await page.evaluate(({ top, count }) => {
      const v = window.__viewer;
      const sum = [0, 0];
      for (let i = top; i < top + count; i += 1) {
        const at = v.project(i);
        sum[0] += at[0] / count;
        sum[1] += at[1] / count;
      }
      return sum;
    }, group);
    const off = Math.hypot(middle[0] - group.x, middle[1] - group.y);
    assert.ok(off < 1.2 * group.r, `${middle} and ${group.x}, ${group.y}`);
  });
});

test('a small graph asks for no groups, and without groups nodes are shown as they are', async () => {
  const asked = [];
  const watch = (page) => page.route('**/groups.bin*', (route) => {
    asked.push(route.request().url());
    return route.fulfill({ status: 504, body: '{}' });
  });
  await withPage('dataset=community-2000-6000&play=0&test=1', { before: watch }, async (page) => {
    await settle(page);
    assert.deepEqual([await groupsOf(page), asked], [[], []]);
  });
  await withPage(QUERY, { before: watch }, async (page) => {
    await settle(page);
    assert.deepEqual([(await groupsOf(page)).length, asked.length], [0, 1]);
    assert.equal(await page.locator('#groups').count(), 0);
    assert.ok((await page.evaluate(() => window.__viewer.labels.length)) > 10);
  });
});

test('bundled edges run together between communities, and go back to their straight lines', async () => {
  const query = 'dataset=community-2000-6000&play=0&test=1&showLabels=false&pointOpacity=0&edgeOpacity=1';
  const here = query.replace('community-2000-6000', GRAPH);
  await withPage(here, {}, async (page, { complaints }) => {
    await settle(page);
    const lit = (shot) => {
      let count = 0;
      for (let k = 0; k < shot.data.length; k += 4) {
        if (Math.max(shot.data[k], shot.data[k + 1], shot.data[k + 2]) > 55) count += 1;
      }
      return count;
    };
    const straight = await pixels(page);
    await page.click('#bundle');
    await page.waitForSelector('#bundle[aria-pressed="true"]');
    await page.mouse.move(1, 1);
    await settle(page);
    const bundled = await pixels(page);
    let changed = 0;
    for (let k = 0; k < straight.data.length; k += 4) {
      if (Math.abs(straight.data[k + 1] - bundled.data[k + 1]) > 12) changed += 1;
    }
    assert.ok(changed > 0.01 * straight.w * straight.h, `${changed} pixels are others`);
    const [before, after] = [lit(straight), lit(bundled)];
    // The mock server's communities stand apart, so shared ways take less room; a layout that puts them close
    // to one another leaves little between them, and bows may take a little more.
    const most = (isMock ? 0.97 : 1.05) * before;
    assert.ok(after < most, `${after} lit pixels in place of ${before}`);
    await page.click('#bundle');
    await page.waitForSelector('#bundle[aria-pressed="false"]');
    await page.mouse.move(1, 1);
    await settle(page);
    assert.ok(same(straight, await pixels(page)), 'switched off, the picture is what it was');
    assert.deepEqual(complaints, []);
  });
});

test('of bundled edges the pointer finds those that are drawn where it is', { skip: !isMock }, async () => {
  const dataset = 'dataset=community-400-600&play=0&test=1';
  const query = `${dataset}&showLabels=false&pointOpacity=0&edgeOpacity=1&showArrows=false`;
  await withPage(query, {}, async (page) => {
    await settle(page);
    const straight = await pixels(page);
    await page.click('#bundle');
    await page.waitForSelector('#bundle[aria-pressed="true"]');
    await page.mouse.move(1, 1);
    await settle(page);
    const bent = await pixels(page);
    const back = straight.at(3, straight.h - 3);
    // The background is lighter in its middle.
    const isDark = (shot, x, y) => far(shot.at(x, y), back) < 18;
    const within = (shot, x, y, reach, is) => {
      for (let dx = -reach; dx <= reach; dx += 1) {
        for (let dy = -reach; dy <= reach; dy += 1) if (!is(shot, x + dx, y + dy)) return false;
      }
      return true;
    };
    const isLit = (shot, x, y) => far(shot.at(x, y), back) > 40;
    const [drawn, left] = [[], []];
    for (let y = 80; y < bent.h - 60; y += 3) {
      for (let x = 220; x < bent.w - 90; x += 3) {
        if (isLit(bent, x, y) && within(straight, x, y, 6, isDark)) drawn.push([x, y]);
        if (isLit(straight, x, y) && within(bent, x, y, 7, isDark)) left.push([x, y]);
      }
    }
    const counts = `${drawn.length} places of curves, ${left.length} of lines`;
    assert.ok(drawn.length > 5 && left.length > 5, counts);
    const box = await page.locator('#surface').boundingBox();
    const edgesAt = async ([x, y]) => {
      await page.mouse.move(box.x + 3, box.y + 3);
      await settle(page);
      await page.mouse.move(box.x + x, box.y + y);
      const frame = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
      await frame().then(frame);
      await settle(page);
      return page.evaluate(() => {
        const { doc, edgeLabels } = window.__viewer;
        return doc.hovered >= 0 ? null : edgeLabels.length;
      });
    };
    const spread = (list) => [0.1, 0.3, 0.5, 0.7, 0.9].map((t) => list[Math.floor(t * list.length)]);
    const found = [];
    for (const place of spread(drawn)) found.push(await edgesAt(place));
    const gone = [];
    for (const place of spread(left)) gone.push(await edgesAt(place));
    const free = (list) => list.filter((count) => count !== null);
    assert.ok(free(found).length >= 2 && free(found).every((count) => count > 0), `${found}`);
    assert.ok(free(gone).length >= 2 && free(gone).every((count) => count === 0), `${gone}`);
  });
});

test('heads of bundled edges lie on their curves', { skip: !isMock }, async () => {
  const base = 'dataset=community-120-220&play=0&test=1&showLabels=false&edgeOpacity=1&theme=dark&pointSize=0.6';
  const bundled = async (arrows) => {
    let found = null;
    await withPage(`${base}&showArrows=${arrows}`, {}, async (page, { complaints }) => {
      await settle(page);
      await page.click('#bundle');
      await page.waitForSelector('#bundle[aria-pressed="true"]');
      await page.mouse.move(1, 1);
      await settle(page);
      const nodes = await page.evaluate(() => {
        const v = window.__viewer;
        return Array.from({ length: v.counts.nodes }, (_, i) => ({ at: v.project(i), r: v.radius(i) }));
      });
      assert.deepEqual(complaints, []);
      found = { shot: await pixels(page), nodes };
    });
    return found;
  };
  const [plain, headed] = [await bundled('false'), await bundled('true')];
  const back = plain.shot.at(3, plain.shot.h - 3);
  const isLit = (x, y) => far(plain.shot.at(x, y), back) > 14;
  let [heads, onCurve] = [0, 0];
  for (let y = 60; y < plain.shot.h - 60; y += 1) {
    for (let x = 220; x < plain.shot.w - 60; x += 1) {
      if (far(plain.shot.at(x, y), headed.shot.at(x, y)) < 60) continue;
      heads += 1;
      const near = [-3, -2, -1, 0, 1, 2, 3];
      if (near.some((dx) => near.some((dy) => isLit(x + dx, y + dy)))) onCurve += 1;
    }
  }
  assert.ok(heads > 150, `${heads} pixels of heads`);
  assert.ok(onCurve > 0.99 * heads, `${onCurve} of ${heads} pixels of heads are beside a curve`);
});
