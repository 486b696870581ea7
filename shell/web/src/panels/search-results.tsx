import type { JSX } from 'preact';
import { active, choose, failed, hits, open } from '../state/search.ts';

/** What was found, under the search box. */
export function Results(): JSX.Element | null {
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
