import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeOf } from '../../src/embed/settings.ts';

test('axes that a script sets are an entry of the document, until it takes them back', () => {
  const sent = { name: 'user_1', encodingType: 'axis', graphType: 'point', attribute: 'degree' };
  const path = 'encodings/node.axis';
  const rows = [{ r: 2 }, { label: 'nowhere' }];
  const of = (value: unknown): unknown => changeOf('encodings.point.axis', value);
  // The server refuses what cannot be drawn, by name.
  assert.deepEqual(of({ ...sent, reset: false, rows }), { path, value: { rows } });
  assert.deepEqual(of({ ...sent, reset: false, rows: 5 }), { path, value: { rows: 5 } });
  for (const none of [{ ...sent, reset: true }, { ...sent, reset: true, rows }, { rows: null }, {}, null]) {
    assert.deepEqual(of(none), { path, value: null });
  }
});
