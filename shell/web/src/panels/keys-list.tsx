import type { JSX } from 'preact';
import { KEY_LIST } from '../input/key-list.ts';
import * as store from '../state/store.ts';
import * as icons from './icons.tsx';

/** One function for good, so that a list that is drawn again does not take the focus back. */
function take(button: HTMLButtonElement | null): void {
  button?.focus({ preventScroll: true });
}

/** The keys of the page. */
export function KeysList(): JSX.Element {
  return (
    <section class="keys" id="keys" role="dialog" aria-label="Keys">
      <div class="head">
        <h2>Keys</h2>
        <button
          type="button"
          class="bare"
          title="Close (Esc)"
          aria-label="Close"
          ref={take}
          onClick={() => {
            store.keysShown.value = false;
          }}
        >
          <icons.Close />
        </button>
      </div>
      <dl>
        {KEY_LIST.map(({ keys, does }) => (
          <>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </>
        ))}
      </dl>
    </section>
  );
}
