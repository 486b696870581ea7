// Selected elements are seen: by lasso, by the legend and under the pointer, all else keeps as little of its
// ink in discs, icons, badges and names, in the page and in the picture of the server.
// Usage: node --test tests/dimmed.test.mjs, with a server of its own.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodePng } from './png.mjs';
import { launch, open, pixels, settle, until } from './page/browser.mjs';
import { binary, freePort, startServer, upload } from './real-server.mjs';

const SIDE = 30;
const KINDS = 'abcdef';
const ICONS = { a: 'bank', b: 'user', c: 'flag-icon-fr', d: 'flag-icon-br', e: 'star' };
const COLORS = { a: '#3b82f6', b: '#ef4444', c: '#22c55e', d: '#eab308', e: '#a855f7', f: '#14b8a6' };
const BACK = [17, 17, 17];
/** What is left of what is not selected; and how far apart kinds of ink, and page and server, may be. */
const LEFT = 0.22;
const APART = 0.03;
const SAME = 0.02;

/** 900 nodes on a grid: five kinds with an icon, the first with a badge, and one kind of plain discs. */
function tables() {
  const nodes = ['id,title,kind,x,y,size'];
  const edges = ['s,d'];
  for (let i = 0; i < SIDE * SIDE; i += 1) {
    const [column, row] = [i % SIDE, Math.floor(i / SIDE)];
    nodes.push([`n${i}`, `Node ${i}`, KINDS[(column + 2 * row) % 6], column * 16, -row * 10, 10].join());
    if (column > 0) edges.push(`n${i - 1},n${i}`);
  }
  const by = (mapping, other) => ({ categorical: { fixed: mapping, ...other } });
  const of = { graphType: 'point', attribute: 'kind', variation: 'categorical' };
  return {
    nodes: `${nodes.join('\n')}\n`,
    edges: `${edges.join('\n')}\n`,
    bindings: { node_title: 'title', node_size: 'size' },
    complex: {
      pointColorEncoding: { ...of, encodingType: 'color', mapping: by(COLORS) },
      pointIconEncoding: { ...of, encodingType: 'icon', mapping: by(ICONS, { other: '' }) },
      pointBadgeTopRightEncoding: {
        ...of,
        encodingType: 'badgeTopRight',
        bg: { color: { mapping: by({ a: '#ffffff' }, { other: 'transparent' }) } },
        mapping: by({ a: 'check' }, { other: '' }),
      },
    },
  };
}

let server;
let browser;
let page;
let nodes;
before(async () => {
  server = await startServer(binary(), await freePort(), await freePort());
  browser = await launch();
  const dataset = await upload(server, 'dimmed', tables());
  const look = 'bg=%23111111&pointSize=2&edgeOpacity=0.3&pointsOfInterestMax=40';
  const query = `dataset=${dataset}&session=dimmed&play=0&test=1&splashAfter=False&${look}`;
  const { hostname } = new URL(server.base);
  const value = server.headers.Authorization.split(' ')[1];
  const cookie = { name: 'graphlume_jwt', value, domain: hostname, path: '/' };
  ({ page } = await open(browser, server.base, query, { width: 1400, height: 900, cookie }));
  await settle(page);
  nodes = await page.evaluate(() =>
    Array.from({ length: window.__viewer.counts.nodes }, (_, i) => ({
      at: window.__viewer.project(i),
      r: window.__viewer.radius(i),
    })),
  );
  assert.equal(nodes.length, SIDE * SIDE);
  assert.ok(nodes[0].r > 7, `discs of ${nodes[0].r} px carry no badges`);
});
after(async () => {
  await browser?.close();
  server?.child.kill();
});

const kindOf = (i) => KINDS[((i % SIDE) + 2 * Math.floor(i / SIDE)) % 6];

/** How far the pixels of a box are from the background, together. */
function ink({ data, w, h }, [left, top, right, bottom]) {
  let sum = 0;
  for (let y = Math.max(0, Math.ceil(top)); y < Math.min(h, bottom); y += 1) {
    for (let x = Math.max(0, Math.ceil(left)); x < Math.min(w, right); x += 1) {
      const k = 4 * (y * w + x);
      sum += Math.max(...BACK.map((c, n) => Math.abs(data[k + n] - c)));
    }
  }
  return sum;
}

const around = ([x, y], r) => [x - r, y - r, x + r, y + r];
const parts = {
  disc: { of: (i) => kindOf(i) === 'f', box: ({ at, r }) => around(at, 0.6 * r) },
  icon: { of: (i) => 'bcde'.includes(kindOf(i)), box: ({ at, r }) => around(at, 0.5 * r) },
  badge: {
    of: (i) => kindOf(i) === 'a',
    box: ({ at: [x, y], r }) => around([x + 0.65 * r, y - 0.65 * r], 0.3 * r),
  },
};

/** Of nodes: what is left of the ink of each part, from one picture to the other. */
function leftOf(whole, dimmed, chosen) {
  const found = {};
  for (const [name, { of, box }] of Object.entries(parts)) {
    const [was, is] = [whole, dimmed].map((shot) =>
      chosen.filter(of).reduce((sum, i) => sum + ink(shot, box(nodes[i])), 0),
    );
    assert.ok(was > 0, `no ${name} is there`);
    found[name] = is / was;
  }
  return found;
}

const labels = () => page.evaluate(() => window.__viewer.labels);
const boxOf = ({ x, y, w, h }) => [x, y - 0.6 * h, x + w, y + 0.6 * h];

