import { maySteer } from './helm.ts';
import { load } from './lazy.ts';
import type { ColorKey, Swatch } from './legend.ts';
import { selecting } from './selecting.ts';
import type { LiveViewer } from './live-viewer.ts';
import * as store from './store.ts';
import { toggleTheme } from './theme.ts';

/** What buttons and keys do. The viewer exists once its canvases do. */

let viewer: LiveViewer | null = null;

export function setViewer(value: LiveViewer): void {
  viewer = value;
}

export function theViewer(): LiveViewer | null {
  return viewer;
}

export function playPause(): void {
  if (store.phase.value === 'ready') viewer?.play(!store.playing.value);
}

/** Lays the graph out by name: an empty one runs the forces, `given` puts nodes where the data has them. */
export function layOut(name: string): void {
  if (store.phase.value !== 'ready') return;
  if (name === '') viewer?.play(true);
  else if (maySteer() && viewer?.link.send({ t: 'layout', name })) store.laying.value = name;
}

/** What can be done with the selection. */
export type Selecting = 'all' | 'invert' | 'clear' | 'grow' | 'component' | 'path' | 'sameColor' | 'fit';

export function select(what: Selecting): void {
  if (!viewer || store.phase.value !== 'ready') return;
  void selecting().then((tools) => {
    if (what === 'all' || what === 'invert' || what === 'clear') tools.do(what);
    else tools[what]();
  });
}

/** Selects the elements of an entry of the legend, or hides them. */
export function useLegend(of: ColorKey, swatch: Swatch, hides: boolean): void {
  if (viewer) void selecting().then((tools) => tools.legend(of, swatch, hides));
}

/** Selects what an expression or a query finds; answers what is wrong with it, or null. */
export async function selectMatching(text: string): Promise<string | null> {
  return viewer ? (await selecting()).match(text) : null;
}

/** Chooses what dragging does, or the other way round when it does so already. */
export function useTool(tool: store.Tool): void {
  store.tool.value = store.tool.value === tool ? 'pan' : tool;
}

export function fit(): void {
  viewer?.fit();
}

/** The free part of the screen has changed. */
export function panelsMoved(): void {
  viewer?.picture.refit(true);
  viewer?.refresh();
}

export function zoomIn(): void {
  viewer?.zoomBy(1.5);
}

export function zoomOut(): void {
  viewer?.zoomBy(1 / 1.5);
}

export function switchTheme(): void {
  viewer?.setTheme(toggleTheme());
}

export function goTo(index: number): void {
  viewer?.flyTo(index);
  viewer?.select(index);
}

export function closeCard(): void {
  viewer?.select(-1);
}

export function unpin(index: number): void {
  viewer?.unpin(index);
  if (store.pinnedCard.value) store.pinnedCard.value = { ...store.pinnedCard.value };
}

export function isPinned(index: number): boolean {
  return viewer?.pins.has(index) ?? false;
}

export function retry(): void {
  viewer?.link.retryNow();
}

export function connect(): void {
  store.phase.value = 'connecting';
  viewer?.link.open();
}

export async function search(query: string, signal: AbortSignal): Promise<store.Hit[]> {
  return (await viewer?.api.search(query, signal)) ?? [];
}

/** The form to sign in with, which leads back here. */
export function signInAddress(): string {
  const here = encodeURIComponent(location.pathname + location.search + location.hash);
  return `../login?next=${here}`;
}

/** Asks how the picture is to be saved. */
export function savePicture(): void {
  void load.exporting();
}

/** The same page in a tab of its own. */
export function fullAddress(): string {
  return location.href;
}
