// Columns of the mock's graphs, and the rules of filters evaluated over them, one element after another.

import { inflateRawSync, deflateRawSync } from 'node:zlib';

/** An answer that is none, with its status. */
export class Refusal extends Error {
  constructor(message, slug = 'invalid', status = 400) {
    super(message);
    Object.assign(this, { slug, status });
  }
}

export function bits64(marks) {
  return deflateRawSync(Buffer.from(bitsOf(marks))).toString('base64');
}

export function bitsOf(marks) {
  const bits = new Uint8Array((marks.length + 7) >> 3);
  marks.forEach((mark, i) => {
    if (mark) bits[i >> 3] |= 1 << (i & 7);
  });
  return bits;
}

function marksOf(text, n) {
  const bits = inflateRawSync(Buffer.from(text, 'base64'));
  return Uint8Array.from({ length: n }, (_, i) => (bits[i >> 3] >> (i & 7)) & 1);
}

const DAY = 86_400_000;
const FIRST = Date.UTC(2026, 6, 3);

/** k-core numbers by peeling. */
function cores({ n, edges }) {
  const near = Array.from({ length: n }, () => []);
  for (let e = 0; e < edges.length; e += 2) {
    near[edges[e]].push(edges[e + 1]);
    near[edges[e + 1]].push(edges[e]);
  }
  const left = near.map((list) => list.length);
  const core = new Uint32Array(n);
  const buckets = [];
  left.forEach((d, v) => (buckets[d] ??= []).push(v));
  const done = new Uint8Array(n);
  let k = 0;
  for (let d = 0; d < buckets.length; d += 1) {
    while (buckets[d]?.length) {
      const v = buckets[d].pop();
      if (done[v] || left[v] !== d) continue;
      done[v] = 1;
      k = Math.max(k, d);
      core[v] = k;
      for (const w of near[v]) {
        if (done[w]) continue;
        left[w] -= 1;
        (buckets[left[w]] ??= []).push(w);
        if (left[w] < d) d = left[w];
      }
    }
  }
  return core;
}

function components({ n, edges }) {
  const above = Uint32Array.from({ length: n }, (_, v) => v);
  const top = (v) => {
    while (above[v] !== v) v = above[v] = above[above[v]];
    return v;
  };
  for (let e = 0; e < edges.length; e += 2) {
    const [a, b] = [top(edges[e]), top(edges[e + 1])];
    above[Math.max(a, b)] = Math.min(a, b);
  }
  return Uint32Array.from(above, (_, v) => top(v));
}

const scoreOf = (i) => (i % 10 === 0 ? null : Math.exp(3 * Math.sin(i * 1.7) + (i % 7) / 3));

/** All columns: their kinds and one value an element. */
export function columnsOf(graph) {
  const { n, m, edges, degree, group } = graph;
  const ends = (side) => {
    const count = new Uint32Array(n);
    for (let e = side; e < 2 * m; e += 2) count[edges[e]] += 1;
    return count;
  };
  const of = (length, value) => Array.from({ length }, (_, i) => value(i));
  const node = (name, kind, values, derived = false) => ({ axis: 'node', name, kind, derived, values });
  const edge = (name, kind, values) => ({ axis: 'edge', name, kind, derived: false, values });
  return [
    node('degree', 'number', degree, true),
    node('degree_in', 'number', ends(1), true),
    node('degree_out', 'number', ends(0), true),
    node('community', 'category', of(n, (i) => String(group[i])), true),
    node('component', 'category', of(n, () => 0), true),
    node('core', 'number', of(n, () => 0), true),
    node('type', 'category', of(n, (i) => (i % 3 === 0 ? 'account' : 'person'))),
    node('amount', 'number', of(n, (i) => 18204.5 + i)),
    node('score', 'number', of(n, scoreOf)),
    node('first seen', 'date', of(n, (i) => FIRST + ((i * 37) % 90) * DAY)),
    node('vip', 'boolean', of(n, (i) => i % 50 === 0)),
    node('city', 'category', of(n, (i) => `city ${(i * i) % 71}`)),
    edge('weight', 'number', of(m, (e) => ((e * 13) % 100) / 10)),
    edge('kind', 'category', of(m, (e) => ['call', 'mail', 'visit'][e % 3])),
  ].map((column) => {
    if (column.name === 'core') column.values = cores(graph);
    if (column.name === 'component') column.values = Array.from(components(graph), String);
    return column;
  });
}

function near(name, names) {
  const distance = (a, b) => {
    const row = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 1; i <= a.length; i += 1) {
      let before = row[0];
      row[0] = i;
      for (let j = 1; j <= b.length; j += 1) {
        const up = row[j];
        row[j] = Math.min(up + 1, row[j - 1] + 1, before + (a[i - 1] === b[j - 1] ? 0 : 1));
        before = up;
      }
    }
    return row[b.length];
  };
  return [...names].sort((a, b) => distance(name, a) - distance(name, b))[0];
}

export function columnOf(columns, axis, name) {
  const found = columns.find((column) => column.axis === axis && column.name === name);
  if (found) return found;
  const names = columns.filter((column) => column.axis === axis).map((column) => column.name);
  const message = `There is no column "${name}" of the ${axis}s. Did you mean "${near(name, names)}"?`;
  throw new Refusal(message, 'unknown-column');
}

const SIGN = String.raw`([<>!=]=|<>|[<>=(),])`;
const QUOTED = '\'([^\']*)\'|"([^"]*)"|`([^`]*)`';
const TOKEN = new RegExp(String.raw`\s*(?:${SIGN}|${QUOTED}|(-?\d+(?:\.\d+)?)|([A-Za-z_][\w.]*))`, 'y');

