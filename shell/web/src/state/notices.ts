// What was asked for and is not done: by the dataset, and by the address of the page.

import * as store from './store.ts';

/** One thing that was not done as asked. */
export interface Notice {
  slug: string;
  text: string;
}

/** Reads a list of notices leniently from the server's JSON. */
export function readNotices(value: unknown): Notice[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown) => {
    const { slug, text } = (entry ?? {}) as Record<string, unknown>;
    return typeof text === 'string' && text !== '' ? [{ slug: String(slug ?? ''), text }] : [];
  });
}

/** Takes over what `hello` says of the address, or `graph` of the dataset. */
export function showNotices(of: 'address' | 'dataset', value: unknown): void {
  store.notices.value = { ...store.notices.value, [of]: readNotices(value) };
}
