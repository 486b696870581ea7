import { addLoaders } from '../state/lazy.ts';
import type { LiveViewer } from '../state/live-viewer.ts';

/** Says how the parts of the page are loaded that are not needed at its start: a row each. */
export function loadFor(viewer: LiveViewer): void {
  addLoaders({
    bound: () => import('../bound/bound.ts').then((all) => new all.Bound(viewer)),
    document: () => import('./session.ts').then((all) => all.start(viewer)),
    selection: () => import('./tools.ts').then((all) => all.start(viewer)),
    still: () => import('../still/still.tsx').then((all) => all.showStill(viewer)),
    exporting: () => import('../panels/export-dialog.tsx').then((all) => all.openExport(viewer)),
  });
}
