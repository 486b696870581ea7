/** Dimming of the picture outside what is highlighted. */

const DIM_MS = 120;
/** How much of its strength what is not highlighted loses. */
const DIMMED_BY = 0.78;

export class Dimming {
  /** Whether something is to be highlighted. */
  wanted = false;
  /** Whether the rest is dimmed then. */
  darkens = true;
  /** How far the highlight has come, 0 to 1. */
  shine = 0;
  private at = 0;

  constructor(private readonly still: boolean) {}

  end(): void {
    this.wanted = false;
    this.shine = 0;
  }

  /** Dims, or leaves all as it is, from now on. */
  darken(darkens: boolean): void {
    // What was not dark fades through no darkness.
    if (!this.darkens) this.shine = 0;
    this.darkens = darkens;
  }

  /** How much of its strength all has lost that is not highlighted. */
  get lost(): number {
    return this.darkens ? DIMMED_BY * this.shine : 0;
  }

  /** Steps towards what is wanted; answers whether it is on its way. */
  step(now: number): boolean {
    const most = this.still ? 1 : Math.min(50, now - this.at) / DIM_MS;
    this.at = now;
    const goal = Number(this.wanted);
    this.shine += Math.min(most, Math.max(-most, goal - this.shine));
    return this.shine !== goal;
  }
}
