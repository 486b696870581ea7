import type { JSX } from 'preact';
import * as act from '../state/actions.ts';
import { whyNoPlay } from '../state/layout-words.ts';
import { LAYOUTS, layoutName } from '../state/layouts.ts';
import * as store from '../state/store.ts';

/** The name by which the server puts nodes back to where the data has them. */
const GIVEN = 'given';

/** Whether the nodes stand where the data has them. */
function standsAsGiven(): boolean {
  return store.givenPositions.value && !store.displaced.value && !store.playing.value;
}

/** Lays the graph out by name, for all who look at it; the button beside it has forces go on from there. */
export function LayoutPicker(): JSX.Element {
  const laying = store.laying.value;
  const shown = laying || store.placedBy.value || (standsAsGiven() ? GIVEN : '');
  const refused = whyNoPlay(store.steers.value, store.link.value);
  const isListed = shown === '' || shown === GIVEN || LAYOUTS.some(([name]) => name === shown);
  return (
    <select
      id="layouts"
      class="button select"
      title={refused || 'Lay the graph out'}
      aria-label="Layout"
      aria-busy={laying !== ''}
      disabled={store.phase.value !== 'ready' || refused !== ''}
      value={shown}
      onChange={(event) => act.layOut(event.currentTarget.value)}
    >
      {store.givenPositions.value && <option value={GIVEN}>Given positions</option>}
      <option value="">Forces</option>
      {!isListed && <option value={shown}>{layoutName(shown)}</option>}
      {LAYOUTS.map(([name, word]) => (
        <option key={name} value={name}>
          {word}
          {laying === name ? ' …' : ''}
        </option>
      ))}
    </select>
  );
}
