import './still.css';
import { render } from 'preact';
import type { JSX } from 'preact';
import { effect } from '@preact/signals';
import { GlError } from '../gl/gpu.ts';
import { Renderer, type DrawInput } from '../gl/renderer.ts';
import { toScreen } from '../scene/camera.ts';
import * as store from '../state/store.ts';
import type { Viewer } from '../state/viewer.ts';
import { noGl } from './no-gl.ts';
import { Taking } from './taking.ts';

/** The server's picture in place of the canvas, where the browser cannot draw. All else is as always. */

/** Why the page draws nothing, and what brings the live picture. */
interface Why {
  lack: string;
  remedy: string;
}

const LOST: Why = {
  lack: 'The browser took WebGL away from this page',
  remedy: 'For the live one reload the page.',
};

/** What a browser lacks that failed with an error. */
function lackOf(error: unknown): Why {
  const said = error instanceof GlError ? error.message : '';
  const isPlain = said.startsWith('This browser');
  if (!isPlain) console.warn(error);
  return {
    lack: isPlain ? said.replace(/\.$/, '') : 'This browser could not make ready to draw',
    remedy: 'For the live one turn hardware acceleration on, or open the page in another browser.',
  };
}

function Note({ taking, why }: { taking: Taking; why: Why }): JSX.Element | null {
  if (store.phase.value !== 'ready') return null;
  const { lack, remedy } = why;
  const problem = taking.problem.value;
  const isOld = problem !== '' && taking.taken.value !== null;
  const busy = taking.busy.value;
  return (
    <div class="still-note panel" data-over role="note">
      <p>
        {lack}, so this is a still picture drawn by the server. {!store.tiny.value && remedy}
      </p>
      {problem !== '' && (
        <p class="problem" role="status">
          {isOld ? 'The picture is an older one' : 'There is no picture'}: {problem}
        </p>
      )}
      <button
        type="button"
        class="button"
        id="still-again"
        aria-busy={busy}
        onClick={() => void taking.take()}
      >
        {busy ? 'Drawing…' : 'Draw again'}
      </button>
    </div>
  );
}

/** Where a picture lies while another part is looked at, until there is one of that. */
function placing(viewer: Viewer, taking: Taking, image: HTMLImageElement): void {
  const taken = taking.taken.value;
  image.hidden = taken === null || store.phase.value !== 'ready';
  if (!taken) return;
  const { camera, size } = viewer.picture;
  const { view } = taken;
  const ratio = camera.view.scale / view.scale;
  const [x, y] = toScreen(camera.view, size, view.cx, view.cy);
  const [w, h] = [taken.size.w * ratio, taken.size.h * ratio];
  image.style.transform = `translate(${x - w / 2}px, ${y - h / 2}px) scale(${ratio})`;
  Object.assign(image.style, { width: `${taken.size.w}px`, height: `${taken.size.h}px` });
}

/** Shows the server's picture until the browser can draw again. */
export function showStill(viewer: Viewer, why: Why = LOST): void {
  if (store.still.value) return;
  store.still.value = true;
  const taking = new Taking(viewer);
  const image = document.createElement('img');
  image.id = 'still';
  const host = document.createElement('div');
  const { picture, page } = viewer;
  // Below the surface, which takes the pointer as always.
  page.prepend(image);
  page.append(host);
  document.body.dataset.still = '';
  render(<Note taking={taking} why={why} />, host);
  const ends = [
    effect(() => {
      image.src = taking.taken.value?.url ?? '';
    }),
    effect(() => {
      const name = store.graphName.value || 'the graph';
      const [nodes, edges] = [store.nodeCount.value, store.edgeCount.value];
      image.alt = `A still picture of ${name}, drawn by the server: ${nodes} nodes and ${edges} edges`;
    }),
    effect(() => placing(viewer, taking, image)),
  ];
  const end = (): void => {
    picture.adjusters.splice(picture.adjusters.indexOf(adjust), 1);
    for (const one of ends) one();
    taking.end();
    render(null, host);
    host.remove();
    image.remove();
    delete document.body.dataset.still;
    store.still.value = false;
  };
  // Once a frame; a context that has come back ends it.
  const adjust = (input: DrawInput): DrawInput => {
    if (picture.renderer.gl.isContextLost()) {
      placing(viewer, taking, image);
      taking.look();
    } else {
      queueMicrotask(end);
    }
    return input;
  };
  picture.adjusters.push(adjust);
  viewer.refresh();
}

/** Makes the viewer of a browser without WebGL. */
export function withoutGl<V extends Viewer>(surface: HTMLElement, make: () => V, error: unknown): V {
  // What the first try left behind.
  surface.querySelector('canvas')?.remove();
  Renderer.instead = noGl;
  const viewer = make();
  showStill(viewer, lackOf(error));
  return viewer;
}
