/** Collections as the legend lists them. */

import type { CollectionList } from '../net/page-messages.ts';

export interface CollectionEntry {
  id: string;
  name: string;
  description: string;
  /** One colour, or those of a palette. */
  swatches: string[];
  /** Coloured elements; null while unknown. */
  count: number | null;
}

export interface Collections {
  /** The one on top first. */
  entries: CollectionEntry[];
  /** Colour of what is in none; null for its own. */
  background: string | null;
}

export const NO_COLLECTIONS: Collections = { entries: [], background: null };

/** The server's list as the legend shows it. */
export function readCollections(list: CollectionList): Collections {
  const entries = list.collections.map(({ id, name, description, swatches, match_count: count }) => {
    return { id, name, description, swatches, count };
  });
  return { entries, background: list.background[0] ?? null };
}
