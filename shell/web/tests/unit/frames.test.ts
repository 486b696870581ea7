import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  FLAG,
  FrameError,
  KIND,
  readChannel,
  readDelta,
  readFrame,
  readHeader,
  readKey,
  readLabels,
  readList,
  type Frame,
} from '../../src/net/frames.ts';
import { readIcons } from '../../src/net/icon-frame.ts';
import { Positions, isPlaced } from '../../src/scene/positions.ts';

type Pair = [number | null, number | null];

interface Golden {
  file: string;
  header: Record<string, number>;
  pairs?: number[][];
  positions?: Pair[];
  indices?: number[];
  step?: number;
  over?: number[][];
  key?: string;
  axis?: number;
  rgba?: number[][];
  chosen?: number[];
  sizes?: number[];
  labels?: [number, string][];
  place?: number;
  shown?: number[];
  look?: unknown;
}

const golden = JSON.parse(readFileSync('tests/fixtures/frames.json', 'utf8')) as Record<string, Golden>;

async function load(name: string): Promise<Frame> {
  return readFrame(new Uint8Array(readFileSync(`tests/fixtures/${golden[name].file}`)));
}

function pairs(flat: ArrayLike<number>): number[][] {
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
}

function assertNear(positions: Positions, expected: Pair[], tolerance: number): void {
  expected.forEach(([x, y], i) => {
    const at = positions.shownAt(i, 1);
    if (x === null || y === null) {
      assert.equal(at, null, `node ${i} has no place`);
      return;
    }
    assert.ok(at, `node ${i} has a place`);
    assert.ok(
      Math.abs(at[0] - x) <= tolerance && Math.abs(at[1] - y) <= tolerance,
      `node ${i}: ${at} is ${x},${y}`,
    );
  });
}

test('headers of all golden frames are read field by field', async () => {
  for (const [name, { header }] of Object.entries(golden)) {
    const { header: read } = await load(name);
    const got = {
      kind: read.kind,
      flags: read.flags,
      epoch: read.epoch,
      seq: read.seq,
      base_seq: read.baseSeq,
      first: read.first,
      count: read.count,
      stride: read.stride,
      x0: read.bounds.x0,
      y0: read.bounds.y0,
      sx: read.bounds.sx,
      sy: read.bounds.sy,
    };
    assert.deepEqual(got, header, name);
  }
});

test('a keyframe gives its quantised pairs and its positions', async () => {
  const frame = await load('pos_key');
  assert.deepEqual(pairs(readKey(frame)), golden.pos_key.pairs);
  const positions = new Positions(frame.header.count);
  assert.ok(positions.apply(frame));
  assertNear(positions, golden.pos_key.positions ?? [], 1e-4);
});

for (const name of ['pos_delta', 'pos_delta_far', 'pos_delta_deflate']) {
  test(`${name} applies to its keyframe, also when frames in between were skipped`, async () => {
    const key = await load('pos_key');
    const frame = await load(name);
    const delta = readDelta(frame);
    assert.ok(Math.abs(delta.step - (golden[name].step ?? 0)) < 1e-6);
    const over = [...delta.over.index].map((i, k) => [
      i,
      delta.over.xy[2 * k],
      delta.over.xy[2 * k + 1],
    ]);
    assert.deepEqual(over, golden[name].over);
    const positions = new Positions(key.header.count);
    positions.apply(key);
    assert.ok(positions.apply(frame));
    assertNear(positions, golden[name].positions ?? [], 1e-4);
    // Any other delta to the same keyframe gives the same result whatever came before it.
    const after = new Positions(key.header.count);
    after.apply(key);
    after.apply(await load('pos_delta_far'));
    after.apply(await load('pos_delta'));
    const direct = new Positions(key.header.count);
    direct.apply(key);
    direct.apply(await load('pos_delta'));
    for (let i = 0; i < direct.numNodes; i += 1) {
      if (golden.pos_delta_far.over?.some(([index]) => index === i)) continue;
      assert.deepEqual(after.shownAt(i, 1), direct.shownAt(i, 1));
    }
  });
}

test('a delta without its keyframe is refused and changes nothing', async () => {
  const positions = new Positions(200);
  assert.equal(positions.apply(await load('pos_delta')), false);
  assert.equal(positions.seq, 0);
  assert.ok([...positions.current].every((x) => !isPlaced(x)));
});

test('a node that the keyframe lacks stays without a place through deltas', async () => {
  const positions = new Positions(200);
  positions.apply(await load('pos_key'));
  positions.apply(await load('pos_delta'));
  assert.equal(positions.shownAt(3, 1), null);
  assert.equal(positions.shownAt(3, 0.5), null);
});

test('a stripe moves its nodes only', async () => {
  const frame = await load('pos_stripe');
  const positions = new Positions(200);
  positions.apply(await load('pos_key'));
  const before = positions.current.slice();
  positions.apply(frame);
  const { first, count, stride, bounds } = frame.header;
  for (let i = 0; i < 200; i += 1) {
    const k = (i - first) / stride;
    if (Number.isInteger(k) && k >= 0 && k < count) {
      const x = (golden.pos_stripe.pairs ?? [])[k][0] * bounds.sx + bounds.x0;
      assert.ok(Math.abs((positions.shownAt(i, 1)?.[0] ?? NaN) - x) < 1e-3);
    } else assert.equal(positions.current[2 * i], before[2 * i]);
  }
});

