import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import * as store from '../state/store.ts';
import { Chevron } from './control-icons.tsx';

/** What a person has made of the panel; null until then. */
const chosen = signal<boolean | null>(null);
/** Notices that are shown at once: the picture is another one than was asked for. */
const SHOWN_AT_ONCE = new Set(['column-missing']);

/**
 * What the dataset or the address asks for and does not get; folded, where it can wait, until somebody wants
 * to know.
 */
export function NoticesPanel(): JSX.Element | null {
  const { address, dataset, page } = store.notices.value;
  const list = [...address, ...dataset, ...page];
  const shown = store.params.info && !store.tiny.value && store.phase.value === 'ready';
  if (list.length === 0 || !shown) return null;
  const open = chosen.value ?? list.some(({ slug }) => SHOWN_AT_ONCE.has(slug));
  const title = list.length === 1 ? '1 notice' : `${list.length} notices`;
  return (
    <section class="notices panel" id="notices" data-over aria-label="Notices">
      <button
        type="button"
        class="panel-title"
        aria-expanded={open}
        title={open ? undefined : list.map((notice) => notice.text).join('\n')}
        onClick={() => {
          chosen.value = !open;
        }}
      >
        <span>{title}</span>
        <span class={open ? 'fold' : 'fold closed'}>
          <Chevron />
        </span>
      </button>
      {open && (
        <ul>
          {list.map((notice) => (
            <li key={notice.text}>{notice.text}</li>
          ))}
        </ul>
      )}
    </section>
  );
}
