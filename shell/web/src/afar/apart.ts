/** A disc in the plane. */
export interface Body {
  x: number;
  y: number;
  r: number;
}

const TURNS = 60;

/**
 * Moves discs apart that overlap, the smaller of two more than the larger, as in the cartograms of Dorling
 * ("Area Cartograms: Their Use and Creation", 1996). `gap` is what stays free between two, as a share of the
 * radius of the smaller one. Those that are far from others stay where they are.
 */
export function setApart(bodies: Body[], gap = 0.12): void {
  for (let turn = 0; turn < TURNS; turn += 1) {
    let moved = false;
    for (let i = 0; i < bodies.length; i += 1) {
      for (let j = i + 1; j < bodies.length; j += 1) {
        const [a, b] = [bodies[i], bodies[j]];
        let dx = b.x - a.x;
        let dy = b.y - a.y;
        const wanted = a.r + b.r + gap * Math.min(a.r, b.r);
        if (Math.abs(dx) >= wanted || Math.abs(dy) >= wanted) continue;
        let span = Math.hypot(dx, dy);
        if (span >= wanted * 0.999) continue;
        if (span < 1e-9 * wanted || span === 0) {
          // Two on one spot: each pair leaves in a direction of its own.
          const angle = 2.399963 * (i + j);
          [dx, dy, span] = [Math.cos(angle), Math.sin(angle), 1];
        }
        const push = (wanted - Math.min(span, wanted)) / span;
        const share = (b.r * b.r) / Math.max(1e-300, a.r * a.r + b.r * b.r);
        a.x -= dx * push * share;
        a.y -= dy * push * share;
        b.x += dx * push * (1 - share);
        b.y += dy * push * (1 - share);
        moved = true;
      }
    }
    if (!moved) return;
  }
}
