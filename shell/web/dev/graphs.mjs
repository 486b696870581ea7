// Graphs for the mock server, with positions that look like those of a force layout.

import { lattice } from './lattice.mjs';
import { ropes } from './ropes.mjs';

const PALETTE = [
  '6db9fc',
  'ca5d2f',
  'fdd141',
  '35957c',
  '9467ca',
  '2df1c4',
  'e490bb',
  'a6aa07',
  'd7cefd',
  'a8c991',
  '7385aa',
  'c0935f',
].map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));

/** A small generator with a seed, uniform in 0..1. */
export function random(seed) {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), 1 | s);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function degrees(n, edges) {
  const degree = new Uint32Array(n);
  for (const end of edges) degree[end] += 1;
  return degree;
}

function shuffle(edges, next) {
  for (let e = edges.length / 2 - 1; e > 0; e -= 1) {
    const o = Math.floor(next() * (e + 1));
    for (const side of [0, 1]) {
      const kept = edges[2 * e + side];
      edges[2 * e + side] = edges[2 * o + side];
      edges[2 * o + side] = kept;
    }
  }
}

/** Communities of power-law sizes; within one, new nodes attach to early ones, 88 % of the time. */
function communities(n, m, next) {
  const count = Math.max(1, Math.min(40, Math.round(Math.sqrt(n) / 3.5)));
  const weights = Array.from({ length: count }, (_, k) => (k + 1) ** -0.7);
  const total = weights.reduce((a, b) => a + b, 0);
  const starts = [0];
  for (const w of weights)
    starts.push(Math.min(n, starts.at(-1) + Math.max(1, Math.round((w / total) * n))));
  starts[count] = n;
  const group = new Uint32Array(n);
  for (let k = 0; k < count; k += 1) group.fill(k, starts[k], starts[k + 1]);
  const pick = (k) => starts[k] + Math.floor((starts[k + 1] - starts[k]) * next() ** 2.6);
  const edges = new Uint32Array(2 * m);
  for (let e = 0; e < m; e += 1) {
    const i = e < n ? e : Math.floor(next() * n);
    const k = group[i];
    const far =
      next() > 0.93 ? Math.floor(next() * count) : (k + (next() < 0.5 ? 1 : count - 1)) % count;
    let j = pick(next() < 0.9 ? k : far);
    if (j === i) j = (i + 1) % n;
    edges[2 * e] = i;
    edges[2 * e + 1] = j;
  }
  return { edges, group };
}

/** Puts a community graph where a force layout would, roughly: hubs in the middle of their clusters. */
function settle(n, edges, group, next) {
  const count = group.reduce((a, b) => Math.max(a, b), 0) + 1;
  const sizes = new Float64Array(count);
  for (const k of group) sizes[k] += 1;
  const cx = new Float64Array(count);
  const cy = new Float64Array(count);
  for (let k = 0; k < count; k += 1) {
    const angle = (k / count) * 2 * Math.PI;
    const r = 1 + 0.28 * Math.sin(k * 2.4);
    cx[k] = Math.cos(angle) * r * Math.sqrt(n);
    cy[k] = Math.sin(angle) * r * Math.sqrt(n) * 0.8;
  }
  const degree = degrees(n, edges);
  const xy = new Float64Array(2 * n);
  for (let i = 0; i < n; i += 1) {
    const k = group[i];
    const angle = next() * 2 * Math.PI;
    const spread = Math.sqrt(sizes[k]) * 0.95;
    const r = (spread * Math.sqrt(-Math.log(1 - 0.995 * next()))) / (1 + Math.sqrt(degree[i]) * 0.16);
    xy[2 * i] = cx[k] + Math.cos(angle) * r;
    xy[2 * i + 1] = cy[k] + Math.sin(angle) * r;
  }
  // Some rounds of averaging pull nodes between the clusters that they join.
  for (let round = 0; round < 3; round += 1) {
    const sum = new Float64Array(2 * n);
    for (let e = 0; e < edges.length; e += 2) {
      const [s, d] = [edges[e], edges[e + 1]];
      for (const side of [0, 1]) {
        sum[2 * s + side] += xy[2 * d + side];
        sum[2 * d + side] += xy[2 * s + side];
      }
    }
    for (let i = 0; i < n; i += 1) {
      if (degree[i] === 0) continue;
      const pull = 0.13;
      for (const side of [0, 1]) {
        xy[2 * i + side] += pull * (sum[2 * i + side] / degree[i] - xy[2 * i + side]);
      }
    }
  }
  return xy;
}

