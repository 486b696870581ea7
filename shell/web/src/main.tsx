import { effect } from '@preact/signals';
import { render } from 'preact';
import { loadFor } from './lazy/loaders.ts';
import { App, type Surfaces } from './panels/app.tsx';
import * as act from './state/actions.ts';
import { LiveViewer } from './state/live-viewer.ts';
import { watchPictures } from './state/notices.ts';
import * as store from './state/store.ts';
import { applyMetadata } from './state/theme.ts';

const { params } = store;
const still = params.test || matchMedia('(prefers-reduced-motion: reduce)').matches;

function needsSplash(): boolean {
  const after = params.splashAfter;
  return typeof after === 'number' ? Date.now() / 1000 > after : after;
}

/** Follows the size of the stage and the pixel ratio of the screen. */
function followSize(stage: HTMLElement, viewer: LiveViewer): void {
  const resize = (): void => {
    store.viewport.value = { w: innerWidth, h: innerHeight };
    viewer.resize(
      stage.clientWidth,
      stage.clientHeight,
      params.test ? 1 : Math.min(3, devicePixelRatio || 1),
    );
  };
  new ResizeObserver(resize).observe(stage);
  const watchRatio = (): void => {
    matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener(
      'change',
      () => {
        resize();
        watchRatio();
      },
      { once: true },
    );
  };
  watchRatio();
  resize();
}

/** The viewer, which shows the server's pictures where the browser cannot draw. */
async function makeViewer({ stage, surface }: Surfaces): Promise<LiveViewer> {
  const make = (): LiveViewer => new LiveViewer(surface, stage, still);
  try {
    return make();
  } catch (error) {
    return (await import('./still/still.tsx')).withoutGl(surface, make, error);
  }
}

async function start({ stage, surface }: Surfaces): Promise<void> {
  const viewer = await makeViewer({ stage, surface });
  loadFor(viewer);
  act.viewer.value = viewer;
  effect(() => {
    if (store.phase.value !== 'ready' || store.panels.peek()) return;
    void import('./lazy/more.ts').then((more) => more.start(viewer, stage, surface));
  });
  let embedded = window.parent === window;
  effect(() => {
    if (embedded || !store.instruments.value) return;
    embedded = true;
    void import('./embed/embed.ts').then((all) => all.embed(viewer));
  });
  followSize(stage, viewer);
  // Nobody looks at it before the first picture.
  void import('./testhook.ts').then((hook) => hook.installHook(viewer));
  if (params.dataset === '' || params.session === '') store.phase.value = 'missing';
  else if (needsSplash()) void import('./panels/splash.tsx').then((all) => all.splash(viewer.api));
  else viewer.link.open();
}

function failed(error: unknown): void {
  console.error(error);
  store.phase.value = 'failed';
  store.detail.value = error instanceof Error ? error.message : String(error);
}

addEventListener('resize', () => {
  store.viewport.value = { w: innerWidth, h: innerHeight };
});
document.body.dataset.connected = 'false';
document.body.dataset.seq = '0';
document.body.dataset.epoch = '0';
document.documentElement.classList.toggle('still', still);
// Before anything names a picture.
watchPictures(document);
applyMetadata(null, '');

const root = document.getElementById('app');
if (root) render(<App start={(surfaces) => start(surfaces).catch(failed)} />, root);
