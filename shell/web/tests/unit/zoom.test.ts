import assert from 'node:assert/strict';
import { test } from 'node:test';
import { percentileBox, toScreen, type View } from '../../src/scene/camera.ts';
import { fitView } from '../../src/scene/fit.ts';
import { contrastAt, type SizeRule } from '../../src/scene/node-size.ts';
import { emptyScene, orderBySize } from '../../src/scene/scene-data.ts';
import { zoomEnds } from '../../src/scene/zoom-ends.ts';
import { CameraControl } from '../../src/scene/camera-control.ts';

const size = { w: 1000, h: 600 };
const ORIGIN = { x: 0, y: 0 };

/** What the ends depend on, of nodes at places, with a camera that keeps to them. */
class Stage {
  readonly size = size;
  readonly positions: { current: Float32Array };
  readonly data;
  readonly camera = new CameraControl(true);
  readonly fitScale: number;

  constructor(places: readonly [number, number][], sizes: readonly number[] = places.map(() => 16)) {
    this.positions = { current: Float32Array.from(places.flat()) };
    this.data = { ...emptyScene(places.length, 0), nodeSize: Uint8Array.from(sizes) };
    this.data.order = orderBySize(this.data.nodeSize);
    const { current: xy } = this.positions;
    const box = percentileBox(xy, ORIGIN);
    assert.ok(box);
    const view = fitView({ box, size, panels: [], xy, origin: ORIGIN, most: 0 });
    this.fitScale = view.scale;
    this.camera.set(view);
    this.camera.ends = (asked) => zoomEnds(this, asked);
  }

  get zoom(): number {
    return this.camera.view.scale / this.fitScale;
  }

  /** As the page has it on a screen of which nothing is scaled. */
  get sizes(): SizeRule {
    const scale = Math.max(1e-3, this.zoom) ** 0.55;
    return { scale, floor: Math.min(...(this.data.nodeSize ?? [16])), contrast: contrastAt(this.zoom) };
  }

  /** Turns the wheel over a node. */
  wheel(index: number, factor: number): void {
    for (let k = 0; k < 60; k += 1) {
      const [x, y] = this.screen(index);
      this.camera.zoom(size, x, y, factor);
    }
  }

  screen(index: number): [number, number] {
    const { current } = this.positions;
    return toScreen(this.camera.view, size, current[2 * index], current[2 * index + 1]);
  }

  /** Diameter that the disc of a stored size would have without a largest one. */
  disc(stored: number): number {
    const { floor, contrast, scale } = this.sizes;
    return ((floor + contrast * (stored - floor)) / 4) * scale;
  }
}

/** A square lattice of so many nodes a side, so long. */
function lattice(side: number, extent: number): [number, number][] {
  const step = extent / (side - 1);
  return Array.from({ length: side * side }, (_, i) => [(i % side) * step, Math.floor(i / side) * step]);
}

for (const extent of [1e-6, 1, 1e6]) {
  test(`of places that span ${extent}, zooming ends with neighbours apart, and with the graph in sight`, () => {
    const side = 200;
    const stage = new Stage(lattice(side, extent));
    const [x, y] = stage.screen(20_100);
    stage.wheel(20_100, 2);
    const third = size.h / 3;
    assert.ok(Math.abs(stage.disc(16) - third) < 1e-6 * third, `a disc of ${stage.disc(16)} px`);
    const at = stage.screen(20_100);
    assert.ok(Math.hypot(at[0] - x, at[1] - y) < 1e-3, 'the node stays under the pointer');
    const next = stage.screen(20_101);
    assert.ok(next[0] - at[0] > third, `neighbours are ${next[0] - at[0]} px apart`);
    // What 16 bits a side can tell apart, the screen can.
    assert.ok((extent / 65_534) * stage.camera.view.scale > 8);
    stage.wheel(20_100, 1 / 2);
    const long = extent * stage.camera.view.scale;
    assert.ok(long > 11.9 && long < 40, `the graph is ${long} px long`);
  });
}

test('one node, and two on one spot, are zoomed in to an end and out to another', () => {
  for (const places of [[[5, 7]], [[5, 7], [5, 7]]] as [number, number][][]) {
    const stage = new Stage(places);
    stage.wheel(0, 3);
    assert.ok(Math.abs(stage.disc(16) - size.h / 3) < 1e-3);
    const [x, y] = stage.screen(0);
    assert.ok(x > 0 && x < size.w && y > 0 && y < size.h);
    stage.wheel(0, 1 / 3);
    assert.ok(Math.abs(stage.zoom - 1 / 20) < 1e-9);
  }
});

test('nodes that are far out can be seen together with the others', () => {
  const stage = new Stage([...lattice(60, 1), [1e5, 0]]);
  stage.wheel(0, 1 / 2);
  const [a, b] = [stage.screen(0), stage.screen(3600)];
  const far = Math.hypot(a[0] - b[0], a[1] - b[1]);
  assert.ok(Math.abs(far - 12) < 0.1, `${far}`);
});

test('large discs keep nobody from a near look, tiny ones lead to no farther one', () => {
  const ends = [1, 16, 255].map((stored) => zoomEnds(new Stage(lattice(9, 1), Array(81).fill(stored)), 1)[1]);
  assert.ok(ends[0] > ends[1] && ends[1] === ends[2]);
  const { fitScale } = new Stage(lattice(9, 1));
  assert.ok(ends[0] < 1e4 * fitScale);
});

test('the smallest node counts that can be seen', () => {
  const stage = new Stage(lattice(9, 1), Array.from({ length: 81 }, (_, i) => (i < 40 ? 6 : 12)));
  const all = zoomEnds(stage, 1)[1];
  stage.data.nodeHidden = Uint8Array.from({ length: 81 }, (_, i) => Number(i < 40));
  assert.ok(zoomEnds(stage, 1)[1] < all);
});

test('a view that is beyond an end stays, and comes back; flights end within', () => {
  const stage = new Stage(lattice(9, 1));
  const { camera } = stage;
  const [low, high] = zoomEnds(stage, 1);
  const beyond: View = { ...camera.view, scale: 4 * high };
  camera.set(beyond);
  camera.zoom(size, 500, 300, 2);
  assert.equal(camera.view.scale, 4 * high);
  camera.zoom(size, 500, 300, 1 / 8);
  assert.equal(camera.view.scale, high / 2);
  camera.fly({ cx: 3, cy: 4, scale: 1e30 }, size, 0);
  assert.deepEqual({ ...camera.view, scale: 0 }, { cx: 3, cy: 4, scale: 0 });
  assert.ok(Math.abs(camera.view.scale / high - 1) < 1e-9);
  camera.fly({ cx: 3, cy: 4, scale: 1e-30 }, size, 0);
  assert.equal(camera.view.scale, low);
});
