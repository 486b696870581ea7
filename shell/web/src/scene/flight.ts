import type { Size, View } from './camera.ts';

const RHO = Math.SQRT2;

/**
 * A smooth flight between two views: zooms out, moves, zooms in along the path of van Wijk and Nuij,
 * "Smooth and efficient zooming and panning" (InfoVis 2003). `t` runs from 0 to 1.
 */
export function flight(from: View, to: View, size: Size): { at: (t: number) => View; length: number } {
  const w0 = size.w / from.scale;
  const w1 = size.w / to.scale;
  const dx = to.cx - from.cx;
  const dy = to.cy - from.cy;
  const d2 = dx * dx + dy * dy;
  const view = (cx: number, cy: number, w: number): View => ({ cx, cy, scale: size.w / w });
  if (d2 < 1e-12 * w0 * w1) {
    const ratio = Math.log(w1 / w0);
    const at = (t: number): View => view(from.cx + dx * t, from.cy + dy * t, w0 * Math.exp(ratio * t));
    return { at, length: Math.abs(ratio) / RHO };
  }
  const d = Math.sqrt(d2);
  const b0 = (w1 * w1 - w0 * w0 + RHO ** 4 * d2) / (2 * w0 * RHO * RHO * d);
  const b1 = (w1 * w1 - w0 * w0 - RHO ** 4 * d2) / (2 * w1 * RHO * RHO * d);
  const r0 = Math.log(Math.sqrt(b0 * b0 + 1) - b0);
  const r1 = Math.log(Math.sqrt(b1 * b1 + 1) - b1);
  const length = (r1 - r0) / RHO;
  const at = (t: number): View => {
    if (t >= 1) return to;
    const s = t * length;
    const u = (w0 / (RHO * RHO * d)) * (Math.cosh(r0) * Math.tanh(RHO * s + r0) - Math.sinh(r0));
    const w = (w0 * Math.cosh(r0)) / Math.cosh(RHO * s + r0);
    return view(from.cx + dx * u, from.cy + dy * u, w);
  };
  return { at, length };
}
