import type { Program } from './gpu.ts';

/** In stored coordinates. */
export type Place = readonly [number, number];

/** Draws edges as curves that something else knows. */
export interface EdgeBending {
  /** Pieces of a line. */
  readonly segments: number;
  /** Its program in place of the renderer's, in use. */
  use(kind: 'lines' | 'quads' | 'arrows'): Program;
  /** The inner control points of the curve from one place to another; null where the edge is straight. */
  controls(edge: number, a: Place, b: Place): readonly [Place, Place] | null;
}
