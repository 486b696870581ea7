// Histograms of the mock's columns: what all have, and what passes everything but the column's own brush.

import { Refusal, columnOf } from './columns.mjs';

const VALUES_MAX = 50;

function ownBrush(document, part, axis, name) {
  const own = document
    .below(part, 'filters')
    .find(([, { rule }]) => rule.brush?.axis === axis && rule.brush.column === name);
  return own?.[0] ?? null;
}

function numbers(values, passing, count, log) {
  const known = values.filter((value) => value !== null);
  const low = known.reduce((a, b) => Math.min(a, b), Infinity);
  const high = known.reduce((a, b) => Math.max(a, b), -Infinity);
  const isLog = log && low > 0;
  const scale = isLog ? Math.log : (value) => value;
  const back = isLog ? Math.exp : (value) => value;
  const step = (scale(high) - scale(low)) / count || 1;
  const edges = Array.from({ length: count + 1 }, (_, k) => back(scale(low) + step * k));
  edges[count] = high;
  const result = { log: isLog, edges, total: Array(count).fill(0), passing: Array(count).fill(0) };
  const nulls = { total: 0, passing: 0 };
  values.forEach((value, i) => {
    const pass = passing[i];
    if (value === null) {
      nulls.total += 1;
      nulls.passing += pass;
      return;
    }
    const k = Math.min(count - 1, Math.floor((scale(value) - scale(low)) / step));
    result.total[k] += 1;
    result.passing[k] += pass;
  });
  return { ...result, nulls };
}

function categories(column, passing, search) {
  const found = new Map();
  const nulls = { total: 0, passing: 0 };
  column.values.forEach((value, i) => {
    const entry = value === null ? nulls : (found.get(value) ?? { value, total: 0, passing: 0 });
    entry.total += 1;
    entry.passing += passing[i];
    if (value !== null) found.set(value, entry);
  });
  const before = (a, b) => b.total - a.total || (String(a.value) < String(b.value) ? -1 : 1);
  const all = [...found.values()].sort(before);
  const wanted = all.filter(({ value }) => String(value).toLowerCase().includes(search.toLowerCase()));
  const values = wanted.slice(0, VALUES_MAX);
  const rest = wanted.slice(VALUES_MAX);
  const others = { total: 0, passing: 0 };
  for (const entry of rest) {
    others.total += entry.total;
    others.passing += entry.passing;
  }
  return { values, distinct: all.length, others, nulls };
}

/** The histograms that a request names. */
export function bins(document, part, query) {
  const keys = (name) => (query.get(name) ?? '').split(',').filter((key) => key !== '');
  const log = new Set(keys('log'));
  return keys('columns').map((key) => {
    const match = /^(node|edge):(.*)$/.exec(key);
    if (!match) throw new Refusal(`"${key}" names no column: write node:name or edge:name.`);
    const [axis, name] = [match[1], decodeURIComponent(match[2])];
    const column = columnOf(document.columns, axis, name);
    const passing = document.visible(part, ownBrush(document, part, axis, name)).shown[axis];
    const plain = { axis, name, kind: column.kind };
    if (column.kind === 'number' || column.kind === 'date') {
      const count = Number(query.get('bins') ?? 32);
      return { ...plain, ...numbers(Array.from(column.values), passing, count, log.has(key)) };
    }
    return { ...plain, ...categories(column, passing, query.get('search') ?? '') };
  });
}
