import * as act from '../state/actions.ts';
import { withDocument } from '../state/documents.ts';
import { inSpace, space } from '../state/space.ts';
import { clearSelection } from '../state/selecting.ts';
import { focusSearch } from '../state/search.ts';
import * as store from '../state/store.ts';
import type { Viewer } from '../state/viewer.ts';
import { commandOf, type KeyCommand } from './keys.ts';

const PAN = 80;

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}

/** Keys of the page. Fields keep theirs, and buttons keep space. */
export function listenKeys(viewer: Viewer): void {
  const { picture } = viewer;
  let turns = false;
  const pan = (dx: number, dy: number): void => {
    if (turns) return space?.turnBy(dx / 4, dy / 4);
    picture.camera.pan(dx, dy);
    picture.touched(performance.now());
    viewer.refresh();
  };
  const actions: Record<KeyCommand, () => void> = {
    'zoom-in': () => viewer.zoomBy(1.4),
    'zoom-out': () => viewer.zoomBy(1 / 1.4),
    fit: () => viewer.fit(),
    play: act.playPause,
    search: focusSearch,
    'let-go': () => {
      if (store.keysShown.value) store.keysShown.value = false;
      else if (store.tool.value !== 'pan') store.tool.value = 'pan';
      else {
        clearSelection();
        viewer.select(-1);
      }
    },
    left: () => pan(PAN, 0),
    right: () => pan(-PAN, 0),
    up: () => pan(0, PAN),
    down: () => pan(0, -PAN),
    help: () => {
      store.keysShown.value = !store.keysShown.value;
    },
    rectangle: () => act.chooseTool('rectangle'),
    lasso: () => act.chooseTool('lasso'),
    all: () => act.select('all'),
    grow: () => act.select('grow'),
    invert: () => act.select('invert'),
    undo: () => withDocument((all) => all.step('undo')),
    redo: () => withDocument((all) => all.step('redo')),
  };
  addEventListener('keydown', (event) => {
    const command = commandOf({
      key: event.key,
      ctrl: event.ctrlKey || event.metaKey,
      alt: event.altKey,
      shift: event.shiftKey,
      typing: typing(event.target),
      button: event.target instanceof HTMLButtonElement,
    });
    if (command === null) return;
    event.preventDefault();
    turns = event.shiftKey && inSpace.value;
    actions[command]();
  });
}
