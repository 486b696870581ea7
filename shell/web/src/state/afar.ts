import { signal } from '@preact/signals';
import type { Rect } from '../scene/camera.ts';
import type { AfarLayer } from './lazy.ts';

interface FromAfar {
  layer: AfarLayer | null;
  loading: boolean;
}

/** The layer that is drawn for nodes that are too many to be told apart. */
export const afar: FromAfar = { layer: null, loading: false };

const waiting: ((layer: AfarLayer) => unknown)[] = [];

/** Does something with it, once it is there. */
export function withAfar(act: (layer: AfarLayer) => unknown): void {
  if (afar.layer) act(afar.layer);
  else waiting.push(act);
}

/** It is there. */
export function setAfar(layer: AfarLayer): void {
  afar.layer = layer;
  afar.loading = false;
  for (const act of waiting.splice(0)) act(layer);
}

/** Where names of groups stand. */
export const groupNames = (): Rect[] => afar.layer?.obstacles ?? [];

/** Whether something of it is on its way to the screen. */
export const isGrouping = (): boolean => afar.loading || afar.layer?.busy === true;

/** Whether something has to be drawn by it in a graph of any size. */
export const needsAfar = signal(false);

/** Whether edges between communities are bundled. */
export const bundled = signal(false);

/** How many discs stand for collapsed nodes. */
export const discs = signal(0);

/** Whether groups are shown in place of nodes that cannot be told apart; null where there are none. */
export const groupsShown = signal<boolean | null>(null);