function tokens(text) {
  const list = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    const rest = text.slice(at).trim();
    if (!match) throw new Refusal(`Position ${at + 1} cannot be read: "${rest}".`);
    const [, sign, single, double, back, number, word] = match;
    if (sign !== undefined) list.push({ sign });
    else if (number !== undefined) list.push({ value: Number(number) });
    else if (word !== undefined) list.push({ word });
    else list.push({ name: double ?? back, value: single ?? double });
  }
  return list;
}

function compare(a, sign, b) {
  if (a === null || b === null) return false;
  if (sign === '=' || sign === '==') return a === b;
  if (sign === '!=' || sign === '<>') return a !== b;
  if (sign === '<') return a < b;
  if (sign === '<=') return a <= b;
  return sign === '>' ? a > b : a >= b;
}

/** A test of element `i` from an expression, by descent. */
function parse(text, columns) {
  const prefix = /^\s*(point|node|edge):/.exec(text);
  const axis = prefix?.[1] === 'edge' ? 'edge' : 'node';
  const list = tokens(prefix ? text.slice(prefix[0].length) : text);
  let at = 0;
  const isWord = (word) => list[at]?.word?.toLowerCase() === word;
  const take = (word) => isWord(word) && (at += 1) > 0;
  const value = () => {
    const token = list[at];
    at += 1;
    if (token?.word === 'true' || token?.word === 'false') return token.word === 'true';
    if (token === undefined || token.value === undefined) throw new Refusal('A value is missing.');
    return token.value;
  };
  const all = () => {
    const values = [value()];
    while (list[at]?.sign === ',' && (at += 1)) values.push(value());
    return values;
  };
  const test = () => {
    if (take('not')) {
      const inner = test();
      return (i) => !inner(i);
    }
    if (list[at]?.sign === '(') {
      at += 1;
      const inner = any();
      if (list[at]?.sign !== ')') throw new Refusal('A ")" is missing.');
      at += 1;
      return inner;
    }
    const token = list[at];
    at += 1;
    const name = token?.word ?? token?.name;
    if (name === undefined) throw new Refusal('The name of a column is missing.');
    const { values } = columnOf(columns, axis, name);
    if (take('is')) {
      const not = take('not');
      if (!take('null')) throw new Refusal('"null" is missing after "is".');
      return (i) => (values[i] === null) !== Boolean(not);
    }
    if (take('in')) {
      at += 1;
      const wanted = new Set(all());
      at += 1;
      return (i) => wanted.has(values[i]);
    }
    if (take('between')) {
      const low = value();
      if (!take('and')) throw new Refusal('"and" is missing after "between".');
      const high = value();
      return (i) => values[i] !== null && values[i] >= low && values[i] <= high;
    }
    if (take('like')) {
      const shape = new RegExp(`^${value().replace(/%/g, '.*').replace(/_/g, '.')}$`);
      return (i) => values[i] !== null && shape.test(values[i]);
    }
    const sign = list[at]?.sign;
    if (!sign || '(),'.includes(sign)) throw new Refusal(`A comparison is missing after "${name}".`);
    at += 1;
    const wanted = value();
    return (i) => compare(values[i], sign, wanted);
  };
  const both = () => {
    const tests = [test()];
    while (take('and')) tests.push(test());
    return (i) => tests.every((one) => one(i));
  };
  const any = () => {
    const tests = [both()];
    while (take('or')) tests.push(both());
    return (i) => tests.some((one) => one(i));
  };
  const whole = any();
  if (at < list.length) throw new Refusal('The expression goes on where its end was expected.');
  return { axis, test: whole };
}

const DEGREE_QUERY = /^MATCH \(n\) WHERE n\.(\w+) *(>=?|<=?|=) *(\d+) RETURN n$/i;

/** Which elements a rule keeps: marks of one axis. `graph` has its columns. */
export function evaluate(graph, columns, rule) {
  const { n, m, edges } = graph;
  const marks = (axis, test) => {
    const length = axis === 'node' ? n : m;
    return { axis, marks: Uint8Array.from({ length }, (_, i) => test(i)) };
  };
  if (rule.expr !== undefined) {
    const { axis, test } = parse(rule.expr, columns);
    return marks(axis, test);
  }
  if (rule.brush) {
    const { axis, column, range, values: wanted } = rule.brush;
    const { values } = columnOf(columns, axis, column);
    if (!range) return marks(axis, (i) => wanted.includes(values[i]));
    return marks(axis, (i) => values[i] !== null && values[i] >= range[0] && values[i] <= range[1]);
  }
  if (rule.nodes !== undefined) return { axis: 'node', marks: marksOf(rule.nodes, n) };
  if (rule.ego) {
    let ring = marksOf(rule.ego.nodes, n);
    for (let hop = 0; hop < rule.ego.hops; hop += 1) {
      const next = ring.slice();
      for (let e = 0; e < 2 * m; e += 2) {
        if (ring[edges[e]] || ring[edges[e + 1]]) next[edges[e]] = next[edges[e + 1]] = 1;
      }
      ring = next;
    }
    return { axis: 'node', marks: ring };
  }
  const [step] = rule.gfql ?? [];
  if (step?.filter_dict) {
    const wanted = Object.entries(step.filter_dict);
    const found = wanted.map(([name, value]) => [columnOf(columns, 'node', name).values, value]);
    return marks('node', (i) => found.every(([values, value]) => values[i] === value));
  }
  const query = DEGREE_QUERY.exec(rule.query ?? '');
  if (query) {
    const { values } = columnOf(columns, 'node', query[1]);
    return marks('node', (i) => compare(values[i], query[2], Number(query[3])));
  }
  throw new Refusal('The mock server knows no such rule.');
}
