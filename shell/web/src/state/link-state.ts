// What becomes of the link to the server, as the page shows it.

import type { Api } from '../net/api.ts';
import type { Header } from '../net/frames.ts';
import type { LinkState, Message } from '../net/session.ts';
import * as store from './store.ts';

const POLLING = 'Live updates are blocked by a proxy; the picture is fetched every half second.';
const SKETCH =
  `${POLLING} Its colours, sizes and legend come with live updates only, and so do the layout's controls. ` +
  'The proxy has to pass websockets on (the headers Upgrade and Connection).';

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

/** What can be known of a graph whose description never came: `known` is the one of an earlier epoch. */
export async function sketch(api: Api, header: Header, known: Message | null): Promise<Message> {
  const { epoch, count } = header;
  const edges = await api.edgeCount(epoch);
  if (known === null) store.notice.value = SKETCH;
  return { ...known, t: 'graph', epoch, node_count: count, edge_count: edges, layout: undefined };
}
