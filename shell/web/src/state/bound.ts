import { load, type BoundLayer } from './lazy.ts';

let loading: Promise<void> | null = null;

/** The layer that draws icons, axes and maps, once something of them has come. */
export let bound: BoundLayer | null = null;

/** Whether it is on its way to the screen. */
export function isBinding(): boolean {
  return bound ? bound.busy : loading !== null;
}

/** Does something with what draws icons, axes and maps, in the order in which this is called. */
export function withBound(act: (bound: BoundLayer) => void): void {
  loading ??= load.bound().then((layer) => {
    bound = layer;
  });
  loading = loading.then(() => {
    if (bound) act(bound);
  });
}
