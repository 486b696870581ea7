import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MEANINGS } from '../../src/embed/calls.ts';
import { Encodings } from '../../src/embed/encodings.ts';
import { middleBox } from '../../src/embed/middle.ts';

test('axes that a script sets are an entry of the document, until it takes them back', () => {
  const sent = { name: 'user_1', encodingType: 'axis', graphType: 'point', attribute: 'degree' };
  const path = 'encodings/node.axis';
  assert.deepEqual(MEANINGS.get('encodings.point.axis'), { encoding: path });
  const rows = [{ r: 2 }, { label: 'nowhere' }];
  const of = (value: unknown): unknown => new Encodings().change(path, value, false).change;
  // The server refuses what cannot be drawn, by name.
  assert.deepEqual(of({ ...sent, reset: false, rows }), { path, value: { rows } });
  assert.deepEqual(of({ ...sent, reset: false, rows: 5 }), { path, value: { rows: 5 } });
  for (const none of [{ ...sent, reset: true }, { ...sent, reset: true, rows }, { rows: null }, {}, null]) {
    assert.deepEqual(of(none), { path, value: null });
  }
});

test('a reset goes back to the default of a script, which is shown until it encodes otherwise', () => {
  const path = 'encodings/node.color';
  const encodings = new Encodings();
  const made = (attribute: string | null, isDefault: boolean): unknown => {
    const value = attribute === null ? { reset: true } : { attribute };
    const { change, kept } = encodings.change(path, value, isDefault);
    kept();
    return change && (change.value as { attribute?: string } | null)?.attribute;
  };
  assert.equal(made('kind', true), 'kind', 'shown');
  assert.equal(made('group', false), 'group');
  assert.equal(made('score', true), null, 'not shown over what was encoded since');
  assert.equal(made(null, false), 'score', 'what a reset goes back to');
  assert.equal(made('kind', true), 'kind');
  assert.equal(made(null, true), undefined, 'no default');
  assert.equal(made('group', false), 'group');
  assert.equal(made(null, false), undefined, 'the own of the dataset');
  // What was refused is not kept.
  encodings.change(path, { attribute: 'nothing' }, true);
  assert.equal(made(null, false), undefined);
});

test('the middle box leaves out as many positions at both ends of each axis', () => {
  const xy = new Float32Array(22);
  for (let i = 0; i < 11; i += 1) xy.set([i, -10 * i], 2 * i);
  const origin = { x: 100, y: 0 };
  assert.deepEqual(middleBox(xy, origin, 1), { minX: 100, maxX: 110, minY: -100, maxY: 0 });
  assert.deepEqual(middleBox(xy, origin, 0.6), { minX: 102, maxX: 108, minY: -80, maxY: -20 });
  assert.equal(middleBox(Float32Array.of(NaN, NaN, 3e38, 0), { x: 0, y: 0 }, 1)?.minX ?? null, null);
});
