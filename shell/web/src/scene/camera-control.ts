import { panBy, zoomAt, type Size, type View } from './camera.ts';
import type { flight } from './flight.ts';

/** Moves the camera over time and remembers whether the user has taken it. */

const FLY_MS = 250;
const FOLLOW_SECS = 0.9;

interface Move {
  at: (t: number) => View;
  start: number;
  ms: number;
}

export class CameraControl {
  view: View = { cx: 0, cy: 0, scale: 1 };
  /** The camera keeps the layout in sight until the user touches it. */
  following = true;
  /** The way between two views; without it, before the first picture, the camera jumps. */
  flight: typeof flight | null = null;
  /** The least and the largest scale of those who ask for a scale. */
  ends: (asked: number) => [number, number] = () => [0, Infinity];
  private placed = false;
  private target: View | null = null;
  private move: Move | null = null;
  private last = 0;

  constructor(private readonly still: boolean) {}

  get isPlaced(): boolean {
    return this.placed;
  }

  get isMoving(): boolean {
    return this.move !== null || this.target !== null;
  }

  /** Where the layout is now; the camera glides there while it follows. */
  follow(target: View): void {
    if (!this.following) return;
    if (!this.placed || this.still) {
      this.set(target);
      return;
    }
    this.target = target;
  }

  set(view: View): void {
    this.view = view;
    this.placed = true;
    this.target = null;
    this.move = null;
  }

  /** The user takes the camera. */
  take(): void {
    this.following = false;
    this.target = null;
    this.move = null;
  }

  pan(dx: number, dy: number): void {
    this.take();
    this.view = panBy(this.view, dx, dy);
  }

  zoom(size: Size, px: number, py: number, factor: number): void {
    this.take();
    const { scale } = this.view;
    this.view = zoomAt(this.view, size, px, py, this.within(scale * factor) / scale);
  }

  /** The nearest scale between the ends; a view that is beyond one, as the layout shrank, may stay there. */
  within(scale: number, from = this.view.scale): number {
    const [low, high] = this.ends(scale);
    return Math.min(Math.max(scale, Math.min(low, from)), Math.max(high, from));
  }

  /** Glides to a view; far ones along a path that zooms out first. */
  fly(view: View, size: Size, now: number): void {
    const to = { ...view, scale: this.within(view.scale) };
    this.target = null;
    if (this.still || !this.placed || !this.flight) {
      this.set(to);
      return;
    }
    const path = this.flight(this.view, to, size);
    this.move = { at: path.at, start: now, ms: FLY_MS * Math.min(4, Math.max(1, path.length)) };
  }

  /** Advances to a moment; answers whether the view changed. */
  step(now: number): boolean {
    const dt = Math.min(0.1, Math.max(0, (now - this.last) / 1000));
    this.last = now;
    if (this.move) {
      const t = Math.min(1, (now - this.move.start) / this.move.ms);
      const eased = t < 0.5 ? 4 * t * t * t : 1 - (-2 * t + 2) ** 3 / 2;
      this.view = this.move.at(eased);
      if (t >= 1) this.move = null;
      return true;
    }
    if (!this.target) return false;
    return this.glide(dt);
  }

  private glide(dt: number): boolean {
    const to = this.target;
    if (!to) return false;
    const k = 1 - Math.exp((-3 * dt) / FOLLOW_SECS);
    const { view } = this;
    const scale = view.scale * (to.scale / view.scale) ** k;
    this.view = { cx: view.cx + (to.cx - view.cx) * k, cy: view.cy + (to.cy - view.cy) * k, scale };
    const off = Math.hypot(to.cx - this.view.cx, to.cy - this.view.cy) * to.scale;
    if (off < 0.2 && Math.abs(to.scale / scale - 1) < 5e-4) {
      this.view = to;
      this.target = null;
    }
    return true;
  }
}
