import { computed, signal } from '@preact/signals';
import type { Collapsed, Collection, Column, Filter } from '../net/messages.ts';
import type { FilterCount } from '../net/page-messages.ts';
import type { Entry } from './document.ts';

/** State that the panels of the document show; only the session of the document writes it. */

export const filters = signal<Entry<Filter>[]>([]);
export const collections = signal<Entry<Collection>[]>([]);
/** Nodes that are collapsed into one disc each. */
export const collapsed = signal<Entry<Collapsed>[]>([]);
export const orphansPruned = signal(false);
/** Encodings by what they colour or size, such as `node.color`. */
export const encodings = signal<ReadonlyMap<string, unknown>>(new Map());
/** What each filter does by itself. */
export const counts = signal<Record<string, FilterCount>>({});
export const undo = signal<string | null>(null);
export const redo = signal<string | null>(null);
/** Something that only this page sees is in force. */
export const isOwn = signal(false);
/** What somebody else has just done. */
export const news = signal<{ text: string; agent: boolean } | null>(null);
/** How often what passes has been counted anew. */
export const counted = signal(0);
/** How often the page heard of another document. */
export const changes = signal(0);
/** The columns of the tables; null until somebody has asked. */
export const columns = signal<Column[] | null>(null);

/** The names of the open panels. */
export const panels = signal<readonly string[]>([]);

export function toggle(panel: string, on = !panels.value.includes(panel)): void {
  const others = panels.value.filter((name) => name !== panel);
  panels.value = on ? [...others, panel] : others;
}

export const dateColumns = computed(
  () => new Set((columns.value ?? []).filter((column) => column.kind === 'date').map(({ name }) => name)),
);
