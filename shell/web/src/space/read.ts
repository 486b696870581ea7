import { FrameError, KIND, type Frame } from '../net/frames.ts';

/** The step of a node without a third coordinate. */
const NONE = 65535;

/** The third coordinates of `depth.bin`, not a number where a node has none. */
export function readDepth({ header, payload }: Frame, numNodes: number): Float32Array {
  const { kind, count, bounds } = header;
  if (kind !== KIND.DEPTH || count !== numNodes || payload.byteLength < 2 * count) {
    throw new FrameError(`no third coordinates of ${numNodes} nodes in ${payload.byteLength} bytes`);
  }
  const steps = new Uint16Array(payload.buffer, payload.byteOffset, count);
  return Float32Array.from(steps, (q) => (q === NONE ? NaN : bounds.x0 + q * bounds.sx));
}
