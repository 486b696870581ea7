import assert from 'node:assert/strict';
import { test } from 'node:test';
import { among, moment } from '../../src/document/words.ts';
import { RareEdges, rareEdges, rareOpacity } from '../../src/scene/rare-edges.ts';
import { emptyScene } from '../../src/scene/scene-data.ts';
import { bars, moved, resized, shareOf, snapped } from '../../src/facets/scale.ts';

const edges = [1, 2, 4, 8, 16];

test('a value stands where its bin is, however wide that is', () => {
  assert.deepEqual([0, 1, 3, 8, 12, 99].map((value) => shareOf(edges, value)), [0, 0, 0.375, 0.75, 0.875, 1]);
  // A column of one value has bins without width.
  assert.equal(shareOf([5, 5, 5], 5), 0);
});

test('a brush goes from edge to edge, in either direction, and is never empty', () => {
  assert.deepEqual(snapped(edges, 0.3, 0.6), [2, 8]);
  assert.deepEqual(snapped(edges, 0.6, 0.3), [2, 8]);
  assert.deepEqual(snapped(edges, 0.5, 0.5), [4, 8]);
  assert.deepEqual(snapped(edges, 1, 1), [8, 16]);
  assert.deepEqual(snapped(edges, -3, 0.25), [1, 2]);
  assert.deepEqual(snapped(edges, 0.25, 7), [2, 16]);
});

test('a brush moves by bins, keeps its bins and stays inside; its end leaves one bin', () => {
  assert.deepEqual(moved(edges, [2, 4], 1), [4, 8]);
  assert.deepEqual(moved(edges, [2, 4], 9), [8, 16]);
  assert.deepEqual(moved(edges, [2, 8], -9), [1, 4]);
  assert.deepEqual(resized(edges, [2, 4], 1), [2, 8]);
  assert.deepEqual(resized(edges, [2, 4], -5), [2, 4]);
  assert.deepEqual(resized(edges, [2, 16], 3), [2, 16]);
});

test('bars are as high as their counts, and what is not nothing can be seen', () => {
  const heights = (counts: number[]): number[] =>
    [...bars(counts, 100, 30, 50).matchAll(/v(-[\d.]+)/g)].map(([, h]) => -Number(h));
  assert.deepEqual(heights([100, 50, 0]), [50, 25]);
  assert.deepEqual(heights([1, 0, 0]), [1.5]);
});

test('ends of a scale have the digits that tell them apart', () => {
  assert.deepEqual([37.3125, 141.06].map((value) => among(value, 166)), ['37.3', '141.1']);
  assert.deepEqual([18_204.5, 23_203.5].map((value) => among(value, 4999)), ['18,205', '23,204']);
  assert.equal(among(0.00123, 0.002), '0.00123');
  assert.equal(among(7, 0), '7');
  const at = Date.UTC(2026, 6, 3, 14, 5);
  assert.equal(moment(at, 90 * 86_400_000), '2026-07-03');
  assert.equal(moment(at, 3_600_000), '2026-07-03 14:05');
  assert.equal(moment(9e15, 1e15), '9e15');
});

test('edges of rare colours are found, and none where colours are a scale', () => {
  const paint = (n: number, color: (e: number) => number[]): Uint8Array =>
    Uint8Array.from(Array.from({ length: n }, (_, e) => color(e)).flat());
  const red = paint(200, (e) => (e % 100 === 7 ? [255, 0, 0, 255] : [90, 90, 90, 255]));
  assert.deepEqual([...rareEdges(red, false)], [7, 107]);
  const data = emptyScene(2, 200);
  Object.assign(data, { edgeColor: red, edgesKnown: 200, edgeHidden: new Uint8Array(200) });
  const lines = new RareEdges();
  assert.equal(lines.list(data)?.edges, 2);
  data.edgeHidden?.fill(1, 7, 8);
  lines.forget();
  assert.equal(lines.list(data)?.edges, 1, 'a hidden edge is not drawn');
  const halves = paint(200, (e) => (e % 2 === 0 ? [255, 0, 0, 255] : [0, 0, 255, 255]));
  assert.equal(rareEdges(halves, false).length, 0);
  const scale = paint(200, (e) => [e, 0, 0, 255]);
  assert.equal(rareEdges(scale, false).length, 0);
  // Few edges of a collection among those that have no colour of their own.
  const some = paint(200, (e) => (e === 3 ? [0, 255, 0, 255] : [0, 0, 0, 0]));
  assert.deepEqual([...rareEdges(some, true)], [3]);
  // A few edges without a colour of their own are not rare: they have the look of all.
  const most = paint(200, (e) => (e === 3 ? [0, 0, 0, 0] : [0, 255, 0, 255]));
  assert.equal(rareEdges(most, true).length, 0);
  assert.ok(rareOpacity(1500) > 0.3 && rareOpacity(20_000) >= 0.2 && rareOpacity(1) <= 0.7);
});
