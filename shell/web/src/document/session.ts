import { batch, effect } from '@preact/signals';
import { readMask, type Frame } from '../net/frames.ts';
import type { DocumentMessage, Step, Told } from '../net/messages.ts';
import type { Change } from '../net/page-messages.ts';
import type { SessionLink } from '../net/session.ts';
import { needsAfar } from '../state/afar.ts';
import type { DocumentPart } from '../state/lazy.ts';
import { hiddenChanged } from '../state/selecting.ts';
import * as store from '../state/store.ts';
import type { Viewer } from '../state/viewer.ts';
import { DocumentApi } from './api.ts';
import { leftOut } from './bits.ts';
import { SharedDocument, freshId } from './document.ts';
import { applyLook } from './look.ts';
import * as state from './state.ts';
import { newsWords, problemWords } from './words.ts';

/** How long a line about somebody else's change stays. */
const NEWS_MS = 10_000;
const NO_LINK = 'There is no connection to the server; nothing was changed.';
const UNKNOWN = 'The connection broke before the server answered; look whether the step was taken.';

interface Pending {
  request: Step;
  /** The connection on which it was sent has gone. */
  lost: boolean;
  answer: (refusal: string | null) => void;
}

/** The page's part in the shared document: hears of it, and asks for changes. */
export class DocumentSession implements DocumentPart {
  readonly document = new SharedDocument();
  readonly api: DocumentApi;
  private readonly pending = new Map<string, Pending>();
  private newsEnds: ReturnType<typeof setTimeout> | undefined;
  private pinned = new Set<number>();
  /** The element set that the columns belong to. */
  private epoch = 0;
  /** Whether the server has told of a document: older ones have none. */
  private known = false;

  constructor(
    readonly viewer: Viewer,
    private readonly link: SessionLink,
    private readonly instruments: store.Instruments,
  ) {
    this.api = new DocumentApi(viewer);
    effect(() => {
      if (store.link.value === 'live') return;
      for (const entry of this.pending.values()) entry.lost = true;
    });
  }

  hear(told: DocumentMessage): void {
    batch(() => {
      if (told.t === 'document') {
        this.document.take(told);
        if (this.epoch !== this.viewer.epoch) this.api.forget();
        this.epoch = this.viewer.epoch;
        this.begin();
        this.show();
        // Counts follow only where there are filters.
        state.counted.value += 1;
        this.ask();
      } else if (told.t === 'changed') {
        this.document.change(told);
        this.show();
        this.tell(told);
      } else if (told.t === 'done') this.answer(told.id, null);
      else if (told.t === 'refused') this.answer(told.id, problemWords(told.message || told.slug));
      else if (told.t === 'history') {
        state.undo.value = told.undo;
        state.redo.value = told.redo;
      } else {
        state.counts.value = told.filters;
        store.shown.value = { nodes: told.nodes, edges: told.edges };
        state.counted.value += 1;
      }
    });
  }

  /** The first time that there is a document, its buttons appear. */
  private begin(): void {
    if (this.known) return;
    this.known = true;
    store.instruments.value = this.instruments;
    if (store.params.showHistograms) state.toggle('histograms', true);
  }

  /** Takes over which elements are hidden. */
  mask(frame: Frame): void {
    const { picture } = this.viewer;
    // The element set may have become another one while this code was on its way.
    if (frame.header.epoch !== this.viewer.epoch) return;
    const { axis, bits } = readMask(frame);
    const count = axis === 'node' ? picture.data.numNodes : picture.data.numEdges;
    if (frame.header.count !== count) return;
    const hidden = leftOut(bits, count);
    picture.hide(axis, hidden);
    if (axis === 'node') this.letGo(hidden);
    hiddenChanged();
    this.viewer.relabel();
  }

  /** Lets go of a node that can no longer be seen. */
  private letGo(hidden: Uint8Array | null): void {
    const { focus } = this.viewer;
    if (hidden?.[focus.hovered]) this.viewer.hover(-1);
    if (hidden?.[focus.selected]) this.viewer.select(-1);
  }

  private show(): void {
    const { document } = this;
    state.filters.value = document.filters();
    state.collections.value = document.collections();
    const collapsed = document.collapsed();
    const same = JSON.stringify(collapsed) === JSON.stringify(state.collapsed.value);
    if (!same) state.collapsed.value = collapsed;
    if (collapsed.length > 0) needsAfar.value = true;
    state.orphansPruned.value = document.get('prune_orphans') === true;
    state.encodings.value = document.below('encodings');
    state.isOwn.value = document.hasOwn;
    state.changes.value += 1;
    applyLook(this.viewer, document.below('look'));
    this.showPins();
    this.viewer.refresh();
  }

  /** Nodes that came to be pinned, and those that no longer are; the one in hand is not among them yet. */
  private showPins(): void {
    const { pins } = this.viewer;
    const now = new Set([...this.document.below('pins').keys()].map(Number));
    for (const index of this.pinned) if (!now.has(index)) pins.delete(index);
    for (const index of now) pins.add(index);
    this.pinned = now;
  }

  /** A node was moved by hand and stays where it is. */
  pin(index: number, x: number, y: number): void {
    if (this.known) void this.change('Move a node', [{ path: `pins/${index}`, value: [x, y] }]);
  }

  unpin(index: number): void {
    if (!this.pinned.has(index)) return;
    void this.change('Release a node', [{ path: `pins/${index}`, value: null }]);
  }

  /** Says what somebody else has done. */
  private tell({ by, label }: Told<'changed'>): void {
    if (by.you) return;
    const text = newsWords(by.name || 'Somebody', label);
    state.news.value = { text, agent: by.kind === 'agent' };
    store.announcement.value = text;
    clearTimeout(this.newsEnds);
    this.newsEnds = setTimeout(() => {
      state.news.value = null;
    }, NEWS_MS);
  }

  /** Asks again for what was not answered before the connection broke; a step back is not taken twice. */
  private ask(): void {
    for (const [id, entry] of this.pending) {
      if (!entry.lost) continue;
      entry.lost = false;
      if (entry.request.t !== 'do' || !this.link.send(entry.request)) this.answer(id, UNKNOWN);
    }
  }

  private answer(id: string, refusal: string | null): void {
    const entry = this.pending.get(id);
    this.pending.delete(id);
    entry?.answer(refusal);
  }

  private send(request: Step): Promise<string | null> {
    if (!this.link.send(request)) return Promise.resolve(NO_LINK);
    return new Promise((answer) => {
      this.pending.set(request.id, { request, lost: false, answer });
    });
  }

  /** Changes the document; answers null, or why it was not done. */
  do(label: string, changes: Change[], join?: string): Promise<string | null> {
    const request: Step = { t: 'do', id: freshId('a'), label, changes };
    return this.send(join === undefined ? request : { ...request, join });
  }

  /** Changes the document, and says so in the page when it was not done. */
  async change(label: string, changes: Change[], join?: string): Promise<boolean> {
    const refusal = await this.do(label, changes, join);
    if (refusal !== null) store.notice.value = refusal;
    return refusal === null;
  }

  async step(t: 'undo' | 'redo'): Promise<void> {
    if (state[t].value === null) return;
    const refusal = await this.send({ t, id: freshId('a') });
    if (refusal !== null) store.notice.value = refusal;
  }
}
