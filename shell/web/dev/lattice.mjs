// A mock graph in space: layers of squares, whose nodes lie behind one another in the plane.

/** Distance between neighbours. */
const STEP = 30;

/** The graph of `side` layers of `side * side` nodes; each layer is a group. */
export function lattice(side) {
  const n = side ** 3;
  const pairs = [];
  const goal = new Float64Array(2 * n);
  const z = new Float32Array(n);
  const group = new Uint32Array(n);
  for (let i = 0; i < n; i += 1) {
    const at = [i % side, Math.floor(i / side) % side, Math.floor(i / side ** 2)];
    goal.set([at[0] * STEP, at[1] * STEP], 2 * i);
    z[i] = at[2] * STEP;
    group[i] = at[2];
    at.forEach((k, axis) => k + 1 < side && pairs.push(i, i + side ** axis));
  }
  return { n, edges: Uint32Array.from(pairs), group, goal, z };
}

/** The frame of `depth.bin`; `header` makes those of the mock. */
export function depthFrame({ z, n }, header) {
  const [least, most] = [Math.min(...z), Math.max(...z)];
  const step = Math.fround((most - least) / 65534);
  const steps = Uint16Array.from(z, (h) => Math.round((h - least) / step));
  const head = header(22, { count: n, bounds: [least, 0, step, 1] });
  return Buffer.concat([head, Buffer.from(steps.buffer)]);
}
