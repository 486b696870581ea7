import type { Bound } from '../bound/bound.ts';
import type { Viewer } from './viewer.ts';

let loading: Promise<void> | null = null;

/** What draws icons, axes and maps, once something of them has come. */
export let bound: Bound | null = null;

/** Whether it is on its way to the screen. */
export function isBinding(): boolean {
  return bound ? bound.busy : loading !== null;
}

/** Does something with what draws icons, axes and maps, in the order in which this is called. */
export function withBound(viewer: Viewer, act: (bound: Bound) => void): void {
  loading ??= import('../bound/bound.ts').then((all) => {
    bound = new all.Bound(viewer);
  });
  loading = loading.then(() => {
    if (bound) act(bound);
  });
}
