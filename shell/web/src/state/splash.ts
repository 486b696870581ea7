// What the page says of a graph that waits for a click.

import type { Api } from '../net/api.ts';
import { countWords } from './numbers.ts';
import * as store from './store.ts';
import { applyMetadata } from './theme.ts';

/**
 * Waits for a click, and asks meanwhile what there is to see. Whoever may not see it is told nothing: the
 * click leads to the form to sign in.
 */
export async function splash(api: Pick<Api, 'about'>): Promise<void> {
  store.phase.value = 'splash';
  try {
    const about = await api.about();
    if (store.phase.value !== 'splash') return;
    const name = about.name.trim();
    store.awaited.value = { name, description: about.description.trim(), counts: countWords(about) };
    applyMetadata(null, name);
  } catch {
    // The page then says that a graph is waiting, and no more.
  }
}
