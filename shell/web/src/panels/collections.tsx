import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { fill, type CollectionEntry } from '../state/collections.ts';
import * as store from '../state/store.ts';
import { Chevron } from './control-icons.tsx';

/** Whether the list is folded away; null until somebody has clicked. */
const folded = signal<boolean | null>(null);

function Entry({ entry }: { entry: CollectionEntry }): JSX.Element {
  const hint = entry.description === '' ? entry.name : `${entry.name}: ${entry.description}`;
  return (
    <li class={entry.count === 0 ? 'none' : ''} data-collection={entry.id} title={hint}>
      <i style={{ background: fill(entry.swatches) }} />
      <span class="name">{entry.name}</span>
      <span class="count">{entry.count === null ? '…' : entry.count.toLocaleString('en')}</span>
    </li>
  );
}

/**
 * The collections, the one that is painted on top first. The list is shown when the address asks for it.
 * When the address does not say, a line tells that there are some: an agent may have painted them.
 */
export function CollectionsPanel(): JSX.Element | null {
  const { entries, background } = store.collections.value;
  const asked = store.params.showCollections;
  const wanted = asked ?? (entries.length > 0 || background !== null);
  const closed = folded.value ?? asked !== true;
  if (!wanted || store.tiny.value || !store.params.info || store.phase.value !== 'ready') return null;
  return (
    <section class="collections panel" id="collections" data-over aria-label="Collections">
      <button
        type="button"
        class="panel-title"
        aria-expanded={!closed}
        onClick={() => {
          folded.value = !closed;
        }}
      >
        <span>Collections</span>
        <span class="quiet">{closed ? entries.length : 'elements'}</span>
        <span class={closed ? 'fold closed' : 'fold'}>
          <Chevron />
        </span>
      </button>
      {!closed && (
        <ol>
          {entries.map((entry) => (
            <Entry key={entry.id} entry={entry} />
          ))}
          <li class="under" title="What is in no collection">
            <i style={background === null ? {} : { background }} />
            <span class="name">Everything else</span>
          </li>
        </ol>
      )}
    </section>
  );
}
