import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import * as store from '../state/store.ts';
import { Chevron } from './control-icons.tsx';

const open = signal(false);

/** What the dataset or the address asks for and does not get; folded until somebody wants to know. */
export function NoticesPanel(): JSX.Element | null {
  const { address, dataset, page } = store.notices.value;
  const list = [...address, ...dataset, ...page];
  const shown = store.params.info && !store.tiny.value && store.phase.value === 'ready';
  if (list.length === 0 || !shown) return null;
  const title = list.length === 1 ? '1 notice' : `${list.length} notices`;
  return (
    <section class="notices panel" id="notices" data-over aria-label="Notices">
      <button
        type="button"
        class="panel-title"
        aria-expanded={open.value}
        title={open.value ? undefined : list.map((notice) => notice.text).join('\n')}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <span>{title}</span>
        <span class={open.value ? 'fold' : 'fold closed'}>
          <Chevron />
        </span>
      </button>
      {open.value && (
        <ul>
          {list.map((notice) => (
            <li key={notice.text}>{notice.text}</li>
          ))}
        </ul>
      )}
    </section>
  );
}
