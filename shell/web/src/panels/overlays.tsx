import type { ComponentChildren, JSX } from 'preact';
import * as act from '../state/actions.ts';
import * as store from '../state/store.ts';
import * as icons from './icons.tsx';
import { NotHere } from './sign-in.tsx';

function Center(props: {
  id: string;
  title: string;
  text?: string;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="center" id={props.id} role="status">
      {props.children}
      <h2>{props.title}</h2>
      {props.text && <p>{props.text}</p>}
    </div>
  );
}

/** Three nodes that breathe, while there is nothing else to see. */
export function Pulse(): JSX.Element {
  return (
    <svg class="pulse" viewBox="0 0 64 40" aria-hidden="true">
      <path d="M14 28 32 12 50 26M14 28l36-2" />
      <circle cx="14" cy="28" r="6" />
      <circle cx="32" cy="12" r="5" />
      <circle cx="50" cy="26" r="4" />
    </svg>
  );
}

function Loading({ title, text }: { title: string; text: string }): JSX.Element {
  return (
    <Center id="loading" title={title} text={text}>
      <Pulse />
    </Center>
  );
}

function reload(): JSX.Element {
  return (
    <button type="button" class="button primary" onClick={() => location.reload()}>
      Reload
    </button>
  );
}

function reopen(): void {
  const query = location.search.replace(/([?&])session=[^&]*&?/g, '$1').replace(/[?&]$/, '');
  location.assign(location.pathname + query);
}

function missingText(): string {
  if (store.params.dataset === '')
    return 'The address names no dataset. It should end in ?dataset=<id>.';
  return 'No dataset has this id, or it is for somebody else.';
}

/** What the stage says when it has no graph to show. */
export function StageState(): JSX.Element | null {
  const detail = store.detail.value;
  const Splash = store.splash.value;
  switch (store.phase.value) {
    case 'ready':
      return null;
    case 'splash':
      return Splash && <Splash />;
    case 'connecting':
      return store.link.value === 'reconnecting' || store.retryIn.value > 2000 ? (
        <Loading title="The server does not answer" text="Trying again…" />
      ) : (
        <Loading title="Connecting" text="" />
      );
    case 'loading':
      return <Loading title="Loading the graph" text={detail} />;
    case 'waiting':
      return (
        <Loading
          title="Waiting for data"
          text={detail || 'The graph appears here as soon as its data arrive.'}
        />
      );
    case 'empty':
      return (
        <Center id="empty" title="This graph has no nodes" text="Its tables hold no data to draw." />
      );
    case 'missing':
      return <NotHere text={missingText()} />;
    case 'ended':
      return (
        <div class="center" id="ended" role="status">
          <h2>This session has ended</h2>
          <p>{detail || 'Open the dataset again to start a new one.'}</p>
          <button type="button" class="button primary" onClick={reopen}>
            Open again
          </button>
        </div>
      );
    default:
      return (
        <div class="center" id="failed" role="alert">
          <h2>The graph cannot be shown</h2>
          <p>{detail}</p>
          {reload()}
        </div>
      );
  }
}

/** Says that the picture is not live, and other passing news. */
export function Banner(): JSX.Element | null {
  const lost = store.link.value === 'reconnecting' && store.phase.value !== 'connecting';
  if (lost) {
    return (
      <div class="banner" id="banner" role="status">
        <span class="spinner" />
        Reconnecting…
        <button type="button" class="bare" onClick={act.retry}>
          Try now
        </button>
      </div>
    );
  }
  const notice = store.notice.value;
  if (!notice) return null;
  return (
    <div class="banner" id="notice" role="status">
      {notice}
      <button
        type="button"
        class="bare"
        aria-label="Close"
        onClick={() => {
          store.notice.value = null;
        }}
      >
        <icons.Close />
      </button>
    </div>
  );
}

/** How much of the edges has arrived. */
export function EdgeProgress(): JSX.Element | null {
  const all = store.edgeCount.value;
  const here = store.edgesLoaded.value;
  if (store.phase.value !== 'ready' || here >= all) return null;
  return <div class="progress" style={{ transform: `scaleX(${here / all})` }} aria-hidden="true" />;
}

export function Logo(): JSX.Element | null {
  const logo = store.logo.value;
  if (!logo || store.tiny.value) return null;
  const left = logo.position.includes('left');
  const top = logo.position.includes('top');
  return (
    <img
      class={`logo ${left ? 'left' : 'right'} ${top ? 'top' : 'bottom'} ${logo.invert ? 'invert' : ''}`}
      src={logo.url}
      alt=""
      data-over
      style={{ maxWidth: `${logo.maxWidth}px`, maxHeight: `${logo.maxHeight}px` }}
      onError={() => {
        store.logo.value = null;
      }}
    />
  );
}
