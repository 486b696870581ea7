import { signal } from '@preact/signals';
import type { Afar } from '../afar/afar.ts';
import type { Rect } from '../scene/camera.ts';

interface FromAfar {
  layer: Afar | null;
  loading: boolean;
}

/** What is drawn for nodes that are too many to be told apart. */
export const afar: FromAfar = { layer: null, loading: false };

/** Where names of groups stand. */
export const groupNames = (): Rect[] => afar.layer?.obstacles ?? [];

/** Whether something of it is on its way to the screen. */
export const isGrouping = (): boolean => afar.loading || afar.layer?.busy === true;

/** Whether groups are shown in place of nodes that cannot be told apart; null where there are none. */
export const groupsShown = signal<boolean | null>(null);
