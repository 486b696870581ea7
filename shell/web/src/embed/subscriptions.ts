import { effect } from '@preact/signals';
import * as store from '../state/store.ts';
import { selecting } from '../state/selecting.ts';
import type { Viewer } from '../state/viewer.ts';

const SELECTION = '.selection.labels';
const LABELS = '.labels';
/** Nodes whose names and properties go with a selection, unless the subscriber says how many. */
const PAGE = 1_000;
const PAGE_MAX = 10_000;
/** Names that the server tells at once. */
const NAMES_MAX = 200;

/** Tells an embedding page what is selected, which names are shown, and whether the layout runs. */
export class Subscriptions {
  private readonly ends = new Map<string, () => void>();
  /** What is asked about the present selection; another one makes it vain. */
  private asking = new AbortController();
  /** The selection that the subscriber was told of; at first it knows of none. */
  private told = '';

  constructor(
    private readonly viewer: Viewer,
    private readonly say: (message: Record<string, unknown>) => void,
  ) {}

  add(message: Record<string, unknown>): void {
    const path = String(message.path);
    if (path !== SELECTION && path !== LABELS) return;
    this.remove(path);
    if (path === SELECTION) this.told = '';
    const options = (message.options ?? {}) as { pageSize?: unknown; withColumns?: unknown };
    const size = Number(options.pageSize);
    const most = size > 0 ? Math.min(PAGE_MAX, Math.floor(size)) : PAGE;
    const end = effect(() => {
      if (path === LABELS) this.tellLabels(store.playing.value);
      else {
        // Whatever is selected, by either way.
        void store.selections.value;
        const many = store.selectedCount.value + store.selectedEdges.value;
        const one = store.pinnedCard.value?.index ?? -1;
        this.asking.abort();
        this.asking = new AbortController();
        // What was asked in vain is asked again for the newer selection.
        this.tellSelection(many, one, most, options.withColumns === true).catch(() => undefined);
      }
    });
    this.ends.set(path, end);
  }

  remove(path: string): void {
    this.ends.get(path)?.();
    this.ends.delete(path);
  }

  private update(path: string, data: unknown): void {
    this.say({ type: 'graphistry-sub-update', path, data });
  }

  private tellLabels(simulating: boolean): void {
    const labels = this.viewer.labels.visible.map(({ index, text, x, y }) => ({
      id: index,
      text,
      pageX: x,
      pageY: y,
    }));
    this.update(LABELS, { labels, simulating, semanticZoomLevel: this.viewer.picture.zoom });
  }

  private async tellSelection(
    many: number,
    one: number,
    most: number,
    columns: boolean,
  ): Promise<void> {
    const { api } = this.viewer;
    const { signal } = this.asking;
    const single = one >= 0 ? [one] : [];
    const tools = many > 0 ? await selecting() : null;
    const nodes = tools?.selection.nodes() ?? single;
    const edges = tools?.visibleEdges() ?? [];
    // What is the same as before is not said again.
    const key = `${nodes.join()} ${edges.join()}`;
    if (key === this.told) return;
    const shown = nodes.slice(0, most);
    const names = await named(shown, (some) => api.names(some, signal));
    const labels = await Promise.all(
      shown.map(async (index, k) => {
        const label = { id: index, title: names[k] ?? '' };
        return columns ? { ...label, columns: (await api.card(index, signal)).properties } : label;
      }),
    );
    const lines = edges.slice(0, most);
    const texts = await named(lines, (some) => api.edgeNames(some, signal));
    const edgeLabels = lines.map((index, k) => ({ id: index, title: texts[k] ?? '' }));
    this.told = key;
    this.update(SELECTION, { point: nodes, edge: edges, labels, edgeLabels });
  }
}

/** The names of many elements, of which the server tells some at once. */
async function named(all: number[], fetchNames: (some: number[]) => Promise<string[]>): Promise<string[]> {
  const names: string[] = [];
  for (let at = 0; at < all.length; at += NAMES_MAX) {
    names.push(...(await fetchNames(all.slice(at, at + NAMES_MAX))));
  }
  return names;
}
