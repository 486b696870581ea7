import { ApiError, below, failure } from './api.ts';
import { FLAG, KIND, isPosition, readFrame, type Frame } from './frames.ts';
import type { ToPage, ToServer } from './page-messages.ts';

/**
 * The link to a viz session: one websocket with subprotocol `graph-viz.v1`, opened again with back-off
 * when it breaks. Messages are handled strictly in the order they came, also when one has to be inflated.
 * Where websockets are blocked, position frames are fetched one by one instead.
 */

export type LinkState = 'connecting' | 'live' | 'reconnecting' | 'polling' | 'closed';

/** Close codes of the server that end the link for good. */
export const CLOSE = { AUTH: 4401, MISSING: 4404, ENDED: 4410 } as const;

export interface SessionEvents {
  text(message: ToPage): void;
  /** Applies a frame; answers the seq to acknowledge, or null. */
  frame(frame: Frame): number | null;
  state(state: LinkState, retryMs: number): void;
  /** The server ended the link: a code of `CLOSE`. */
  ended(code: number, reason: string): void;
  /** What a reconnecting page already has; null before the first graph. */
  resume(): { epoch: number; seq: number } | null;
  damaged(error: unknown): void;
  /** What a page brings along to the session: the key with which it steers, or that it only watches. */
  arrival(): [string, string][];
}

const BACKOFF_MIN_MS = 250;
const BACKOFF_MAX_MS = 8000;
const FAILURES_BEFORE_POLLING = 3;
const POLL_MS = 500;

/** The close code that stands for an HTTP status; null for what may pass. */
function closeCode(status: number): number | null {
  if (status === 401) return CLOSE.AUTH;
  if (status === 400 || status === 403 || status === 404) return CLOSE.MISSING;
  return status === 409 || status === 410 ? CLOSE.ENDED : null;
}

export class SessionLink {
  private socket: WebSocket | null = null;
  private queue: Promise<void> | null = null;
  private failures = 0;
  private everLive = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stopped = false;
  private polling = false;
  /** Counts the polls that were begun, so that one whose answer comes late does not go on beside the next. */
  private polls = 0;
  /** The graph is known from requests only: a socket has yet to tell of it. */
  private sketched = false;
  /** How many frames of colours, sizes and labels there are, what they show, and what was fetched last. */
  private scene = { frames: 0, shows: '', fetched: '' };
  /** Whether the layout moved in the last polled frame. */
  private moved: boolean | null = null;

  constructor(
    /** Address of `/viz/<session>/`, with http or https. */
    private readonly base: URL,
    private readonly dataset: string,
    private readonly events: SessionEvents,
  ) {}

  open(): void {
    this.stopped = false;
    this.connect();
  }

  close(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.polling = false;
    this.socket?.close(1000);
    this.socket = null;
  }

