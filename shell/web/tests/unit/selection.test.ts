import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shortestPath } from '../../src/selection/path.ts';
import { corners, edgesWithin, inside, Selection } from '../../src/selection/selection.ts';
import { ranges } from '../../src/state/numbers.ts';

const marks = (n: number, ...of: number[]): Uint8Array =>
  Uint8Array.from({ length: n }, (_, v) => (of.includes(v) ? 1 : 0));

test('marks join as asked, and all of them turn', () => {
  const selection = new Selection(6);
  selection.join(marks(6, 1, 2), 'replace');
  selection.join(marks(6, 2, 4), 'add');
  assert.deepEqual([selection.nodes(), selection.count], [[1, 2, 4], 3]);
  selection.join(marks(6, 1), 'remove');
  assert.deepEqual(selection.nodes(), [2, 4]);
  selection.toggle(4);
  selection.toggle(5);
  assert.deepEqual(selection.nodes(), [2, 5]);
  assert.deepEqual(selection.nodes(1), [2]);
  selection.invert();
  assert.deepEqual([selection.nodes(), selection.has(0), selection.has(5)], [[0, 1, 3, 4], true, false]);
  selection.all();
  assert.equal(selection.count, 6);
  selection.join(marks(6, 3), 'replace');
  assert.deepEqual(selection.nodes(), [3]);
  selection.clear();
  assert.equal(selection.count, 0);
});

// A path 0-1-2-3, a pair 4-5, a lone 6.
const ends = Uint32Array.from([1, 0, 1, 2, 3, 2, 5, 4]);

test('a selection grows by its neighbours and to its components', () => {
  const selection = new Selection(7);
  selection.join(marks(7, 0, 6), 'replace');
  selection.grow(ends);
  assert.deepEqual(selection.nodes(), [0, 1, 6]);
  selection.grow(ends);
  assert.deepEqual(selection.nodes(), [0, 1, 2, 6]);
  assert.deepEqual(edgesWithin(selection, ends, 9), [0, 1]);
  assert.deepEqual(edgesWithin(selection, ends, 1), [0]);
  selection.component(ends);
  assert.deepEqual(selection.nodes(), [0, 1, 2, 3, 6]);
});

test('nodes of the same colours join', () => {
  const selection = new Selection(4);
  selection.toggle(2);
  selection.sameColor(Uint8Array.from([1, 2, 3, 4, 9, 9, 9, 9, 1, 2, 3, 4, 1, 2, 3, 5]));
  assert.deepEqual(selection.nodes(), [0, 2]);
});

test('a line holds what is inside, also where it is hollow', () => {
  const xy = Float32Array.from([1, 1, 5, 5, 9, 1, NaN, NaN, 5, 1]);
  const box = inside(xy, corners({ x: 10, y: 2 }, { x: 0, y: 0 }));
  assert.deepEqual([...box], [1, 0, 1, 0, 1]);
  const hollow = [
    { x: 0, y: 0 },
    { x: 5, y: 4 },
    { x: 10, y: 0 },
    { x: 10, y: 10 },
    { x: 0, y: 10 },
  ];
  assert.deepEqual([...inside(xy, hollow)], [1, 1, 1, 0, 0]);
  assert.deepEqual([...inside(xy, hollow.slice(0, 2))], [0, 0, 0, 0, 0]);
});

test('a shortest path goes around what is hidden, whatever the direction of edges', () => {
  // A ring 0-1-2-3-4-5-0 with the chord 0-3, and the lone node 6.
  const ring = Uint32Array.from([0, 1, 2, 1, 2, 3, 4, 3, 4, 5, 5, 0, 3, 0]);
  assert.deepEqual(shortestPath(7, ring, 1, 4), [1, 0, 5, 4]);
  assert.deepEqual(shortestPath(7, ring, 0, 3), [0, 3]);
  assert.deepEqual(shortestPath(7, ring, 2, 2), [2]);
  assert.equal(shortestPath(7, ring, 0, 6), null);
  const hidden = Uint8Array.from([0, 0, 0, 0, 0, 1, 0]);
  assert.deepEqual(shortestPath(7, ring, 1, 5, hidden)?.length, 5);
});

test('hidden nodes are neither counted nor reached, and come back as they were', () => {
  const path = Uint32Array.from([0, 1, 1, 2, 2, 3, 3, 4]);
  const selection = new Selection(5);
  selection.join(Uint8Array.from([1, 0, 1, 0, 0]), 'replace');
  const hidden = Uint8Array.from([0, 0, 1, 0, 0]);
  selection.hide(hidden);
  assert.deepEqual([selection.nodes(), selection.count, selection.has(2)], [[0], 1, false]);
  selection.component(path);
  assert.deepEqual(selection.nodes(), [0, 1]);
  selection.grow(path);
  assert.deepEqual(selection.nodes(), [0, 1]);
  selection.invert();
  assert.deepEqual(selection.nodes(), [3, 4]);
  selection.hide(null);
  assert.ok(selection.has(3));
  selection.all();
  selection.join(Uint8Array.from([1, 1, 0, 0, 0]), 'common');
  assert.deepEqual(selection.nodes(), [0, 1]);
});

test('numbers of selected nodes are short in an address', () => {
  assert.equal(ranges(new Set([130, 3, 1, 2, 0, 7])), '0-3,7,130');
  assert.equal(ranges([5]), '5');
  assert.equal(ranges([]), '');
});
