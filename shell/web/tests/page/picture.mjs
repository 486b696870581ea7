import assert from 'node:assert/strict';
import { test } from 'node:test';
import { census, changed, pixels, settle } from './browser.mjs';
import { EMPTY, GRAPH, PARALLEL, SPARSE, withPage } from './context.mjs';

const STILL = 'play=0&test=1';

test('the address gets a session and keeps its other parameters', async () => {
  await withPage(
    `dataset=${GRAPH}&${STILL}&bg=%23101018&unknown=a%20b`,
    {},
    async (page, { complaints }) => {
      const url = new URL(page.url());
      assert.ok(url.searchParams.get('session'));
      assert.ok(url.search.startsWith(`?dataset=${GRAPH}&${STILL}&bg=%23101018&unknown=a%20b`));
      await settle(page);
      assert.deepEqual(complaints, []);
    },
  );
});

test('something is drawn: lit pixels and several hues', async () => {
  await withPage(`dataset=${GRAPH}&${STILL}`, {}, async (page) => {
    await settle(page);
    const { lit, hues } = census(await pixels(page));
    assert.ok(lit > 0.02 && lit < 0.9, `lit ${lit}`);
    assert.ok(hues >= 5, `${hues} hues`);
  });
});

/** The largest nodes whose middle no later node covers, with place and colour. */
function clearNodes(page, count) {
  return page.evaluate((limit) => {
    const v = window.__viewer;
    const all = Array.from({ length: v.counts.nodes }, (_, i) => {
      const at = v.project(i);
      return at && { i, x: at[0], y: at[1], r: v.radius(i), color: v.color(i) };
    }).filter(Boolean);
    const { w, h } = v.doc.size;
    const inside = (n) => n.x > 4 && n.y > 4 && n.x < w - 4 && n.y < h - 4;
    const covered = (n) =>
      all.some((o) => o.i !== n.i && o.r >= n.r && Math.hypot(o.x - n.x, o.y - n.y) < o.r + 3);
    return all
      .filter((n) => inside(n) && n.r >= 1.5)
      .sort((a, b) => b.r - a.r)
      .filter((n) => !covered(n))
      .slice(0, limit);
  }, count);
}

test('nodes are where they should be, in their colours', async () => {
  await withPage(
    `dataset=${GRAPH}&${STILL}&showLabels=false&menu=false&info=false`,
    {},
    async (page) => {
      await settle(page);
      const shot = await pixels(page);
      const nodes = await clearNodes(page, 200);
      assert.ok(nodes.length >= 50, `${nodes.length} nodes to look at`);
      const right = nodes.filter(({ x, y, color }) => {
        const got = shot.at(Math.floor(x), Math.floor(y));
        return got.every((channel, k) => Math.abs(channel - color[k]) <= 28);
      });
      assert.ok(right.length >= 0.95 * nodes.length, `${right.length} of ${nodes.length}`);
    },
  );
});

/** Brightness on the middle of long edges, and on bands six pixels to either side. */
function edgeContrast(page, shot) {
  return page
    .evaluate(() => {
      const v = window.__viewer;
      const nodes = Array.from({ length: v.counts.nodes }, (_, i) => ({
        at: v.project(i),
        r: v.radius(i),
      }));
      const found = [];
      for (let e = 0; e < v.counts.edges && found.length < 50; e += 1) {
        const [a, b] = v.edge(e).map((i) => nodes[i].at);
        const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
        if (length < 40) continue;
        const mid = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
        if (nodes.some(({ at, r }) => Math.hypot(at[0] - mid[0], at[1] - mid[1]) < r + 14)) continue;
        found.push({ mid, dir: [(b[0] - a[0]) / length, (b[1] - a[1]) / length] });
      }
      return found;
    })
    .then((edges) => {
      const light = (x, y) => shot.at(x, y).reduce((p, q) => p + q, 0) / 3;
      let brighter = 0;
      for (const { mid, dir } of edges) {
        let [on, off] = [0, 0];
        for (let k = -5; k <= 5; k += 1) {
          const [x, y] = [mid[0] + dir[0] * k - 0.5, mid[1] + dir[1] * k - 0.5];
          on += light(x, y);
          off += (light(x - dir[1] * 6, y + dir[0] * 6) + light(x + dir[1] * 6, y - dir[0] * 6)) / 2;
        }
        if (on / 11 > off / 11 + 6) brighter += 1;
      }
      return { edges: edges.length, brighter };
    });
}

