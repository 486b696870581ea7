import type { JSX } from 'preact';
import type { LinkState as Link } from '../net/session.ts';
import * as act from '../state/actions.ts';
import { layoutWord } from '../state/layout-words.ts';
import * as store from '../state/store.ts';
import * as icons from './icons.tsx';
import { Account } from './sign-in.tsx';

const number = (value: number): string => value.toLocaleString('en');

/** How many there are, and how many of them are visible where not all are. */
function Count({ shown, all, one }: { shown: number | undefined; all: number; one: string }): JSX.Element {
  const some = shown !== undefined && shown < all;
  return (
    <span>
      <b>{number(some ? shown : all)}</b> {some && `/ ${number(all)} `}
      {all === 1 ? one : `${one}s`}
    </span>
  );
}

/** How much there is: in the bar, or as a panel where the bar has no room. */
export function Counts({ panel = false }: { panel?: boolean }): JSX.Element | null {
  const phase = store.phase.value;
  if (panel !== store.narrow.value || !store.showMenu.value) return null;
  if (!store.params.info || (phase !== 'ready' && phase !== 'empty')) return null;
  const nodes = store.nodeCount.value;
  const edges = store.edgeCount.value;
  return (
    <div
      id="counts"
      class={panel ? 'counts panel' : 'counts'}
      title={store.graphDescription.value || undefined}
      data-over={panel ? '' : undefined}
    >
      <Count shown={store.shown.value?.nodes} all={nodes} one="node" />
      <i>·</i>
      <Count shown={store.shown.value?.edges} all={edges} one="edge" />
    </div>
  );
}

const LINK_WORDS: Record<Link, string> = {
  connecting: 'connecting',
  live: 'live',
  reconnecting: 'reconnecting',
  polling: 'slow link',
  closed: 'closed',
};

function LinkState(): JSX.Element {
  const link = store.link.value;
  const said = link === 'live' && store.phase.value === 'ready' ? layoutWord(store.layout.value) : null;
  const word = said?.word ?? LINK_WORDS[link];
  const title = [`Connection: ${LINK_WORDS[link]}`, said?.title].filter(Boolean).join('. ');
  const several = store.viewers.value > 1 ? `${store.viewers.value} viewers` : null;
  return (
    <div id="link" class={`link ${link}`} title={title}>
      {several && <span class="viewers">{several}</span>}
      <span class="dot" />
      <span class="word">{word}</span>
    </div>
  );
}

export function TopBar(): JSX.Element {
  const name = store.graphName.value;
  const dark = store.theme.value === 'dark';
  const ready = store.phase.value === 'ready';
  const panels = ready ? store.panels.value : null;
  const Bar = store.narrow.value ? null : store.instruments.value?.Buttons;
  return (
    <header class="bar">
      <div class="brand">
        <icons.Mark />
        <h1 id="title" title={store.graphDescription.value || name}>
          {name || 'Graphlume'}
        </h1>
      </div>
      {panels?.search.map((One) => <One />)}
      <Counts />
      <div class="space" />
      {panels?.tools.map((One) => <One />)}
      {ready && Bar && <Bar />}
      <button
        class="button square"
        type="button"
        id="theme"
        title={dark ? 'Light theme' : 'Dark theme'}
        aria-label={dark ? 'Light theme' : 'Dark theme'}
        onClick={act.switchTheme}
      >
        {dark ? <icons.Sun /> : <icons.Moon />}
      </button>
      <Account />
      <LinkState />
    </header>
  );
}
