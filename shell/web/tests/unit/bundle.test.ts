import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bundle } from '../../src/afar/bundle.ts';
import { NO_GROUP } from '../../src/afar/groups.ts';
import type { EdgeList, Renderer, SceneData } from '../../src/gl/renderer.ts';
import { toScreen } from '../../src/scene/camera.ts';
import { edgeList } from '../../src/scene/near.ts';
import { edgeAt } from '../../src/scene/pick-edge.ts';
import type { Picture } from '../../src/scene/picture.ts';

// Two communities: nodes 0 to 2 around (0, 60) and 3 to 5 around (200, 60), and node 6 in none.
const current = Float32Array.from([0, 0, 0, 90, 0, 90, 200, 0, 200, 90, 200, 90, 100, -50]);
const of = Uint16Array.from([0, 0, 0, 1, 1, 1, NO_GROUP]);
const ends = Uint32Array.from([0, 3, 0, 1, 0, 6]);
const data = { current, nodeHidden: null, ends } as unknown as SceneData;
const size = { w: 400, h: 400 };
const view = { cx: 110, cy: 30, scale: 1 };
const origin = { x: 10, y: 5 };

function picture(bending: Bundle | null): Picture {
  const at = (i: number): [number, number] => [current[2 * i] + origin.x, current[2 * i + 1] + origin.y];
  const project = (i: number): [number, number] => toScreen(view, size, ...at(i));
  const camera = { view };
  const rest = { renderer: { bending }, positions: { origin }, look: { curvature: 0 }, data: { ends } };
  return { at, project, camera, size, ...rest } as unknown as Picture;
}

function bundle(): Bundle {
  const made = new Bundle({} as Renderer);
  made.place(of, data);
  return made;
}

/** Where a place in stored coordinates is on the screen. */
const seen = (x: number, y: number): [number, number] => toScreen(view, size, x + origin.x, y + origin.y);

test('an edge between communities is led by their middles, others are straight', () => {
  const found = bundle().controls(0, [0, 0], [200, 0]);
  assert.ok(found);
  // Between a third of the way and the middle (0, 60), by 0.8.
  [[200 / 15, 48], [200 - 200 / 15, 48]].forEach(([x, y], k) => {
    assert.ok(Math.hypot(found[k][0] - x, found[k][1] - y) < 1e-3, `${found[k]}`);
  });
  assert.equal(bundle().controls(1, [0, 0], [0, 90]), null, 'within a community');
  assert.equal(bundle().controls(2, [0, 0], [100, -50]), null, 'to a node of none');
});

test('the pointer finds a bundled edge where it is drawn, and not on its straight line', () => {
  const list: EdgeList = edgeList([0, 2], ends);
  const bent = picture(bundle());
  // The middle of the curve: 3/8 of both inner control points.
  const onCurve = seen(100, 36);
  const onLine = seen(100, 0);
  assert.equal(edgeAt(bent, list, ...onCurve), 0);
  assert.equal(edgeAt(bent, list, onCurve[0], onCurve[1] + 4), 0);
  assert.equal(edgeAt(bent, list, onCurve[0], onCurve[1] + 9), -1);
  assert.equal(edgeAt(bent, list, ...onLine), -1);
  const straight = picture(null);
  assert.equal(edgeAt(straight, list, ...onLine), 0);
  assert.equal(edgeAt(straight, list, ...onCurve), -1);
  for (const one of [bent, straight]) assert.equal(edgeAt(one, list, ...seen(50, -25)), 2);
});
