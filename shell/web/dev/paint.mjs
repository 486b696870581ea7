// Colours of the mock's nodes: those of an encoding, and over them those of collections.

import { columnOf, evaluate } from './columns.mjs';

const PALETTE = '6db9fc ca5d2f fdd141 35957c 9467ca 2df1c4 e490bb a6aa07 d7cefd a8c991'.split(' ');
/** A circle, a star, a square. */
const SHAPES = ['\uf111', '\uf005', '\uf0c8'];
const LOW = [38, 70, 140];
const HIGH = [253, 209, 65];

const rgb = (hex) => [0, 2, 4].map((at) => parseInt(hex.replace('#', '').slice(at, at + 2), 16));
const hex = (c) => `#${c.map((x) => Math.round(x).toString(16).padStart(2, '0')).join('')}`;

function encoded(color, { values }, { attribute, variation }) {
  if (variation === 'continuous') {
    const known = Array.from(values).filter((value) => value !== null);
    const min = known.reduce((a, b) => Math.min(a, b), Infinity);
    const max = known.reduce((a, b) => Math.max(a, b), -Infinity);
    Array.from(values).forEach((value, i) => {
      const t = (value - min) / (max - min || 1);
      color.set(LOW.map((low, k) => low + (HIGH[k] - low) * t), 4 * i);
    });
    return { kind: 'continuous', title: attribute, stops: [hex(LOW), hex(HIGH)], min, max };
  }
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const listed = [...counts].sort((a, b) => b[1] - a[1]);
  const colorOf = new Map(listed.map(([value], k) => [value, `#${PALETTE[k % PALETTE.length]}`]));
  Array.from(values).forEach((value, i) => color.set(rgb(colorOf.get(value)), 4 * i));
  const entries = listed.map(([value, count]) => ({
    label: String(value),
    color: colorOf.get(value),
    count,
  }));
  const more = Math.max(0, entries.length - 12);
  return { kind: 'categorical', title: attribute, entries: entries.slice(0, 12), more };
}

/** A bit for each node whose colour was chosen and is one of the built-in hues; empty where there is none. */
function bitsOf(chosen) {
  if (!chosen.includes(1)) return new Uint8Array(0);
  const bits = new Uint8Array((chosen.length + 7) >> 3);
  chosen.forEach((mark, i) => (bits[i >> 3] |= mark << (i & 7)));
  return bits;
}

/** Colours, legend and list of collections as a page that sees this document gets them. */
export function paint(graph, columns, seen) {
  const color = graph.color.slice();
  let legend = graph.legend;
  const encoding = seen.get('encodings/node.color');
  if (encoding) {
    const column = columnOf(columns, 'node', encoding.attribute);
    legend = { node_color: encoded(color, column, encoding) };
  }
  const fading = seen.get('encodings/node.opacity');
  if (fading) {
    const values = Array.from(columnOf(columns, 'node', fading.attribute).values, Number);
    const max = values.reduce((a, b) => Math.max(a, b), 1);
    values.forEach((value, i) => {
      color[4 * i + 3] = 40 + (215 * Math.max(0, value)) / max;
    });
    legend = { ...legend, node_opacity: { title: fading.attribute, kind: 'continuous', min: 0, max } };
  }
  let icons = null;
  const naming = seen.get('encodings/node.icon');
  if (naming) {
    const { values } = columnOf(columns, 'node', naming.attribute);
    const kinds = [...new Set(values)];
    const list = kinds.map((_, k) => ({ glyph: SHAPES[k % SHAPES.length] }));
    const look = { title: naming.attribute, list };
    icons = { axis: 'node', place: 0, look, shown: Uint16Array.from(values, (v) => 1 + kinds.indexOf(v)) };
    legend = { ...legend, node_icon: { title: naming.attribute, kind: 'none' } };
  }
  let size = graph.size;
  const sizing = seen.get('encodings/node.size');
  if (sizing) {
    const values = Array.from(columnOf(columns, 'node', sizing.attribute).values, Number);
    const max = values.reduce((a, b) => Math.max(a, b), 1);
    size = Uint8Array.from(values, (value) => 12 + 80 * Math.sqrt(Math.max(0, value) / max));
  }
  const below = [...seen].filter(([path]) => path.startsWith('collections/'));
  const sorted = below.sort((a, b) => a[1].order - b[1].order);
  const entries = [];
  const chosen = new Uint8Array(graph.n);
  for (const [path, entry] of sorted.toReversed()) {
    const { axis, marks } = evaluate(graph, columns, entry.rule);
    const count = marks.reduce((sum, mark) => sum + mark, 0);
    if (entry.on && axis === 'node') {
      const own = entry.node_color ?? '#ffffff';
      const isBuiltIn = PALETTE.includes(own.replace('#', '').toLowerCase());
      marks.forEach((mark, i) => {
        if (!mark) return;
        color.set(rgb(own), 4 * i);
        chosen[i] = Number(isBuiltIn);
      });
    }
    const { name, description = '' } = entry;
    const swatches = [entry.node_color ?? '#ffffff'];
    if (entry.on) entries.unshift({ id: path.slice(12), name, description, swatches, match_count: count });
  }
  const shown = { collections: entries, background: [] };
  return { color, chosen: bitsOf(chosen), size, icons, legend, collections: shown };
}
