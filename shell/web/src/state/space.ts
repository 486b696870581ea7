import { signal } from '@preact/signals';
import type { Viewer } from './viewer.ts';

/** What shows nodes with a third coordinate from any side. */
export interface SpaceView {
  show(on: boolean): Promise<void>;
  /** Turns the picture by so many pixels of the pointer. */
  turnBy(dx: number, dy: number): void;
}

/** Whether the third dimension is shown. */
export const inSpace = signal(false);

/** What shows it, once somebody has switched it on. */
export let space: SpaceView | null = null;

/** Shows the third dimension, or the plane; loads first what does. */
export async function showSpace(viewer: Viewer, on: boolean): Promise<void> {
  const { Space } = await import('../space/space.ts');
  await (space ??= new Space(viewer)).show(on);
}
