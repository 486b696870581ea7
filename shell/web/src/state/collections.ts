/** The collections as the legend lists them, read leniently from the server's JSON. */

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

type Json = Record<string, unknown>;

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Reads the server's message. */
export function readCollections(message: Json): Collections {
  const list = Array.isArray(message.collections) ? (message.collections as unknown[]) : [];
  const entries = list.flatMap((item) => {
    if (typeof item !== 'object' || item === null) return [];
    const entry = item as Json;
    return [
      {
        id: text(entry.id),
        name: text(entry.name),
        description: text(entry.description),
        swatches: texts(entry.swatches),
        count: typeof entry.match_count === 'number' ? entry.match_count : null,
      },
    ];
  });
  return { entries, background: texts(message.background)[0] ?? null };
}
