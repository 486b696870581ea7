/**
 * Calls that the JavaScript client can make to this page, and their effects. This is the one list of them:
 * the page takes no path that is not here, and a test holds it against what the installed client has.
 */

/** What the page itself does when a path is set. */
export type Act = 'zoom' | 'center' | 'play' | 'filters' | 'exclusions' | 'histograms';

/** What a path means when it is set. */
export type Meaning =
  /** A step of the session's document: the value of this entry. */
  | { entry: string }
  /** An encoding, which is the value of an entry, too; a default is what a reset goes back to. */
  | { encoding: string; isDefault?: true }
  | { act: Act }
  /** There is no such thing yet: turning it on is this error. */
  | { absent: string }
  /** It comes with another path of the same call, which says all. */
  | { accompanies: true };

const entry = (path: string): Meaning => ({ entry: path });
const knob = (index: number, name: string): [string, Meaning] => [
  `layout.options.forceatlas2barnes.${index}.value`,
  entry(`settings/${name}`),
];

/** The members of `updateSetting`: the path below the view, and what it means. */
export const SETTINGS = {
  showToolbar: ['toolbar.visible', entry('look/showToolbar')],
  pruneOrphans: ['pruneOrphans', entry('prune_orphans')],
  showArrows: ['scene.renderer.showArrows', entry('look/showArrows')],
  background: ['scene.renderer.background.color', entry('look/background')],
  edgeOpacity: ['scene.renderer.edges.opacity', entry('look/edgeOpacity')],
  edgeSize: ['scene.renderer.edges.scaling', entry('look/edgeSize')],
  edgeCurvature: ['scene.renderer.edges.curvature', entry('look/edgeCurvature')],
  pointOpacity: ['scene.renderer.points.opacity', entry('look/pointOpacity')],
  pointSize: ['scene.renderer.points.scaling', entry('look/pointSize')],
  // Both as the client spells them.
  neighbhorhoodHighlight: [
    'scene.renderer.points.neighborhoodHighlight',
    entry('look/neighborhoodHighlight'),
  ],
  neighbhorhoodHighlightHops: [
    'scene.renderer.points.neighborhoodHighlightHops',
    entry('look/neighborhoodHighlightHops'),
  ],
  zoom: ['camera.zoom', { act: 'zoom' }],
  // The client sets x, y and z to one and the same value; the picture has no place for z.
  center: ['camera.center.x', { act: 'center' }],
  labelOpacity: ['labels.opacity', entry('look/labelOpacity')],
  labelEnabled: ['labels.enabled', entry('look/labelEnabled')],
  labelPropertiesEnabled: ['labels.propertiesEnabled', entry('look/labelPropertiesEnabled')],
  labelInspectorEnabled: ['labels.inspectorEnabled', entry('look/labelInspectorEnabled')],
  labelShowActions: ['labels.showActions', entry('look/labelShowActions')],
  labelPOI: ['labels.poiEnabled', entry('look/labelPOI')],
  labelLabelPOI: ['labels.poiLabelEnabled', entry('look/labelLabelPOI')],
  labelPOIMax: ['labels.poiMax', entry('look/labelPOIMax')],
  labelHighlightEnabled: ['labels.highlightEnabled', entry('look/labelHighlightEnabled')],
  labelColor: ['labels.foreground.color', entry('look/labelColor')],
  labelBackground: ['labels.background.color', entry('look/labelBackground')],
  precisionVsSpeed: knob(0, 'precisionVsSpeed'),
  gravity: knob(1, 'gravity'),
  scalingRatio: knob(2, 'scalingRatio'),
  edgeInfluence: knob(3, 'edgeInfluence'),
  strongGravity: knob(4, 'strongGravity'),
  dissuadeHubs: knob(5, 'dissuadeHubs'),
  linLog: knob(6, 'linLog'),
  lockedX: knob(7, 'lockedX'),
  lockedY: knob(8, 'lockedY'),
  lockedR: knob(9, 'lockedR'),
} satisfies Record<string, [string, Meaning]>;

