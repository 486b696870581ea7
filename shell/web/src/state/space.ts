import { signal } from '@preact/signals';
import { load, type SpaceView } from './lazy.ts';

/** Whether the third dimension is shown. */
export const inSpace = signal(false);

/** What shows it, once somebody has switched it on. */
export let space: SpaceView | null = null;

/** Shows the third dimension, or the plane; loads first what does. */
export async function showSpace(on: boolean): Promise<void> {
  space = await load.space();
  await space.show(on);
}
