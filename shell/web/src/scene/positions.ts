import {
  KIND,
  NO_POSITION,
  readDelta,
  readF32,
  readKey,
  readList,
  type Bounds,
  type Frame,
} from '../net/frames.ts';

/** A coordinate of a node without a position; shaders and picking test for it. */
export const ABSENT = 3e37;

/** Whether a stored coordinate is a place. */
export function isPlaced(x: number): boolean {
  return x < 1e30 && x > -1e30;
}

/**
 * Node positions as the page knows them.
 *
 * Coordinates are floats relative to `origin`, so a graph far from zero loses no precision; a node
 * without a position is `ABSENT`. Deltas refer to the last keyframe and never to the frame before, so a
 * skipped frame breaks nothing.
 */
export class Positions {
  origin = { x: 0, y: 0 };
  seq = 0;
  /** Another number whenever nodes are shown elsewhere. */
  version = 0;
  /** Shows nodes elsewhere than the frames say; what it did is undone while a frame is applied. */
  turning: { undo: () => void; redo: () => void } | null = null;
  /** Whether a frame has come. */
  started = false;
  /** Whether all of the newest frame has come. */
  whole = true;
  /** Newest positions, x and y of each node. */
  readonly current: Float32Array;
  /** What was shown when the newest frame came: the start of the tween. */
  readonly previous: Float32Array;
  private key: Uint16Array | null = null;
  private keySeq = 0;
  private keyBounds: Bounds | null = null;

  constructor(readonly numNodes: number) {
    this.current = new Float32Array(numNodes * 2).fill(ABSENT);
    this.previous = new Float32Array(numNodes * 2).fill(ABSENT);
  }

  /** Makes what is shown at tween time `t` the start of the next tween. */
  freeze(t: number): void {
    const { previous, current } = this;
    if (t >= 1) {
      previous.set(current);
      return;
    }
    for (let k = 0; k < current.length; k += 1) {
      previous[k] = isPlaced(previous[k]) ? previous[k] + (current[k] - previous[k]) * t : current[k];
    }
  }

  /** The newest positions, as if marked nodes had none. */
  without(marks: Uint8Array): Float32Array {
    return this.current.map((c, k) => (marks[k >> 1] ? ABSENT : c));
  }

  /** Nodes that had no place before start where they are now, instead of flying in from nowhere. */
  settleNew(): void {
    const { previous, current } = this;
    for (let k = 0; k < current.length; k += 1) if (!isPlaced(previous[k])) previous[k] = current[k];
  }

  /** Where a node is shown at tween time `t`, in graph coordinates; null when it has no place. */
  shownAt(i: number, t: number): [number, number] | null {
    const x = this.current[2 * i];
    const y = this.current[2 * i + 1];
    if (!isPlaced(x) || !isPlaced(y)) return null;
    const px = this.previous[2 * i];
    const py = this.previous[2 * i + 1];
    if (t >= 1 || !isPlaced(px)) return [x + this.origin.x, y + this.origin.y];
    return [px + (x - px) * t + this.origin.x, py + (y - py) * t + this.origin.y];
  }

  /** Puts a node at a graph coordinate at once (a drag). */
  move(i: number, x: number, y: number): void {
    this.current[2 * i] = this.previous[2 * i] = x - this.origin.x;
    this.current[2 * i + 1] = this.previous[2 * i + 1] = y - this.origin.y;
  }

  /** Applies a position frame; answers false when it has to be skipped (an unknown keyframe). */
  apply(frame: Frame): boolean {
    this.turning?.undo();
    const taken = this.take(frame);
    this.version += 1;
    this.turning?.redo();
    return taken;
  }

  private take(frame: Frame): boolean {
    const { header } = frame;
    this.whole = header.kind !== KIND.POS_KEY || header.first + 1 === header.stride;
    if (header.kind === KIND.POS_KEY) this.applyKey(frame);
    else if (header.kind === KIND.POS_F32) this.applyF32(frame);
    else if (header.kind === KIND.POS_LIST) this.applyList(frame);
    else if (!this.applyDelta(frame)) return false;
    this.seq = header.seq;
    this.started = true;
    return true;
  }

  private anchor(x: number, y: number): void {
    // Set once: the pictures of two frames must share their origin to be tweened.
    if (!this.started && Number.isFinite(x) && Number.isFinite(y)) this.origin = { x, y };
  }

  private applyKey(frame: Frame): void {
    const { header } = frame;
    const quantised = readKey(frame);
    const b = header.bounds;
    this.anchor(b.x0 + b.sx * 32768, b.y0 + b.sy * 32768);
    // Stripes of one keyframe come one after another; until the last there is none that deltas refer to.
    if (header.first === 0 || !this.key) this.key = new Uint16Array(this.numNodes * 2).fill(NO_POSITION);
    const { key } = this;
    this.keySeq = this.whole ? header.seq : -1;
    this.keyBounds = b;
    for (let k = 0; k < header.count; k += 1) {
      const i = header.first + k * header.stride;
      key[2 * i] = quantised[2 * k];
      key[2 * i + 1] = quantised[2 * k + 1];
      this.place(i, quantised[2 * k], quantised[2 * k + 1], b);
    }
  }

  private applyF32(frame: Frame): void {
    const { header } = frame;
    const exact = readF32(frame);
    if (!this.started) {
      let at = 0;
      while (at < exact.length && !Number.isFinite(exact[at] + exact[at + 1])) at += 2;
      if (at < exact.length) this.anchor(exact[at], exact[at + 1]);
    }
    for (let k = 0; k < header.count; k += 1) {
      const i = header.first + k * header.stride;
      if (i >= this.numNodes) break;
      const finite = Number.isFinite(exact[2 * k] + exact[2 * k + 1]);
      this.current[2 * i] = finite ? exact[2 * k] - this.origin.x : ABSENT;
      this.current[2 * i + 1] = finite ? exact[2 * k + 1] - this.origin.y : ABSENT;
    }
  }

  private applyList(frame: Frame): void {
    const { index, xy } = readList(frame);
    for (let k = 0; k < index.length; k += 1) {
      this.place(index[k], xy[2 * k], xy[2 * k + 1], frame.header.bounds);
    }
  }

  private applyDelta(frame: Frame): boolean {
    const { header } = frame;
    const { key, keyBounds: b } = this;
    if (!key || !b || header.baseSeq !== this.keySeq) return false;
    const { step, dx, dy, over } = readDelta(frame);
    const ax = b.x0 - this.origin.x;
    const ay = b.y0 - this.origin.y;
    const out = this.current;
    for (let k = 0; k < header.count; k += 1) {
      const i = header.first + k * header.stride;
      if (i >= this.numNodes) break;
      const qx = key[2 * i];
      const qy = key[2 * i + 1];
      if (qx === NO_POSITION && qy === NO_POSITION) continue;
      out[2 * i] = ax + (qx + dx[k] * step) * b.sx;
      out[2 * i + 1] = ay + (qy + dy[k] * step) * b.sy;
    }
    for (let k = 0; k < over.index.length; k += 1) {
      this.place(over.index[k], over.xy[2 * k], over.xy[2 * k + 1], b);
    }
    return true;
  }

  private place(i: number, qx: number, qy: number, b: Bounds): void {
    if (i >= this.numNodes) return;
    const absent = qx === NO_POSITION && qy === NO_POSITION;
    this.current[2 * i] = absent ? ABSENT : b.x0 - this.origin.x + qx * b.sx;
    this.current[2 * i + 1] = absent ? ABSENT : b.y0 - this.origin.y + qy * b.sy;
  }
}
