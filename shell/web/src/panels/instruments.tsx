import '../instruments.css';
import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { session } from '../document/current.ts';
import * as state from '../document/state.ts';
import * as act from '../state/actions.ts';
import * as store from '../state/store.ts';
import { CollectionsEditor } from './collections.tsx';
import { FiltersPanel } from './filters.tsx';
import * as icons from './icons.tsx';
import { FilterIcon, HistogramIcon, RedoIcon, SetsIcon, UndoIcon } from './instrument-icons.tsx';

/** The buttons of the bar and the panels at the right that work on the shared document. */

/** The panels, in the order in which they stand. */
const PANELS = [
  ['filters', 'Filters', FilterIcon, FiltersPanel],
  ['collections', 'Collections', SetsIcon, CollectionsEditor],
  ['histograms', 'Histograms', HistogramIcon, Histograms],
] as const;

/** The document as this page knows it, for `window.__viewer`. */
export const snapshot = (): unknown => session()?.document.snapshot() ?? null;

function Step({ direction, word }: { direction: 'undo' | 'redo'; word: string }): JSX.Element {
  const label = state[direction].value;
  const title = label === null ? `Nothing to ${direction}` : `${word}: ${label}`;
  return (
    <button
      type="button"
      id={direction}
      class="button square"
      title={title}
      aria-label={title}
      disabled={label === null}
      onClick={() => void session()?.step(direction)}
    >
      {direction === 'undo' ? <UndoIcon /> : <RedoIcon />}
    </button>
  );
}

export function Buttons(): JSX.Element {
  return (
    <>
      <Step direction="undo" word="Undo" />
      <Step direction="redo" word="Redo" />
      {PANELS.map(([name, word, Icon]) => {
        const on = state.panels.value.includes(name);
        return (
          <button
            key={name}
            type="button"
            id={`open-${name}`}
            class={on ? 'button square primary' : 'button square'}
            title={word}
            aria-label={word}
            aria-expanded={on}
            aria-controls={`panel-${name}`}
            onClick={() => state.toggle(name)}
          >
            <Icon />
          </button>
        );
      })}
    </>
  );
}

/** A panel of the dock, with its title and the button that closes it. */
export function Panel(props: {
  name: string;
  title: string;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="dock-panel panel" id={`panel-${props.name}`} aria-label={`${props.title} panel`}>
      <header>
        <h2>{props.title}</h2>
        <button
          type="button"
          class="bare"
          aria-label={`Close ${props.title}`}
          title="Close"
          onClick={() => {
            state.toggle(props.name, false);
            document.getElementById(`open-${props.name}`)?.focus();
          }}
        >
          <icons.Close />
        </button>
      </header>
      {props.children}
    </section>
  );
}

/** Says what somebody else has changed, and that something is seen here only. */
function News(): JSX.Element | null {
  const news = state.news.value;
  const own = state.isOwn.value;
  if (!news && !own) return null;
  return (
    <div class="news" id="news" role="status">
      {news && (
        <span>
          {news.agent && <b class="agent">agent</b>} {news.text}
        </span>
      )}
      {own && (
        <span>
          Only you see your changes. For a picture of your own, open the graph without session= in the
          address.
        </span>
      )}
    </div>
  );
}

/** The histograms, which are loaded when somebody first opens them. */
const facets = signal<typeof import('./histograms.tsx') | null>(null);

function Histograms(): JSX.Element | null {
  useEffect(() => {
    if (facets.value) return;
    void import('./histograms.tsx').then((loaded) => {
      facets.value = loaded;
    });
  }, []);
  const Loaded = facets.value?.HistogramPanel;
  return Loaded ? <Loaded /> : null;
}

/** The open panels, over the right side of the picture. */
export function Dock(): JSX.Element | null {
  const open = state.panels.value;
  const narrow = store.narrow.value;
  const ready = store.phase.value === 'ready' && !store.tiny.value;
  const docked = ready && open.length > 0;
  useLayoutEffect(() => {
    document.querySelector('.stage')?.classList.toggle('docked', docked);
    act.panelsMoved();
  }, [docked, narrow]);
  if (!ready) return null;
  return (
    <>
      {narrow && store.showMenu.value && (
        <div class="rail" data-over>
          <Buttons />
        </div>
      )}
      <News />
      {docked && (
        <div class="dock" data-over>
          {PANELS.map(
            ([name, title, , Inside]) =>
              open.includes(name) && (
                <Panel key={name} name={name} title={title}>
                  <Inside />
                </Panel>
              ),
          )}
        </div>
      )}
    </>
  );
}
