import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelBudget, placeLabels, type Candidate } from '../../src/scene/labels.ts';

const [width, height] = [1400, 800];

/** A node on a wide grid, so that each name has room. */
const candidate = (index: number, r: number): Candidate => ({
  index,
  text: String(index),
  x: 60 + 120 * (index % 11),
  y: 60 + 100 * Math.floor(index / 11),
  r,
  weight: r,
  rank: index,
  size: 12,
  bold: false,
  must: false,
});

test('none of the largest in view gives way to smaller ones that are shown already', () => {
  const budget = labelBudget(width, height);
  const small = Array.from({ length: budget }, (_, index) => candidate(index, 4));
  const input = {
    width,
    height,
    obstacles: [],
    discs: [],
    shown: new Map(small.map((c) => [c.index, 0])),
    measure: () => 20,
  };
  const named = (more: Candidate[]): number[] =>
    placeLabels({ ...input, candidates: [...small, ...more] }).map((p) => p.index);
  assert.equal(named([]).length, budget);
  const large = candidate(budget, 4.58);
  assert.ok(named([large]).includes(budget), 'a larger node that was not shown is named');
  // A tie is no reason to change what is shown.
  assert.ok(!named([candidate(budget, 4)]).includes(budget));
});
