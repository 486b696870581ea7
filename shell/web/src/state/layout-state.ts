// What the server says of the layout, as the page shows it.

import type { Message } from '../net/session.ts';
import { layoutNews } from './layout-words.ts';
import * as store from './store.ts';

/** Takes over the state of the layout from a `hello` or `state` message. */
export function showLayout(message: Message): void {
  const state = String(message.state ?? store.layoutState.value);
  const was = store.playing.value;
  store.layoutState.value = state;
  store.layoutEnd.value = state === 'stopped' ? `The layout ${String(message.detail ?? 'stopped')}.` : '';
  store.playing.value = message.playing === undefined ? state === 'running' : message.playing === true;
  store.iterations.value = Number(message.iterations ?? store.iterations.value);
  store.placedBy.value = String(message.placed_by ?? store.placedBy.value);
  if (message.placements !== undefined && message.placements !== store.placements.value) {
    store.placements.value = Number(message.placements);
    store.laying.value = '';
  }
  if (message.displaced !== undefined) store.displaced.value = message.displaced === true;
  store.depths.value = Number(message.depths ?? store.depths.value);
  store.iterationsPerSecond.value = Number(message.iterations_per_s ?? 0);
  if (was !== store.playing.value) store.announcement.value = layoutNews(store.layout.value);
}

/** Says why the server did not do what the page asked for. */
export function showRefusal(message: Message): void {
  store.laying.value = '';
  store.notice.value = String(message.message ?? message.slug ?? '');
}
