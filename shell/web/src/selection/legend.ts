import { columnKey, complain, type DocumentApi } from '../document/api.ts';
import { fromBits64, toBits64 } from '../document/bits.ts';
import { session } from '../document/current.ts';
import { addFilter } from '../document/filters.ts';
import type { Axis, Brush, Column } from '../net/messages.ts';
import type { Picture } from '../picture/picture.ts';
import { cssForLight, parseColor } from '../scene/color.ts';
import type { ColorKey, Swatch } from '../state/legend.ts';
import * as store from '../state/store.ts';
import { named } from '../state/theme.ts';
import { combine, type Tools } from './acts.ts';

/** Marks of the elements that have a colour. */
function marksOf(rgba: Uint8Array, [r, g, b]: number[]): Uint8Array<ArrayBuffer> {
  const marks = new Uint8Array(rgba.length >> 2);
  for (let i = 0; i < marks.length; i += 1) {
    if (rgba[4 * i] === r && rgba[4 * i + 1] === g && rgba[4 * i + 2] === b) marks[i] = 1;
  }
  return marks;
}

/** The nodes that have a colour, or the ends of the edges that have it. */
function byColor(picture: Picture, key: ColorKey, swatch: Swatch): Uint8Array {
  const { data } = picture;
  const light = store.theme.value === 'light' && key.of === 'nodes' && !swatch.chosen;
  const rgb = parseColor(light ? cssForLight(swatch.color) : swatch.color, named);
  const color = rgb ? [rgb.r, rgb.g, rgb.b].map(Math.round) : [];
  if (key.of === 'nodes') return marksOf(picture.ownColor ?? new Uint8Array(0), color);
  const edges = marksOf(data.edgeColor ?? new Uint8Array(0), color);
  const nodes = new Uint8Array(data.numNodes);
  edges.forEach((mark, e) => {
    if (mark) nodes[data.ends[2 * e]] = nodes[data.ends[2 * e + 1]] = 1;
  });
  return nodes;
}

/** Labels are texts; what value of the column one stands for is among those that the server counts. */
async function brushOf(api: DocumentApi, column: Column, swatch: Swatch): Promise<Brush | null> {
  const { axis, name } = column;
  const { label, community } = swatch;
  const { range } = swatch;
  if (range) {
    const most = Number.MAX_VALUE;
    return { axis, column: name, range: [range[0] ?? -most, range[1] ?? most] };
  }
  if (community !== null) return { axis, column: name, values: [community] };
  if (column.kind === 'number') return { axis, column: name, range: [Number(label), Number(label)] };
  const { histograms } = await api.bins([columnKey(column)], { search: label });
  const listed = histograms[0] && 'values' in histograms[0] ? histograms[0].values : [];
  const found = listed.find(({ value }) => String(value) === label);
  return found ? { axis, column: name, values: [found.value] } : null;
}

/** The brush that an entry stands for; null where no column has the legend's name, or none such a value. */
async function byValue(key: ColorKey, swatch: Swatch): Promise<{ brush: Brush; nodes: string } | null> {
  const now = session();
  if (!now) return null;
  const axis: Axis = key.of === 'nodes' ? 'node' : 'edge';
  const column = (await now.api.columns()).find(({ name, axis: its }) => name === key.title && its === axis);
  if (!column) return null;
  const brush = await brushOf(now.api, column, swatch);
  if (!brush) return null;
  const { nodes, node_count } = await now.api.find({ rule: { brush } });
  return node_count > 0 ? { brush, nodes } : null;
}

/** Selects what is in a collection, or in none, or hides it. */
async function pickCollection(tools: Tools, swatch: Swatch, hides: boolean): Promise<void> {
  const known = session()?.document.collections() ?? [];
  const { collection } = swatch;
  if (hides) {
    const rule = known.find(({ id }) => id === collection?.id)?.rule;
    const refusal = rule ? await addFilter('exclusion', rule, swatch.label, `Hide ${swatch.label}`) : null;
    if (refusal !== null) store.notice.value = refusal;
    return;
  }
  tools.do('clear');
  for (const { id, rule } of known) {
    if (!collection || id === collection.id) await combine(tools, 'union', rule);
  }
  if (!collection) tools.do('invert');
}

/** Selects the elements of an entry of the legend, or hides them: by their value, or else by their colour. */
export async function pickEntry(
  tools: Tools,
  picture: Picture,
  key: ColorKey,
  swatch: Swatch,
  hides: boolean,
): Promise<void> {
  if (key.of === 'elements') return pickCollection(tools, swatch, hides);
  try {
    const value = await byValue(key, swatch).catch(() => null);
    if (!value && swatch.color === '') {
      store.notice.value = `No ${key.of} can be told by "${swatch.label}" in the legend: it is no value of ${key.title}.`;
      return;
    }
    if (!hides) {
      const { numNodes } = picture.data;
      const marks = value ? await fromBits64(value.nodes, numNodes) : byColor(picture, key, swatch);
      tools.join(marks, 'replace');
      return;
    }
    const rule = value ? { brush: value.brush } : { nodes: await toBits64(byColor(picture, key, swatch)) };
    const name = value ? '' : `${key.title} ${swatch.label}`;
    const refusal = await addFilter('exclusion', rule, name, `Hide ${key.title} ${swatch.label}`);
    if (refusal !== null) store.notice.value = refusal;
  } catch (error) {
    complain(error);
  }
}
