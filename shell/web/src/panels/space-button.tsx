import type { JSX } from 'preact';
import { inSpace, showSpace } from '../state/space.ts';
import * as store from '../state/store.ts';

/** Where nodes have a third coordinate: shows it, or the plane. */
export function SpaceButton(): JSX.Element | null {
  if (store.depths.value === 0) return null;
  const on = inSpace.value;
  const title = on ? 'Show the plane again' : 'Show the third dimension (turn: right drag or Shift ←)';
  return (
    <button
      type="button"
      id="space"
      class={on ? 'button square primary' : 'button square'}
      aria-label="Show the third dimension"
      aria-pressed={on}
      title={title}
      onClick={() => void showSpace(!on)}
    >
      3D
    </button>
  );
}