/** A plain force layout for the small ones. */
function force(n, edges, start, rounds) {
  const xy = Float64Array.from(start);
  const degree = degrees(n, edges);
  for (let round = 0; round < rounds; round += 1) {
    const f = new Float64Array(2 * n);
    for (let i = 0; i < n; i += 1) {
      for (let j = 0; j < i; j += 1) {
        const dx = xy[2 * i] - xy[2 * j];
        const dy = xy[2 * i + 1] - xy[2 * j + 1];
        const k = (2 * (degree[i] + 1) * (degree[j] + 1)) / (dx * dx + dy * dy + 0.01);
        f[2 * i] += dx * k;
        f[2 * i + 1] += dy * k;
        f[2 * j] -= dx * k;
        f[2 * j + 1] -= dy * k;
      }
    }
    for (let e = 0; e < edges.length; e += 2) {
      const [s, d] = [edges[e], edges[e + 1]];
      for (const side of [0, 1]) {
        const pull = xy[2 * d + side] - xy[2 * s + side];
        f[2 * s + side] += pull;
        f[2 * d + side] -= pull;
      }
    }
    const cool = 1 - round / rounds;
    for (let i = 0; i < n; i += 1) {
      const mass = degree[i] + 1;
      for (const side of [0, 1]) {
        f[2 * i + side] -= 0.15 * mass * xy[2 * i + side];
        const move = (0.08 * f[2 * i + side]) / mass;
        xy[2 * i + side] += Math.max(-3, Math.min(3, move)) * cool;
      }
    }
  }
  return xy;
}

function shape(name, a, b, next) {
  const pairs = [];
  if (name === 'star') for (let i = 1; i <= a; i += 1) pairs.push(0, i);
  else if (name === 'path') for (let i = 1; i < a; i += 1) pairs.push(i - 1, i);
  else if (name === 'scripts') for (let i = 1; i < a; i += 1) pairs.push(0, i);
  else if (name === 'two') pairs.push(0, 1);
  else if (name === 'complete')
    for (let i = 0; i < a; i += 1) for (let j = 0; j < i; j += 1) pairs.push(j, i);
  else if (name === 'parallel') for (let i = 0; i < a; i += 1) pairs.push(0, 1 + (i % 2));
  else if (name === 'multi') pairs.push(0, 1, 0, 1, 1, 0, 1, 2, 2, 2, 2, 0, 0, 2, 3, 3);
  else if (name === 'tree') for (let i = 1; i < a; i += 1) pairs.push(Math.floor(next() * i * 0.7), i);
  const n = { star: a + 1, two: 2, multi: 4, parallel: 3, empty: 0, isolated: a, one: 1 }[name] ?? a;
  return { n, edges: Uint32Array.from(pairs), group: new Uint32Array(n) };
}

function circle(n, next) {
  const xy = new Float64Array(2 * n);
  for (let i = 0; i < n; i += 1) {
    const r = Math.sqrt(i + 0.5) * 4;
    xy[2 * i] = Math.cos(i * 2.399963) * r + next() * 0.01;
    xy[2 * i + 1] = Math.sin(i * 2.399963) * r;
  }
  return xy;
}

const STOPS = [
  ['#400000', '0%'],
  ['#000040', '100%'],
];
const BACKED = { gradient: { kind: 'linear', position: '90', stops: STOPS } };

