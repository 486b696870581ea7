// Two browsers and an agent on one session. Usage:
// TOGETHER_URL=<server> TOGETHER_GRAPH=<id> TOGETHER_TOKEN=<JWT> TOGETHER_KEY=<key of the agent>
// node --test tests/together.test.mjs

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { launch, open, pixels, settle, stopped, until } from './page/browser.mjs';
import { same, visible } from './page/document.mjs';

const { TOGETHER_URL: BASE, TOGETHER_GRAPH: GRAPH, TOGETHER_TOKEN: TOKEN, TOGETHER_KEY: KEY } = process.env;
const SEED = Number(process.env.TOGETHER_SEED ?? 1);
const ROUNDS = Number(process.env.TOGETHER_ROUNDS ?? 12);

/** Numbers from 0 to below 1, always the same ones for a seed (xorshift). */
function dice(seed) {
  let state = (seed * 2654435761) >>> 0 || 1;
  const roll = () => {
    for (const [by, left] of [
      [13, true],
      [17, false],
      [5, true],
    ])
      state = (state ^ (left ? state << by : state >>> by)) >>> 0;
    return state / 2 ** 32;
  };
  return { under: (n) => Math.floor(n * roll()), of: (list) => list[Math.floor(list.length * roll())] };
}

/** An agent on the session, over the endpoint for tools. */
async function connectAgent(session) {
  let [id, own] = [0, ''];
  const post = async (body) => {
    const answer = await fetch(`${BASE}/mcp`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        Authorization: `Bearer ${KEY}`,
        ...(own && { 'mcp-session-id': own }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    });
    own ||= answer.headers.get('mcp-session-id');
    return answer.status === 202 ? null : answer.json();
  };
  const ask = (method, params) => post({ id: (id += 1), method, params });
  const clientInfo = { name: 'test', version: '1' };
  await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  await post({ method: 'notifications/initialized' });
  return async (name, more = {}) => {
    const answer = await ask('tools/call', { name, arguments: { session_id: session, ...more } });
    assert.ok(answer.result, JSON.stringify(answer));
    return JSON.parse(answer.result.content[0].text);
  };
}

const SHOWN = `dataset=${GRAPH}&play=0&test=1&showLabels=false&splashAfter=False`;

/** Two browsers; the tests follow each other in them. */
const browsers = [];

after(async () => {
  for (const browser of browsers) await browser.close();
});

/** The session's page in a browser, by its number, with the panels of filters and collections open. */
async function openPage(session, number) {
  const browser = (browsers[number] ??= await launch());
  const cookie = { name: 'graphlume_jwt', value: TOKEN, domain: new URL(BASE).hostname, path: '/' };
  const look = { width: 1180, height: 760, cookie };
  const { page, context, complaints } = await open(browser, BASE, `${SHOWN}&session=${session}`, look);
  await stopped(page);
  await page.waitForFunction(() => window.__viewer.doc.shared !== null);
  await page.click('#open-filters');
  await page.click('#open-collections');
  return { context, page, complaints };
}

const shared = (page) => page.evaluate(() => window.__viewer.doc.shared);

/** Waits until pages have heard of all that the first of them has. */
async function heard(first, ...others) {
  const { revision } = await shared(first);
  for (const page of others) await until(async () => (await shared(page)).revision >= revision);
}

/** Waits for the next revision after something was done. */
async function step(page, act) {
  const { revision } = await shared(page);
  await act();
  await until(async () => (await shared(page)).revision > revision);
}

/** Clicks on what matches, if it is there at the moment: another may have taken it away. */
function tryPress(page, selector) {
  return page.evaluate((where) => document.querySelector(where)?.click(), selector);
}

/** Drags a node that can be seen, the first from one on; none if all are hidden or behind panels. */
async function drag(page, from, by) {
  const at = await page.evaluate((first) => {
    const v = window.__viewer;
    const surface = document.querySelector('#surface');
    const box = surface.getBoundingClientRect();
    for (let i = first; i < v.counts.nodes; i += 1) {
      const place = v.project(i);
      if (!place || v.nodeAt(...place) !== i) continue;
      const [x, y] = [place[0] + box.left, place[1] + box.top];
      const above = document.elementFromPoint(x, y);
      if (above === surface || surface.contains(above) || above?.tagName === 'CANVAS') return [x, y];
    }
    return null;
  }, from);
  if (!at) return;
  const [x, y] = at;
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + by, y + by, { steps: 3 });
  await page.mouse.up();
}

