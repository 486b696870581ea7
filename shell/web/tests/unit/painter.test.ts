import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Painter, type InkPlan } from '../../src/gl/painter.ts';
import type { DrawInput, InkStep, Renderer } from '../../src/gl/renderer.ts';

const EDGES = 300_000;

/** The pieces in which the edges of a graph at rest are drawn, on a device without a GPU. */
function pieces(numNodes: number): InkStep[] {
  const steps: InkStep[] = [];
  const gl = { SYNC_GPU_COMMANDS_COMPLETE: 0, fenceSync: () => null, flush: () => undefined };
  const renderer = {
    software: true,
    edgesMax: 1e9,
    gl,
    drawInk: (_: DrawInput, step: InkStep) => steps.push(step),
    drawScreen: () => undefined,
  };
  const painter = new Painter(renderer as unknown as Renderer, false);
  const plan: InkPlan = {
    key: 'a',
    moving: false,
    numNodes,
    numEdges: EDGES,
    known: EDGES,
    share: 1,
    list: null,
    arrows: false,
    over: () => undefined,
  };
  do painter.paint({} as DrawInput, plan);
  while (painter.incomplete);
  return steps;
}

test('edges of few nodes come in pieces, those of many nodes with one repaint of the nodes', () => {
  const few = pieces(1_000);
  assert.equal(few.length, 5);
  assert.deepEqual([few[0].from, few[0].clear, few.at(-1)?.to], [0, true, EDGES]);
  assert.deepEqual(few.slice(1).map((step) => step.from), few.slice(0, -1).map((step) => step.to));
  const many = pieces(1_000_000);
  assert.deepEqual(many.map(({ from, to }) => [from, to]), [[0, EDGES]]);
});