/** What is left of names that stand where they stood. */
function leftOfNames([whole, before_], [dimmed, now], isOf) {
  const same = before_.filter(
    ({ index, x, y }) =>
      isOf(index) && now.some((one) => one.index === index && Math.hypot(one.x - x, one.y - y) < 0.5),
  );
  assert.ok(same.length > 3, `${same.length} names stand where they stood`);
  const sum = (shot) => same.reduce((total, label) => total + ink(shot, boxOf(label)), 0);
  return sum(dimmed) / sum(whole);
}

/** The picture that the server draws of what the page shows, by the dialog's own address. */
async function ofServer() {
  await page.click('#export');
  await page.check('#export-legend');
  await page.selectOption('#export-size', { index: 0 });
  const [answer] = await Promise.all([
    page.waitForResponse((r) => r.url().includes('/picture.png')),
    page.click('#export-save'),
  ]);
  assert.equal(answer.status(), 200);
  await page.waitForFunction(() => !document.querySelector('#export-dialog'));
  // What a page saves as a file is not kept for whoever drives it.
  const again = await fetch(answer.url(), { headers: server.headers });
  assert.equal(again.status, 200);
  return decodePng(Buffer.from(await again.arrayBuffer()));
}

const selected = () =>
  page.evaluate(() => Number(document.querySelector('#selection b')?.textContent.replace(/,/g, '') ?? 0));
const all = Array.from({ length: SIDE * SIDE }, (_, i) => i);
const inPicture = (i) => nodes[i].at[0] > 260 && nodes[i].at[0] < 1330 && nodes[i].at[1] < 560;

/** Looks at the page and at the server's picture before and after an act that selects `isChosen`. */
async function compares(act, isChosen, { byServer = true, keeps = 0.97 } = {}) {
  await page.keyboard.press('Escape');
  await page.mouse.move(2, 450);
  await settle(page);
  const [shot, names] = [await pixels(page), await labels()];
  const drawn = byServer ? await ofServer() : null;
  await act();
  await settle(page);
  const [dark, named] = [await pixels(page), await labels()];
  const seen = all.filter(inPicture);
  const [others, chosen] = [seen.filter((i) => !isChosen(i)), seen.filter(isChosen)];
  const left = leftOf(shot, dark, others);
  const isOther = (i) => inPicture(i) && !isChosen(i);
  left.name = leftOfNames([shot, names], [dark, named], isOther);
  for (const [name, share] of Object.entries(left)) {
    assert.ok(Math.abs(share - LEFT) < APART, `${name}: ${share.toFixed(3)} is left`);
  }
  const kept = chosen.reduce((sum, i) => sum + ink(dark, around(nodes[i].at, 0.4 * nodes[i].r)), 0);
  const had = chosen.reduce((sum, i) => sum + ink(shot, around(nodes[i].at, 0.4 * nodes[i].r)), 0);
  assert.ok(kept > keeps * had, `what is selected keeps ${(kept / had).toFixed(3)}`);
  if (drawn) {
    const darker = await ofServer();
    const there = leftOf(drawn, darker, others);
    for (const name of Object.keys(there)) {
      const apart = Math.abs(there[name] - left[name]);
      assert.ok(apart <= SAME, `${name}: ${left[name].toFixed(3)} in the page, ${there[name].toFixed(3)} by the server`);
    }
    return { page: left, server: there };
  }
  return { page: left };
}

/** Drags along these points of the picture. */
async function drag(points) {
  const box = await page.locator('#surface').boundingBox();
  await page.mouse.move(box.x + points[0][0], box.y + points[0][1]);
  await page.mouse.down();
  for (const [x, y] of points.slice(1)) await page.mouse.move(box.x + x, box.y + y, { steps: 4 });
  await page.mouse.up();
}

test('a lasso dims discs, icons, badges and names alike, here and on the server', async (t) => {
  const [low, high] = [nodes[7 * SIDE + 12].at, nodes[15 * SIDE + 23].at];
  const isInside = (i) => {
    const [x, y] = nodes[i].at;
    return x >= low[0] - 3 && x <= high[0] + 3 && y >= low[1] - 3 && y <= high[1] + 3;
  };
  const act = async () => {
    await page.keyboard.press('l');
    await drag([
      [low[0] - 3, low[1] - 3],
      [high[0] + 3, low[1] - 3],
      [high[0] + 3, high[1] + 3],
      [low[0] - 3, high[1] + 3],
    ]);
    await page.keyboard.press('l');
    await until(async () => (await selected()) === all.filter(isInside).length);
  };
  t.diagnostic(JSON.stringify(await compares(act, isInside)));
});

test('so does a click on the legend', async (t) => {
  const act = async () => {
    const name = page.locator('.name', { hasText: /^a$/ });
    await page.locator('.legend li', { has: name }).locator('button').first().click();
    await until(async () => (await selected()) === all.filter((i) => kindOf(i) === 'a').length);
    await page.mouse.move(2, 450);
  };
  // Badges are those of what is selected here.
  const { badge } = parts;
  delete parts.badge;
  t.diagnostic(JSON.stringify(await compares(act, (i) => kindOf(i) === 'a')));
  parts.badge = badge;
});

test('and the pointer over a node', async (t) => {
  const [hub, near] = [9 * SIDE + 14, 1];
  const act = async () => {
    const box = await page.locator('#surface').boundingBox();
    await page.mouse.move(box.x + nodes[hub].at[0], box.y + nodes[hub].at[1]);
    await page.waitForSelector('.card');
  };
  // A card may cover a part of one of the three.
  const isNear = (i) => Math.abs(i - hub) <= near;
  t.diagnostic(JSON.stringify(await compares(act, isNear, { byServer: false, keeps: 0.85 })));
});
