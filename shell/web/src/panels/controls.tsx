import type { JSX } from 'preact';
import * as act from '../state/actions.ts';
import { whyNoPlay } from '../state/layout-words.ts';
import { playWords } from '../state/play-words.ts';
import * as store from '../state/store.ts';
import { AfarButtons } from './afar-buttons.tsx';
import * as icons from './control-icons.tsx';
import { Open, Pause, Play } from './icons.tsx';
import { SpaceButton } from './space-button.tsx';
import { LayoutPicker } from './layout-picker.tsx';

/** Buttons that do something with the picture, which has to be there first. */

function rate(perSecond: number): string {
  return perSecond >= 10 ? String(Math.round(perSecond)) : perSecond.toFixed(1);
}

/** Runs and stops the layout, and says what it does. */
function PlayButton({ compact = false }: { compact?: boolean }): JSX.Element {
  const on = store.playing.value;
  const perSecond = store.iterationsPerSecond.value;
  const refused = whyNoPlay(store.steers.value, store.link.value);
  const { label, title } = playWords(store.layout.value, refused);
  return (
    <>
      <button
        id="play"
        class={on ? 'button primary' : 'button'}
        type="button"
        title={title}
        aria-pressed={on}
        aria-label={compact ? label : undefined}
        aria-describedby={refused === '' ? undefined : 'play-refused'}
        disabled={store.phase.value !== 'ready' || refused !== ''}
        data-layout={store.layoutState.value}
        onClick={act.playPause}
      >
        {on ? <Pause /> : <Play />}
        {!compact && <span class="text">{label}</span>}
        {on && perSecond > 0 && <span class="rate">{rate(perSecond)} it/s</span>}
      </button>
      {refused !== '' && (
        <span class="unseen" id="play-refused">
          {refused}
        </span>
      )}
    </>
  );
}

/** What lays out, fits and saves, in the bar. */
export function Tools(): JSX.Element {
  return (
    <>
      <PlayButton />
      <LayoutPicker />
      <button class="button" type="button" id="fit" title="Show everything (f)" onClick={act.fit}>
        <icons.Fit />
        <span class="text">Fit</span>
      </button>
      <button
        class="button"
        type="button"
        id="export"
        title="Save the picture"
        onClick={act.savePicture}
      >
        <icons.Camera />
        <span class="text">Save</span>
      </button>
    </>
  );
}

export function ZoomButtons(): JSX.Element | null {
  if (!store.showMenu.value || store.phase.value !== 'ready') return null;
  return (
    <div class="zoom" data-over>
      <button
        type="button"
        class="button square"
        aria-label="Zoom in"
        title="Zoom in (+)"
        onClick={act.zoomIn}
      >
        <icons.Plus />
      </button>
      <button
        type="button"
        class="button square"
        aria-label="Zoom out"
        title="Zoom out (-)"
        onClick={act.zoomOut}
      >
        <icons.Minus />
      </button>
      <button
        type="button"
        class="button square"
        aria-label="Fit"
        title="Show everything (f)"
        onClick={act.fit}
      >
        <icons.Fit />
      </button>
      <AfarButtons />
      <SpaceButton />
      {SELECTING.map(([tool, Icon, title]) => (
        <button
          key={tool}
          type="button"
          id={`select-${tool}`}
          class={store.tool.value === tool ? 'button square primary' : 'button square'}
          aria-label={title}
          aria-pressed={store.tool.value === tool}
          title={`${title} (${tool[0]})`}
          onClick={() => act.chooseTool(tool)}
        >
          <Icon />
        </button>
      ))}
    </div>
  );
}

const SELECTING = [
  ['rectangle', icons.Rectangle, 'Select by a rectangle'],
  ['lasso', icons.Lasso, 'Select by a lasso'],
] as const;

/** In a frame too small for a bar: play, and the way out. */
export function TinyTools(): JSX.Element | null {
  if (!store.tiny.value || !store.params.menu || store.phase.value !== 'ready') return null;
  return (
    <div class="tiny">
      <PlayButton compact />
      <a
        class="button square"
        href={act.fullAddress()}
        target="_blank"
        rel="noopener"
        title="Open in a tab"
      >
        <Open />
      </a>
    </div>
  );
}
