import { parseColor } from '../scene/color.ts';
import { lookOf, namesShown } from '../state/look.ts';
import * as store from '../state/store.ts';
import { currentTheme, named } from '../state/theme.ts';
import type { Highlight, Params } from '../state/params.ts';
import type { Viewer } from '../state/viewer.ts';

/** Entries of `look/` that have another name in the page's address. */
const PARAMS: Record<string, keyof Params> = {
  background: 'bg',
  edgeCurvature: 'edgeCurvature',
  edgeOpacity: 'edgeOpacity',
  edgeSize: 'edgeSize',
  labelBackground: 'labelBackground',
  labelColor: 'labelColor',
  labelEnabled: 'showLabels',
  labelHighlightEnabled: 'showLabelOnHover',
  labelInspectorEnabled: 'cardProperties',
  labelLabelPOI: 'showPointsOfInterestLabel',
  labelOpacity: 'labelOpacity',
  labelPOI: 'showPointsOfInterest',
  labelPOIMax: 'pointsOfInterestMax',
  labelPropertiesEnabled: 'hoverProperties',
  labelShowActions: 'cardActions',
  neighborhoodHighlight: 'neighborhoodHighlight',
  neighborhoodHighlightHops: 'neighborhoodHighlightHops',
  pointOpacity: 'pointOpacity',
  pointSize: 'pointSize',
  pointStrokeWidth: 'pointStrokeWidth',
  showArrows: 'showArrows',
  showToolbar: 'menu',
};
const RANGES: Record<string, readonly [number, number]> = {
  edgeCurvature: [0, 1],
  edgeOpacity: [0, 1],
  edgeSize: [0.1, 10],
  labelOpacity: [0, 1],
  pointsOfInterestMax: [0, 100],
  neighborhoodHighlightHops: [1, 5],
  pointOpacity: [0, 1],
  pointSize: [0.1, 10],
  pointStrokeWidth: [0, 5],
};
const COLORS: readonly (keyof Params)[] = ['bg', 'labelBackground', 'labelColor'];
const HIGHLIGHTS: readonly Highlight[] = ['both', 'incoming', 'outgoing', 'node', 'none'];

/** What the page's address says, to which the picture goes back. */
const address: Params = { ...store.params };

/** A value as the address would have it; undefined where it is none. */
function fitting(name: keyof Params, value: unknown): unknown {
  if (name === 'neighborhoodHighlight') return HIGHLIGHTS.find((word) => word === value);
  const range = RANGES[name];
  if (range) {
    const number = typeof value === 'string' && value.trim() === '' ? NaN : Number(value);
    if (!Number.isFinite(number)) return undefined;
    return Math.min(range[1], Math.max(range[0], number));
  }
  if (name === 'showArrows' || typeof address[name] === 'boolean')
    return typeof value === 'boolean' ? value : undefined;
  return typeof value === 'string' && parseColor(value, named) ? value : undefined;
}

/** What a setting of the look takes instead of this value, in words; null where it is taken. */
export function lookProblem(look: string, value: unknown): string | null {
  const name = PARAMS[look];
  // Nothing goes back to what the address says.
  if (!name || value === undefined || value === null || fitting(name, value) !== undefined) return null;
  const range = RANGES[name];
  if (range) return `a number from ${range[0]} to ${range[1]}`;
  if (name === 'neighborhoodHighlight') return `one of ${HIGHLIGHTS.join(', ')}`;
  return COLORS.includes(name) ? 'a colour, such as #1f77b4, rgba(31, 119, 180, 1) or red' : 'true or false';
}

/** The look that the document asks for over that of the address. */
export function applyLook(viewer: Viewer, looks: ReadonlyMap<string, unknown>): void {
  const params: Params = { ...address };
  for (const [look, value] of looks) {
    const name = PARAMS[look];
    const fine = name && fitting(name, value);
    if (fine !== undefined) Object.assign(params, { [name]: fine });
  }
  if (JSON.stringify(params) === JSON.stringify(store.params)) return;
  Object.assign(store.params, params);
  Object.assign(viewer.picture.look, lookOf(params));
  viewer.picture.renderer.edgeScale = params.edgeSize;
  viewer.labels.mustShow(namesShown(params));
  if (!params.showLabels) viewer.labels.clear();
  // Cards show what they are to show now.
  for (const card of [store.hoverCard, store.pinnedCard]) card.value = card.value && { ...card.value };
  store.menu.value = params.menu;
  viewer.setTheme(currentTheme());
  viewer.relabel();
}
