import type { JSX } from 'preact';
import * as store from '../state/store.ts';

/** The title of the page's graph, as a panel. */
export function NodeCountPanel(): JSX.Element | null {
  if (store.phase.value !== 'ready') return null;
  return (
    <section class="panel" data-over aria-label="Graph">
      {document.title}
    </section>
  );
}
