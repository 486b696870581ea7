import { signal } from '@preact/signals';
import * as act from './actions.ts';
import * as store from './store.ts';

/** What the search box looks for and has found. */

const DEBOUNCE_MS = 120;
export const query = signal('');
export const hits = signal<store.Hit[] | null>(null);
export const active = signal(0);
export const open = signal(false);
export const failed = signal(false);
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

async function enter(): Promise<void> {
  const text = query.value.trim();
  if (text === '') return;
  clearTimeout(timer);
  const list = hits.value ?? (await run(text));
  const hit = list[active.value] ?? list[0];
  if (hit) choose(hit);
}

export function onKey(event: KeyboardEvent): void {
  const count = hits.value?.length ?? 0;
  if (event.key === 'ArrowDown') active.value = Math.min(count - 1, active.value + 1);
  else if (event.key === 'ArrowUp') active.value = Math.max(0, active.value - 1);
  else if (event.key === 'Enter') void enter();
  else if (event.key === 'Escape') {
    open.value = false;
    field()?.blur();
  } else return;
  event.preventDefault();
  document.getElementById(`hit-${active.value}`)?.scrollIntoView({ block: 'nearest' });
}
