import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitView } from '../../src/scene/fit.ts';
import {
  fitBox,
  freeRect,
  givenBox,
  panBy,
  percentileBox,
  toGraph,
  toScreen,
  zoomAt,
} from '../../src/scene/camera.ts';
import { flight } from '../../src/scene/flight.ts';
import { ALPHA_MAX, ALPHA_MIN, clippedLength, inkRule } from '../../src/scene/ink.ts';
import {
  labelBudget,
  placeLabels,
  shorten,
  spotPlace,
  type Candidate,
  type Disc,
} from '../../src/scene/labels.ts';
import {
  bendOf,
  bundles,
  countOf,
  edgeList,
  edgesInBox,
  PARALLEL_MAX,
  rankOf,
} from '../../src/scene/near.ts';
import { neighbourhood, pickNode, SLACK } from '../../src/scene/pick.ts';
import { ABSENT } from '../../src/scene/positions.ts';
import { EdgeBudget } from '../../src/scene/budget.ts';

function random(seed: number): () => number {
  let s = seed;
  return () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s / 2 ** 32;
  };
}

const size = { w: 800, h: 600 };
const view = { cx: 12, cy: -7, scale: 3 };

test('screen and graph coordinates are inverse, and y points up in the graph', () => {
  const [px, py] = toScreen(view, size, 20, 5);
  const [x, y] = toGraph(view, size, px, py);
  assert.ok(Math.abs(x - 20) < 1e-9 && Math.abs(y - 5) < 1e-9);
  assert.ok(toScreen(view, size, 0, 1)[1] < toScreen(view, size, 0, 0)[1]);
});

test('zooming keeps the point under the cursor, panning moves 1:1', () => {
  const next = random(3);
  for (let k = 0; k < 50; k += 1) {
    const [px, py] = [next() * 800, next() * 600];
    const [gx, gy] = toGraph(view, size, px, py);
    const [qx, qy] = toScreen(zoomAt(view, size, px, py, Math.exp(next() * 4 - 2)), size, gx, gy);
    assert.ok(Math.hypot(qx - px, qy - py) < 1e-6);
    const [mx, my] = toScreen(panBy(view, 30, -12), size, gx, gy);
    assert.ok(Math.abs(mx - px - 30) < 1e-6 && Math.abs(my - py + 12) < 1e-6);
  }
});

test('a fitted box lies inside the free rectangle and touches it on one axis', () => {
  const box = { minX: -5, maxX: 35, minY: 2, maxY: 12 };
  const free = { x: 100, y: 50, w: 600, h: 400 };
  const fitted = fitBox(box, free, size);
  const [l, b] = toScreen(fitted, size, box.minX, box.minY);
  const [r, t] = toScreen(fitted, size, box.maxX, box.maxY);
  assert.ok(Math.abs(l - 100) < 1e-6 && Math.abs(r - 700) < 1e-6);
  assert.ok(t >= 50 - 1e-6 && b <= 450 + 1e-6);
});

test('a single place fits without an infinite scale', () => {
  const fitted = fitBox({ minX: 4, maxX: 4, minY: 4, maxY: 4 }, { x: 0, y: 0, w: 800, h: 600 }, size);
  assert.ok(Number.isFinite(fitted.scale) && fitted.cx === 4);
  assert.deepEqual(toScreen(fitted, size, 4, 4), [400, 300]);
});

test('a panel is avoided on the side that leaves the graph larger', () => {
  const wide = { minX: 0, maxX: 100, minY: 0, maxY: 20 };
  const tall = { minX: 0, maxX: 20, minY: 0, maxY: 100 };
  const legend = { x: 12, y: 400, w: 180, h: 188 };
  const above = freeRect(size, [legend], wide, 10);
  const beside = freeRect(size, [legend], tall, 10);
  assert.ok(above.w === 780 && above.y + above.h <= 400);
  assert.ok(beside.h === 580 && beside.x >= 192);
});

