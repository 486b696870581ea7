import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setApart } from '../../src/afar/apart.ts';
import { groupsOf, linksOf, NO_GROUP, placesOf, readGroups } from '../../src/afar/groups.ts';
import { Level } from '../../src/afar/level.ts';
import { NodeSample, sample } from '../../src/afar/node-sample.ts';
import { readFrame } from '../../src/net/frames.ts';
import { emptyScene } from '../../src/scene/scene-data.ts';

const level = Uint16Array.from([0, 0, 1, 1, 1, NO_GROUP, 2, 0]);
const red = [255, 0, 0, 255];
const blue = [0, 0, 255, 255];
const elements = {
  xy: Float32Array.from([0, 0, 2, 0, 10, 10, 12, 10, 11, 13, 99, 99, 5, 5, 1, 3]),
  nodeColor: Uint8Array.from([red, red, blue, red, blue, blue, red, blue].flat()),
  nodeSize: Uint8Array.from([9, 20, 9, 9, 30, 99, 9, 9]),
  nodeHidden: null,
};

test('the frame that the server makes is read, and a short one is refused', async () => {
  const bytes = readFileSync('tests/fixtures/groups.bin');
  const frame = await readFrame(new Uint8Array(bytes).buffer);
  assert.deepEqual(readGroups(frame).map((of) => [...of]), [
    [0, 0, 1, 65535, 0],
    [0, 2, 1, 65535, 0],
  ]);
  const short = { ...frame, payload: frame.payload.subarray(0, 20) };
  assert.throws(() => readGroups(short), /no groups of 5 nodes in 20 bytes/);
});

test('groups have the colour of most and the name of the largest of their visible nodes', () => {
  assert.deepEqual(groupsOf(level, elements, 9), [
    { id: 0, count: 3, top: 1, color: [255, 0, 0] },
    { id: 1, count: 3, top: 4, color: [0, 0, 255] },
  ]);
  const nodeHidden = Uint8Array.from([0, 1, 0, 0, 0, 0, 0, 0]);
  const left = groupsOf(level, { ...elements, nodeHidden }, 9);
  assert.deepEqual(left.map(({ id, count, top }) => [id, count, top]), [[1, 3, 4], [0, 2, 0]]);
  assert.deepEqual(groupsOf(level, elements, 1).map(({ id }) => id), [0]);
  assert.deepEqual(groupsOf(new Uint16Array(3).fill(NO_GROUP), elements, 9), []);
  // Of collapsed nodes one that is left is still there; of none there is nothing.
  const alone = groupsOf(Uint16Array.of(0, 1, 1), { ...elements, nodeHidden: Uint8Array.of(0, 1, 1) }, 9, 1);
  assert.deepEqual(alone.map(({ id, count }) => [id, count]), [[0, 1]]);
});

test('colours of a scale are counted roughly', () => {
  const n = 400;
  const of = new Uint16Array(n);
  const nodeColor = new Uint8Array(4 * n);
  // Three quarters are some blue or other, the rest some red, and no colour comes twice.
  for (let i = 0; i < n; i += 1) {
    nodeColor.set(i % 4 ? [i % 16, i >> 4, 200, 255] : [200, i >> 4, i % 16, 255], 4 * i);
  }
  const [{ color }] = groupsOf(of, { ...elements, nodeColor, nodeSize: null }, 1);
  assert.ok(color[2] > 150 && color[0] < 64, `${color}`);
});

test('a few nodes far out do not say where a group is', () => {
  const n = 101;
  const xy = new Float32Array(2 * n);
  for (let i = 0; i < 100; i += 1) xy.set([i % 10, Math.floor(i / 10)], 2 * i);
  xy.set([9000, 9000], 200);
  const of = new Uint16Array(n);
  const groups = groupsOf(of, { ...elements, xy, nodeColor: null }, 1);
  const [x, y, sx, sy] = placesOf(of, groups, { ...elements, xy });
  assert.ok(Math.abs(x - 4.5) < 0.01 && Math.abs(y - 4.5) < 0.01, `${x} ${y}`);
  assert.ok(sx > 2 && sx < 4 && sy > 2 && sy < 4, `${sx} ${sy}`);
});

test('edges between groups are counted, the most first, and hidden ones are not', () => {
  const groups = groupsOf(Uint16Array.from([0, 0, 1, 1, 2, 2]), { ...elements, nodeColor: null }, 9);
  const of = Uint16Array.from([0, 0, 1, 1, 2, 2]);
  const ends = Uint32Array.from([0, 1, 0, 2, 3, 1, 4, 0, 5, 4]);
  const edges = { ends, edgesKnown: 5, edgeHidden: null };
  assert.deepEqual(linksOf(of, groups, edges, 9), [
    { a: 0, b: 1, count: 2 },
    { a: 0, b: 2, count: 1 },
  ]);
  const edgeHidden = Uint8Array.from([0, 1, 0, 0, 0]);
  assert.deepEqual(linksOf(of, groups, { ...edges, edgeHidden }, 1), [{ a: 0, b: 1, count: 1 }]);
  assert.equal(linksOf(of, groups, { ...edges, edgesKnown: 1 }, 9).length, 0);
});