/** The error for something that is not there, with what does the same. */
function absent(call: string, what: string, instead: string): Meaning {
  return { absent: `${call}: there ${what} yet. ${instead} Nothing was changed.` };
}

/** Panels, each by the path that opens it. The client opens the first five by `togglePanel`. */
export const PANELS: Readonly<Record<string, Meaning>> = {
  'filters.controls.0.selected': { act: 'filters' },
  'exclusions.controls.0.selected': { act: 'exclusions' },
  'scene.controls.1.selected': absent(
    "togglePanel('scene', true)",
    'is no panel of the scene',
    'Use updateSetting with pointSize, pointOpacity, edgeSize, edgeOpacity, edgeCurvature or showArrows.',
  ),
  'labels.controls.0.selected': absent(
    "togglePanel('labels', true)",
    'is no panel of the labels',
    'Use updateSetting with labelEnabled, labelOpacity, labelColor, labelBackground or labelPOIMax.',
  ),
  'layout.controls.0.selected': absent(
    "togglePanel('layout', true)",
    'is no panel of the layout',
    'Use toggleClustering, or updateSetting with gravity, scalingRatio, edgeInfluence, linLog or lockedX.',
  ),
  'inspector.controls.0.selected': absent(
    'toggleInspector(true)',
    'is no table of nodes and edges',
    'A click on a node opens its card; nodes of setSelectionExternal can be saved as CSV or JSON.',
  ),
  'timebars.controls.0.selected': absent(
    'toggleTimebars(true)',
    'are no time bars',
    'toggleHistograms(true) has a histogram with a brush for each column of dates.',
  ),
  'histograms.controls.0.selected': { act: 'histograms' },
};

/** The client names these five; any other name comes as a place at the left that none of them takes. */
export const LEFT_PANELS = Object.keys(PANELS).slice(0, 5);
export const UNKNOWN_PANEL =
  'togglePanel: there is no panel of this name; use filters or exclusions, or toggleHistograms for the ' +
  'histograms. Nothing was changed.';

const accompanying = (path: string): [string, Meaning] => [path, { accompanies: true }];
const CHANNELS = ['color', 'size', 'icon'];
export const AXES = 'encodings/node.axis';

/** Every path below the view that can be set. */
export const MEANINGS: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ...Object.values(SETTINGS) as [string, Meaning][],
  ...Object.entries(PANELS),
  ...['panels.left', 'panels.right', 'panels.bottom'].map((path) => accompanying(path)),
  ...['camera.center.y', 'camera.center.z'].map((path) => accompanying(path)),
  ['scene.simulating', { act: 'play' }],
  accompanying('scene.controls.0.selected'),
  ['encodings.point.axis', { encoding: AXES }],
  ...CHANNELS.flatMap((channel): [string, Meaning][] => [
    [`encodings.point.${channel}`, { encoding: `encodings/node.${channel}` }],
    [`encodings.edge.${channel}`, { encoding: `encodings/edge.${channel}` }],
    [`encodings.defaults.point.${channel}`, { encoding: `encodings/node.${channel}`, isDefault: true }],
    [`encodings.defaults.edge.${channel}`, { encoding: `encodings/edge.${channel}`, isDefault: true }],
  ]),
]);

/** The functions of the page, below the view or, the last of them, below the workbook. */
export type FunctionPath =
  | 'filters.add'
  | 'filters.reset'
  | 'exclusions.add'
  | 'exclusions.reset'
  | 'selection.setExternal'
  | 'highlight.setExternal'
  | 'autocenter'
  // Of the client's examples for `makeCaller`.
  | 'tick'
  | 'save';

/** What a function of the client comes to. */
export type Call =
  /** Paths that it sets, or some of them. */
  | { sets: readonly string[] }
  /** A member of `updateSetting` under a name of its own. */
  | { setting: keyof typeof SETTINGS | 'any' }
  /** The function of the page that it calls. */
  | { calls: FunctionPath }
  | { reads: string }
  /** What it subscribes to. */
  | { hears: string }
  /** It connects, or sends whatever path its caller names: this list says which there are. */
  | { carries: string }
  /** The client throws before it sends anything, on every server. */
  | { throws: string };

