import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEY_LIST } from '../../src/input/key-list.ts';
import { commandOf, type Press } from '../../src/input/keys.ts';

const press = (key: string, more: Partial<Press> = {}) =>
  commandOf({ key, ctrl: false, alt: false, shift: false, typing: false, button: false, ...more });

test('a question mark shows the keys, and each key of the list does something', () => {
  assert.equal(press('?'), 'help');
  const names: Record<string, string> = {
    Space: ' ',
    Esc: 'Escape',
    '←': 'ArrowLeft',
    '→': 'ArrowRight',
    '↑': 'ArrowUp',
    '↓': 'ArrowDown',
  };
  for (const name of KEY_LIST.flatMap(({ keys }) => keys)) {
    // Done with the pointer, or another key that is in the list itself.
    if (/^(Shift|Right) /.test(name)) continue;
    const ctrl = name.startsWith('Ctrl ');
    const key = names[name] ?? name.replace('Ctrl ', '');
    assert.notEqual(press(key, { ctrl }), null, name);
  }
});

test('Ctrl+A marks the text of a field, and selects nodes elsewhere', () => {
  assert.equal(press('a', { ctrl: true }), 'all');
  assert.equal(press('A', { ctrl: true }), 'all', 'also with caps lock');
  assert.equal(press('a', { ctrl: true, typing: true }), null);
  assert.equal(press('a'), null);
});

test('fields keep their keys and buttons keep space', () => {
  for (const key of ['?', '/', 'f', ' ', '+', 'Escape', 'ArrowLeft'])
    assert.equal(press(key, { typing: true }), null, key);
  assert.equal(press('k', { ctrl: true, typing: true }), 'search');
  assert.equal(press(' ', { button: true }), null);
  assert.equal(press(' '), 'play');
  assert.equal(press('F'), 'fit');
  for (const key of ['f', '+', '-', 'c']) assert.equal(press(key, { ctrl: true }), null, `Ctrl+${key}`);
});
