/**
 * Budget of the edges that a frame may draw while things move, learned from how long frames take.
 * The unit is one line; an anti-aliased edge costs several.
 */
export class EdgeBudget {
  lines: number;
  /** Cost of an anti-aliased edge in lines. */
  readonly quadCost = 3.5;
  private readonly targetMs: number;
  private readonly least: number;

  constructor(software: boolean) {
    this.lines = software ? 30_000 : 1_200_000;
    this.targetMs = software ? 60 : 12;
    // Nodes cost time as well, so a slow frame is not always the fault of its edges.
    this.least = software ? 15_000 : 60_000;
  }

  /** Learns from a frame that drew `drawn` lines' worth of edges in `ms`. */
  learn(ms: number, drawn: number): void {
    if (drawn < 2000 || ms <= 0) return;
    const factor = Math.min(1.15, Math.max(0.7, this.targetMs / ms));
    const wanted = drawn * factor;
    // A frame that drew less than allowed says nothing about a larger one unless it was slow.
    if (factor < 1 || drawn > this.lines * 0.6) {
      this.lines = Math.min(20_000_000, Math.max(this.least, wanted));
    }
  }
}
