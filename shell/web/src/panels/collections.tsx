import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { fill, type CollectionEntry } from '../state/collections.ts';
import * as store from '../state/store.ts';
import * as icons from './icons.tsx';

const folded = signal(false);

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

/** The collections, the one that is painted on top first. */
export function CollectionsPanel(): JSX.Element | null {
  const { entries, background } = store.collections.value;
  const wanted = store.params.showCollections ?? (entries.length > 0 || background !== null);
  if (!wanted || store.tiny.value || !store.params.info || store.phase.value !== 'ready') return null;
  return (
    <section class="collections panel" id="collections" data-over aria-label="Collections">
      <button
        type="button"
        class="panel-title"
        aria-expanded={!folded.value}
        onClick={() => {
          folded.value = !folded.value;
        }}
      >
        <span>Collections</span>
        {!folded.value && <span class="quiet">elements</span>}
        <span class={folded.value ? 'fold closed' : 'fold'}>
          <icons.Chevron />
        </span>
      </button>
      {!folded.value && (
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
