import { signal } from '@preact/signals';
import { maySteer } from './page-control.ts';
import { load } from './lazy.ts';
import type { ColorKey, Swatch } from './legend.ts';
import { selecting } from './selecting.ts';
import type { LiveViewer } from './live-viewer.ts';
import * as store from './store.ts';
import { toggleTheme } from './theme.ts';

/** Actions of buttons and keys. */

/** The viewer, once its canvases exist. */
export const viewer = signal<LiveViewer | null>(null);

export function playPause(): void {
  if (store.phase.value === 'ready') viewer.value?.play(!store.playing.value);
}

/** Lays the graph out by name: an empty one runs the forces, `given` puts nodes where the data has them. */
export function layOut(name: string): void {
  if (store.phase.value !== 'ready') return;
  if (name === '') viewer.value?.play(true);
  else if (maySteer() && viewer.value?.link.send({ t: 'layout', name })) store.laying.value = name;
}

/** What can be done with the selection. */
export type Selecting = 'all' | 'invert' | 'clear' | 'grow' | 'component' | 'path' | 'sameColor' | 'fit';

export function select(what: Selecting): void {
  if (!viewer.value || store.phase.value !== 'ready') return;
  void selecting().then((tools) => {
    if (what === 'all' || what === 'invert' || what === 'clear') tools.do(what);
    else tools[what]();
  });
}

/** Selects the elements of an entry of the legend, or hides them. */
export function pickLegendEntry(key: ColorKey, swatch: Swatch, hides: boolean): void {
  if (viewer.value) void selecting().then((tools) => tools.legend(key, swatch, hides));
}

/** Selects what an expression or a query finds; answers what is wrong with it, or null. */
export async function selectMatching(text: string): Promise<string | null> {
  return viewer.value ? (await selecting()).match(text) : null;
}

/** Chooses what dragging does, or the other way round when it does so already. */
export function chooseTool(tool: store.Tool): void {
  store.tool.value = store.tool.value === tool ? 'pan' : tool;
}

export function fit(): void {
  viewer.value?.fit();
}

/** The free part of the screen has changed. */
export function panelsMoved(): void {
  viewer.value?.picture.refit(true);
  viewer.value?.refresh();
}

export function zoomIn(): void {
  viewer.value?.zoomBy(1.5);
}

export function zoomOut(): void {
  viewer.value?.zoomBy(1 / 1.5);
}

export function switchTheme(): void {
  viewer.value?.setTheme(toggleTheme());
}

export function goTo(index: number): void {
  viewer.value?.flyTo(index);
  viewer.value?.select(index);
}

export function closeCard(): void {
  viewer.value?.select(-1);
}

export function unpin(index: number): void {
  viewer.value?.unpin(index);
  if (store.pinnedCard.value) store.pinnedCard.value = { ...store.pinnedCard.value };
}

export function isPinned(index: number): boolean {
  return viewer.value?.pins.has(index) ?? false;
}

export function retry(): void {
  viewer.value?.link.retryNow();
}

export function connect(): void {
  store.phase.value = 'connecting';
  viewer.value?.link.open();
}

export async function search(query: string, signal: AbortSignal): Promise<store.Hit[]> {
  return (await viewer.value?.api.search(query, signal)) ?? [];
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
