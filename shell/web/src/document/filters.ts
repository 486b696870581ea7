import type { Collection, Filter, Rule } from '../net/messages.ts';
import { session } from './current.ts';
import { freshId } from './document.ts';
import * as state from './state.ts';
import { ruleWords } from './words.ts';

const NO_SESSION = 'The server has not told of a document yet; nothing was changed.';

/** The name of a filter or collection, or what it asks for. */
export function nameOf({ name, rule }: Pick<Filter, 'name' | 'rule'>): string {
  return name || ruleWords(rule, (column) => state.dateColumns.value.has(column));
}

/** Adds a filter or an exclusion; answers why not, where it was refused. */
export async function addFilter(
  kind: Filter['kind'],
  rule: Rule,
  name = '',
  label?: string,
): Promise<string | null> {
  const now = session();
  if (!now) return NO_SESSION;
  const value: Filter = { kind, name, on: true, order: now.document.last(), rule };
  const said = label ?? `${kind === 'filter' ? 'Filter' : 'Hide'} ${nameOf(value)}`;
  return now.do(said, [{ path: `filters/${freshId('f')}`, value }]);
}

/** Colours of new collections, one after another. */
const COLORS = ['#ff5d73', '#ffd84d', '#4de0c0', '#b48bff', '#ff9f4a', '#5aa9ff', '#9be564', '#ff8ad1'];

/** Adds a collection in a colour that no other one has; answers why not, where it was refused. */
export async function addCollection(rule: Rule, name: string): Promise<string | null> {
  const now = session();
  if (!now) return NO_SESSION;
  const taken = new Set(now.document.collections().map((entry) => entry.node_color));
  const color = COLORS.find((one) => !taken.has(one)) ?? COLORS[0];
  const value: Collection = {
    name,
    description: '',
    node_color: color,
    edge_color: null,
    on: true,
    order: now.document.first(),
    rule,
  };
  return now.do(`Add collection ${name}`, [{ path: `collections/${freshId('c')}`, value }]);
}
