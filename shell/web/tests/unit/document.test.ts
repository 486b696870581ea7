import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromBits64, leftOut, packBits, toBits64, unpackBits } from '../../src/document/bits.ts';
import { SharedDocument, between } from '../../src/document/document.ts';
import { countWords, newsWords, problemWords, ruleWords } from '../../src/document/words.ts';
import type { Told } from '../../src/net/messages.ts';
import type { Author, Change } from '../../src/net/page-messages.ts';
import { shownColors, shownWidths, emptyScene } from '../../src/scene/scene-data.ts';

const marks = (n: number, every: number): Uint8Array =>
  Uint8Array.from({ length: n }, (_, i) => (i % every === 0 ? 1 : 0));

test('bits are least significant first and survive the way to the server', async () => {
  assert.deepEqual([...packBits(Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 1, 0, 1]))], [0x81, 0x02]);
  for (const n of [0, 1, 7, 8, 9, 64, 100_001]) {
    const given = marks(n, 3);
    assert.deepEqual(unpackBits(packBits(given), n), given, `${n}`);
    assert.deepEqual(await fromBits64(await toBits64(given), n), given, `${n} in base64`);
  }
});

test('what a mask leaves out is marked, and nothing when it leaves out nothing', () => {
  assert.equal(leftOut(Uint8Array.from([0xff, 0x03]), 10), null);
  const out = leftOut(Uint8Array.from([0xfe, 0x03]), 10);
  assert.deepEqual(out && [...out], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  assert.equal(leftOut(new Uint8Array(0), 0), null);
});

const ANN: Author = { name: 'ann', kind: 'person', you: false };
const changed = (revision: number, changes: Change[], own = false): Told<'changed'> => ({
  t: 'changed',
  revision,
  own,
  by: ANN,
  label: '',
  changes,
});
const filter = (order: number) => ({ kind: 'filter', name: '', on: true, order, rule: { expr: 'a > 1' } });

test('the copy follows what is changed, and the overlay lies over it', () => {
  const document = new SharedDocument();
  const shared = { 'filters/b': filter(2), 'filters/a': filter(2), 'filters/c': filter(1) };
  document.take({ t: 'document', revision: 3, document: shared, own: {} });
  assert.deepEqual(document.filters().map(({ id }) => id), ['c', 'a', 'b']);
  assert.equal(document.last(), 3);
  assert.equal(document.first(), 1);
  document.change(changed(4, [{ path: 'filters/c', value: null }, { path: 'prune_orphans', value: true }]));
  assert.equal(document.revision, 4);
  assert.deepEqual(document.filters().map(({ id }) => id), ['a', 'b']);
  assert.equal(document.get('prune_orphans'), true);
  // A watcher switches a shared filter off for itself, and adds one of its own.
  const off = { ...filter(2), on: false };
  const mine = [{ path: 'filters/a', value: off }, { path: 'filters/z', value: filter(9) }];
  document.change(changed(5, mine, true));
  const switches = (): unknown => document.filters().map(({ id, on }) => [id, on]);
  assert.deepEqual(switches(), [['a', false], ['b', true], ['z', true]]);
  assert.ok(document.hasOwn);
  const back = [{ path: 'filters/z', value: null }, { path: 'filters/a', value: null }];
  document.change(changed(6, back, true));
  assert.deepEqual(switches(), [['a', true], ['b', true]]);
  document.take({ t: 'document', revision: 7, document: shared, own: {} });
  assert.equal(document.hasOwn, false);
  assert.equal(document.get('prune_orphans'), undefined);
});

test('an entry is put between two others, or at an end', () => {
  assert.deepEqual([between(1, 2), between(undefined, 3), between(4, undefined)], [1.5, 2, 5]);
  assert.equal(between(undefined, undefined), 1);
});

test('rules, counts and the changes of others are said in words', () => {
  assert.equal(ruleWords({ expr: 'degree > 3' }), 'degree > 3');
  const range: [number, number] = [Date.UTC(2026, 6, 1), Date.UTC(2026, 8, 30)];
  const seen = { brush: { axis: 'node' as const, column: 'seen', range } };
  assert.equal(ruleWords(seen, () => true), 'seen from 2026-07-01 to 2026-09-30');
  const values = { axis: 'node' as const, column: 'type', values: ['a', null, 'b', 'c', 'd'] };
  assert.equal(ruleWords({ brush: values }), 'type is a, none, b or 2 others');
  assert.equal(countWords({ nodes: 1200, edges: null }, 'filter'), 'keeps 1,200 nodes');
  assert.equal(countWords({ nodes: 1, edges: 2 }, 'exclusion'), 'hides 1 node, 2 edges');
  assert.equal(countWords({ problem: 'no column "x"' }, 'filter'), 'No column "x"');
  const raw = '[column-not-found] column "a" does not exist | field: a | suggestion: did you mean "b"?';
  assert.equal(problemWords(raw), 'Column "a" does not exist. Did you mean "b"?');
  assert.equal(newsWords('ann', 'Hide 12 nodes'), 'ann hid 12 nodes');
  assert.equal(newsWords('ann', 'Undo Hide 12 nodes'), 'ann took back: Hide 12 nodes');
  assert.equal(newsWords('ann', 'lorem ipsum'), 'ann: lorem ipsum');
});

test('the device gets no opacity for hidden nodes and no width for hidden edges', () => {
  const rgba = Uint8Array.from([1, 2, 3, 255, 4, 5, 6, 200]);
  assert.equal(shownColors(rgba, null), rgba);
  assert.deepEqual([...shownColors(rgba, Uint8Array.from([0, 1]))], [1, 2, 3, 255, 4, 5, 6, 0]);
  const data = emptyScene(2, 3);
  assert.equal(shownWidths(data), null);
  data.edgeHidden = Uint8Array.from([0, 1, 0]);
  assert.deepEqual([...(shownWidths(data) ?? [])], [16, 0, 16]);
  data.edgeWidth = Uint8Array.from([0, 40, 40]);
  assert.deepEqual([...(shownWidths(data) ?? [])], [1, 0, 40], 'a width of 0 is narrow and not hidden');
});