test('discs are moved apart, also those on one spot, and one that is alone stays', () => {
  const bodies = [3, 1, 2, 1, 1].map((r) => ({ x: 0, y: 0, r }));
  bodies.push({ x: 50, y: 0, r: 4 });
  setApart(bodies);
  assert.deepEqual(bodies[5], { x: 50, y: 0, r: 4 });
  for (let i = 0; i < 6; i += 1) {
    for (let j = 0; j < i; j += 1) {
      const [a, b] = [bodies[i], bodies[j]];
      assert.ok(Math.hypot(a.x - b.x, a.y - b.y) > 0.98 * (a.r + b.r), `${i} on ${j}`);
    }
  }
});

test('from afar a group is shown, nearer those in it, and then its nodes', () => {
  const n = 60_000;
  const data = { ...emptyScene(n, 0), current: new Float32Array(2 * n) };
  const of = [new Uint16Array(n), new Uint16Array(n)];
  for (let i = 0; i < n; i += 1) {
    const group = i % 2;
    of[0][i] = group;
    of[1][i] = i % 4;
    const angle = i * 2.399963;
    const r = Math.sqrt(i / n) * 20;
    const aside = group * 100 + (i % 4 > 1 ? 30 : 0);
    data.current.set([aside + r * Math.cos(angle), r * Math.sin(angle)], 2 * i);
  }
  const coarse = new Level(of[0], 9, null);
  const fine = new Level(of[1], 9, coarse);
  for (const one of [coarse, fine]) {
    one.regroup(data);
    one.replace(data, { area: 1500 });
  }
  const at = (scale: number): number[] => {
    coarse.look(scale, true);
    fine.look(scale, false);
    return [coarse.shown[0], fine.shown[0]].map((shown) => Math.round(100 * shown) / 100);
  };
  assert.deepEqual(at(0.5), [1, 0]);
  const steps = Array.from({ length: 200 }, (_, k) => at(0.5 * 1.05 ** k));
  const best = steps.findIndex(([whole, part]) => whole === 0 && part > 0.5);
  assert.ok(best > 0, 'there is a scale at which the inner groups are shown');
  assert.deepEqual(steps.at(-1), [0, 0]);
  assert.equal(coarse.indexOf(3), 1);
});

test('a sample has the largest nodes in view, a fair share of the others, and grows without losing any', () => {
  const n = 100_000;
  const data = {
    numNodes: n,
    current: new Float32Array(2 * n),
    nodeSize: new Uint8Array(n),
    nodeHidden: null,
    order: new Uint32Array(n),
  };
  for (let i = 0; i < n; i += 1) {
    data.current.set([i % 400, Math.floor(i / 400)], 2 * i);
    data.nodeSize[i] = i % 1000 === 7 ? 200 : 8 + (i % 3);
  }
  const box = { minX: 0, maxX: 199, minY: 0, maxY: 1e9 };
  const some = sample(data, box, 10_000);
  assert.ok(some && !some.whole);
  const { list } = some;
  assert.ok(list.length > 9_000 && list.length < 11_000, `${list.length}`);
  assert.ok(list.every((i) => i % 400 <= 199), 'none out of view');
  const large = Array.from({ length: n }, (_, i) => i).filter((i) => i % 1000 === 7 && i % 400 <= 199);
  const has = new Set(list);
  assert.deepEqual(large.filter((i) => !has.has(i)), []);
  const drawn = [...list].map((i) => data.nodeSize[i]);
  assert.deepEqual(drawn, drawn.toSorted((a, b) => a - b));
  const quarters = [0, 0, 0, 0];
  for (const i of list) quarters[Math.floor((i % 400) / 50)] += 1;
  assert.ok(quarters.every((count) => count > 2100 && count < 2900), `${quarters}`);
  const more = new Set(sample(data, box, 20_000)?.list);
  assert.deepEqual([...list].filter((i) => !more.has(i)), []);
  const near = sample(data, { ...box, maxX: 9, maxY: 9 }, 10_000);
  assert.deepEqual([near?.whole, near?.list.length], [true, 100]);
  assert.equal(sample(data, { minX: 0, maxX: 400, minY: 0, maxY: 400 }, Infinity), null, 'all');
});

test('frames that take long have fewer nodes, quick ones more', () => {
  const n = 200_000;
  const data = { ...emptyScene(n, 0), current: new Float32Array(2 * n), order: new Uint32Array(n) };
  const box = { minX: -1, maxX: 1, minY: -1, maxY: 1 };
  const chooser = new NodeSample(true);
  const length = (): number => chooser.of(data, box, false, 0)?.list.length ?? n;
  const first = length();
  assert.ok(first < 70_000, `${first}`);
  for (let k = 0; k < 9; k += 1) chooser.learn(300, n);
  const fewer = length();
  assert.ok(fewer < 0.7 * first && fewer > 20_000, `${fewer}`);
  for (let k = 0; k < 40; k += 1) {
    chooser.learn(10, n);
    length();
  }
  assert.equal(length(), n);
  assert.equal(chooser.of(data, box, true, 0), null, 'at rest all are drawn');
});
