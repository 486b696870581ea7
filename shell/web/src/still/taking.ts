import { signal } from '@preact/signals';
import { ApiError, failure } from '../net/api.ts';
import type { Size, View } from '../scene/camera.ts';
import { addressOf, PIXELS_MAX, SIDE_MAX } from '../state/picture-address.ts';
import * as store from '../state/store.ts';
import type { Viewer } from '../state/viewer.ts';

/** The server's picture of what the page would draw, taken anew whenever that is something else. */

/** How long nothing has to change before a picture is taken, and how often while the layout runs, in ms. */
const REST_MS = 500;
const EVERY_MS = 4000;
/** When a picture is tried again that could not be had, and nobody said when. */
const AGAIN_MS = 10_000;
/** The least side of a picture. */
const SIDE_MIN = 16;

/** A picture, and what of the graph it shows. */
export interface Taken {
  url: string;
  view: View;
  size: Size;
}

/** How long a refusal lasts in ms; null for one that does not pass by itself. */
function waitOf(answer: Response): number | null {
  if (answer.status !== 429 && answer.status !== 503 && answer.status !== 504) return null;
  const said = Number(answer.headers.get('Retry-After'));
  return said > 0 ? said * 1000 : AGAIN_MS;
}

export class Taking {
  readonly taken = signal<Taken | null>(null);
  readonly busy = signal(false);
  /** Why there is no newer picture; empty where there is one. */
  readonly problem = signal('');
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** What the newest picture shows, and what was seen last. */
  private shows = '';
  private seen = '';
  private takenAt = -EVERY_MS;
  /** A refusal that passes by itself is waited for until then. */
  private notBefore = 0;

  constructor(private readonly viewer: Viewer) {}

  private address(): URL {
    const { w, h } = this.viewer.picture.size;
    const most = Math.min(SIDE_MAX / Math.max(w, h), Math.sqrt(PIXELS_MAX / (w * h)));
    const url = addressOf(this.viewer, {
      format: 'png',
      scale: Math.min(this.viewer.picture.dpr, most),
      // The page's own lies over it, where there is room for one.
      legend: false,
      names: store.params.showLabels,
      transparent: false,
      title: '',
    });
    for (const side of ['width', 'height']) {
      if (Number(url.searchParams.get(side)) < SIDE_MIN) url.searchParams.set(side, String(SIDE_MIN));
    }
    return url;
  }

  /** Looks, once a frame, whether there is something else to show. */
  look(): void {
    // Until the panels are there it is not known what they show, and what they cover.
    if (store.phase.value !== 'ready' || !store.panels.value) return;
    const now = `${this.viewer.picture.version} ${this.address().href}`;
    const { playing } = store;
    // What moves all the time never rests.
    if (now === this.seen || (playing.value && this.timer !== undefined)) return;
    this.seen = now;
    if (now !== this.shows) this.soon(playing.value ? this.takenAt + EVERY_MS - performance.now() : 0);
  }

  private soon(ms: number): void {
    clearTimeout(this.timer);
    const wait = Math.max(REST_MS, ms, this.notBefore - performance.now());
    this.timer = setTimeout(() => void this.take(), wait);
  }

  /** Takes it now. While the tab is hidden nobody looks: it is taken when the page is drawn again. */
  async take(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.busy.value || store.phase.value !== 'ready') return;
    if (document.hidden) {
      this.seen = '';
      return;
    }
    const { picture } = this.viewer;
    const [view, size, url] = [picture.camera.view, { ...picture.size }, this.address()];
    this.seen = this.shows = `${picture.version} ${url.href}`;
    this.busy.value = true;
    this.takenAt = performance.now();
    try {
      const answer = await fetch(url, { credentials: 'same-origin' });
      if (!answer.ok) {
        const wait = waitOf(answer);
        if (wait !== null) this.again(wait);
        throw await failure(answer);
      }
      const old = this.taken.value?.url;
      this.taken.value = { url: URL.createObjectURL(await answer.blob()), view, size };
      if (old) setTimeout(() => URL.revokeObjectURL(old), 1000);
      this.problem.value = '';
    } catch (error) {
      const isSaid = error instanceof ApiError;
      if (!isSaid) this.again(AGAIN_MS);
      const said = isSaid ? error.message : `the server ${location.host} cannot be reached`;
      this.problem.value = /[.!?]$/.test(said) ? said : `${said}.`;
    }
    this.busy.value = false;
    this.takenAt = performance.now();
    // What has changed meanwhile is seen in the next frame.
    this.seen = this.timer === undefined ? '' : this.seen;
    this.viewer.refresh();
  }

  /** Takes no more. */
  end(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.seen = 'ended';
    if (this.taken.value) URL.revokeObjectURL(this.taken.value.url);
  }

  private again(wait: number): void {
    this.notBefore = performance.now() + wait;
    this.soon(wait);
  }
}
