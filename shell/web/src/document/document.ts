import type { Collapsed, Collection, Filter, Told } from '../net/messages.ts';

export type Entry<T> = T & { id: string };

/** The page's copy of the document: what all see, and over it what only this page sees. */
export class SharedDocument {
  revision = 0;
  private shared = new Map<string, unknown>();
  private own = new Map<string, unknown>();

  /** Takes the whole document, in place of what was known. */
  take(message: Told<'document'>): void {
    this.revision = message.revision;
    this.shared = new Map(Object.entries(message.document));
    this.own = new Map(Object.entries(message.own));
  }

  change(message: Told<'changed'>): void {
    this.revision = message.revision;
    for (const { path, value } of message.changes) {
      if (message.own) {
        if (value === null) this.own.delete(path);
        else this.own.set(path, value);
      } else if (value === null) this.shared.delete(path);
      else this.shared.set(path, value);
    }
  }

  /** All that is known, for tests that compare it between pages. */
  snapshot(): { revision: number; shared: Record<string, unknown>; own: Record<string, unknown> } {
    const { revision, shared, own } = this;
    return { revision, shared: Object.fromEntries(shared), own: Object.fromEntries(own) };
  }

  get hasOwn(): boolean {
    return this.own.size > 0;
  }

  /** The value at a path; undefined when there is none. */
  get(path: string): unknown {
    const value = this.own.has(path) ? this.own.get(path) : this.shared.get(path);
    return value ?? undefined;
  }

  /** What lies below a folder such as `filters`, by the last part of its path. */
  below(folder: string): Map<string, unknown> {
    const found = new Map<string, unknown>();
    for (const path of new Set([...this.shared.keys(), ...this.own.keys()])) {
      const value = path.startsWith(`${folder}/`) ? this.get(path) : undefined;
      if (value !== undefined) found.set(path.slice(folder.length + 1), value);
    }
    return found;
  }

  private ordered<T extends { order: number }>(folder: string): Entry<T>[] {
    const list = [...this.below(folder)].map(([id, value]) => ({ ...(value as T), id }));
    return list.sort((a, b) => a.order - b.order || (a.id < b.id ? -1 : 1));
  }

  filters(): Entry<Filter>[] {
    return this.ordered<Filter>('filters');
  }

  collections(): Entry<Collection>[] {
    return this.ordered<Collection>('collections');
  }

  collapsed(): Entry<Collapsed>[] {
    return this.ordered<Collapsed>('collapsed').filter(({ on }) => on);
  }

  /** An order behind that of all filters. */
  last(): number {
    return between(this.filters().at(-1)?.order, undefined);
  }

  /** An order before that of all collections: the first is painted on top. */
  first(): number {
    return between(undefined, this.collections()[0]?.order);
  }
}

/** An order between two others, of which either may be missing at an end of the list. */
export function between(before: number | undefined, after: number | undefined): number {
  if (before === undefined) return after === undefined ? 1 : after - 1;
  return after === undefined ? before + 1 : (before + after) / 2;
}

/** Letters of ids that the page makes. */
export function freshId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return prefix + Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
