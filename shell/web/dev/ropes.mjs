// A mock graph of two rings, each a community, whose lowest nodes many edges join, in both directions.

const RING = 12;
const RADIUS = 60;
const APART = 320;

/** `count` edges from the left ring to the right one, and half as many back. */
export function ropes(count) {
  const n = 2 * RING;
  const goal = new Float64Array(2 * n);
  const pairs = [];
  for (let i = 0; i < n; i += 1) {
    const angle = (2 * Math.PI * (i % RING)) / RING - Math.PI / 2;
    const x = (i < RING ? -0.5 : 0.5) * APART;
    goal.set([x + RADIUS * Math.cos(angle), RADIUS * Math.sin(angle)], 2 * i);
    pairs.push(i, (i % RING) + 1 < RING ? i + 1 : i + 1 - RING);
  }
  for (let k = 0; k < count; k += 1) pairs.push(0, RING);
  for (let k = 0; k < count / 2; k += 1) pairs.push(RING, 0);
  const group = Uint32Array.from({ length: n }, (_, i) => (i < RING ? 0 : 1));
  return { n, goal, edges: Uint32Array.from(pairs), group };
}
