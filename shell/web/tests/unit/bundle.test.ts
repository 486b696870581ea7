import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bundle } from '../../src/afar/bundle.ts';
import { NO_GROUP } from '../../src/afar/groups.ts';
import type { Renderer } from '../../src/gl/renderer.ts';
import type { EdgeList, SceneData } from '../../src/scene/scene-data.ts';
import { toScreen } from '../../src/scene/camera.ts';
import { countsOn } from '../../src/scene/counts.ts';
import { curveOf, isAlong, placesOn } from '../../src/scene/line-curve.ts';
import { edgeList, packedOf } from '../../src/scene/near.ts';
import { edgeAt } from '../../src/scene/pick-edge.ts';
import type { Picture } from '../../src/picture/picture.ts';

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
  const radius = (): number => 4;
  return { at, project, camera, size, radius, ...rest } as unknown as Picture;
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

/** How far a place is from a curve. */
function off(curve: readonly [number, number][], { x, y }: { x: number; y: number }): number {
  const [a, p, q, b] = curve;
  let least = Infinity;
  for (let t = 0; t <= 1; t += 1 / 512) {
    const u = 1 - t;
    const on = ([0, 1] as const).map((c) => {
      return u ** 3 * a[c] + 3 * u * u * t * p[c] + 3 * u * t * t * q[c] + t ** 3 * b[c];
    });
    least = Math.min(least, Math.hypot(on[0] - x, on[1] - y));
  }
  return least;
}

test('what is written on a bundled edge is on its curve, apart from that of parallel ones', () => {
  const bent = picture(bundle());
  const curve = curveOf(bent, 0, packedOf(0, 1));
  assert.ok(curve?.length === 4);
  const ranks = [-4, -2, -1, 0, 1, 3];
  const counts = countsOn(bent, ranks.map((rank) => ({ edge: 0, rank, count: 1200 })));
  assert.deepEqual(counts.map(({ text }) => text), ranks.map(() => '×1,200'));
  for (const place of counts) assert.ok(off(curve, place) < 0.5, `${place.x}, ${place.y}`);
  for (let k = 1; k < counts.length; k += 1) {
    assert.ok(counts[k].x - counts[k - 1].x > 6, 'each has its own place');
  }
  const [middle, ...others] = placesOn(bent, 0, packedOf(0, 1));
  const [x, y] = seen(100, 36);
  assert.ok(Math.hypot(middle.x - x, middle.y - y) < 1e-6 && Math.abs(middle.angle) < 1e-6);
  assert.equal(others.length, 4);
  // Level in its middle, the curve climbs at its ends, where only a short text keeps to it.
  assert.ok(isAlong(curve, middle, 40) && !isAlong(curve, middle, 190));
  assert.ok(others.every(({ angle }) => Math.abs(angle) > 0.05));
  // A straight line has its middle, whose text is as long as it may be.
  const straight = picture(null);
  const only = placesOn(straight, 0, packedOf(0, 1));
  assert.deepEqual(only.map(({ x: px, y: py, length }) => [px, py, length]), [[...seen(100, 0), 200]]);
  assert.ok(isAlong(curveOf(straight, 0, packedOf(0, 1)) ?? [], only[0], 190));
});
