/** Shares of the resolution that the picture may have while it moves. */
const STEPS = [1, 0.75, 0.5] as const;
/** A frame that takes longer is slow, in ms; one that is faster leaves room for the next step. */
const SLOW_MS = 26;
const FAST_MS = 18;
/** Slow frames in a row after which there is less to draw, and fast ones after which there is more. */
const SLOW_FRAMES = 3;
const FAST_FRAMES = 40;

/**
 * The resolution of a moving picture, learned from how long its frames take. What is at rest has all of it.
 */
export class RenderScale {
  private step: number;
  private slow = 0;
  private fast = 0;
  /** Fast frames that the next step up needs: more each time that it turned out to be too much. */
  private needed = FAST_FRAMES;

  constructor(software: boolean) {
    // Without a GPU each pixel costs.
    this.step = software ? STEPS.length - 1 : 0;
  }

  /** Share of the resolution for a moving picture. */
  get moving(): number {
    return STEPS[this.step];
  }

  /** Learns from a moving frame that took `ms`. */
  learn(ms: number): void {
    this.slow = ms > SLOW_MS ? this.slow + 1 : 0;
    this.fast = ms < FAST_MS ? this.fast + 1 : 0;
    if (this.slow >= SLOW_FRAMES && this.step < STEPS.length - 1) {
      this.step += 1;
      this.slow = 0;
      this.needed = Math.min(this.needed * 4, 1e6);
    } else if (this.fast >= this.needed && this.step > 0) {
      this.step -= 1;
      this.fast = 0;
    }
  }
}
