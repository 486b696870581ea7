import type { Viewer } from '../state/viewer.ts';

const PAN = 80;

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}

/** Keys of the page. Fields keep theirs, and buttons keep space. */
export function listenKeys(viewer: Viewer, focusSearch: () => void, playPause: () => void): void {
  const { picture } = viewer;
  const pan = (dx: number, dy: number): void => {
    picture.camera.pan(dx, dy);
    picture.touched(performance.now());
    viewer.refresh();
  };
  const keys: Record<string, () => void> = {
    '+': () => viewer.zoomBy(1.4),
    '=': () => viewer.zoomBy(1.4),
    '-': () => viewer.zoomBy(1 / 1.4),
    _: () => viewer.zoomBy(1 / 1.4),
    f: () => viewer.fit(),
    ' ': playPause,
    '/': focusSearch,
    Escape: () => viewer.select(-1),
    ArrowLeft: () => pan(PAN, 0),
    ArrowRight: () => pan(-PAN, 0),
    ArrowUp: () => pan(0, PAN),
    ArrowDown: () => pan(0, -PAN),
  };
  addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      focusSearch();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (event.key === ' ' && event.target instanceof HTMLButtonElement) return;
    const action = keys[event.key] ?? keys[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
