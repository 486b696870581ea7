import { failure, type Api } from '../net/api.ts';
import type { Column, Found, Histogram, Rule } from '../net/messages.ts';
import * as store from '../state/store.ts';
import { toBits64 } from './bits.ts';
import * as state from './state.ts';
import { problemWords } from './words.ts';

/** A column as a list of them names it: a comma in its name would end it there. */
export function columnKey({ axis, name }: { axis: string; name: string }): string {
  return `${axis}:${encodeURIComponent(name)}`;
}

/** What the server answers about the document's columns and sets over HTTP. */
export class DocumentApi {
  private asking: Promise<Column[]> | null = null;

  /** `id` is what the server calls this page. */
  constructor(private readonly page: { readonly api: Api; readonly id: string }) {}

  private async ask(path: string, init?: RequestInit): Promise<Response> {
    const url = this.page.api.at(path);
    url.searchParams.set('viewer', this.page.id);
    const answer = await fetch(url, { credentials: 'same-origin', ...init });
    if (!answer.ok) throw await failure(answer);
    return answer;
  }

  private post(path: string, body: unknown): Promise<Response> {
    const headers = { 'Content-Type': 'application/json' };
    return this.ask(path, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  /** The columns, asked for once. */
  columns(): Promise<Column[]> {
    const load = async (): Promise<Column[]> => {
      const { columns } = (await (await this.ask('columns')).json()) as { columns: Column[] };
      state.columns.value = columns;
      return columns;
    };
    this.asking ??= load().catch((error: unknown) => {
      this.asking = null;
      throw error;
    });
    return this.asking;
  }

  /** The columns may be others: they are asked for again. */
  forget(): void {
    this.asking = null;
  }

  /** Histograms of columns, each given by its key; `search` narrows the categories. */
  async bins(
    columns: string[],
    options: { log?: string[]; search?: string | undefined },
    signal?: AbortSignal,
  ): Promise<{ revision: number; histograms: Histogram[] }> {
    const query = new URLSearchParams({ columns: columns.join(','), bins: '32' });
    if (options.log && options.log.length > 0) query.set('log', options.log.join(','));
    if (options.search) query.set('search', options.search);
    const answer = await this.ask(`bins?${query}`, { signal: signal ?? null });
    return (await answer.json()) as { revision: number; histograms: Histogram[] };
  }

  async find(what: { text: string } | { rule: Rule }): Promise<Found> {
    return (await (await this.post('find', what)).json()) as Found;
  }

  async exportRows(marks: Uint8Array, table: 'nodes' | 'edges', format: 'csv' | 'json'): Promise<Blob> {
    const nodes = await toBits64(marks);
    return (await this.post(`export?table=${table}&format=${format}`, { nodes })).blob();
  }

  /** Makes a dataset of nodes and the edges among them; answers its address. */
  async newDataset(marks: Uint8Array, name: string): Promise<{ dataset_id: string; url: string }> {
    const answer = await this.post('dataset', { nodes: await toBits64(marks), name });
    return (await answer.json()) as { dataset_id: string; url: string };
  }
}

/** What went wrong, in words. */
export function why(error: unknown): string {
  return error instanceof Error ? problemWords(error.message) : 'The server did not answer.';
}

/** Says in the page what went wrong. */
export function complain(error: unknown): void {
  store.notice.value = why(error);
}
