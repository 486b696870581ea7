import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAxisRows } from '../../src/bound/axes.ts';

test('axes of a script are read as those of a dataset, and rows without a place are left out', () => {
  const rows = readAxisRows([
    { r: -3, label: ' ring ', external: true, width: 900 },
    { x: '4.5', space: true, label: 7 },
    { y: 0, internal: true, bounds: { min: -1, max: '2' }, width: -2 },
    { label: 'nowhere' },
    { r: 'far', x: null },
    null,
    5,
  ]);
  assert.deepEqual(JSON.parse(JSON.stringify(rows)), [
    { r: 3, kind: 'external', label: 'ring', width: 40 },
    { x: 4.5, kind: 'space', label: '7' },
    { y: 0, kind: 'internal', width: 0, min: -1, max: 2 },
  ]);
  for (const none of [undefined, null, 'x', {}]) assert.deepEqual(readAxisRows(none), []);
  assert.equal(readAxisRows(Array.from({ length: 600 }, () => ({ r: 1 }))).length, 500);
});
