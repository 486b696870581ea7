import type { Rule, Scalar } from '../net/messages.ts';
import type { FilterCount } from '../net/page-messages.ts';

/** Rules, counts and changes as people read them. */

const VALUES_SHOWN = 3;

export const number = (value: number): string => value.toLocaleString('en');

export function plural(count: number, one: string): string {
  return `${number(count)} ${one}${count === 1 ? '' : 's'}`;
}

/**
 * What the server says is wrong, as sentences: `[slug] what | field: … | value: … | suggestion: what to do`
 * without its marks; other texts stay as they are.
 */
export function problemWords(text: string): string {
  const parts = text.replace(/^\[[\w-]+\] /, '').split(' | ');
  const told = parts.filter((part) => !/^(field|value): /.test(part));
  const plain = told.map((part) => part.replace(/^suggestion: /, ''));
  return plain.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('. ');
}

/** A number in few digits. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-3 && size < 1e6)) return String(Number(value.toPrecision(6)));
  return value.toExponential(2).replace(/\.?0+e/, 'e').replace('e+', 'e');
}

/** A number among others that span so much, in as many digits as tell them apart. */
export function among(value: number, span: number): string {
  const digits = Math.ceil(-Math.log10(span / 200));
  if (!(digits < 12) || Math.abs(value) >= 1e12) return short(value);
  return value.toLocaleString('en', { maximumFractionDigits: Math.max(0, digits) });
}

/** A moment, as exact as a span of time asks for. */
export function moment(ms: number, span: number): string {
  const date = new Date(ms);
  // Beyond what a date can say.
  if (Number.isNaN(date.getTime())) return short(ms);
  const text = date.toISOString();
  return span > 3 * 86_400_000 ? text.slice(0, 10) : `${text.slice(0, 10)} ${text.slice(11, 16)}`;
}

function valueWords(value: Scalar): string {
  return value === null ? 'none' : String(value);
}

/** What a rule keeps, in a line; `isDate` says whether a column holds moments. */
export function ruleWords(rule: Rule, isDate: (column: string) => boolean = () => false): string {
  if ('expr' in rule) return rule.expr;
  if ('brush' in rule) {
    const { brush } = rule;
    if ('range' in brush) {
      const [low, high] = brush.range;
      const end = (value: number): string =>
        isDate(brush.column) ? moment(value, high - low) : short(value);
      return `${brush.column} from ${end(low)} to ${end(high)}`;
    }
    const some = brush.values.slice(0, VALUES_SHOWN).map(valueWords).join(', ');
    const rest = brush.values.length - VALUES_SHOWN;
    return `${brush.column} is ${some}${rest > 0 ? ` or ${plural(rest, 'other')}` : ''}`;
  }
  if ('nodes' in rule) return 'chosen nodes';
  if ('ego' in rule) return `at most ${plural(rule.ego.hops, 'step')} from chosen nodes`;
  if ('query' in rule) return rule.query;
  if ('gfql' in rule) return `GFQL: ${JSON.stringify(rule.gfql)}`;
  return 'several collections at once';
}

/** What a filter or an exclusion does by itself. */
export function countWords(count: FilterCount | undefined, kind: 'filter' | 'exclusion'): string {
  if (!count) return '';
  if ('problem' in count) return problemWords(count.problem);
  const parts: string[] = [];
  if (count.nodes !== null) parts.push(plural(count.nodes, 'node'));
  if (count.edges !== null) parts.push(plural(count.edges, 'edge'));
  return parts.length === 0 ? '' : `${kind === 'filter' ? 'keeps' : 'hides'} ${parts.join(', ')}`;
}

const PAST: Record<string, string> = {
  Filter: 'filtered',
  Keep: 'kept',
  Hide: 'hid',
  Show: 'showed',
  Add: 'added',
  Remove: 'removed',
  Rename: 'renamed',
  Turn: 'turned',
  Colour: 'coloured',
  Size: 'sized',
  Brush: 'brushed',
  Pin: 'pinned',
  Release: 'released',
  Move: 'moved',
  Undo: 'took back:',
  Redo: 'did again:',
};

/** What somebody else has done, from the label of the change: "ann hid 12 nodes". */
export function newsWords(name: string, label: string): string {
  const [first, ...rest] = label.split(' ');
  const past = PAST[first.replace(/:$/, '')];
  return past ? [name, past, ...rest].join(' ') : `${name}: ${label}`;
}