const of = (end: string): string[] => [`encodings.point.${end}`, `encodings.edge.${end}`];
const ofDefault = (end: string): string[] => [
  `encodings.defaults.point.${end}`,
  `encodings.defaults.edge.${end}`,
];
const [POINT, EDGE] = [0, 1];
const COLOR: Call = { sets: of('color') };
const ICON: Call = { sets: of('icon') };
const SIZE: Call = { sets: of('size') };
const NO_VIEW: Call = { throws: 'view' };
const OTHERS = { carries: 'any path of this list' };

/** The functions of the client, by name. */
export const CALLS = {
  graphistryJS: { carries: 'the connection' },
  GraphistryJS: { carries: 'the connection' },
  makeCaller: OTHERS,
  makeCallerJSON: OTHERS,
  makeGetter: OTHERS,
  makeGetterJSON: OTHERS,
  makeSetter: OTHERS,
  makeSetterWithModel: OTHERS,
  encodeColor: COLOR,
  encodePointColor: { sets: [of('color')[POINT]] },
  encodeEdgeColor: { sets: [of('color')[EDGE]] },
  resetColor: COLOR,
  resetPointColor: { sets: [of('color')[POINT]] },
  resetEdgeColor: { sets: [of('color')[EDGE]] },
  encodeAxis: { sets: ['encodings.point.axis'] },
  encodeIcons: ICON,
  encodePointIcons: { sets: [of('icon')[POINT]] },
  encodeEdgeIcons: { sets: [of('icon')[EDGE]] },
  resetIcons: ICON,
  resetPointIcons: { sets: [of('icon')[POINT]] },
  resetEdgeIcons: { sets: [of('icon')[EDGE]] },
  encodeSize: SIZE,
  encodePointSize: { sets: [of('size')[POINT]] },
  resetSize: SIZE,
  resetPointSize: { sets: [of('size')[POINT]] },
  encodeDefaultColor: { sets: ofDefault('color') },
  encodeDefaultPointColor: { sets: [ofDefault('color')[POINT]] },
  encodeDefaultEdgeColor: { sets: [ofDefault('color')[EDGE]] },
  encodeDefaultIcons: { sets: ofDefault('icon') },
  encodeDefaultPointIcons: { sets: [ofDefault('icon')[POINT]] },
  encodeDefaultEdgeIcons: { sets: [ofDefault('icon')[EDGE]] },
  encodeDefaultSize: NO_VIEW,
  encodeDefaultPointSize: NO_VIEW,
  encodeDefaultEdgeSize: NO_VIEW,
  togglePanel: { sets: LEFT_PANELS },
  toggleInspector: { sets: ['inspector.controls.0.selected'] },
  toggleTimebars: { sets: ['timebars.controls.0.selected'] },
  toggleHistograms: { sets: ['histograms.controls.0.selected'] },
  toggleClustering: { sets: ['scene.simulating'] },
  tickClustering: { sets: ['scene.simulating'] },
  toggleToolbar: { setting: 'showToolbar' },
  updateSetting: { setting: 'any' },
  updateZoom: { setting: 'zoom' },
  addFilter: { calls: 'filters.add' },
  addFilters: { calls: 'filters.add' },
  resetFilters: { calls: 'filters.reset' },
  addExclusion: { calls: 'exclusions.add' },
  addExclusions: { calls: 'exclusions.add' },
  resetExclusions: { calls: 'exclusions.reset' },
  setSelectionExternal: { calls: 'selection.setExternal' },
  // The client drops `darken` on its way; a page that sends it is heard.
  setHighlightExternal: { calls: 'highlight.setExternal' },
  // The client throws at the answers of these two, whatever they are; what they ask for is done.
  autocenter: { calls: 'autocenter' },
  saveWorkbook: { calls: 'save' },
  getCurrentWorkbook: { reads: 'id' },
  selectionUpdates: { hears: '.selection.labels' },
  subscribeSelections: { hears: '.selection.labels' },
  labelUpdates: { hears: '.labels' },
  subscribeLabels: { hears: '.labels' },
  playUpdates: { hears: '.labels' },
} satisfies Record<string, Call>;
