import type { SessionLink } from '../net/session.ts';
import type { Picture } from '../picture/picture.ts';
import { withDocument } from './documents.ts';

/** How long a dragged node keeps its place here while the server's frames catch up. */
const HOLD_MS = 600;
/** Pins are sent at most this often. */
const SEND_EVERY_MS = 50;

interface Held {
  index: number;
  x: number;
  y: number;
  until: number;
  sent: number;
  /** Where the server's last frame has it, when one has come since. */
  served: [number, number] | null;
}

/** Nodes that the user moves: shown at once, told to the server, kept there by it. */
export class Dragging {
  private held: Held | null = null;

  constructor(
    private readonly picture: Picture,
    private readonly link: SessionLink,
    private readonly pins: Set<number>,
  ) {}

  clear(): void {
    this.held = null;
  }

  to(index: number, x: number, y: number): void {
    const now = performance.now();
    const sent = this.held?.index === index ? this.held.sent : -1e9;
    this.held = { index, x, y, until: Infinity, sent, served: null };
    this.pins.add(index);
    this.picture.positions.move(index, x, y);
    this.picture.moved();
    if (now - sent >= SEND_EVERY_MS) this.send(now);
  }

  end(): void {
    if (!this.held) return;
    const now = performance.now();
    this.send(now);
    const { index, x, y } = this.held;
    withDocument((all) => all.pin(index, x, y));
    this.held.until = now + HOLD_MS;
    const { held } = this;
    setTimeout(() => this.letGo(held), HOLD_MS);
  }

  /** Shows a node where the server has it: another may have moved it, and no further frame need come. */
  private letGo(held: Held): void {
    if (this.held !== held) return;
    this.held = null;
    if (!held.served) return;
    this.picture.positions.move(held.index, ...held.served);
    this.picture.moved();
  }

  unpin(index: number): void {
    if (!this.pins.delete(index)) return;
    if (this.held?.index === index) this.held = null;
    this.link.send({ t: 'unpin', index });
    withDocument((all) => all.unpin(index));
  }

  /** Puts the dragged node back after a frame that does not know of the drag yet. */
  hold(now: number): void {
    if (!this.held) return;
    if (now > this.held.until) {
      this.held = null;
      return;
    }
    this.held.served = this.picture.positions.shownAt(this.held.index, 1);
    this.picture.positions.move(this.held.index, this.held.x, this.held.y);
    this.picture.moved();
  }

  private send(now: number): void {
    if (!this.held) return;
    this.held.sent = now;
    this.link.send({ t: 'pin', index: this.held.index, x: this.held.x, y: this.held.y });
  }
}