test('all stripes of a keyframe are that keyframe, and until the last deltas have none to refer to', async () => {
  const { header, payload } = await load('pos_key');
  const pairs = new Uint32Array(payload.buffer, payload.byteOffset, header.count);
  const positions = new Positions(200);
  const [delta, after] = [await load('pos_delta'), golden.pos_delta.positions ?? []];
  for (let first = 0; first < 13; first += 1) {
    assert.equal(positions.apply(delta), false, `before stripe ${first}`);
    const some = pairs.filter((_, i) => i % 13 === first);
    const stripe = { ...header, first, stride: 13, count: some.length };
    assert.equal(positions.apply({ header: stripe, payload: new Uint8Array(some.buffer) }), true);
    assert.equal(positions.whole, first === 12);
    for (let i = 0; i < 200; i += 1) {
      const known = i % 13 <= first && golden.pos_key.positions?.[i][0] !== null;
      assert.equal(positions.shownAt(i, 1) !== null, known, `node ${i} after stripe ${first}`);
    }
  }
  assertNear(positions, golden.pos_key.positions ?? [], 1e-3);
  assert.equal(positions.apply(delta), true);
  assertNear(positions, after, 1e-3);
  positions.apply({ header: { ...header, seq: 99, first: 0, stride: 13, count: 16 }, payload });
  assert.equal(positions.apply(delta), false, 'of the keyframe before');
});

test('an exact snapshot is exact', async () => {
  const positions = new Positions(8);
  positions.apply(await load('pos_f32'));
  assertNear(positions, golden.pos_f32.positions ?? [], 1e-5);
});

test('a list places its nodes in its own bounds', async () => {
  const frame = await load('pos_list');
  const { index, xy } = readList(frame);
  assert.deepEqual([...index], golden.pos_list.indices);
  assert.deepEqual(pairs(xy), golden.pos_list.pairs);
  const positions = new Positions(10);
  positions.apply(frame);
  const { x0, sx } = frame.header.bounds;
  assert.ok(Math.abs((positions.shownAt(7, 1)?.[0] ?? NaN) - (x0 + 1560 * sx)) < 1e-5);
  assert.equal(positions.shownAt(0, 1), null);
});

test('icons are read, and a list that is cut off is refused', async () => {
  for (const name of ['icons_nodes', 'icons_edges']) {
    const frame = await load(name);
    assert.equal(frame.header.kind, KIND.ICONS);
    const { axis, place, shown, look } = readIcons(frame);
    const wanted = golden[name];
    assert.equal(axis, wanted.axis === 1 ? 'edge' : 'node');
    assert.equal(place, wanted.place);
    assert.deepEqual([...shown], wanted.shown);
    assert.deepEqual(look, wanted.look);
    for (const bytes of [3, 17, frame.payload.byteLength - 1]) {
      assert.throws(() => readIcons({ ...frame, payload: frame.payload.slice(0, bytes) }), FrameError);
    }
  }
});

test('colours, sizes and labels are read', async () => {
  for (const name of ['color_nodes', 'color_edges']) {
    const { axis, data } = readChannel(await load(name), 4);
    assert.equal(axis, golden[name].axis === 1 ? 'edge' : 'node');
    assert.deepEqual([...data], golden[name].rgba?.flat());
  }
  const { data, chosen } = readChannel(await load('color_chosen'), 4);
  assert.deepEqual([...data], golden.color_chosen.rgba?.flat());
  assert.deepEqual([0, 1, 2].filter((i) => (chosen[i >> 3] >> (i & 7)) & 1), golden.color_chosen.chosen);
  assert.equal(readChannel(await load('color_nodes'), 4).chosen.length, 0);
  assert.deepEqual([...readChannel(await load('size_nodes'), 1).data], golden.size_nodes.sizes);
  const labels = readLabels(await load('labels')).map(({ index, text }) => [index, text]);
  assert.deepEqual(labels, golden.labels.labels);
});

test('what is not a frame is refused with the reason', () => {
  assert.throws(() => readHeader(new Uint8Array(10)), FrameError);
  assert.throws(() => readHeader(new Uint8Array(48)), /GVZ1/);
  const bytes = new Uint8Array(readFileSync('tests/fixtures/pos_key.bin'));
  bytes[4] = 9;
  assert.throws(() => readHeader(bytes), /version 9/);
});

test('a truncated payload is refused instead of read beyond its end', async () => {
  for (const name of [
    'pos_key',
    'pos_f32',
    'pos_list',
    'pos_delta',
    'labels',
    'color_nodes',
    'size_nodes',
  ]) {
    const { header, payload } = await load(name);
    const cut = { header, payload: payload.slice(0, payload.length - 1) };
    const read = () => {
      if (header.kind === KIND.LABELS) return readLabels(cut);
      if (header.kind === KIND.COLOR) return readChannel(cut, 4);
      if (header.kind === KIND.SIZE) return readChannel(cut, 1);
      return new Positions(header.count).apply(cut);
    };
    if (header.kind === KIND.POS_DELTA)
      assert.throws(() => readDelta({ header, payload: payload.slice(0, 300) }));
    else assert.throws(read, FrameError, name);
  }
});

test('the deflate flag is the only difference between the two forms of a delta', async () => {
  const plain = await load('pos_delta');
  const packed = await load('pos_delta_deflate');
  assert.equal(packed.header.flags & FLAG.DEFLATE, 1);
  assert.deepEqual([...packed.payload], [...plain.payload]);
});

test('a tween runs from what was shown to what came, and new nodes do not fly in', () => {
  const positions = new Positions(2);
  positions.current.set([0, 0, 10, 10]);
  positions.previous.set(positions.current);
  positions.current.set([4, 8, 10, 10]);
  assert.deepEqual(positions.shownAt(0, 0.25), [1, 2]);
  positions.freeze(0.5);
  assert.deepEqual([...positions.previous], [2, 4, 10, 10]);
  const fresh = new Positions(1);
  fresh.current.set([5, 5]);
  fresh.settleNew();
  assert.deepEqual(fresh.shownAt(0, 0), [5, 5]);
});
