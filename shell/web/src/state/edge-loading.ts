import type { Api } from '../net/api.ts';
import type { Picture } from '../picture/picture.ts';
import * as store from './store.ts';

const ATTEMPTS = 6;

/** Fetches the edges of a graph, piece by piece, and again where the network fails. */
export class EdgeLoading {
  /** Whether none is on its way or waited for. */
  done = true;
  private edges = 0;
  private loading: AbortController | null = null;

  constructor(
    private readonly api: Api,
    private readonly picture: Picture,
    private readonly refresh: () => void,
  ) {}

  /** There is a new graph of so many edges. */
  expect(edges: number): void {
    this.loading?.abort();
    this.loading = null;
    this.edges = edges;
    this.done = edges === 0;
    store.edgesLoaded.value = 0;
  }

  /** Fetches them, unless that was begun. */
  start(epoch: number): void {
    if (!this.loading) void this.load(epoch, (this.loading = new AbortController()).signal);
  }

  private async load(epoch: number, signal: AbortSignal): Promise<void> {
    for (let attempt = 0; !this.done && attempt < ATTEMPTS; attempt += 1) {
      try {
        await this.api.edges(
          epoch,
          this.edges,
          (first, ends) => {
            if (signal.aborted) return;
            this.picture.addEdges(first, ends);
            store.edgesLoaded.value = this.picture.data.edgesKnown;
            this.refresh();
          },
          signal,
        );
        if (!signal.aborted) this.done = true;
      } catch (error) {
        if (signal.aborted) return;
        if (attempt === ATTEMPTS - 1) {
          console.error('edges', error);
          store.notice.value = 'The edges could not be loaded. Reload the page to try again.';
          return;
        }
        await new Promise((done) => setTimeout(done, 300 * 2 ** attempt));
      }
      if (signal.aborted) return;
    }
    this.refresh();
  }
}
