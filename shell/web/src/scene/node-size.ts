/** Sizes at which nodes are drawn; the shader has the same rule. */

export const SIZE_MIN = 1.5;
export const SIZE_MAX = 64;
/** Diameter in pixels from which sizes approach the largest one without reaching it. */
export const SIZE_SOFT = 32;
/** Zoom at which sizes stand apart most, and by how much then. */
const CONTRAST_ZOOM = 10;
const CONTRAST_MAX = 3;

/** How sizes become diameters: `contrast` times what they have above `floor`, all in quarter pixels. */
export interface SizeRule {
  scale: number;
  floor: number;
  contrast: number;
}

/**
 * How far sizes stand apart at a zoom (1: everything is in view). Among the few nodes that are seen close,
 * the root of the degree differs little beside the least size; there its differences are drawn larger.
 */
export function contrastAt(zoom: number): number {
  const t = Math.min(1, Math.max(0, Math.log(Math.max(zoom, 1)) / Math.log(CONTRAST_ZOOM)));
  return 1 + (CONTRAST_MAX - 1) * t;
}

/** Diameter in pixels of a node with a stored size in quarter pixels. */
export function diameterOf(stored: number, { scale, floor, contrast }: SizeRule): number {
  const d = ((floor + contrast * (stored - floor)) / 4) * scale;
  const far = SIZE_MAX - SIZE_SOFT;
  const soft = d <= SIZE_SOFT ? d : SIZE_MAX - far * Math.exp((SIZE_SOFT - d) / far);
  return Math.max(SIZE_MIN, soft);
}
