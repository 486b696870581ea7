import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import * as store from '../state/store.ts';

/** The list of keys, which is loaded when somebody first wants to know them. */
const list = signal<typeof import('./keys-list.tsx') | null>(null);

export function KeysPanel(): JSX.Element | null {
  const shown = store.keysShown.value;
  useEffect(() => {
    if (shown && !list.value) {
      void import('./keys-list.tsx').then((loaded) => {
        list.value = loaded;
      });
    }
  }, [shown]);
  const Loaded = shown ? list.value?.KeysList : null;
  return Loaded ? <Loaded /> : null;
}