test('the fit uses what is beside a panel where no node comes to lie under it', () => {
  const legend = { x: 12, y: 400, w: 180, h: 188 };
  const origin = { x: 50, y: -20 };
  // A square of nodes without its lower left corner, and one with it.
  const nodes = (corner: boolean): Float32Array => {
    const all: number[] = [];
    for (let x = 0; x <= 20; x += 1) {
      for (let y = 0; y <= 20; y += 1) if (corner || x > 8 || y > 10) all.push(x, y);
    }
    return Float32Array.from(all);
  };
  const box = { minX: 50, maxX: 70, minY: -20, maxY: 0 };
  const narrow = { w: 620, h: 600 };
  const shown = (xy: Float32Array, most = 0): { scale: number; hidden: number } => {
    const view = fitView({ box, size: narrow, panels: [legend], xy, origin, most });
    let hidden = 0;
    for (let i = 0; i < xy.length; i += 2) {
      const [x, y] = toScreen(view, narrow, xy[i] + origin.x, xy[i + 1] + origin.y);
      if (x > 12 && x < 192 && y > 400 && y < 588) hidden += 1;
    }
    return { scale: view.scale, hidden };
  };
  const [free, full, forgiving] = [shown(nodes(false)), shown(nodes(true)), shown(nodes(true), 1000)];
  assert.deepEqual([free.hidden, full.hidden], [0, 0]);
  assert.ok(free.scale > 1.1 * full.scale, `${free.scale} ${full.scale}`);
  assert.ok(forgiving.hidden > 0 && forgiving.scale > 1.1 * full.scale);
});

test('the percentile box forgets far outliers and ignores nodes without a place', () => {
  const xy = new Float32Array(2 * 2000);
  const next = random(9);
  for (let i = 0; i < 2000; i += 1) xy.set([next() * 10, next() * 10], 2 * i);
  xy.set([1e6, 1e6], 0);
  xy.set([ABSENT, ABSENT], 2);
  const box = percentileBox(xy, { x: 100, y: 0 });
  assert.ok(box && box.maxX < 111 && box.minX >= 100 && box.maxY < 11);
  assert.equal(percentileBox(new Float32Array(4).fill(ABSENT), { x: 0, y: 0 }), null);
});

test('all nodes are in the box when none is far out', () => {
  const xy = Float32Array.from({ length: 4000 }, (_, k) => k % 97);
  const box = percentileBox(xy, { x: 0, y: 0 });
  assert.deepEqual(box, { minX: 0, maxX: 96, minY: 0, maxY: 96 });
});

test('given positions are in the box to the last, even a lone root', () => {
  // A root above 50,000 leaves on one line; samples miss it.
  const n = 50_000;
  const tree = Float32Array.from({ length: 2 * n }, (_, k) => (k % 2 === 0 ? k / 2 : 0));
  tree.set([7, 9000], 2 * 7);
  const box = givenBox(tree, { x: 1, y: 2 });
  assert.deepEqual(box, { minX: 1, maxX: n, minY: 2, maxY: 9002 });
  tree.set([ABSENT, ABSENT], 2 * 3);
  assert.deepEqual(givenBox(tree, { x: 1, y: 2 }), box);
  tree.set([7, 1e9], 2 * 7);
  const without = givenBox(tree, { x: 1, y: 2 });
  assert.ok(without && without.maxY === 2 && without.maxX === n, 'one coordinate far beyond the others');
  const spot = new Float32Array(2 * 2000).fill(5);
  spot.set([6, 5], 0);
  assert.deepEqual(givenBox(spot, { x: 0, y: 0 }), { minX: 5, maxX: 6, minY: 5, maxY: 5 });
  assert.equal(givenBox(new Float32Array(4).fill(ABSENT), { x: 0, y: 0 }), null);
});

test('one wild coordinate does not empty the picture of a small graph', () => {
  const four = Float32Array.of(0, 0, 1, 0, 0.5, 1, 1e30, 0.2);
  assert.deepEqual(givenBox(four, { x: 0, y: 0 }), { minX: 0, maxX: 1, minY: 0, maxY: 1 });
  const many = new Float32Array(400).map((_, i) => (i * 7919) % 1000 / 1000);
  many[0] = 50;
  const box = givenBox(many, { x: 0, y: 0 });
  assert.ok(box && box.maxX <= 1 && box.minX >= 0, JSON.stringify(box));
  // Three nodes, and a chain that leads away by and by, have no odd ones.
  const three = Float32Array.of(0, 0, 1, 0, 90, 5);
  assert.deepEqual(givenBox(three, { x: 0, y: 0 }), { minX: 0, maxX: 90, minY: 0, maxY: 5 });
  const chain = new Float32Array(60).map((_, i) => (i % 2 === 0 ? i * i : 0));
  assert.equal(givenBox(chain, { x: 0, y: 0 })?.maxX, 58 * 58);
});

