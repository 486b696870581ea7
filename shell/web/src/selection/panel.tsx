import type { JSX } from 'preact';
import * as act from '../state/actions.ts';
import * as store from '../state/store.ts';

const BUTTONS: readonly (readonly [what: act.Selecting, word: string, title: string])[] = [
  ['grow', 'Grow', 'Add the neighbours (g)'],
  ['component', 'Component', 'Add all that is connected'],
  ['sameColor', 'Same colour', 'Add the nodes of the same colours'],
  ['invert', 'Invert', 'Select the others (i)'],
  ['fit', 'Zoom to', 'Show all that is selected'],
  ['clear', 'Clear', 'Select nothing (Esc)'],
];

/** How many nodes are selected, and what can be done with them. */
export function SelectionPanel(): JSX.Element | null {
  const count = store.selectedCount.value;
  if (count === 0) return null;
  return (
    <section class="selection panel" id="selection" data-over aria-label="Selection">
      <b>{count.toLocaleString('en')}</b> {count === 1 ? 'node' : 'nodes'} selected
      <div class="row">
        {BUTTONS.map(([what, word, title]) => (
          <button key={what} class="button" type="button" title={title} onClick={() => act.select(what)}>
            {word}
          </button>
        ))}
      </div>
    </section>
  );
}
