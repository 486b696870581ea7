import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import * as act from '../state/actions.ts';
import * as store from '../state/store.ts';
import * as icons from './icons.tsx';

const DEBOUNCE_MS = 120;
/** The JSX types know this role only together with a `datalist`. */
const COMBOBOX = { role: 'combobox' } as object;

const query = signal('');
const hits = signal<store.Hit[] | null>(null);
const active = signal(0);
const open = signal(false);
const failed = signal(false);
let field: HTMLInputElement | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let running: AbortController | null = null;

export function focusSearch(): void {
  field?.focus();
  field?.select();
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

function onInput(event: Event): void {
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

function choose(hit: store.Hit): void {
  open.value = false;
  query.value = hit.label;
  field?.blur();
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

function onKey(event: KeyboardEvent): void {
  const count = hits.value?.length ?? 0;
  if (event.key === 'ArrowDown') active.value = Math.min(count - 1, active.value + 1);
  else if (event.key === 'ArrowUp') active.value = Math.max(0, active.value - 1);
  else if (event.key === 'Enter') void enter();
  else if (event.key === 'Escape') {
    open.value = false;
    field?.blur();
  } else return;
  event.preventDefault();
  document.getElementById(`hit-${active.value}`)?.scrollIntoView({ block: 'nearest' });
}

function Results(): JSX.Element | null {
  if (!open.value) return null;
  const list = hits.value;
  if (list === null) return <div class="hits quiet">Searching…</div>;
  if (list.length === 0) {
    return (
      <div class="hits quiet">{failed.value ? 'The search failed. Try again.' : 'No node found'}</div>
    );
  }
  return (
    <ul class="hits" id="hits" role="listbox" aria-label="Nodes found">
      {list.map((hit, k) => (
        <li
          key={hit.index}
          id={`hit-${k}`}
          role="option"
          aria-selected={k === active.value}
          class={k === active.value ? 'on' : ''}
          onPointerDown={(event) => {
            event.preventDefault();
            choose(hit);
          }}
        >
          <span class="label">{hit.label}</span>
          {hit.id !== hit.label && <span class="id">{hit.id}</span>}
        </li>
      ))}
    </ul>
  );
}

export function SearchBox(): JSX.Element {
  return (
    <div class="search">
      <icons.Search />
      <input
        ref={(element) => {
          field = element;
        }}
        id="search"
        type="search"
        {...COMBOBOX}
        aria-label="Search nodes"
        aria-expanded={open.value}
        aria-controls="hits"
        aria-activedescendant={open.value ? `hit-${active.value}` : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder="Search nodes…"
        disabled={store.phase.value !== 'ready'}
        value={query.value}
        onInput={onInput}
        onKeyDown={onKey}
        onFocus={() => {
          open.value = query.value.trim() !== '' && hits.value !== null;
        }}
        onBlur={() => {
          open.value = false;
        }}
      />
      <kbd>/</kbd>
      <Results />
    </div>
  );
}