test('a flight starts and ends where it should and zooms out on the way', () => {
  const to = { cx: 4000, cy: 900, scale: 5 };
  const { at } = flight(view, to, size);
  const start = at(0);
  assert.ok(Math.abs(start.cx - 12) < 1e-6 && Math.abs(start.scale - 3) < 1e-6);
  assert.deepEqual(at(1), to);
  assert.ok(at(0.5).scale < 3);
  const near = flight(view, { ...view, scale: 6 }, size);
  assert.ok(Math.abs(near.at(1).scale - 6) < 1e-9);
});

test('picking equals brute force over all discs', () => {
  const next = random(5);
  const n = 800;
  const xy = Float32Array.from({ length: 2 * n }, () => next() * 100);
  const r = Array.from({ length: n }, () => 1 + next() * 20);
  const hidden = Uint8Array.from({ length: n }, () => (next() < 0.2 ? 1 : 0));
  const scale = 4;
  for (let k = 0; k < 400; k += 1) {
    const [x, y] = [next() * 100, next() * 100];
    let best = -1;
    let least = Infinity;
    for (let i = 0; i < n; i += 1) {
      if (hidden[i]) continue;
      const d = Math.hypot(xy[2 * i] - x, xy[2 * i + 1] - y) * scale;
      if (d > Math.max(r[i], SLACK)) continue;
      const score = d <= r[i] ? d / r[i] : 1 + d - r[i];
      if (score < least) [best, least] = [i, score];
    }
    assert.equal(pickNode({ xy, radius: (i) => r[i], hidden }, x, y, scale), best);
  }
});

test('neighbourhoods follow direction and hops', () => {
  // 0 → 1 → 2 → 3 and 4 → 0, with a doubled edge 0 → 1.
  const ends = Uint32Array.of(0, 1, 1, 2, 2, 3, 4, 0, 0, 1);
  const nodes = (...args: Parameters<typeof neighbourhood>) => neighbourhood(...args).nodes.sort();
  assert.deepEqual(nodes(ends, 0, 'both', 1, 100), [1, 4]);
  assert.deepEqual(nodes(ends, 0, 'outgoing', 1, 100), [1]);
  assert.deepEqual(nodes(ends, 0, 'incoming', 1, 100), [4]);
  assert.deepEqual(nodes(ends, 0, 'outgoing', 3, 100), [1, 2, 3]);
  assert.equal(neighbourhood(ends, 0, 'both', 1, 2).edges.length, 2);
  assert.equal(neighbourhood(ends, 0, 'both', 1, 2).edgeCount, 3);
});

test('parallel edges get ranks of their own and loops ask for curves', () => {
  const list = edgeList([0, 1, 2], Uint32Array.of(0, 1, 1, 0, 2, 3));
  const ranks = [rankOf(list.pairs[1]), rankOf(list.pairs[3])];
  assert.ok(list.curved && ranks[0] !== ranks[1] && !ranks.includes(0));
  assert.equal(rankOf(list.pairs[5]), 0);
  assert.equal(edgeList([0], Uint32Array.of(0, 1)).curved, false);
  assert.equal(edgeList([0], Uint32Array.of(1, 1)).curved, true);
});

test('parallel edges bulge at most 26 pixels and 0.22 of their length', () => {
  for (const length of [1, 8, 40, 120, 600, 4000]) {
    for (let rank = -PARALLEL_MAX; rank <= PARALLEL_MAX; rank += 1) {
      const bend = bendOf(rank, length);
      assert.ok(Math.abs(bend) <= 0.22 && Math.abs(bend) * length <= 26.001, `${rank} at ${length}`);
      assert.equal(Math.sign(bend), Math.sign(rank));
    }
  }
});

test('more than eight parallel edges become one line with their number', () => {
  const ends = new Uint32Array(100).map((_, k) => k % 2);
  const list = edgeList(
    Array.from({ length: 50 }, (_, e) => e),
    ends,
  );
  assert.deepEqual([list.count, list.edges, countOf(list.pairs[1]), rankOf(list.pairs[1])], [1, 50, 50, 0]);
  assert.equal(edgeList(Array.from({ length: PARALLEL_MAX }, (_, e) => e), ends).count, PARALLEL_MAX);
});

