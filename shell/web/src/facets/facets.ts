import { effect, signal, untracked } from '@preact/signals';
import { columnKey, why } from '../document/api.ts';
import { session } from '../document/current.ts';
import * as state from '../document/state.ts';
import { ruleWords } from '../document/words.ts';
import type { Brush, Column, Encoding, Filter, Histogram, Scalar } from '../net/messages.ts';

/** Histograms that are shown, their values, and the brushes on them. */

/** Columns that are shown unless somebody has chosen. */
const FIRST_MAX = 6;

/** Keys of the shown columns; null until the columns are known. */
export const shown = signal<readonly string[] | null>(null);
/** Keys of those that count by powers. */
export const logs = signal<ReadonlySet<string>>(new Set());
/** Text that the categories of a column have to hold. */
export const searches = signal<ReadonlyMap<string, string>>(new Map());
export const histograms = signal<ReadonlyMap<string, Histogram>>(new Map());
/** Why there are no histograms; empty when there are. */
export const failure = signal('');

let busy = false;
let stale = false;

/** The columns to begin with: the degree, and those of the tables in their order. */
function first(columns: readonly Column[]): string[] {
  const isDegree = ({ derived, name }: Column): boolean => derived && name === 'degree';
  const own = columns.filter((column) => !column.derived);
  const derived = columns.filter((column) => column.derived && !isDegree(column));
  return [...columns.filter(isDegree), ...own, ...derived].slice(0, FIRST_MAX).map(columnKey);
}

export async function begin(): Promise<void> {
  try {
    const columns = await session()?.api.columns();
    if (columns) shown.value ??= first(columns);
  } catch (error) {
    failure.value = why(error);
  }
}

/** Asks for the shown histograms, one request at a time; what changes meanwhile is asked for after it. */
async function load(): Promise<void> {
  const now = session();
  const keys = shown.peek() ?? [];
  if (!now || keys.length === 0) return;
  if (busy) {
    stale = true;
    return;
  }
  busy = true;
  try {
    const texts = searches.peek();
    const log = keys.filter((key) => logs.peek().has(key));
    const plain = keys.filter((key) => !texts.get(key));
    const sought = keys.filter((key) => texts.get(key));
    const asked = sought.map((key) => now.api.bins([key], { search: texts.get(key) }));
    const answers = await Promise.all(plain.length > 0 ? [now.api.bins(plain, { log }), ...asked] : asked);
    const all = answers.flatMap((answer) => answer.histograms);
    histograms.value = new Map(all.map((histogram) => [columnKey(histogram), histogram]));
    failure.value = '';
  } catch (error) {
    failure.value = why(error);
  }
  busy = false;
  if (stale) {
    stale = false;
    void load();
  }
}

/** Keeps the histograms up to date until the answer is called. */
export function follow(): () => void {
  return effect(() => {
    // Whatever of these changes, the histograms are asked for again.
    const causes = [state.counted.value, shown.value, logs.value, searches.value];
    if (causes.length > 0) untracked(() => void load());
  });
}

export function toggleColumn(key: string): void {
  const list = shown.value ?? [];
  shown.value = list.includes(key) ? list.filter((other) => other !== key) : [key, ...list];
}

export function toggleLog(key: string): void {
  const next = new Set(logs.value);
  if (!next.delete(key)) next.add(key);
  logs.value = next;
}

export function searchIn(key: string, text: string): void {
  searches.value = new Map(searches.value).set(key, text);
}

type ColumnName = Pick<Column, 'axis' | 'name'>;

function brushId({ axis, name }: ColumnName): string {
  return `brush-${axis}-${encodeURIComponent(name)}`;
}

/** The brush on a column that is in force. */
export function brushOf(column: ColumnName): Brush | null {
  const filter = state.filters.value.find(({ id }) => id === brushId(column));
  return filter?.on && 'brush' in filter.rule ? filter.rule.brush : null;
}

/** Brushes that wait until the server has taken the one before, by column. */
const waiting = new Map<string, { brush: Brush | null; join: string }>();
const sending = new Map<string, Promise<void>>();
let gestures = 0;

/** What one gesture changes is one step of undo. */
export function newGesture(): string {
  gestures += 1;
  return `brush-${gestures}`;
}

async function sendBrushes(target: ColumnName, id: string): Promise<void> {
  for (let next = waiting.get(id); next; next = waiting.get(id)) {
    waiting.delete(id);
    const now = session();
    if (!now) return;
    const known = now.document.filters().find((filter) => filter.id === id);
    if (next.brush === null && !known) continue;
    const order = known?.order ?? now.document.last();
    const rule = next.brush && { brush: next.brush };
    const value: Filter | null = rule && { kind: 'filter', name: '', on: true, order, rule };
    const isDate = (column: string): boolean => state.dateColumns.value.has(column);
    const label = rule ? `Brush ${ruleWords(rule, isDate)}` : `Remove brush of ${target.name}`;
    await now.change(label, [{ path: `filters/${id}`, value }], next.join);
  }
}

/** Sets or removes the brush of a column; only the newest of those that wait is sent. */
export function setBrush(column: ColumnName, brush: Brush | null, join: string): Promise<void> {
  const id = brushId(column);
  waiting.set(id, { brush, join });
  const running = sending.get(id);
  if (running) return running;
  const all = sendBrushes(column, id).finally(() => sending.delete(id));
  sending.set(id, all);
  return all;
}

export function setRange(column: ColumnName, range: [number, number] | null, join: string): Promise<void> {
  return setBrush(column, range && { axis: column.axis, column: column.name, range }, join);
}

/** Adds a value to the brush of a column, or takes it from there. */
export function toggleValue(column: ColumnName, value: Scalar): void {
  const brush = brushOf(column);
  const values = brush && 'values' in brush ? brush.values : [];
  const next = values.includes(value) ? values.filter((other) => other !== value) : [...values, value];
  const some = next.length > 0 ? { axis: column.axis, column: column.name, values: next } : null;
  void setBrush(column, some, newGesture());
}

export type Channel = 'color' | 'size' | 'opacity' | 'icon';

const WORDS = { color: 'Colour', size: 'Size', opacity: 'Opacity', icon: 'Icon' } as const;

/** Whether a column gives the elements of its axis their colour or size. */
export function encodes(column: ColumnName, channel: Channel): boolean {
  const encoding = state.encodings.value.get(`${column.axis}.${channel}`) as Encoding | undefined;
  return encoding?.attribute === column.name;
}

/** Has colours, sizes, opacities or icons follow a column, or again what the dataset says. */
export function encode(column: ColumnName, channel: Channel, continuous: boolean): void {
  const path = `encodings/${column.axis}.${channel}`;
  const word = WORDS[channel];
  const variation = continuous ? 'continuous' : 'categorical';
  const value: Encoding | null = encodes(column, channel) ? null : { attribute: column.name, variation };
  const label = value ? `${word} by ${column.name}` : `${word} as the dataset says`;
  void session()?.change(label, [{ path, value }]);
}
