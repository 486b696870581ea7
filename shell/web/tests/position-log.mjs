// The position frames that a page receives, noted from its first websocket on, so that a layout which
// settles before the page is ready is still seen to have moved.

import { createHash } from 'node:crypto';

const MAGIC = 'GVZ1';
const HEADER_BYTES = 48;
const KIND_AT = 5;
const POS_KEY = 1;
const POS_DELTA = 2;
/** The scale of the coordinates is part of where the nodes are. */
const BOUNDS_AT = 32;
const FLAGS_AT = 6;
/** Set in frames of a layout that goes on. */
const RUNNING = 2;
/** This many different pictures of the graph are a movement. */
const MOVED_FRAMES = 3;

export class PositionLog {
  /** Frames received, and the digests of those that differ. */
  frames = 0;
  pictures = new Set();
  /** Whether the newest frame said that the layout goes on; null before the first one. */
  isRunning = null;

  /** Listens to every websocket of a page; call before it is sent anywhere. */
  watch(page) {
    page.on('websocket', (socket) => {
      socket.on('framereceived', ({ payload }) => this.note(payload));
    });
  }

  /** Counts a message if it is a position frame; other messages are passed over. */
  note(message) {
    if (typeof message === 'string' || message.length <= HEADER_BYTES) return;
    if (message.toString('latin1', 0, 4) !== MAGIC) return;
    const kind = message[KIND_AT];
    if (kind !== POS_KEY && kind !== POS_DELTA) return;
    this.frames += 1;
    this.isRunning = (message.readUInt16LE(FLAGS_AT) & RUNNING) !== 0;
    // A delta is relative to its keyframe; without movement all deltas are the same, whatever their seq.
    const body = createHash('sha256').update(Uint8Array.of(kind)).update(message.subarray(BOUNDS_AT));
    this.pictures.add(body.digest('hex'));
  }

  /** Whether the graph was seen in at least three different states. */
  get moved() {
    return this.pictures.size >= MOVED_FRAMES;
  }
}