test('edges are drawn, and are gone with edgeOpacity=0', async () => {
  for (const opacity of [1, 0]) {
    const query = `dataset=${SPARSE}&${STILL}&showLabels=false&menu=false&info=false&edgeOpacity=${opacity}`;
    await withPage(query, {}, async (page) => {
      await settle(page);
      const { edges, brighter } = await edgeContrast(page, await pixels(page));
      assert.ok(edges >= 10, `${edges} edges to look at`);
      if (opacity === 1) assert.ok(brighter >= 0.8 * edges, `${brighter} of ${edges} visible`);
      else assert.equal(brighter, 0);
    });
  }
});

test('hundreds of parallel edges stay near their line', async () => {
  const query = `dataset=${PARALLEL}&${STILL}&showLabels=false&menu=false&info=false`;
  await withPage(query, {}, async (page) => {
    await settle(page);
    const shot = await pixels(page);
    const [hub, ...ends] = await page.evaluate(() =>
      [window.__viewer.edge(0)[0], 0, 1, 2]
        .filter((i, k, all) => all.indexOf(i) === k)
        .map((i) => ({ at: window.__viewer.project(i), r: window.__viewer.radius(i) })),
    );
    const away = (x, y, { at: [bx, by] }) => {
      const [ax, ay] = hub.at;
      const [dx, dy] = [bx - ax, by - ay];
      const t = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy)));
      return Math.hypot(x - ax - t * dx, y - ay - t * dy);
    };
    let far = 0;
    let lit = 0;
    for (let y = 0; y < shot.h; y += 1) {
      for (let x = 0; x < shot.w; x += 1) {
        if (Math.max(...shot.at(x, y)) < 60) continue;
        lit += 1;
        const onDisc = [hub, ...ends].some(({ at, r }) => Math.hypot(x - at[0], y - at[1]) < r + 4);
        if (!onDisc && Math.min(...ends.map((end) => away(x, y, end))) > 18) far += 1;
      }
    }
    assert.ok(lit > 500, `${lit} pixels are lit`);
    assert.equal(far, 0);
  });
});

test('empty is empty and says so', async () => {
  await withPage(`dataset=${EMPTY}&test=1`, {}, async (page) => {
    await page.waitForSelector('#empty');
    assert.match(await page.textContent('#empty'), /no nodes/);
    // The words themselves lie over the canvas.
    await page.evaluate(() => document.querySelector('#empty').remove());
    const { lit } = census(await pixels(page));
    assert.ok(lit < 0.001, `lit ${lit}`);
  });
});

test('at rest two pictures are identical, also after a lost context', async () => {
  await withPage(`dataset=${GRAPH}&${STILL}`, {}, async (page, { complaints }) => {
    await settle(page);
    const first = await pixels(page);
    assert.equal(changed(first, await pixels(page)), 0);
    await page.evaluate(async () => {
      const canvas = document.querySelector('#picture');
      const lose = canvas.getContext('webgl2').getExtension('WEBGL_lose_context');
      const event = (name) => new Promise((done) => canvas.addEventListener(name, done, { once: true }));
      const lost = event('webglcontextlost');
      lose.loseContext();
      await lost;
      // The browser gives the context back only after the event has been handled: it is asked until then.
      const restored = event('webglcontextrestored').then(() => true);
      const pause = () => new Promise((done) => setTimeout(done, 20, false));
      do lose.restoreContext();
      while (!(await Promise.race([restored, pause()])));
    });
    await settle(page);
    assert.equal(changed(first, await pixels(page)), 0);
    // The browser reports that it was asked too early.
    complaints.length = 0;
  });
});

test('parameters of the address show: background, menu, info, title, point size', async () => {
  const plain = `dataset=${GRAPH}&${STILL}`;
  await withPage(
    `${plain}&bg=%23203040&menu=False&info=False&pageTitle=My%20graph`,
    {},
    async (page) => {
      await settle(page);
      const shot = await pixels(page);
      assert.ok(
        shot.at(2, 2).every((channel, k) => Math.abs(channel - [0x20, 0x30, 0x40][k]) <= 1),
        String(shot.at(2, 2)),
      );
      assert.equal(await page.locator('header, .legend, .zoom').count(), 0);
      assert.equal(await page.title(), 'My graph');
    },
  );
  const lit = async (query) =>
    withPage(query, {}, async (page) => {
      await settle(page);
      return census(await pixels(page)).lit;
    });
  assert.ok(
    (await lit(`${plain}&pointSize=3&edgeOpacity=0`)) > 1.3 * (await lit(`${plain}&edgeOpacity=0`)),
  );
});
