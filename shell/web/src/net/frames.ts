/**
 * Binary frames of `graph-viz.v1`: a 48-byte little-endian header, then the payload.
 * Unknown kinds are ignored by the caller, so a newer server may send more than this page knows.
 */

export const MAGIC = 0x315a5647; // "GVZ1"
export const HEADER_BYTES = 48;
/** Quantised coordinate that means "not placed". */
export const NO_POSITION = 65535;

export const KIND = {
  POS_KEY: 1,
  POS_DELTA: 2,
  POS_F32: 3,
  POS_LIST: 4,
  MASK: 16,
  COLOR: 17,
  SIZE: 18,
  LABELS: 19,
  ICONS: 20,
  GROUPS: 21,
  DEPTH: 22,
} as const;

/** Whether a frame carries positions; those are acknowledged. */
export function isPosition(kind: number): boolean {
  return kind >= KIND.POS_KEY && kind <= KIND.POS_LIST;
}

export const FLAG = { DEFLATE: 1, RUNNING: 2, SETTLED: 4, LAST_STRIPE: 8 } as const;

/** Affine map of quantised coordinates: `x = x0 + q * sx`. */
export interface Bounds {
  x0: number;
  y0: number;
  sx: number;
  sy: number;
}

export interface Header {
  kind: number;
  flags: number;
  epoch: number;
  seq: number;
  baseSeq: number;
  first: number;
  count: number;
  stride: number;
  bounds: Bounds;
}

export interface Frame {
  header: Header;
  /** The payload, inflated; its offset in the buffer is a multiple of 16. */
  payload: Uint8Array;
}

/** A frame that breaks the format. */
export class FrameError extends Error {}

/** Reads the header; throws when the bytes are not a frame of this version. */
export function readHeader(bytes: Uint8Array): Header {
  if (bytes.byteLength < HEADER_BYTES)
    throw new FrameError(`frame of ${bytes.byteLength} bytes is too short`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== MAGIC) throw new FrameError('frame does not start with GVZ1');
  if (view.getUint8(4) !== 1)
    throw new FrameError(`frame header version ${view.getUint8(4)} is unknown`);
  return {
    kind: view.getUint8(5),
    flags: view.getUint16(6, true),
    epoch: view.getUint32(8, true),
    seq: view.getUint32(12, true),
    baseSeq: view.getUint32(16, true),
    first: view.getUint32(20, true),
    count: view.getUint32(24, true),
    stride: Math.max(1, view.getUint32(28, true)),
    bounds: {
      x0: view.getFloat32(32, true),
      y0: view.getFloat32(36, true),
      sx: view.getFloat32(40, true),
      sy: view.getFloat32(44, true),
    },
  };
}

async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  const source = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
  const stream = source.pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Splits a message into header and payload; answers at once unless the payload is deflated. */
export function readFrame(data: ArrayBuffer | Uint8Array): Frame | Promise<Frame> {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const header = readHeader(bytes);
  const payload = bytes.subarray(HEADER_BYTES);
  if ((header.flags & FLAG.DEFLATE) === 0) return { header, payload: aligned(payload) };
  return inflate(payload).then((inflated) => ({ header, payload: inflated }));
}

/** Typed views need an offset that fits their width; a message from a socket already has one. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 16 === 0 ? bytes : bytes.slice();
}

function need(payload: Uint8Array, bytes: number, what: string): void {
  if (payload.byteLength < bytes) {
    throw new FrameError(`${what} needs ${bytes} bytes of payload, has ${payload.byteLength}`);
  }
}

/** Quantised pairs of a keyframe. */
export function readKey(frame: Frame): Uint16Array {
  const { payload, header } = frame;
  need(payload, header.count * 4, 'POS_KEY');
  return new Uint16Array(payload.buffer, payload.byteOffset, header.count * 2);
}

/** Float pairs of an exact snapshot. */
export function readF32(frame: Frame): Float32Array {
  const { payload, header } = frame;
  need(payload, header.count * 8, 'POS_F32');
  return new Float32Array(payload.buffer, payload.byteOffset, header.count * 2);
}

export interface Delta {
  step: number;
  dx: Int8Array;
  dy: Int8Array;
  /** Nodes that moved too far for a byte: index and quantised pair each. */
  over: { index: Uint32Array; xy: Uint16Array };
}

/** Steps from the keyframe, planar, with the side list of those that overflow. */
export function readDelta(frame: Frame): Delta {
  const { payload, header } = frame;
  const n = header.count;
  need(payload, 8 + 2 * n, 'POS_DELTA');
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const step = view.getFloat32(0, true);
  const numOver = view.getUint32(4, true);
  const start = 8 + 2 * n;
  need(payload, start + numOver * 8, 'POS_DELTA');
  const over = { index: new Uint32Array(numOver), xy: new Uint16Array(numOver * 2) };
  for (let k = 0; k < numOver; k += 1) {
    const at = start + k * 8;
    over.index[k] = view.getUint32(at, true);
    over.xy[2 * k] = view.getUint16(at + 4, true);
    over.xy[2 * k + 1] = view.getUint16(at + 6, true);
  }
  return {
    step,
    dx: new Int8Array(payload.buffer, payload.byteOffset + 8, n),
    dy: new Int8Array(payload.buffer, payload.byteOffset + 8 + n, n),
    over,
  };
}

/** Listed nodes: indices, then quantised pairs in the header's own bounds. */
export function readList(frame: Frame): { index: Uint32Array; xy: Uint16Array } {
  const { payload, header } = frame;
  const n = header.count;
  need(payload, n * 8, 'POS_LIST');
  return {
    index: new Uint32Array(payload.buffer, payload.byteOffset, n),
    xy: new Uint16Array(payload.buffer, payload.byteOffset + n * 4, n * 2),
  };
}

/**
 * The axis of a COLOR or SIZE frame and its data, which follow 16 bytes of prefix. With `some`, an opacity
 * of 0 leaves an edge the look that it has by itself. `chosen` has a bit for each node whose colour is the
 * same in every theme; it is empty where there is none.
 */
export function readChannel(
  frame: Frame,
  width: number,
): { axis: 'node' | 'edge'; some: boolean; data: Uint8Array; chosen: Uint8Array } {
  const { payload, header } = frame;
  const end = 16 + header.count * width;
  need(payload, end, 'channel');
  return {
    axis: payload[0] === 1 ? 'edge' : 'node',
    some: payload[1] === 1,
    data: payload.subarray(16, end),
    chosen: payload.subarray(end),
  };
}

/** The axis of a MASK frame and its bits, which follow 16 bytes of prefix. */
export function readMask(frame: Frame): { axis: 'node' | 'edge'; bits: Uint8Array } {
  const { payload, header } = frame;
  const bytes = (header.count + 7) >> 3;
  need(payload, 16 + bytes, 'MASK');
  return { axis: payload[0] === 1 ? 'edge' : 'node', bits: payload.subarray(16, 16 + bytes) };
}

export interface Label {
  index: number;
  text: string;
}

/** Label candidates, most important first. */
export function readLabels(frame: Frame): Label[] {
  const { payload, header } = frame;
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const decoder = new TextDecoder();
  const labels: Label[] = [];
  let at = 0;
  for (let k = 0; k < header.count; k += 1) {
    need(payload, at + 6, 'LABELS');
    const length = view.getUint16(at + 4, true);
    need(payload, at + 6 + length, 'LABELS');
    const text = decoder.decode(payload.subarray(at + 6, at + 6 + length));
    labels.push({ index: view.getUint32(at, true), text });
    at += 6 + length;
  }
  return labels;
}
