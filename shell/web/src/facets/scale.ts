/** Places along a histogram: a share of its width, 0 to 1, and the value there. */

export type Range = [number, number];

/** The share of the width at which a value stands. Bins are equally wide, whatever their values. */
export function shareOf(edges: readonly number[], value: number): number {
  const bins = edges.length - 1;
  if (value <= edges[0]) return 0;
  if (value >= edges[bins]) return 1;
  let bin = 0;
  while (edges[bin + 1] <= value) bin += 1;
  return (bin + (value - edges[bin]) / (edges[bin + 1] - edges[bin])) / bins;
}

/** The range between two shares of the width, in either order, from the edge of a bin to that of another. */
export function snapped(edges: readonly number[], a: number, b: number): Range {
  const bins = edges.length - 1;
  const place = (share: number): number => Math.min(1, Math.max(0, share)) * bins;
  const low = Math.min(bins - 1, Math.floor(place(Math.min(a, b))));
  const high = Math.max(low + 1, Math.ceil(place(Math.max(a, b)) - 1e-9));
  return [edges[low], edges[Math.min(bins, high)]];
}

function binsOf(edges: readonly number[], range: Range): Range {
  const bins = edges.length - 1;
  const [low, high] = range.map((value) => Math.round(shareOf(edges, value) * bins));
  return [low, high];
}

/** A range moved by whole bins; it keeps its width in bins and stays inside. */
export function moved(edges: readonly number[], range: Range, by: number): Range {
  const [low, high] = binsOf(edges, range);
  const step = Math.min(edges.length - 1 - high, Math.max(-low, by));
  return [edges[low + step], edges[high + step]];
}

/** A range whose upper end moves by whole bins; at least one bin is left. */
export function resized(edges: readonly number[], range: Range, by: number): Range {
  const [low, high] = binsOf(edges, range);
  return [edges[low], edges[Math.min(edges.length - 1, Math.max(low + 1, high + by))]];
}

/** The outline of bars in a box: `most` is as high as the box, and what is not nothing can be seen. */
export function bars(counts: readonly number[], most: number, width: number, height: number): string {
  const step = width / counts.length;
  const gap = Math.min(1.5, step * 0.2);
  return counts
    .map((count, k) => {
      if (count === 0) return '';
      const h = Math.max(1.5, (count / Math.max(1, most)) * height);
      const x = k * step + gap / 2;
      return `M${x.toFixed(2)} ${height}v${(-h).toFixed(2)}h${(step - gap).toFixed(2)}v${h.toFixed(2)}z`;
    })
    .join('');
}