async function keep(page, text, word) {
  await page.fill('#filter-text', text);
  await page.locator(`.expression button:has-text("${word}")`).click();
}

const fromFilter = (page) =>
  page.evaluate(() => {
    const select = document.querySelector('#collect-filter');
    if (!select || select.options.length < 2) return;
    select.value = select.options[1].value;
    select.dispatchEvent(new Event('change', { bubbles: true }));
  });

/** What a person can do to the document, each from the page's own controls. */
const DEEDS = {
  keep: (page, roll) => keep(page, `degree > ${roll.under(4)}`, 'Keep'),
  hide: (page, roll) => keep(page, `degree > ${4 + roll.under(9)}`, 'Hide'),
  switchFilter: (page) => tryPress(page, '[data-filter] [role=switch]'),
  removeFilter: (page) => tryPress(page, '[data-filter] [aria-label^="Remove"]'),
  orphans: (page) => tryPress(page, '[role=switch][aria-label^="Nodes without"]'),
  collect: (page) => fromFilter(page),
  switchCollection: (page) => tryPress(page, '[data-entry] [role=switch]'),
  moveCollection: (page) => tryPress(page, '[data-entry]:last-child [aria-label$=" up"]'),
  deleteCollection: (page) => tryPress(page, '[data-entry] [aria-label^="Delete"]'),
  pin: (page, roll) => drag(page, roll.under(20), 6 + roll.under(9)),
  undo: (page) => tryPress(page, '#undo:not(:disabled)'),
  redo: (page) => tryPress(page, '#redo:not(:disabled)'),
  reconnect: (page) => page.evaluate(() => window.__viewer.drop()),
};

const chain = (x) => JSON.stringify([{ type: 'Node', filter_dict: { x: { type: 'GT', val: x } } }]);

/** What an agent can do to it. */
const AGENT = {
  create: (agent, roll) =>
    agent('create_collection', {
      name: `Agent ${roll.under(3)}`,
      gfql_operations: chain(roll.under(30)),
      node_color: roll.of(['#ff0000', '#00ff00', '#0000ff']),
    }),
  async update(agent, roll) {
    const { collections } = await agent('list_collections');
    const { id } = roll.of(collections) ?? {};
    // Another may have deleted it by now, which the answer says.
    if (id) await agent('update_collection', { collection_id: id, node_color: '#ffff00' });
  },
  async remove(agent, roll) {
    const { collections } = await agent('list_collections');
    const { id } = roll.of(collections) ?? {};
    if (id) await agent('delete_collection', { collection_id: id });
  },
};

/** What the picture of a page shows: who is hidden, colours, and the pixels of the canvas. */
async function picture(page) {
  await settle(page);
  await page.keyboard.press('Escape');
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press('f');
  await page.mouse.move(2, 2);
  await settle(page);
  const data = await page.evaluate(() => {
    const v = window.__viewer;
    const nodes = Array.from({ length: v.counts.nodes }, (_, i) => i);
    const [colors, places] = [nodes.map((i) => v.color(i)), nodes.map((i) => v.project(i))];
    return { shown: v.doc.shown, colors, places };
  });
  // Only the picture: news, panels and buttons are each page's own.
  const others = (hidden) =>
    page.evaluate((value) => {
      for (const element of document.querySelectorAll('body *')) {
        if (element.matches('canvas') || element.querySelector('canvas')) continue;
        element.style.visibility = value;
      }
    }, hidden);
  await others('hidden');
  const shot = await pixels(page);
  await others('');
  return { data, shot };
}

function equalPictures(a, b) {
  const { places: here, ...mine } = a.data;
  const { places: there, ...other } = b.data;
  assert.deepEqual(mine, other);
  // Where a node is comes to a page in steps of some part of its picture's width.
  const far = here.filter((place, i) => {
    if (place === null || there[i] === null) return place !== there[i];
    return Math.hypot(place[0] - there[i][0], place[1] - there[i][1]) > 0.5;
  });
  assert.deepEqual(far, [], JSON.stringify(far.map((place) => there[here.indexOf(place)])));
  assert.ok(same(a.shot, b.shot), 'the pictures differ');
}