test('bundles keep directions and colours apart, and lose no edge', () => {
  const next = random(5);
  for (let round = 0; round < 60; round += 1) {
    const m = 1 + Math.floor(next() * 60);
    const colours = 1 + Math.floor(next() * 20);
    const look = Uint32Array.from({ length: m }, () => Math.floor(next() * colours));
    const ends = new Uint32Array(2 * m);
    for (let e = 0; e < m; e += 1) ends[2 * e + (next() < 0.8 ? 1 : 0)] = 1;
    const list = edgeList(
      Array.from({ length: m }, (_, e) => e),
      ends,
      look,
    );
    const lines = Array.from({ length: list.count }, (_, k) => list.pairs[2 * k]);
    const ranks = Array.from({ length: list.count }, (_, k) => rankOf(list.pairs[2 * k + 1]));
    let sum = 0;
    for (let k = 0; k < list.count; k += 1) sum += countOf(list.pairs[2 * k + 1]);
    assert.equal(sum, m);
    assert.ok(list.count <= PARALLEL_MAX);
    assert.equal(new Set(ranks).size, ranks.length);
    const directions = new Set(ends.filter((_, k) => k % 2 === 0));
    assert.deepEqual(new Set(lines.map((e) => ends[2 * e])), directions);
    assert.ok(bundles(list).every((b, k, all) => k === 0 || all[k - 1].count >= b.count));
  }
});

test('edges in a box are those that may touch it, or none when there are too many', () => {
  const xy = Float32Array.of(0, 0, 10, 10, 20, 20, -30, 5);
  const ends = Uint32Array.of(0, 1, 1, 2, 3, 1);
  const box = { minX: -1, maxX: 5, minY: -1, maxY: 8 };
  assert.deepEqual([...(edgesInBox(ends, 3, xy, box, 10) ?? [])], [0, 2]);
  assert.equal(edgesInBox(ends, 3, xy, box, 1), null);
});

test('the ink rule stays in its bounds and gives a sample the ink of the whole', () => {
  assert.equal(inkRule(1e6, (1e6 * 0.7) / 0.2).alpha.toFixed(3), '0.200');
  const dense = inkRule(1e6, 1e9);
  assert.equal(dense.alpha, ALPHA_MIN);
  assert.ok(Math.abs(dense.share * ALPHA_MIN * 1e9 - 0.7 * 1e6) < 1);
  const sparse = inkRule(1e6, 500);
  assert.ok(sparse.alpha > ALPHA_MAX && sparse.fade === 0 && sparse.share === 1);
});

test('clipped length is that of the part inside', () => {
  const box = { minX: 0, maxX: 10, minY: 0, maxY: 10 };
  assert.equal(clippedLength(box, -5, 5, 15, 5), 10);
  assert.equal(clippedLength(box, 2, 2, 2, 8), 6);
  assert.equal(clippedLength(box, -5, -1, 15, -1), 0);
  assert.ok(Math.abs(clippedLength(box, -5, -5, 5, 5) - Math.hypot(5, 5)) < 1e-9);
});

function candidates(count: number, seed: number): Candidate[] {
  const next = random(seed);
  return Array.from({ length: count }, (_, index) => ({
    index,
    text: `node ${index}`,
    x: next() * 1280,
    y: next() * 800,
    r: 4,
    weight: next(),
    rank: index,
    size: 13,
    bold: false,
    must: index < 5,
  }));
}

const place = (list: Candidate[], shown: number[] = [], discs: Disc[] = []) =>
  placeLabels({
    candidates: list,
    width: 1280,
    height: 800,
    obstacles: [{ x: 0, y: 600, w: 200, h: 200 }],
    discs,
    shown: new Map(shown.map((index) => [index, 0])),
    measure: (text, size) => text.length * size * 0.55,
  });

