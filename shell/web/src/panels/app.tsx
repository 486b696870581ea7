import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import * as act from '../state/actions.ts';
import * as store from '../state/store.ts';
import { Banner, EdgeProgress, Logo, StageState } from './overlays.tsx';
import { Counts, TopBar } from './top-bar.tsx';

export interface Surfaces {
  stage: HTMLElement;
  /** Filled by the canvas of the picture. */
  surface: HTMLElement;
}

function describe(): string {
  if (store.phase.value !== 'ready') return 'Graph picture, empty';
  const name = store.graphName.value || 'Graph';
  return `${name}: ${store.nodeCount.value} nodes and ${store.edgeCount.value} edges`;
}

/** The page. `start` gets the elements once they exist. */
export function App({ start }: { start: (surfaces: Surfaces) => void }): JSX.Element {
  const stage = useRef<HTMLElement>(null);
  const surface = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (stage.current && surface.current) start({ stage: stage.current, surface: surface.current });
  }, []);
  const ready = store.phase.value === 'ready';
  const legend = store.legendHere.value;
  const listed = store.collections.value;
  const notices = store.notices.value;
  const narrow = store.narrow.value;
  const Panel = store.selectionPanel.value;
  const panels = store.panels.value;
  const at = (place: store.PanelPlace): JSX.Element[] | undefined => panels?.[place].map((One) => <One />);
  const Dock = store.instruments.value?.Dock;
  useLayoutEffect(() => {
    // Legend and buttons have just taken their part of the screen.
    if (ready) act.panelsMoved();
  }, [ready, panels, legend, listed, notices, narrow]);
  return (
    <div class={`page ${store.tiny.value ? 'is-tiny' : ''}`}>
      {store.showMenu.value && <TopBar />}
      <main class="stage" ref={stage} style={store.backdrop.value ?? ''}>
        <div
          class={`surface ${ready ? 'shown' : ''} ${store.tool.value === 'pan' ? '' : 'selects'}`}
          id="surface"
          style={{ mixBlendMode: store.foreground.value }}
          tabIndex={0}
          role="img"
          aria-label={describe()}
          ref={surface}
        />
        <EdgeProgress />
        <div class="left-panels">
          <Counts panel />
          {at('left')}
        </div>
        {Panel && <Panel />}
        {at('corner')}
        <Logo />
        {Dock && <Dock />}
        {at('over')}
        <Banner />
        <StageState />
      </main>
      <div class="unseen" aria-live="polite">
        {store.announcement.value}
      </div>
    </div>
  );
}
