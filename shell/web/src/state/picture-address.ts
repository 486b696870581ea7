import { viewBox } from '../scene/camera.ts';
import { css } from '../scene/color.ts';
import { bundled, groupsShown } from './afar.ts';
import { ranges } from './numbers.ts';
import * as store from './store.ts';
import type { Viewer } from './viewer.ts';

/** How a picture is to be saved. */
export interface Wish {
  format: 'png' | 'svg' | 'pdf';
  /** Pixels of the picture for each of the page. */
  scale: number;
  legend: boolean;
  names: boolean;
  transparent: boolean;
  /** What stands above the graph; empty for nothing. */
  title: string;
}

/** Pixels of a side of a picture at most, and of one that the server draws altogether. */
export const SIDE_MAX = 8192;
export const PIXELS_MAX = 40_000_000;
export const SCALES = [1, 2, 4, 8] as const;

/** Whether the page can draw it itself, as it is on the screen. */
export function isAsShown(wish: Wish): boolean {
  const { format, legend, names, transparent, title } = wish;
  const isPlain = !legend && !transparent && title.trim() === '';
  return format === 'png' && isPlain && names === store.params.showLabels && !store.still.value;
}

/** Letters of an address that numbers of selected nodes may take. */
const SELECTED_LETTERS_MAX = 6_000;

/** What stood out last, and its text: addresses are asked for in every frame. */
let known: { of: ReadonlySet<number> | null; text: string } = { of: null, text: '' };

/** What stands out, as addresses have it; null for nothing, and for what no address can hold. */
function selectedOf({ picture }: Viewer): string | null {
  const of = picture.emphasized;
  if (of !== known.of) known = { of, text: of ? ranges(of) : '' };
  const { text } = known;
  return text.length > 0 && text.length <= SELECTED_LETTERS_MAX ? text : null;
}

/** Whether the server's picture lacks what stands out in that of the page. */
export function losesSelection(viewer: Viewer, wish: Wish): boolean {
  return !isAsShown(wish) && viewer.picture.emphasized !== null && selectedOf(viewer) === null;
}

/** The address of the server's picture of what this page shows: its view, look and own filters. */
export function addressOf(viewer: Viewer, wish: Wish): URL {
  const { picture } = viewer;
  const { size, look, backdrop, camera } = picture;
  const box = viewBox(camera.view, size);
  const { session, dataset } = store.params;
  const url = new URL(`../viz/${encodeURIComponent(session)}/picture.${wish.format}`, location.href);
  // A background of one colour is bound; that of a theme has two.
  const { center, edge } = backdrop;
  const isBound = css(center) === css(edge);
  const asked: Record<string, string | number | boolean | null> = {
    width: Math.round(size.w),
    height: Math.round(size.h),
    scale: wish.format === 'png' ? wish.scale : 1,
    theme: store.theme.value,
    background: wish.transparent ? 'none' : isBound ? css({ ...center, a: 1 }) : null,
    left: box.minX,
    right: box.maxX,
    top: box.maxY,
    bottom: box.minY,
    zoom: picture.zoom,
    pointSize: look.pointSize,
    pointOpacity: look.pointOpacity,
    pointStrokeWidth: look.strokeWidth,
    edgeOpacity: look.edgeOpacity,
    edgeCurvature: look.curvature,
    showArrows: look.arrows,
    superGraph: groupsShown.value === true,
    bundle: bundled.value,
    selected: selectedOf(viewer),
    names: wish.names,
    legend: wish.legend,
    title: wish.title.trim() || null,
    viewer: viewer.id || null,
    wait: 0,
    dataset: dataset || null,
  };
  for (const [name, value] of Object.entries(asked)) {
    if (value !== null) url.searchParams.set(name, String(value));
  }
  return url;
}
