import assert from 'node:assert/strict';
import { test } from 'node:test';
import { told } from './messages.samples.ts';

test('the server sends every kind of message of the document', () => {
  const kinds = new Set(told.map((message) => message.t));
  assert.deepEqual([...kinds].sort(), ['changed', 'counts', 'document', 'history']);
});
