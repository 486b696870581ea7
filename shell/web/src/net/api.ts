/** HTTP calls beside the socket: edges, cards, search. */

/** Edges are fetched in pieces, each an unbiased sample, so that the picture sharpens as they come. */
const EDGE_PIECE_BYTES = 2 << 20;

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** What an answer that is none says. */
export async function failure(answer: Response): Promise<ApiError> {
  const text = await answer.text().catch(() => '');
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    const first = (value: unknown): string =>
      Array.isArray(value) ? first(value[0]) : typeof value === 'string' ? value : '';
    const error = body.error as Record<string, unknown> | string | undefined;
    const nested = typeof error === 'object' ? error?.message : error;
    const message =
      first(body.non_field_errors) || first(body.message) || first(body.detail) || first(nested);
    return new ApiError(answer.status, message || `The server answered ${answer.status}.`);
  } catch {
    return new ApiError(answer.status, `The server answered ${answer.status}.`);
  }
}

/** Whether a page of another origin shows this one in a frame; its window does not say where it is from. */
const FRAMED = ((): boolean => {
  try {
    return globalThis.parent?.location.origin !== globalThis.location?.origin;
  } catch {
    return true;
  }
})();

/**
 * An address below a session's. It names the dataset, for a session's name alone opens none, and says that it
 * is asked from within a frame, where a person who is signed in may have been led by anybody.
 */
export function below(base: URL, path: string, dataset: string): URL {
  const url = new URL(path, base);
  url.searchParams.set('dataset', dataset);
  if (FRAMED) url.searchParams.set('framed', '1');
  return url;
}

async function json<T>(url: URL, init?: RequestInit): Promise<T> {
  const answer = await fetch(url, { credentials: 'same-origin', ...init });
  if (!answer.ok) throw await failure(answer);
  return (await answer.json()) as T;
}

export interface NodeCard {
  title?: string;
  id?: unknown;
  degree?: number;
  degree_in?: number;
  degree_out?: number;
  properties?: { name: string; value: unknown }[];
}

/** A dataset in a few words; a count is null until the server has built the graph. */
export interface About {
  name: string;
  description: string;
  node_count: number | null;
  edge_count: number | null;
}

export class Api {
  constructor(
    private readonly base: URL,
    private readonly dataset: string,
  ) {}

  at(path: string): URL {
    return below(this.base, path, this.dataset);
  }

  /** What there is to see, without the server having to load it. */
  about(): Promise<About> {
    return json<About>(this.at('about'));
  }

  card(index: number, signal: AbortSignal): Promise<NodeCard> {
    return json<NodeCard>(this.at(`node/${index}`), { signal });
  }

  /** The names of nodes, in the order of their indices; empty for one that has none. */
  async names(indices: readonly number[], signal: AbortSignal): Promise<string[]> {
    return (await json<{ names: string[] }>(this.at(`names?nodes=${indices.join(',')}`), { signal })).names;
  }

  /** The names of edges by their drawn index, in the order asked. */
  async edgeNames(edges: readonly number[], signal: AbortSignal): Promise<string[]> {
    return (await json<{ edges: string[] }>(this.at(`names?edges=${edges.join(',')}`), { signal })).edges;
  }

  async search(
    query: string,
    signal: AbortSignal,
  ): Promise<{ index: number; label: string; id: string }[]> {
    const url = this.at(`search?q=${encodeURIComponent(query)}&limit=20`);
    const { results } = await json<{ results: { index: number; label?: string; id?: unknown }[] }>(url, {
      signal,
    });
    return results.map((hit) => ({
      index: hit.index,
      label: hit.label ?? String(hit.id ?? hit.index),
      id: String(hit.id ?? ''),
    }));
  }

  /**
   * Fetches `edges.bin` of an epoch in pieces and hands over each: where it starts and its node indices.
   * A server that does not know ranges answers the whole at once, which is used as it is.
   */
  async edges(
    epoch: number,
    numEdges: number,
    piece: (first: number, ends: Uint32Array) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const total = numEdges * 8;
    const url = this.at(`${epoch}/edges.bin`);
    for (let at = 0; at < total;) {
      const last = Math.min(total, at + EDGE_PIECE_BYTES) - 1;
      const answer = await fetch(url, {
        credentials: 'same-origin',
        signal,
        headers: total > EDGE_PIECE_BYTES ? { Range: `bytes=${at}-${last}` } : {},
      });
      if (!answer.ok) throw await failure(answer);
      const bytes = await answer.arrayBuffer();
      const start = answer.status === 206 ? at : 0;
      const whole = Math.min(bytes.byteLength, total - start) & ~7;
      if (whole === 0) throw new ApiError(answer.status, 'The server sent no edges.');
      piece(start / 8, new Uint32Array(bytes, 0, whole / 4));
      at = start + whole;
    }
  }
}
