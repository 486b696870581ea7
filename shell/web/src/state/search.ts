import { signal } from '@preact/signals';
import * as act from './actions.ts';
import * as store from './store.ts';

/** Text and results of the search box. */

const DEBOUNCE_MS = 120;
export const query = signal('');
export const hits = signal<store.Hit[] | null>(null);
export const active = signal(0);
export const open = signal(false);
export const failed = signal(false);
/** What is wrong with the text as an expression; empty when nothing is known to be. */
export const problem = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;
let running: AbortController | null = null;

const field = (): HTMLInputElement | null => document.querySelector('#search');

export function focusSearch(): void {
  field()?.focus();
  field()?.select();
}

async function run(text: string): Promise<store.Hit[]> {
  running?.abort();
  const abort = new AbortController();
  running = abort;
  try {
    const found = await act.search(text, abort.signal);
    if (abort.signal.aborted) return [];
    hits.value = found;
    failed.value = false;
    active.value = 0;
    store.announcement.value = found.length === 0 ? 'No node found.' : `${found.length} nodes found.`;
    return found;
  } catch {
    if (!abort.signal.aborted) {
      hits.value = [];
      failed.value = true;
    }
    return [];
  }
}

export function onInput(event: Event): void {
  query.value = (event.target as HTMLInputElement).value;
  problem.value = '';
  const text = query.value.trim();
  open.value = text !== '';
  clearTimeout(timer);
  timer = undefined;
  hits.value = null;
  if (text !== '') {
    timer = setTimeout(() => {
      timer = undefined;
      void run(text);
    }, DEBOUNCE_MS);
  }
}

export function choose(hit: store.Hit): void {
  open.value = false;
  query.value = hit.label;
  field()?.blur();
  act.goTo(hit.index);
}

/** Selects what the text finds as an expression or a query. */
export async function match(): Promise<void> {
  problem.value = (await act.selectMatching(query.value.trim())) ?? '';
  store.announcement.value = problem.value;
  if (problem.value !== '') return;
  open.value = false;
  field()?.blur();
}

/** Whether the server can be asked for what an expression finds. */
export const canMatch = (): boolean => store.instruments.value !== null;

async function enter(): Promise<void> {
  const text = query.value.trim();
  if (text === '') return;
  clearTimeout(timer);
  const list = hits.value ?? (await run(text));
  const hit = list[active.value];
  if (hit) choose(hit);
  else if (canMatch()) await match();
}

export function onKey(event: KeyboardEvent): void {
  // Under the hits is one more entry: what matches as an expression.
  const count = (hits.value?.length ?? 0) + (canMatch() ? 1 : 0);
  if (event.key === 'ArrowDown') active.value = Math.max(0, Math.min(count - 1, active.value + 1));
  else if (event.key === 'ArrowUp') active.value = Math.max(0, active.value - 1);
  else if (event.key === 'Enter') void enter();
  else if (event.key === 'Escape') {
    open.value = false;
    field()?.blur();
  } else return;
  event.preventDefault();
  document.getElementById(`hit-${active.value}`)?.scrollIntoView({ block: 'nearest' });
}
