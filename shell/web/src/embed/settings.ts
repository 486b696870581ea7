/** Which entry of the document a path of the clients' scripts stands for, below their view. */

export const LAYOUT_KNOBS = [
  'precisionVsSpeed',
  'gravity',
  'scalingRatio',
  'edgeInfluence',
  'strongGravity',
  'dissuadeHubs',
  'linLog',
  'lockedX',
  'lockedY',
  'lockedR',
] as const;

/** Paths with dots between, and the entries of the document that they set. */
export const SETTINGS: Readonly<Record<string, string>> = {
  'toolbar.visible': 'look/showToolbar',
  pruneOrphans: 'prune_orphans',
  'scene.renderer.showArrows': 'look/showArrows',
  'scene.renderer.background.color': 'look/background',
  'scene.renderer.edges.opacity': 'look/edgeOpacity',
  'scene.renderer.edges.scaling': 'look/edgeSize',
  'scene.renderer.edges.curvature': 'look/edgeCurvature',
  'scene.renderer.points.opacity': 'look/pointOpacity',
  'scene.renderer.points.scaling': 'look/pointSize',
  'scene.renderer.points.neighborhoodHighlight': 'look/neighborhoodHighlight',
  'scene.renderer.points.neighborhoodHighlightHops': 'look/neighborhoodHighlightHops',
  'labels.opacity': 'look/labelOpacity',
  'labels.enabled': 'look/labelEnabled',
  'labels.propertiesEnabled': 'look/labelPropertiesEnabled',
  'labels.inspectorEnabled': 'look/labelInspectorEnabled',
  'labels.showActions': 'look/labelShowActions',
  'labels.poiEnabled': 'look/labelPOI',
  'labels.poiLabelEnabled': 'look/labelLabelPOI',
  'labels.poiMax': 'look/labelPOIMax',
  'labels.highlightEnabled': 'look/labelHighlightEnabled',
  'labels.foreground.color': 'look/labelColor',
  'labels.background.color': 'look/labelBackground',
  ...Object.fromEntries(
    LAYOUT_KNOBS.map((knob, at) => [`layout.options.forceatlas2barnes.${at}.value`, `settings/${knob}`]),
  ),
};

const CHANNELS = ['color', 'size', 'icon'];
const AXES = 'encodings/node.axis';
const ENCODINGS: Readonly<Record<string, string>> = Object.fromEntries([
  ['encodings.point.axis', AXES],
  ...CHANNELS.flatMap((channel) =>
    ['encodings', 'encodings.defaults'].flatMap((path) => [
      [`${path}.point.${channel}`, `encodings/node.${channel}`],
      [`${path}.edge.${channel}`, `encodings/edge.${channel}`],
    ]),
  ),
]);

function object(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Axes as the document has them, where the server checks them; null goes back to the dataset's own. */
function axes(value: unknown): unknown {
  const { reset, rows } = object(value);
  return reset === true || rows === undefined || rows === null ? null : { rows };
}

/** An encoding of the clients as the document has it; null goes back to the dataset's own. */
function encoding(value: unknown): unknown {
  const { reset, attribute, variation, colors, mapping } = object(value);
  if (reset === true || typeof attribute !== 'string') return null;
  // Some callers wrap a whole encoding into the mapping.
  const inner = object(object(mapping).mapping);
  const map = Object.keys(inner).length > 0 ? inner : mapping;
  return {
    attribute,
    ...(variation === undefined ? {} : { variation }),
    ...(colors === undefined ? {} : { colors }),
    ...(map === undefined ? {} : { mapping: map }),
  };
}

/** The change that setting a path means; null for one that is kept for its reader alone. */
export function changeOf(path: string, value: unknown): { path: string; value: unknown } | null {
  const entry = SETTINGS[path];
  if (entry) return { path: entry, value: value ?? null };
  const channel = ENCODINGS[path];
  return channel ? { path: channel, value: channel === AXES ? axes(value) : encoding(value) } : null;
}