async function together(run) {
  const session = `together-${process.pid}-${Date.now()}`;
  const both = [];
  try {
    both.push(await openPage(session, 0), await openPage(session, 1));
    await run({ session, agent: await connectAgent(session), pages: both.map(({ page }) => page) });
    for (const { complaints } of both) assert.deepEqual(complaints, []);
  } finally {
    for (const { context } of both) await context.close();
  }
}

test('every operation of one arrives on the other, and with the agent', async () => {
  await together(async ({ agent, pages: [one, two] }) => {
    const roll = dice(SEED);
    const all = await one.evaluate(() => window.__viewer.counts.nodes);
    const arrives = async (from, deed, ...more) => {
      await step(from, () => DEEDS[deed](from, roll, ...more));
      await heard(from, one, two);
      const [mine, other] = [await shared(one), await shared(two)];
      assert.deepEqual(mine.shared, other.shared, deed);
    };
    await arrives(one, 'keep');
    await arrives(two, 'hide');
    await arrives(two, 'switchFilter');
    await arrives(one, 'orphans');
    await arrives(two, 'collect');
    const wanted = { name: 'Of the agent', gfql_operations: chain(20), node_color: '#ff0000' };
    const { id } = (await agent('create_collection', wanted)).collection;
    for (const page of [one, two]) await page.waitForSelector(`[data-entry="${id}"]`);
    await arrives(one, 'moveCollection');
    const names = async (page) => page.locator('[data-entry] .words').allInnerTexts();
    const listed = async () => (await agent('list_collections')).collections.map(({ name }) => name);
    assert.deepEqual(await listed(), await names(one));
    assert.deepEqual(await names(two), await names(one));
    await arrives(two, 'pin');
    assert.ok(Object.keys((await shared(one)).shared).some((path) => path.startsWith('pins/')));
    await agent('update_collection', { collection_id: id, node_color: '#00ff00' });
    for (const page of [one, two]) {
      await until(async () => (await shared(page)).shared[`collections/${id}`].node_color === '#00ff00');
    }
    equalPictures(await picture(one), await picture(two));
    // Each takes back what is his: the agent's collection stays.
    // Both are one account, whose steps are taken back from either page, the last first.
    const undo = async (page) => {
      const { revision } = await shared(page);
      await DEEDS.undo(page);
      await until(async () => (await shared(page)).revision > revision || (await page.isDisabled('#undo')));
    };
    await until(async () => {
      for (const page of [two, one]) await undo(page);
      return Object.keys((await shared(one)).shared).join() === `collections/${id}`;
    });
    await heard(one, two);
    assert.deepEqual((await shared(two)).shared, (await shared(one)).shared);
    assert.deepEqual(await listed(), ['Of the agent']);
    await agent('delete_collection', { collection_id: id });
    const gone = { state: 'detached' };
    for (const page of [one, two]) await page.waitForSelector(`[data-entry="${id}"]`, gone);
    for (const page of [one, two]) await visible(page, all);
  });
});

test('whatever two people and an agent do at once, they end with the same document and picture', async () => {
  await together(async ({ session, agent, pages: [one, two] }) => {
    const roll = dice(SEED);
    const done = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const [a, b, c] = [DEEDS, DEEDS, AGENT].map((list) => roll.of(Object.keys(list)));
      done.push(`${a} | ${b} | ${c}`);
      await Promise.all([DEEDS[a](one, roll), DEEDS[b](two, roll), AGENT[c](agent, roll)]);
    }
    const third = await openPage(session, 0);
    try {
      for (const page of [one, two]) await page.waitForFunction(() => window.__viewer.doc.link === 'live');
      // What was asked for by a page and is not answered yet comes with the next step, which all then have.
      for (const page of [one, two]) await step(page, () => DEEDS.keep(page, { under: () => 0 }));
      await heard(two, one, third.page);
      await heard(one, two, third.page);
      const [a, b, fresh] = [await shared(one), await shared(two), await shared(third.page)];
      assert.ok(Object.keys(fresh.shared).length > 0);
      assert.deepEqual(a, fresh, done.join('\n'));
      assert.deepEqual(b, fresh, done.join('\n'));
      equalPictures(await picture(one), await picture(two));
    } finally {
      await third.context.close();
    }
  });
});
