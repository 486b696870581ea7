import { complain, why } from '../document/api.ts';
import { fromBits64 } from '../document/bits.ts';
import { collapse } from '../document/collapse.ts';
import { session } from '../document/current.ts';
import { addCollection, addFilter } from '../document/filters.ts';
import * as state from '../document/state.ts';
import { plural } from '../document/words.ts';
import type { Brush, Column, Found, Rule, Scalar } from '../net/messages.ts';
import type { Change } from '../net/page-messages.ts';
import { fileName, saveFile } from '../state/export-picture.ts';
import type { SelectionPart } from '../state/lazy.ts';
import { clearSelection } from '../state/selecting.ts';
import * as store from '../state/store.ts';
import type { Selection } from './selection.ts';

/** Acts on the selection in the session's document, and selections by way of the server. */

/** Nodes that are pinned or released at once. */
const PINS_MAX = 1000;
/** Selected nodes whose values are looked up. */
const VALUES_OF_MAX = 20;

export type Algebra = 'union' | 'intersection' | 'difference';

/** The tools that select, as far as what is done with the selection needs them. */
export interface Tools extends SelectionPart {
  readonly selection: Selection;
  /** Joins marked nodes with what is selected; what is found afresh takes its place. */
  join(marks: Uint8Array, how: Algebra | 'replace'): void;
}

/** Says why something was not done, where it was not. */
async function told(refusal: Promise<string | null>): Promise<boolean> {
  const reason = await refusal;
  if (reason !== null) store.notice.value = reason;
  return reason === null;
}

/** Keeps only the selected nodes, or hides them. */
export async function filterBySelection(tools: Tools, kind: 'filter' | 'exclusion'): Promise<void> {
  const { count, bits64 } = tools.chosen();
  const nodes = plural(count, 'node');
  const label = `${kind === 'filter' ? 'Keep' : 'Hide'} ${nodes}`;
  await told(addFilter(kind, { nodes: await bits64() }, nodes, label));
}

/** Shows one disc in place of the selected nodes. */
export async function collapseSelection(tools: Tools): Promise<void> {
  const { marks, count, bits64 } = tools.chosen();
  const viewer = session()?.viewer;
  if (!viewer) return;
  const { nodeSize } = viewer.picture.data;
  // The largest of them gives the name, as it does for communities.
  let top = -1;
  marks.forEach((mark, i) => {
    if (mark && (top < 0 || (nodeSize?.[i] ?? 0) > (nodeSize?.[top] ?? 0))) top = i;
  });
  if (await collapse(viewer, top, { nodes: await bits64() }, count)) clearSelection();
}

export async function collect(tools: Tools): Promise<void> {
  const { count, bits64 } = tools.chosen();
  if (await told(addCollection({ nodes: await bits64() }, plural(count, 'node')))) {
    state.toggle('collections', true);
  }
}

/** Holds the selected nodes where they are, or lets the layout move them. */
export async function pin(tools: Tools, on: boolean): Promise<void> {
  const now = session();
  if (!now) return;
  const { picture } = now.viewer;
  const chosen = tools.selection.nodes();
  const nodes = on ? chosen : chosen.filter((v) => now.document.get(`pins/${v}`) !== undefined);
  if (nodes.length > PINS_MAX) {
    store.notice.value = `At most ${plural(PINS_MAX, 'node')} can be pinned at once; select fewer.`;
    return;
  }
  const changes: Change[] = nodes.map((v) => ({ path: `pins/${v}`, value: on ? picture.at(v) : null }));
  const label = `${on ? 'Pin' : 'Release'} ${plural(nodes.length, 'node')}`;
  if (changes.length > 0) await now.change(label, changes);
}

export async function exportSelection(
  tools: Tools,
  table: 'nodes' | 'edges',
  format: 'csv' | 'json',
): Promise<void> {
  const now = session();
  if (!now) return;
  try {
    const rows = await now.api.exportRows(tools.chosen().marks, table, format);
    saveFile(rows, fileName(`-${table}.${format}`));
  } catch (error) {
    complain(error);
  }
}

/** Makes a dataset of the selected nodes and opens it in a tab of its own. */
export async function newDataset(tools: Tools): Promise<void> {
  const now = session();
  if (!now) return;
  const { marks, count } = tools.chosen();
  try {
    const name = `${store.graphName.value || 'graph'}: ${plural(count, 'node')}`;
    const { url } = await now.api.newDataset(marks, name);
    const address = new URL(url, location.href);
    if (!/^https?:$/.test(address.protocol)) throw new Error(`The server gave no address: ${url}`);
    // A window that the browser keeps from opening is told of in words.
    if (!window.open(address)) store.notice.value = `The new dataset is at ${address.href}`;
  } catch (error) {
    complain(error);
  }
}

async function select(tools: Tools, found: Found, how: Algebra | 'replace'): Promise<void> {
  const marks = await fromBits64(found.nodes, tools.selection.size);
  tools.join(marks, how);
}

/** Selects what an expression, a Cypher or a GFQL text finds; answers what is wrong with it. */
export async function selectText(tools: Tools, text: string): Promise<string | null> {
  const now = session();
  if (!now) return 'The server knows no expressions.';
  try {
    await select(tools, await now.api.find({ text }), 'replace');
    return null;
  } catch (error) {
    return why(error);
  }
}

/** Joins the selection with what a collection or a filter holds. */
export async function combine(tools: Tools, how: Algebra | 'replace', rule: Rule): Promise<void> {
  const now = session();
  if (!now) return;
  try {
    await select(tools, await now.api.find({ rule }), how);
  } catch (error) {
    complain(error);
  }
}

/** A brush that keeps one value of a column. */
export function brushOf(column: Column, value: Scalar): Brush {
  const of = { axis: column.axis, column: column.name };
  const number = column.kind === 'date' ? Date.parse(String(value)) : Number(value);
  const ranged = column.kind === 'number' || column.kind === 'date';
  if (ranged && value !== null && Number.isFinite(number)) return { ...of, range: [number, number] };
  return { ...of, values: [value] };
}

/** Columns whose values the cards of nodes tell. */
export function columnsOnCards(): Column[] {
  const onCard = ({ axis, derived, name }: Column): boolean =>
    axis === 'node' && (!derived || ['degree', 'degree_in', 'degree_out'].includes(name));
  return (state.columns.value ?? []).filter(onCard);
}

/** Adds the nodes that have, in a column, a value of a selected one. */
export async function sameValue(tools: Tools, column: Column): Promise<void> {
  const now = session();
  if (!now) return;
  const nodes = tools.selection.nodes(VALUES_OF_MAX);
  try {
    const { signal } = new AbortController();
    const cards = await Promise.all(nodes.map((v) => now.viewer.api.card(v, signal)));
    const values = cards.map((card) => {
      const own = card.properties?.find(({ name }) => name === column.name);
      const made = card[column.name as 'degree'];
      return (own ? own.value : (made ?? null)) as Scalar;
    });
    for (const value of new Set(values)) {
      await select(tools, await now.api.find({ rule: { brush: brushOf(column, value) } }), 'union');
    }
  } catch (error) {
    complain(error);
  }
}
