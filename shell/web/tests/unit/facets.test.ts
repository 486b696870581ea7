import assert from 'node:assert/strict';
import { test } from 'node:test';
import { among, moment } from '../../src/document/words.ts';
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
});
