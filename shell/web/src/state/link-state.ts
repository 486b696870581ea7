// State of the link to the server, as the page shows it.

import type { LinkState } from '../net/session.ts';
import * as store from './store.ts';

const POLLING = 'Live updates are blocked by a proxy; the picture is fetched every half second.';
/** Takes over the state of the link. */
export function showLink(state: LinkState, retry: number): void {
  const was = store.link.value;
  store.link.value = state;
  store.retryIn.value = retry;
  document.body.dataset.connected = String(state === 'live' || state === 'polling');
  if (state !== 'polling' || was === state) return;
  store.notice.value = POLLING;
  // The server answers: what is still missing is the graph.
  if (store.phase.value === 'connecting') store.phase.value = 'loading';
}
