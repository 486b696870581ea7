import type { JSX } from 'preact';
import { active, canMatch, choose, failed, hits, match, open, problem } from '../state/search.ts';

/** Results under the search box; the last entry takes the text as an expression. */
export function Results(): JSX.Element | null {
  if (!open.value) return null;
  const list = hits.value;
  if (list === null) return <div class="hits quiet">Searching…</div>;
  const none = failed.value ? 'The search failed. Try again.' : 'No node found';
  if (list.length === 0 && !canMatch()) return <div class="hits quiet">{none}</div>;
  const option = (k: number): object => ({
    id: `hit-${k}`,
    role: 'option',
    'aria-selected': k === active.value,
    class: k === active.value ? 'on' : '',
  });
  return (
    <ul class="hits" id="hits" role="listbox" aria-label="Nodes found">
      {list.map((hit, k) => (
        <li
          key={hit.index}
          {...option(k)}
          onPointerDown={(event) => {
            event.preventDefault();
            choose(hit);
          }}
        >
          <span class="label">{hit.label}</span>
          {hit.id !== hit.label && <span class="id">{hit.id}</span>}
        </li>
      ))}
      {canMatch() && (
        <li
          {...option(list.length)}
          data-match
          title="An expression such as degree > 3, a Cypher text, or GFQL"
          onPointerDown={(event) => {
            event.preventDefault();
            void match();
          }}
        >
          <span class={problem.value === '' ? 'label' : 'label refused'}>
            {problem.value || 'Select what matches'}
          </span>
          {list.length === 0 && problem.value === '' && <span class="id">{none}</span>}
        </li>
      )}
    </ul>
  );
}
