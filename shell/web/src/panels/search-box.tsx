import type { JSX } from 'preact';
import { active, hits, onInput, onKey, open, query } from '../state/search.ts';
import * as store from '../state/store.ts';
import { Search } from './control-icons.tsx';
import { Results } from './search-results.tsx';

/** The JSX types know this role only together with a `datalist`. */
const COMBOBOX = { role: 'combobox' } as object;

export function SearchBox(): JSX.Element {
  return (
    <div class="search">
      <Search />
      <input
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