test('labels never overlap, keep off panels and stay within the budget', () => {
  const placed = place(candidates(900, 1));
  assert.ok(placed.length > 20 && placed.length <= labelBudget(1280, 800) + 5);
  for (const a of placed) {
    assert.ok(!(a.tx < 200 && a.ty > 606), 'off the panel');
    for (const b of placed) {
      if (a === b) continue;
      const apart = a.tx + a.width <= b.tx || b.tx + b.width <= a.tx || Math.abs(a.ty - b.ty) >= a.size;
      assert.ok(apart, `${a.text} and ${b.text} overlap`);
    }
  }
});

test('a shown label gives way only to one that is clearly better', () => {
  const base = { x: 400, y: 300, r: 4, rank: 0, size: 13, bold: false, must: false };
  const shown = { ...base, index: 1, text: 'first', weight: 1 };
  const rival = (weight: number): Candidate => ({ ...base, index: 2, text: 'second', x: 402, weight });
  const first = (list: Candidate[], was: number[]) => place(list, was)[0].text;
  assert.equal(first([shown, rival(1.1)], [1]), 'first');
  assert.equal(first([shown, rival(1.1)], []), 'second');
  assert.equal(first([shown, rival(1.3)], [1]), 'second');
});

const MIDDLE = { index: 7, text: 'middle', x: 640, y: 300, r: 8, size: 12, bold: false, must: false };

test('names keep off the discs of others and take one of eight places around their own', () => {
  const c = { ...MIDDLE, weight: 1, rank: 0 };
  const w = c.text.length * c.size * 0.55;
  const alone = place([c])[0];
  assert.deepEqual([alone.spot, alone.ty, alone.tx > c.x + c.r], [0, c.y, true], 'the right one first');
  const blocks: Disc[] = [];
  const seen = new Set<string>();
  for (let spot = 0; spot < 8; spot += 1) {
    const [found] = place([c], [], blocks);
    seen.add(`${Math.round(found.tx)} ${Math.round(found.ty)}`);
    for (const d of blocks) {
      const dx = d.x - Math.min(Math.max(d.x, found.tx), found.tx + w);
      const dy = d.y - Math.min(Math.max(d.y, found.ty - c.size / 2), found.ty + c.size / 2);
      assert.ok(Math.hypot(dx, dy) >= d.r, `place ${found.spot} lies on a disc`);
    }
    blocks.push({ index: 100 + spot, x: found.tx + w / 2, y: found.ty, r: 5 });
  }
  assert.equal(seen.size, 8);
  assert.deepEqual(place([c], [], blocks), [], 'and none where all are taken');
  // A disc of its own covers none of its places.
  assert.equal(place([c], [], [{ index: 7, x: c.x, y: c.y, r: c.r }]).length, 1);
  const [tx] = spotPlace(1, c, w);
  assert.ok(tx + w < c.x - c.r);
});

test('a name stays where it was while that is free, and larger nodes come before smaller ones', () => {
  const c = { ...MIDDLE, weight: 8, rank: 5 };
  const again = placeLabels({
    candidates: [c],
    width: 1280,
    height: 800,
    obstacles: [],
    discs: [],
    shown: new Map([[7, 3]]),
    measure: (text, size) => text.length * size * 0.55,
  });
  assert.equal(again[0].spot, 3);
  // A leaf that the server calls more important has the same place in mind.
  const leaf = { ...c, index: 8, text: 'leaf', r: 2, weight: 2, rank: 0 };
  const wall = [{ index: 9, x: 560, y: 300, r: 60 }];
  assert.equal(place([leaf, c], [], wall)[0].text, 'middle');
});

test('long names are cut in the middle, by characters and not by code units', () => {
  assert.equal(shorten('short'), 'short');
  const cut = shorten('abcdefghijklmnopqrstuvwxyz');
  assert.equal([...cut].length, 24);
  assert.ok(cut.startsWith('abc') && cut.endsWith('xyz') && cut.includes('…'));
  assert.equal([...shorten('🐎'.repeat(30))].length, 24);
});

test('the edge budget shrinks on slow frames and grows on quick ones', () => {
  const budget = new EdgeBudget(true);
  const start = budget.lines;
  budget.learn(200, start);
  assert.ok(budget.lines < start);
  const low = budget.lines;
  for (let k = 0; k < 10; k += 1) budget.learn(5, budget.lines);
  assert.ok(budget.lines > low * 2);
  const kept = budget.lines;
  budget.learn(5, 2500);
  assert.equal(budget.lines, kept, 'a small quick frame says nothing');
});
