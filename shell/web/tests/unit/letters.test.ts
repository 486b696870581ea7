import assert from 'node:assert/strict';
import { test } from 'node:test';
import { distanceField } from '../../src/gl/distance.ts';
import { isShaped, letters, pieces } from '../../src/scene/scripts.ts';
import { Shelves } from '../../src/gl/shelves.ts';
import { isDirected } from '../../src/scene/direction.ts';
import { contrastAt, diameterOf, SIZE_MAX } from '../../src/scene/node-size.ts';
import { passingAt } from '../../src/scene/ink.ts';
import { RenderScale } from '../../src/scene/render-scale.ts';

test('a distance field holds the distance to the outline that a search finds', () => {
  const [w, h, reach] = [23, 17, 6];
  const inside = (x: number, y: number): boolean => x >= 6 && x < 15 && y >= 5 && y < 12 && !(x < 9 && y < 8);
  const coverage = Uint8Array.from({ length: w * h }, (_, k) => (inside(k % w, Math.floor(k / w)) ? 255 : 0));
  const field = distanceField(coverage, w, h, reach);
  for (let y = 0; y < h; y += 1) {
    for (let x = 0; x < w; x += 1) {
      let nearest = Infinity;
      for (let k = 0; k < w * h; k += 1) {
        const [px, py] = [k % w, Math.floor(k / w)];
        if (inside(px, py) !== inside(x, y)) nearest = Math.min(nearest, Math.hypot(px - x, py - y));
      }
      const d = Math.max(-reach, Math.min(reach, inside(x, y) ? nearest : -nearest));
      const value = field[y * w + x] / 255 - 0.5;
      assert.ok(Math.abs(value * 2 * reach - d) < 0.06, `${x},${y}: ${value * 2 * reach} is ${d}`);
    }
  }
});

test('half a pixel of coverage puts the outline through it', () => {
  const coverage = Uint8Array.from({ length: 81 }, (_, k) => (k % 9 < 4 ? 255 : k % 9 === 4 ? 128 : 0));
  const field = distanceField(coverage, 9, 9, 4);
  assert.ok(Math.abs(field[4 * 9 + 4] - 127.5) <= 1, String(field[4 * 9 + 4]));
});

test('the shelf unused for longest gives way, and never one of this turn', () => {
  const shelves = new Shelves(100, 10, 2);
  shelves.nextTurn();
  assert.deepEqual(shelves.add('a', 60), { x: 0, y: 0, w: 60 });
  assert.deepEqual(shelves.add('b', 60), { x: 0, y: 10, w: 60 });
  assert.deepEqual(shelves.add('c', 40), { x: 60, y: 0, w: 40 });
  assert.equal(shelves.add('d', 60), null, 'both shelves are in use');
  assert.equal(shelves.add('e', 101), null, 'wider than the texture');
  shelves.nextTurn();
  assert.ok(shelves.find('c'));
  assert.deepEqual(shelves.add('d', 60), { x: 0, y: 10, w: 60 });
  assert.deepEqual([shelves.find('b'), shelves.find('a')?.x], [null, 0]);
});

test('texts are cut where their letters do not depend on one another', () => {
  assert.deepEqual(letters('cafe\u0301'), ['c', 'a', 'f', 'e\u0301']);
  assert.deepEqual(pieces('a🐎'), [
    { text: 'a', colored: false },
    { text: '🐎', colored: true },
  ]);
  assert.equal(pieces('👩‍🚀').length, 1, 'joined by ZWJ');
  for (const whole of ['مرحبا', 'שלום', 'हिन्दी', 'สวัสดี']) {
    assert.ok(isShaped(whole), whole);
    assert.equal(pieces(whole).length, 1);
  }
  for (const cut of ['Привет', 'Ελλάδα', '你好', '안녕', '3 # x']) {
    assert.ok(!isShaped(cut), cut);
    assert.ok(pieces(cut).every((piece) => !piece.colored), cut);
  }
});

test('direction says something where a path leads back, but not where each edge is answered', () => {
  const said = (...ends: number[]): boolean => isDirected(Uint32Array.from(ends), ends.length / 2, 5);
  assert.ok(!said(0, 1, 1, 2, 0, 2), 'as an undirected triangle is written');
  assert.ok(said(0, 1, 1, 2, 2, 0), 'a cycle');
  assert.ok(!said(0, 1, 1, 0, 1, 2, 2, 1), 'each edge twice');
  assert.ok(said(0, 1, 1, 0, 1, 2), 'one answered and one not');
  assert.ok(!said(3, 3, 0, 1), 'loops say nothing');
  assert.ok(!said());
});

test('sizes keep their order and stay below the largest', () => {
  for (const zoom of [1, 3, 10, 1000]) {
    const rule = { scale: zoom ** 0.55, floor: 8, contrast: contrastAt(zoom) };
    let last = 0;
    for (let stored = 12; stored < 256; stored += 1) {
      const d = diameterOf(stored, rule);
      assert.ok(d <= SIZE_MAX && d >= last, `${stored} at ${zoom}: ${d} after ${last}`);
      last = d;
    }
  }
  assert.ok(contrastAt(1) === 1 && contrastAt(0.1) === 1 && contrastAt(1e9) === contrastAt(10));
});

test('edges that pass through fade to a third as the picture is zoomed into', () => {
  assert.equal(passingAt(1), 1);
  assert.ok(passingAt(2) < 1 && passingAt(2) > passingAt(3));
  assert.ok(Math.abs(passingAt(1e6) - 1 / 3) < 1e-9);
});

test('slow frames cost resolution, and what was too much comes back later', () => {
  const scale = new RenderScale(false);
  assert.equal(scale.moving, 1);
  for (let k = 0; k < 3; k += 1) scale.learn(60);
  assert.equal(scale.moving, 0.75);
  for (let k = 0; k < 30; k += 1) scale.learn(60);
  assert.equal(scale.moving, 0.5, 'and no less');
  let needed = 0;
  for (; scale.moving === 0.5 && needed < 1e5; needed += 1) scale.learn(5);
  assert.ok(needed > 40 && needed < 1e5, `${needed} quick frames`);
  assert.equal(new RenderScale(true).moving, 0.5, 'without a GPU from the start');
});
