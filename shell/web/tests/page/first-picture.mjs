import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GRAPH, isMock, newSession, withPage } from './context.mjs';
import { pixels, settle, until } from './document.mjs';

// The first picture on a slow link: a keyframe in stripes, of which the later ones are held back here.

const STRIPES = 7;
const HEADER = 48;
const LAST_STRIPE = 8;

/** The stripes of a keyframe of the mock, which is not compressed. */
function cut(frame) {
  const count = frame.readUInt32LE(24);
  return Array.from({ length: STRIPES }, (_, first) => {
    const pairs = [];
    for (let i = first; i < count; i += STRIPES) {
      pairs.push(frame.subarray(HEADER + 4 * i, HEADER + 4 * i + 4));
    }
    const head = Buffer.from(frame.subarray(0, HEADER));
    if (first + 1 === STRIPES) head.writeUInt16LE(head.readUInt16LE(6) | LAST_STRIPE, 6);
    [first, pairs.length, STRIPES].forEach((word, k) => head.writeUInt32LE(word, 20 + 4 * k));
    return Buffer.concat([head, ...pairs]);
  });
}

/** Cuts the first keyframe that the page gets, and holds all positions but its first stripe. */
function holding() {
  const held = { messages: [], send: null, acks: [], released: false, addresses: [] };
  const before = (page) =>
    page.routeWebSocket(/\/ws\?/, (socket) => {
      held.addresses.push(socket.url());
      const server = socket.connectToServer();
      held.send = (message) => socket.send(message);
      let whole = true;
      socket.onMessage((message) => {
        const said = JSON.parse(message);
        if (said.t === 'ack') held.acks.push(said.seq);
        server.send(message);
      });
      server.onMessage((message) => {
        const isPositions = typeof message !== 'string' && message[5] <= 4;
        if (!isPositions || held.released) return socket.send(message);
        if (!whole) return held.messages.push(message);
        whole = false;
        const [first, ...rest] = cut(message);
        socket.send(first);
        held.messages.push(...rest);
      });
    });
  const release = () => {
    for (const message of held.messages.splice(0)) held.send(message);
    held.released = true;
  };
  return { held, before, release };
}

/** Where nodes are, in pixels; null for those that have no place yet. */
const places = (page) =>
  page.evaluate(() => {
    const v = window.__viewer;
    return Array.from({ length: v.counts.nodes }, (_, i) => v.project(i));
  });

const far = (a, b) => Math.max(...a.map((c, k) => Math.abs(c - b[k])));

test('the first stripe of many is drawn while the others are on the way', { skip: !isMock }, async () => {
  const { held, before, release } = holding();
  const query = `dataset=${GRAPH}&play=0&test=1&theme=dark&edgeOpacity=0&showLabels=false&session=${newSession()}`;
  await withPage(query, { before }, async (page, { complaints }) => {
    await settle(page);
    assert.match(held.addresses[0], /[?&]stripes=1/);
    const some = await places(page);
    assert.ok(some.every((at, i) => (at !== null) === (i % STRIPES === 0)));
    assert.deepEqual(held.acks, [], 'a frame that has come in part is not acknowledged');
    const shown = await page.evaluate((each) => {
      const v = window.__viewer;
      const all = Array.from({ length: Math.ceil(v.counts.nodes / each) }, (_, k) => each * k);
      const seen = all.filter((i) => v.radius(i) > 2.5 && v.nodeAt(...v.project(i)) === i);
      return seen.map((i) => ({ at: v.project(i), color: v.color(i).slice(0, 3) }));
    }, STRIPES);
    assert.ok(shown.length > 100, `${shown.length} nodes`);
    const shot = await pixels(page);
    const own = shown.filter(({ at, color }) => far(shot.at(...at), color) < 40);
    assert.ok(own.length > 0.9 * shown.length, `${own.length} of ${shown.length} nodes have their colour`);
    release();
    await until(async () => (await places(page)).every((at) => at !== null));
    await settle(page);
    assert.equal(held.acks.length, 1);
    const all = await places(page);
    await withPage(query, {}, async (other) => {
      await settle(other);
      assert.ok((await places(other)).every((at, i) => far(at, all[i]) < 0.01), 'as of a whole keyframe');
    });
    assert.deepEqual(complaints, []);
  });
});

test('a late joiner of stripes follows the layout as the others do', { skip: !isMock }, async () => {
  const session = `session=${newSession()}`;
  const query = `dataset=${GRAPH}&play=6000&test=1&${session}`;
  await withPage(query, {}, async (first) => {
    await until(() => first.evaluate(() => window.__viewer.seq > 3));
    const { before, held, release } = holding();
    await withPage(query, { before }, async (late) => {
      // The other stripes; beside them the mock sends one frame at most that is not acknowledged.
      await until(() => held.messages.length >= STRIPES - 1);
      const some = await places(late);
      assert.ok(some.every((at, i) => (at !== null) === (i % STRIPES === 0)), 'one moment, and no other');
      release();
      for (const page of [first, late]) {
        await page.waitForFunction(() => window.__viewer.doc.playing === false);
        await settle(page);
      }
      const seq = (page) => page.evaluate(() => window.__viewer.seq);
      await until(async () => (await seq(first)) === (await seq(late)));
      await settle(late);
      const graph = (page) =>
        page.evaluate(() => {
          const { view, size } = window.__viewer.doc;
          const step = 1 / view.scale;
          const of = ([x, y]) => [view.cx + (x - size.w / 2) * step, view.cy - (y - size.h / 2) * step];
          const n = window.__viewer.counts.nodes;
          return { step, at: Array.from({ length: n }, (_, i) => of(window.__viewer.project(i))) };
        });
      const [a, b] = [await graph(first), await graph(late)];
      const off = Math.max(...a.at.map((at, i) => far(at, b.at[i])));
      assert.ok(off < 0.05 * a.step, `${off / a.step} pixels`);
    });
  });
});

test('stripes that a lost connection cut off are sent again', { skip: !isMock }, async () => {
  const { before, held } = holding();
  const query = `dataset=${GRAPH}&play=0&test=1&session=${newSession()}`;
  await withPage(query, { before }, async (page) => {
    await settle(page);
    assert.ok((await places(page)).some((at) => at === null));
    held.released = true;
    held.messages = [];
    await page.evaluate(() => window.__viewer.drop());
    await until(async () => (await places(page)).every((at) => at !== null));
  });
});
