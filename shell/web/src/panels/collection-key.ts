import type { Collections } from '../state/collections.ts';
import type { ColorKey } from '../state/legend.ts';

/** The collections as a part of the legend. */

/** The rows of the legend: the collections, the one on top first, and below them what is in none. */
export function keyOf({ entries, background }: Collections): ColorKey {
  const chosen = true as const;
  const swatches = entries.map((entry) => ({
    label: entry.name,
    color: entry.swatches[0] ?? '',
    chosen,
    count: entry.count,
    community: null,
    collection: entry,
  }));
  const rest = { label: 'Everything else', color: background ?? '', chosen, count: null, community: null };
  return { of: 'elements', title: 'Collections', swatches: [...swatches, rest], more: 0, ramp: null };
}

/** What fills a swatch: a colour, or the colours side by side. */
export function fill(swatches: string[]): string {
  if (swatches.length <= 1) return swatches[0] ?? 'transparent';
  return `linear-gradient(90deg, ${swatches.join(', ')})`;
}