  /** Sends a control message; answers false when there is no connection to send it on. */
  send(message: ToServer): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  private connect(): void {
    if (this.stopped) return;
    const url = below(this.base, 'ws?stripes=1', this.dataset);
    for (const [name, value] of this.events.arrival()) url.searchParams.set(name, value);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(url, 'graph-viz.v1');
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.polling = false;
      this.everLive = true;
      this.events.state('live', 0);
      const have = this.sketched ? null : this.events.resume();
      if (have) this.send({ t: 'resume', ...have });
      if (document.hidden) this.send({ t: 'hidden' });
    };
    socket.onmessage = (event) => {
      this.failures = 0;
      this.enqueue(event.data as string | ArrayBuffer, socket);
    };
    socket.onclose = (event) => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.closed(event, opened);
    };
  }

  private closed(event: CloseEvent, opened: boolean): void {
    if (this.stopped) return;
    if (Object.values(CLOSE).includes(event.code as 4401)) {
      this.end(event.code, event.reason);
      return;
    }
    this.failures += opened ? 0 : 1;
    if (this.failures >= FAILURES_BEFORE_POLLING) void this.poll();
    const steps = Math.min(6, Math.max(this.failures, opened ? 0 : 1));
    const wait = Math.min(BACKOFF_MAX_MS, BACKOFF_MIN_MS * 2 ** steps) * (0.75 + Math.random() / 2);
    if (!this.polling) this.events.state(this.everLive ? 'reconnecting' : 'connecting', wait);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.connect(), wait);
  }

  private end(code: number, reason: string): void {
    this.close();
    this.events.state('closed', 0);
    this.events.ended(code, reason);
  }

  /** Tries at once instead of waiting for the back-off. */
  retryNow(): void {
    if (this.stopped || this.socket) return;
    clearTimeout(this.timer);
    this.connect();
  }

  /** Cuts the connection as a lost network would; the page then connects again by itself. */
  breakForTest(): void {
    this.socket?.close(4000);
  }

  private enqueue(data: string | ArrayBuffer, socket: WebSocket): void {
    // Without a frame that is being inflated, handle the message at once.
    if (!this.queue) {
      const pending = this.handle(data, socket);
      if (pending) this.chain(pending);
      return;
    }
    this.chain(this.queue.then(() => this.handle(data, socket) ?? undefined));
  }

  private chain(work: Promise<void>): void {
    const guarded: Promise<void> = work
      .catch((error: unknown) => this.events.damaged(error))
      .then(() => {
        if (this.queue === guarded) this.queue = null;
      });
    this.queue = guarded;
  }

  private handle(data: string | ArrayBuffer, socket: WebSocket): Promise<void> | null {
    if (this.stopped || (this.socket !== null && this.socket !== socket)) return null;
    try {
      if (typeof data === 'string') {
        const message = JSON.parse(data) as ToPage;
        if (message.t === 'graph') this.sketched = false;
        this.events.text(message);
        return null;
      }
      const frame = readFrame(data);
      if (frame instanceof Promise) return frame.then((inflated) => this.apply(inflated));
      this.apply(frame);
    } catch (error) {
      this.events.damaged(error);
    }
    return null;
  }

  private apply(frame: Frame): void {
    const { kind, seq } = frame.header;
    let done: number | null = isPosition(kind) ? seq : null;
    try {
      done = this.events.frame(frame);
    } catch (error) {
      this.events.damaged(error);
    }
    // Also a damaged frame is acknowledged, or the server would wait for it for ever.
    if (done !== null) this.send({ t: 'ack', seq: done });
  }

  /** Asks for something below the session's address; an answer that is none is thrown. */
  private async ask(path: string): Promise<Response> {
    const answer = await fetch(below(this.base, path, this.dataset));
    if (!answer.ok) throw await failure(answer);
    return answer;
  }

  /** Fetches frames, and what else a socket would tell, while none can be opened. */
  private async poll(): Promise<void> {
    if (this.polling) return;
    this.polling = true;
    this.polls += 1;
    const mine = this.polls;
    const gone = (): boolean => !this.polling || this.stopped || mine !== this.polls;
    try {
      if (this.events.resume() === null) await this.describe(gone);
      let after = this.events.resume()?.seq ?? 0;
      while (!gone()) {
        const answer = await this.ask(`frame?after=${after}`);
        const bytes = answer.status === 204 ? null : await answer.arrayBuffer();
        if (gone()) return;
        this.events.state('polling', 0);
        if (bytes && bytes.byteLength > 0) after = await this.polled(await readFrame(bytes), gone);
        // Where nothing moves, something else may have changed.
        else await this.describe(gone).then(() => this.paint(gone));
        if (!gone()) await new Promise((done) => setTimeout(done, POLL_MS));
      }
    } catch (error) {
      if (gone()) return;
      const code = error instanceof ApiError ? closeCode(error.status) : null;
      if (error instanceof ApiError && code !== null) {
        this.end(code, error.message);
        return;
      }
      this.polling = false;
      this.events.state('reconnecting', 0);
    }
  }

  /** Asks for what a socket tells before its frames: state, graph and legend, collections. */
  private async describe(gone: () => boolean): Promise<void> {
    const told = (await (await this.ask('graph')).json()) as { messages: ToPage[]; scene_frames: number };
    if (gone()) return;
    this.events.state('polling', 0);
    this.scene.frames = told.scene_frames;
    // Whatever changes colours and sizes changes the graph, its legend or the collections, too.
    const coloured = told.messages.map((message) =>
      message.t === 'graph' ? [message.epoch, message.legend] : message.t === 'collections' ? message : null,
    );
    this.scene.shows = JSON.stringify(coloured);
    for (const message of told.messages) {
      if (message.t === 'graph') this.sketched = true;
      this.events.text(message);
    }
  }

  /** Fetches colours, sizes and labels that were not fetched yet; they come after the first positions. */
  private async paint(gone: () => boolean): Promise<void> {
    const wanted = this.scene.shows;
    if (gone() || !this.events.resume()?.seq || this.scene.fetched === wanted) return;
    for (let k = 0; k < this.scene.frames; k += 1) {
      const frame = await readFrame(await (await this.ask(`scene/${k}`)).arrayBuffer());
      if (gone()) return;
      this.events.frame(frame);
    }
    this.scene.fetched = wanted;
  }

  /** Applies a polled frame; answers what the next is to come after, 0 to get a key frame. */
  private async polled(frame: Frame, gone: () => boolean): Promise<number> {
    const { header } = frame;
    const moves = (header.flags & FLAG.RUNNING) !== 0;
    const isOther = header.epoch !== this.events.resume()?.epoch;
    if (isOther || (this.moved !== null && this.moved !== moves)) await this.describe(gone);
    this.moved = moves;
    if (gone() || header.epoch !== this.events.resume()?.epoch) return 0;
    if (isOther && (header.kind !== KIND.POS_KEY || header.first !== 0 || header.stride !== 1)) return 0;
    this.events.frame(frame);
    await this.paint(gone);
    return this.events.resume()?.seq ?? 0;
  }
}
