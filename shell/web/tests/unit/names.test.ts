import assert from 'node:assert/strict';
import { test } from 'node:test';
import { largestInView, Names, type InView } from '../../src/scene/names.ts';

const size = { w: 100, h: 100 };
const input = (more: Partial<InView> = {}): InView => ({
  // Nodes 0 to 9 in a row, ten apart; node 10 has no place.
  xy: Float32Array.from([...Array.from({ length: 10 }, (_, i) => [i * 10, 0]).flat(), 3e38, 3e38]),
  origin: { x: 5, y: 0 },
  view: { cx: 25, cy: 0, scale: 2 },
  size,
  nodeSize: null,
  lit: null,
  hidden: null,
  ...more,
});

test('nodes in view are found, the largest first', () => {
  assert.deepEqual(largestInView(input(), 99), [0, 1, 2, 3, 4]);
  assert.deepEqual(largestInView(input(), 2), [0, 1]);
  const nodeSize = Uint8Array.from([9, 200, 9, 40, 9, 255, 255, 255, 255, 255, 255]);
  assert.deepEqual(largestInView(input({ nodeSize }), 3), [1, 3, 0]);
  // What is highlighted goes before the others.
  assert.deepEqual(largestInView(input({ lit: new Set([4, 7, 2]) }), 3), [2, 4, 0]);
  assert.deepEqual(largestInView(input({ view: { cx: 900, cy: 0, scale: 2 } }), 3), []);
});

test('missing names are asked for once, and a failure is asked for again', async () => {
  const asked: number[][] = [];
  let fails = true;
  let shown: { index: number; text: string }[] = [];
  const api = {
    names: async (nodes: readonly number[]) => {
      asked.push([...nodes]);
      if (fails) throw new Error('offline');
      return nodes.map((v) => `n${v}`);
    },
  };
  const names = new Names(api, () => new Map([[1, 'one']]), (next) => (shown = next));
  await names.look('a', () => input());
  assert.deepEqual([asked, shown], [[[0, 2, 3, 4]], []]);
  fails = false;
  await names.look('a', () => input());
  assert.deepEqual(shown.map((n) => n.text), ['n0', 'one', 'n2', 'n3', 'n4']);
  await names.look('a', () => assert.fail('the same is looked at once'));
  await names.look('b', () => input({ origin: { x: -5, y: 0 } }));
  assert.deepEqual(asked.at(-1), [5], 'the others are known');
  names.clear();
  assert.deepEqual(shown, []);
});
