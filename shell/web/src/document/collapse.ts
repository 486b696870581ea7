import type { Api } from '../net/api.ts';
import type { Collapsed, Rule } from '../net/messages.ts';
import type { LabelLayer } from '../picture/label-layer.ts';
import { session } from './current.ts';
import { freshId } from './document.ts';
import * as state from './state.ts';
import { plural } from './words.ts';

/** Sources of the names of nodes. */
interface Naming {
  labels: LabelLayer;
  api: Api;
}

/** Shows one disc in place of nodes, for all who look; `top` names it. Answers whether it was done. */
export async function collapse(naming: Naming, top: number, rule: Rule, count: number): Promise<boolean> {
  const now = session();
  if (!now) return false;
  const known = naming.labels.labelOf(top);
  const asked = known ?? (await naming.api.names([top], AbortSignal.timeout(10_000)).catch(() => []))[0];
  const value: Collapsed = {
    name: (asked ?? '').slice(0, 80),
    on: true,
    order: 1 + (state.collapsed.value.at(-1)?.order ?? 0),
    rule,
  };
  return now.change(`Collapse ${plural(count, 'node')}`, [{ path: `collapsed/${freshId('g')}`, value }]);
}

/** Shows the nodes again; of all discs without an id. */
export async function expand(id?: string): Promise<void> {
  const gone = state.collapsed.value.filter((entry) => id === undefined || entry.id === id);
  const changes = gone.map((entry) => ({ path: `collapsed/${entry.id}`, value: null }));
  const [first] = gone;
  const what = gone.length === 1 && first.name ? first.name : plural(gone.length, 'disc');
  const label = `Expand ${what}`;
  if (changes.length > 0) await session()?.change(label, changes);
}
