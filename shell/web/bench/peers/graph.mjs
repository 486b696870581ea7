// The graph that all libraries draw: communities on a ring with given positions, the same for each seed.

/** Nodes and edges of the sizes that are measured. */
export const SIZES = {
  // Not of the comparison: to see that the script works.
  small: { nodes: 2_400, edges: 10_000 },
  '20k': { nodes: 20_000, edges: 465_000 },
  '100k': { nodes: 100_000, edges: 300_000 },
  '1m': { nodes: 1_000_000, edges: 3_000_000 },
};
const COMMUNITIES = 12;
const SEED = 20;
/** Share of the edges that lead to another community; they alone cross the middle of the ring. */
const ACROSS = 0.1;
/** Width of the square that the positions lie in. */
export const SPACE = 4096;

/** Uniform numbers from 0 to 1 (mulberry32). */
function uniform(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Positions (x and y of each node) and the ends of each edge. */
export function makeGraph({ nodes, edges }) {
  const draw = uniform(SEED);
  const xy = new Float32Array(2 * nodes);
  const middle = SPACE / 2;
  for (let i = 0; i < nodes; i += 1) {
    const turn = (2 * Math.PI * (i % COMMUNITIES)) / COMMUNITIES;
    const [angle, far] = [2 * Math.PI * draw(), 0.085 * SPACE * Math.sqrt(draw())];
    xy[2 * i] = middle + 0.36 * SPACE * Math.cos(turn) + far * Math.cos(angle);
    xy[2 * i + 1] = middle + 0.36 * SPACE * Math.sin(turn) + far * Math.sin(angle);
  }
  const ends = new Uint32Array(2 * edges);
  const members = Math.floor(nodes / COMMUNITIES);
  for (let e = 0; e < edges; e += 1) {
    const from = Math.floor(draw() * members * COMMUNITIES);
    let community = from % COMMUNITIES;
    if (draw() < ACROSS) community = Math.floor(draw() * COMMUNITIES);
    // Squared: a few nodes of each community have many edges.
    const member = Math.floor(members * draw() ** 2);
    ends[2 * e] = from;
    ends[2 * e + 1] = member * COMMUNITIES + community;
  }
  return { xy, ends };
}

/** The graph as the pages of the libraries fetch it: two counts, the positions, the ends. */
export function packGraph({ xy, ends }) {
  const counts = new Uint32Array([xy.length / 2, ends.length / 2]);
  return Buffer.concat([counts, xy, ends].map((a) => Buffer.from(a.buffer, a.byteOffset, a.byteLength)));
}

/** The graph as tables of text, as the server takes them. */
export function tables({ xy, ends }) {
  const [nodes, edges] = [['id,x,y\n'], ['s,d\n']];
  for (let i = 0; i < xy.length / 2; i += 1) nodes.push(`${i},${xy[2 * i]},${xy[2 * i + 1]}\n`);
  for (let e = 0; e < ends.length / 2; e += 1) edges.push(`${ends[2 * e]},${ends[2 * e + 1]}\n`);
  return { nodes: Buffer.from(nodes.join('')), edges: Buffer.from(edges.join('')) };
}

/** Positions turned around the middle, as the k-th update of all of them. */
export function turned(xy, k) {
  const [c, s, middle] = [Math.cos(0.02 * k), Math.sin(0.02 * k), SPACE / 2];
  return xy.map((v, at) => {
    const [x, y] = at % 2 === 0 ? [v - middle, xy[at + 1] - middle] : [xy[at - 1] - middle, v - middle];
    return middle + (at % 2 === 0 ? c * x - s * y : s * x + c * y);
  });
}
