import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readFrame } from '../../src/net/frames.ts';
import { pickNode } from '../../src/scene/pick.ts';
import { ABSENT, isPlaced } from '../../src/scene/positions.ts';
import { colorsOf, edgeColorsOf, farFirst, sizesOf } from '../../src/space/look.ts';
import { readDepth } from '../../src/space/read.ts';
import { ballOf, PLANE, project, type Ball, type Turn } from '../../src/space/turn.ts';

const ball: Ball = { x: 10, y: 20, z: 5, r: 10, zScale: 1 };
const xy = Float32Array.from([10, 20, 20, 20, 10, 30, 10, 20, ABSENT, ABSENT]);
const z = Float32Array.from([5, 5, 5, 15, 5]);

function seen(turn: Turn, of = ball): { out: Float32Array; near: Float32Array } {
  const out = new Float32Array(xy.length);
  const near = new Float32Array(z.length);
  project(xy, z, of, turn, out, near);
  return { out, near };
}

test('from the front without perspective each node is where it is in the plane', () => {
  const { out, near } = seen(PLANE);
  assert.deepEqual([...out], [...xy]);
  assert.deepEqual([...near], [0, 0, 0, 1, -1]);
});

test('a quarter turn shows z across, and what was at the right lies behind', () => {
  const { out, near } = seen({ yaw: Math.PI / 2, pitch: 0, depth: 0 });
  assert.ok(Math.abs(out[6] - 20) < 1e-5 && Math.abs(out[7] - 20) < 1e-5, `${out}`);
  assert.ok(Math.abs(out[2] - 10) < 1e-5 && Math.abs(near[1] + 1) < 1e-6, `${out} ${near}`);
  const above = seen({ yaw: 0, pitch: Math.PI / 2, depth: 0 });
  assert.ok(Math.abs(above.out[7] - 10) < 1e-5, 'the nearest is below when seen from above');
  assert.ok(Math.abs(above.near[2] - 1) < 1e-6, 'and the uppermost is nearest');
});

test('perspective draws what is near apart and what is far together', () => {
  const at = (h: number): number => {
    const out = new Float32Array(2);
    const turn = { yaw: 0, pitch: 0, depth: 1 };
    project(Float32Array.from([20, 20]), Float32Array.from([h]), ball, turn, out, new Float32Array(1));
    return out[0] - 10;
  };
  assert.ok(Math.abs(at(15) - 15) < 1e-4 && Math.abs(at(5) - 10) < 1e-5 && Math.abs(at(-5) - 7.5) < 1e-4);
  assert.ok(isPlaced(at(1e6)) && at(1e6) <= 50.01, 'beyond the eye nothing turns over');
  const missing = at(NaN);
  assert.ok(Math.abs(missing - 10) < 1e-5, 'a node without z is in the middle');
});

test('z has the units of x and y unless it cannot be, and no ball is found of nothing', () => {
  const places = Float32Array.from({ length: 200 }, (_, k) => (k % 2 ? k % 13 : k % 17));
  const heights = (scale: number): Float32Array => {
    return Float32Array.from({ length: 100 }, (_, k) => (k % 11) * scale);
  };
  assert.equal(ballOf(places, heights(1))?.zScale, 1);
  assert.equal(ballOf(places, heights(0.3))?.zScale, 1);
  for (const scale of [1e-3, 1e3, 1e-12]) {
    const found = ballOf(places, heights(scale));
    const deep = 10 * scale * (found?.zScale ?? 0);
    assert.ok(deep > 10 && deep < 20, `${deep}`);
  }
  assert.equal(ballOf(new Float32Array(4).fill(ABSENT), Float32Array.from([1, 2])), null);
  assert.equal(ballOf(places, new Float32Array(100).fill(NaN)), null);
  assert.equal(ballOf(new Float32Array(0), new Float32Array(0)), null);
});

test('near nodes are larger and drawn last, far ones nearer to the background', () => {
  const near = Float32Array.from([1, -1, 0, -1]);
  const sizes = new Uint8Array(4);
  sizesOf(Uint8Array.from([40, 40, 40, 255]), near, 1, 4, sizes);
  assert.deepEqual([...sizes], [60, 30, 40, 191]);
  sizesOf(Uint8Array.from([255, 40, 40, 40]), near, 1, 1, sizes);
  assert.deepEqual([sizes[0], sizes[1]], [255, 40]);
  const colors = new Uint8Array(16);
  colorsOf(new Uint8Array(16).fill(200), near, 1, { r: 0, g: 0, b: 0, a: 1 }, colors);
  assert.deepEqual([colors[0], colors[4], colors[8], colors[7]], [200, 56, 128, 200]);
  assert.deepEqual([...farFirst(null, near)], [1, 3, 2, 0]);
  assert.deepEqual([...farFirst(Uint32Array.from([3, 0, 1]), near)], [3, 1, 0]);
});

test('of discs that hold the point the nearest to the eye is hit', () => {
  const input = { xy: Float32Array.from([0, 0, 3, 0]), radius: () => 5, hidden: null };
  assert.equal(pickNode(input, 1, 0, 1), 0);
  assert.equal(pickNode({ ...input, near: Float32Array.from([-0.5, 0.5]) }, 1, 0, 1), 1);
  assert.equal(pickNode({ ...input, near: Float32Array.from([-0.5, 0.5]) }, -4, 0, 1), 0);
});

test('the frame of the server is read, and one of another graph refused', async () => {
  const frame = await readFrame(readFileSync('tests/fixtures/depth.bin'));
  const found = readDepth(frame, 4);
  assert.ok(Number.isNaN(found[1]));
  [1, NaN, -2, 4].forEach((h, i) => Number.isNaN(h) || assert.ok(Math.abs(found[i] - h) < 1e-4));
  assert.throws(() => readDepth(frame, 5), /third coordinates of 5 nodes/);
});

test('own colours of edges get the background at each end as that node does', () => {
  const back = { r: 0, g: 0, b: 100, a: 1 };
  const near = Float32Array.of(1, -1);
  const ends = Uint32Array.of(0, 1, 1, 0);
  const colors = Uint8Array.of(200, 100, 0, 255, 0, 0, 0, 0);
  const out = new Uint8Array(16);
  edgeColorsOf(colors, ends, near, 1, back, out);
  const node = new Uint8Array(8);
  colorsOf(Uint8Array.of(200, 100, 0, 255, 200, 100, 0, 255), near, 1, back, node);
  // Of the first edge its source is near and its destination far.
  assert.deepEqual([...out.subarray(0, 4), ...out.subarray(8, 12)], [...node]);
  assert.ok(out[8] < 100 && out[10] > 50);
  // An opacity of 0, which stands for an edge's own look, stays.
  assert.deepEqual([out[7], out[15]], [0, 0]);
  // Where each end has a colour of its own, it keeps it.
  edgeColorsOf(Uint8Array.of(9, 9, 9, 9, 8, 8, 8, 8, 7, 7, 7, 7, 6, 6, 6, 6), ends, near, 0, back, out);
  assert.deepEqual([...out], [9, 9, 9, 9, 8, 8, 8, 8, 7, 7, 7, 7, 6, 6, 6, 6]);
});
