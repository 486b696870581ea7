import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { ToServer } from '../../src/net/messages.ts';
import { filter, told } from './messages.samples.ts';

/** What the page says; the server's tests read the same file. */
const SAID: ToServer[] = [
  { t: 'do', id: 'a1', label: 'Filter', changes: [{ path: 'filters/f', value: filter }], join: 'drag-1' },
  { t: 'do', id: 'a2', label: 'Remove', changes: [{ path: 'filters/f', value: null }] },
  { t: 'undo', id: 'a3' },
  { t: 'redo', id: 'a4' },
];

test('what the page says is what the server reads', () => {
  assert.deepEqual(JSON.parse(readFileSync('tests/fixtures/said.json', 'utf8')), SAID);
});

test('the server sends every kind of message of the document', () => {
  const kinds = new Set(told.map((message) => message.t));
  assert.deepEqual([...kinds].sort(), ['changed', 'counts', 'document', 'history']);
});