/** Names of the nodes of `scripts-…`, one script after another. */
const SCRIPTS = [
  'plain latin',
  'مرحبا بالعالم',
  'שלום עולם',
  '你好，世界',
  'हिन्दी शब्द',
  'Привет, мир',
  'cafe\u0301 nin\u0303o',
  '🐎 horse',
  'สวัสดีชาวโลก',
  '안녕하세요',
  'Ελληνικά',
  '👩‍🚀🇫🇷',
];

/** Makes a graph by name, for example `community-5000-15000`, `star-200`, `two`, `empty`. */
export function make(id) {
  const [name, ...numbers] = id.split('-');
  const [a, b] = numbers.map(Number);
  const next = random(7 + (a || 0));
  const big = name === 'community';
  const n0 = a || 1000;
  const placed = { lattice: () => lattice(a || 4), ropes: () => ropes(a || 200) }[name]?.() ?? null;
  const flat = big ? { n: n0, ...communities(n0, b || 3 * n0, next) } : shape(name, a || 20, b, next);
  const built = placed ?? flat;
  const { n, edges, group } = built;
  shuffle(edges, next);
  let goal = big ? settle(n, edges, group, next) : circle(n, next);
  if (placed) goal = placed.goal;
  else if (!big && n > 1 && n <= 600 && edges.length > 0) goal = force(n, edges, goal, 300);
  const degree = degrees(n, edges);
  const max = Math.max(
    1,
    degree.reduce((p, q) => Math.max(p, q), 0),
  );
  const density = Math.min(1.25, Math.max(0.45, Math.sqrt(9000 / Math.max(1, n))));
  const size = Uint8Array.from(degree, (d) =>
    Math.min(255, 4 * 1.15 * (2 + 20 * Math.sqrt(d / max)) * density),
  );
  const color = new Uint8Array(4 * n);
  for (let i = 0; i < n; i += 1) color.set([...PALETTE[group[i] % 12], 255], 4 * i);
  const counts = new Map();
  for (const k of group) counts.set(k, (counts.get(k) ?? 0) + 1);
  const hex = (k) => `#${PALETTE[k % 12].map((c) => c.toString(16).padStart(2, '0')).join('')}`;
  const entries = [...counts].map(([k, count]) => ({ label: String(k), color: hex(k), count }));
  const order = Array.from({ length: n }, (_, i) => i).sort((p, q) => degree[q] - degree[p] || p - q);
  const legend = big
    ? {
        node_color: {
          kind: 'categorical',
          title: 'community',
          entries: entries.slice(0, 12),
          more: Math.max(0, entries.length - 12),
        },
      }
    : null;
  // Of many grey edges one in a hundred is red.
  let edgeColor = null;
  if (id.endsWith('-red')) {
    edgeColor = new Uint8Array(2 * edges.length);
    for (let e = 0; 2 * e < edges.length; e += 1) {
      edgeColor.set(e % 100 === 7 ? [255, 48, 48, 255] : [115, 133, 170, 255], 4 * e);
    }
    const red = Math.floor((edges.length / 2 + 92) / 100);
    const entries = [
      { label: 'usual', color: '#7385aa', count: edges.length / 2 - red },
      { label: 'alarm', color: '#ff3030', count: red },
    ];
    legend.edge_color = { kind: 'categorical', title: 'level', entries };
  }
  // All edges of one colour of their own.
  if (id.endsWith('-green')) {
    edgeColor = new Uint8Array(2 * edges.length);
    for (let e = 0; 2 * e < edges.length; e += 1) edgeColor.set([0, 255, 80, 255], 4 * e);
  }
  const textOf = (index) => (name === 'scripts' ? SCRIPTS[index % SCRIPTS.length] : `entity ${index}`);
  const known = order.slice(0, id.endsWith('-named') ? n : 2000);
  const labels = known.map((index) => ({ index, text: textOf(index) }));
  return {
    id,
    n,
    m: edges.length / 2,
    edges,
    goal,
    z: placed?.z,
    start: circle(n, next),
    degree,
    size,
    color,
    edgeColor,
    group,
    legend,
    labels,
    // A background of more than one colour, painted below the canvas.
    metadata: id.endsWith('-backed') ? { bg: BACKED } : {},
  };
}
