import { fitBox, freeRect, toScreen, type Box, type Rect, type Size, type View } from './camera.ts';

/** Nodes that are looked at. */
const SAMPLE_MAX = 20_000;
/** How near to a panel a node is under it. */
const GAP = 10;

export interface Fit {
  box: Box;
  size: Size;
  panels: Rect[];
  /** Positions as x and y in turn, seen from `origin`. */
  xy: Float32Array;
  origin: { x: number; y: number };
  /** How many nodes may lie under panels. */
  most: number;
}

/**
 * The view that shows a box between the panels. A legend covers a corner, and what is above it need not stay
 * empty: of five rectangles from the whole screen down to the part that no panel touches it is the largest
 * one in which next to no node comes to lie under a panel.
 */
export function fitView({ box, size, panels, xy, origin, most }: Fit): View {
  const count = xy.length / 2;
  const margin = Math.min(32, Math.max(12, Math.min(size.w, size.h) * 0.036));
  // A few nodes look lost at the rims of the screen; keep them together in its middle.
  const part = Math.min(1, 0.36 + 0.1 * Math.sqrt(count));
  const free = freeRect(size, panels, box, margin);
  const whole = freeRect(size, [], box, margin);
  const step = Math.max(1, Math.floor(count / SAMPLE_MAX));
  for (let t = 1; ; t -= 0.25) {
    const mix = (side: keyof Rect): number => free[side] + (whole[side] - free[side]) * t;
    const [w, h] = [mix('w') * part, mix('h') * part];
    const inner = { x: mix('x') + (mix('w') - w) / 2, y: mix('y') + (mix('h') - h) / 2, w, h };
    const view = fitBox(box, inner, size);
    if (t === 0) return view;
    let hidden = 0;
    for (let i = 0; i < count && hidden <= most; i += step) {
      const [x, y] = toScreen(view, size, xy[2 * i] + origin.x, xy[2 * i + 1] + origin.y);
      const under = (p: Rect): boolean =>
        x > p.x - GAP && y > p.y - GAP && x < p.x + p.w + GAP && y < p.y + p.h + GAP;
      if (panels.some(under)) hidden += step;
    }
    if (hidden <= most) return view;
  }
}
