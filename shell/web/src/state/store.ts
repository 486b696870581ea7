import type { JSX } from 'preact';
import { computed, signal } from '@preact/signals';
import type { LinkState } from '../net/session.ts';
import { NO_COLLECTIONS, type Collections } from './collections.ts';
import type { LayoutFacts } from './layout-words.ts';
import { parseParams } from './params.ts';

/** Everything the panels show, as signals; only the viewer and the session write them. */

export type Phase =
  | 'splash'
  | 'connecting'
  | 'loading'
  | 'waiting'
  | 'ready'
  | 'empty'
  | 'missing'
  | 'ended'
  | 'failed';

export interface CardProperty {
  name: string;
  value: unknown;
}

export interface Card {
  index: number;
  title: string;
  color: string;
  degree: number | null;
  properties: CardProperty[];
  /** The server's answer is still on its way. */
  pending: boolean;
}

/** One thing that was not done as asked. */
export interface Notice {
  slug: string;
  text: string;
}

export interface Hit {
  index: number;
  label: string;
  id: string;
}

/** A part of the page, which reads what it shows. */
export type Part = () => JSX.Element | null;

/** Where panels stand: two places in the bar, three on the stage. */
export type PanelPlace = 'search' | 'tools' | 'left' | 'corner' | 'over';

/** Buttons and panels of the shared document. */
export interface Instruments {
  Buttons: Part;
  Dock: Part;
  /** The document as this page knows it, for tests. */
  snapshot: () => unknown;
}

export const params = parseParams(location.search, location.hash);

export const phase = signal<Phase>('connecting');
export const detail = signal('');
export const link = signal<LinkState>('connecting');
/** Milliseconds until the next attempt to connect, for the banner. */
export const retryIn = signal(0);
export const notice = signal<string | null>(null);
/** Who is signed in: a name, nobody ('') or not known yet (null). */
export const user = signal<string | null>(null);
/** Whether this page may run the layout, change its settings and move nodes. */
export const steers = signal(true);
/** Whether the page only watches: its user is signed in, and a site that nobody named shows it in a frame. */
export const framed = signal(false);

/** What waits for a click before the graph is loaded. */
export const splash = signal<Part | null>(null);

export const graphName = signal('');
export const graphDescription = signal('');
export const nodeCount = signal(0);
export const edgeCount = signal(0);
export const edgesLoaded = signal(0);
export const viewers = signal(1);

export const layoutState = signal('');
/** How the layout ended without coming to rest; empty while it runs and when it has settled. */
export const layoutEnd = signal('');
export const playing = signal(false);
export const iterations = signal(0);
export const iterationsPerSecond = signal(0);
/** The layout that was named last and placed the nodes, and how often nodes were placed so. */
export const placedBy = signal('');
export const placements = signal(0);
/** Whether a layout has moved nodes from where the data has them. */
export const displaced = signal(false);
/** 0 while nodes have no third coordinate; another number whenever these are others. */
export const depths = signal(0);
/** The layout that this page has named and that is being found. */
export const laying = signal('');
/** The positions are the dataset's own. */
export const givenPositions = signal(false);
export const layout = computed<LayoutFacts>(() => ({
  state: layoutState.value,
  playing: playing.value,
  iterations: iterations.value,
  end: layoutEnd.value,
  given: givenPositions.value && !displaced.value,
  placedBy: placedBy.value,
}));

/** As the server sent it; what shows it reads it. */
export const legend = signal<unknown>(null);
/** What was asked for and is not done. */
export const notices = signal<Record<'address' | 'dataset' | 'page', Notice[]>>({
  address: [],
  dataset: [],
  page: [],
});
export const legendHere = computed(() => (phase.value === 'ready' ? legend.value : null));

export const collections = signal<Collections>(NO_COLLECTIONS);

/** What dragging over the picture does. */
export type Tool = 'pan' | 'rectangle' | 'lasso';
export const tool = signal<Tool>('pan');
/** How many nodes are selected, beside the one whose card is open. */
export const selectedCount = signal(0);
/** How many edges are selected by themselves, and not with both their ends. */
export const selectedEdges = signal(0);
/** How often other nodes were selected. */
export const selections = signal(0);
/** The panel of the selection, once somebody has selected. */
export const selectionPanel = signal<Part | null>(null);

/** The panels that are loaded once the graph is on the screen. */
export const panels = signal<Record<PanelPlace, readonly Part[]> | null>(null);
/** Buttons and panels of the shared document, once the server has told of it. */
export const instruments = signal<Instruments | null>(null);
/** How many elements are visible where some are hidden; null where none is known to be. */
export const shown = signal<{ nodes: number; edges: number } | null>(null);

/** Whether the server's picture stands in for the page's own. */
export const still = signal(false);

/** Whether the list of keys is open. */
export const keysShown = signal(false);

export const hoverCard = signal<Card | null>(null);
export const pinnedCard = signal<Card | null>(null);
export const theme = signal<'dark' | 'light'>('dark');
/** CSS of the background when it is more than one colour. */
export const backdrop = signal<{ background: string; backgroundBlendMode: string } | null>(null);
/** The blend mode of the picture over it; empty for none. */
export const foreground = signal('');
export const logo = signal<{
  url: string;
  position: string;
  maxWidth: number;
  maxHeight: number;
  invert: boolean;
} | null>(null);

export const viewport = signal({ w: innerWidth, h: innerHeight });
/** A notebook frame too small for the bar. A phone, which is narrow and tall and no frame, is none. */
function isTiny({ w, h }: { w: number; h: number }, framed: boolean): boolean {
  return h < 320 || (w < 480 && (framed || h < 480));
}
export const tiny = computed(() => isTiny(viewport.value, window.parent !== window));
/** Too narrow for a bar with the counts in it. */
export const narrow = computed(() => viewport.value.w < 900);
export const menu = signal(params.menu);
export const showMenu = computed(() => menu.value && !tiny.value);

/** What a screen reader hears. */
export const announcement = signal('');
