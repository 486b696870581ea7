// The layout as the page shows it: taken over from the messages of the server.

import type { Told } from '../net/messages.ts';
import type { LayoutState, SessionState } from '../net/page-messages.ts';
import { layoutNews } from './layout-words.ts';
import * as store from './store.ts';

/** Takes over the state of the layout from a `graph` or `state` message; the first has no speed. */
export function showLayout(layout: LayoutState | SessionState): void {
  const was = store.playing.value;
  const [speed, detail] = 'detail' in layout ? [layout.iterations_per_s, layout.detail] : [0, 'stopped'];
  store.layoutState.value = layout.state;
  store.layoutEnd.value = layout.state === 'stopped' ? `The layout ${detail}.` : '';
  store.playing.value = layout.playing;
  store.iterations.value = layout.iterations;
  store.placedBy.value = layout.placed_by;
  if (layout.placements !== store.placements.value) {
    store.placements.value = layout.placements;
    store.laying.value = '';
  }
  store.displaced.value = layout.displaced;
  store.depths.value = layout.depths;
  store.iterationsPerSecond.value = speed;
  if (was !== store.playing.value) store.announcement.value = layoutNews(store.layout.value);
}

/** Says why the server did not do what the page asked for. */
export function showRefusal({ message, slug }: Told<'error'>): void {
  store.laying.value = '';
  store.notice.value = message || slug;
}
