import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BENT_ARROWS_VS, BENT_LINES_VS, BENT_QUADS_VS } from '../../src/afar/bundle-shaders.ts';
import { ARROWS_VS, LINES_VS, QUADS_VS } from '../../src/gl/shaders.ts';

/** How many texts between commas there are from `at` up to the bracket that closes. */
function argumentsAt(text: string, at: number): number {
  let [depth, count] = [1, 1];
  for (let k = at; depth > 0; k += 1) {
    if (text[k] === '(') depth += 1;
    else if (text[k] === ')') depth -= 1;
    else if (text[k] === ',' && depth === 1) count += 1;
  }
  return count;
}

// A browser says nothing where a shader of a chunk that is loaded later cannot be compiled: nothing is drawn.
test('functions of the edges are called with as many arguments as they take', () => {
  const shaders = { LINES_VS, QUADS_VS, ARROWS_VS, BENT_LINES_VS, BENT_QUADS_VS, BENT_ARROWS_VS };
  for (const [shader, text] of Object.entries(shaders)) {
    for (const name of ['edgeColor', 'passing', 'fade', 'curveOf']) {
      const found = [...text.matchAll(new RegExp(`\\b${name}\\(`, 'g'))];
      const counts = new Set(found.map((call) => argumentsAt(text, call.index + call[0].length)));
      assert.ok(counts.size <= 1, `${name} of ${shader} has ${[...counts].join(' and ')} arguments`);
    }
    assert.match(text, /edgeColor\(/, shader);
  }
});
