import type { JSX } from 'preact';
import { signal } from '@preact/signals';
import type { Api } from '../net/api.ts';
import * as act from '../state/actions.ts';
import { countWords } from '../state/numbers.ts';
import * as store from '../state/store.ts';
import { applyMetadata } from '../state/theme.ts';
import { Play } from './icons.tsx';
import { Pulse } from './overlays.tsx';

/** Card of a graph that waits for a click. */

/** What waits, as far as the server tells; how much in words, empty when nobody knows yet. */
const awaited = signal<{ name: string; description: string; counts: string } | null>(null);

function Splash(): JSX.Element {
  const graph = awaited.value;
  const name = graph?.name ?? '';
  const title = store.params.pageTitle?.replace(/\{\{\s*name\s*\}\}/g, name);
  return (
    <div class="center" id="splash">
      <Pulse />
      <h2>{title || name || 'A graph is waiting'}</h2>
      {title && name !== '' && title !== name && <p class="what">{name}</p>}
      {graph?.description && <p class="what">{graph.description}</p>}
      {graph?.counts && <p id="awaited">{graph.counts}</p>}
      <button type="button" class="button primary big" onClick={act.connect}>
        <Play />
        Show the graph
      </button>
    </div>
  );
}

/**
 * Waits for a click, and asks meanwhile what there is to see. Whoever may not see it is told nothing: the
 * click leads to the form to sign in.
 */
export async function splash(api: Pick<Api, 'about'>): Promise<void> {
  store.splash.value = Splash;
  store.phase.value = 'splash';
  try {
    const about = await api.about();
    if (store.phase.value !== 'splash') return;
    const name = about.name.trim();
    awaited.value = { name, description: about.description.trim(), counts: countWords(about) };
    applyMetadata(null, name);
  } catch {
    // The page then says that a graph is waiting, and no more.
  }
}
