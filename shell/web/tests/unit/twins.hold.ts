import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

/** Holds formulae of the page to the samples that the server's pictures keep to (`engine/raster/samples`). */

interface Formula {
  raster: string;
  page: string;
  within: number;
  samples: { in: unknown; out: unknown }[];
}

/** By how much directions may differ that are found from two places near to each other. */
const TURN = 1e-3;
const ANEW = 'make them anew with `cargo test -p graphlume-raster -- --ignored write_samples`';

/** A number, which JSON may have as a word. */
export function num(value: unknown): number {
  return value === null ? NaN : Number(value);
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || /^(NaN|-?Infinity)$/.test(String(value));
}

/** The greatest number of a list of numbers, and of lists of them. */
function greatest(of: unknown): number {
  if (Array.isArray(of)) return Math.max(0, ...of.map(greatest));
  return typeof of === 'number' && Number.isFinite(of) ? Math.abs(of) : 0;
}

/** The first place where two values differ by more than rounding, and what is there; null where none is. */
type Difference = { at: string; sample: unknown; found: unknown } | null;

/** Numbers are compared by their size, those of a list by that of the greatest. */
export function difference(a: unknown, b: unknown, within: number, at = '', scale?: number): Difference {
  const found = { at, sample: a, found: b };
  if (Array.isArray(a) && Array.isArray(b)) {
    const by = scale ?? Math.max(greatest(a), greatest(b)) + 1e-9 / within;
    for (let k = 0; k < Math.max(a.length, b.length); k += 1) {
      const one = difference(a[k], b[k], within, `${at}[${k}]`, by);
      if (one) return one;
    }
    return null;
  }
  if (isNumber(a) && isNumber(b)) {
    const [x, y] = [num(a), num(b)];
    const isFinite = Number.isFinite(x) && Number.isFinite(y);
    const near = within * (scale ?? Math.max(Math.abs(x), Math.abs(y)));
    return (isFinite ? Math.abs(x - y) <= near : Object.is(x, y)) ? null : found;
  }
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b) return a === b ? null : found;
  const [x, y] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  for (const key of new Set([...x.keys(), ...y.keys()])) {
    const by = key === 'turn' ? Math.max(within, TURN) : within;
    const one = difference(x.get(key), y.get(key), by, `${at}.${key}`);
    if (one) return one;
  }
  return null;
}

/** A value as JSON, cut where it is long. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 1_500 ? `${text.slice(0, 1_500)}…` : text;
}

/** A file of samples, each formula of which has to be held. */
export function holdGroup(group: string, holders: Record<string, (input: never) => unknown>): void {
  const file = `../../engine/raster/samples/${group}.json`;
  const formulae = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Formula>;
  test(`pictures and the page have the same formulae of ${group}`, () => {
    assert.deepEqual(Object.keys(formulae).sort(), Object.keys(holders).sort(), `formulae of ${file}`);
    for (const [name, { raster, page, within, samples }] of Object.entries(formulae)) {
      assert.ok(samples.length > 0, `${file} has no samples of "${name}": ${ANEW}`);
      samples.forEach((sample, k) => {
        const found = holders[name](structuredClone(sample.in) as never);
        const one = difference(sample.out, found, within);
        if (!one) return;
        assert.fail(
          `${raster} and ${page} are two forms of one formula, "${name}", which differ. Of sample ${k},\n` +
            `${shown(sample.in)}\n${raster} makes ${shown(one.sample)} at "out${one.at}"\n` +
            `and ${page} ${shown(one.found)}. If the page's is meant, change ${raster} too and ${ANEW}.`,
        );
      });
    }
  });
}
