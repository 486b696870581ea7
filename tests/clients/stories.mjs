// What the published stories of the React component (client-api-react 5.1.8) set, by story: its properties; the
// entries of the document that have to follow, the panel that has to open, the error of the component itself, or
// what the page refuses, which the component prints.

export const STORIES = [
  ['BackgroundColor', { backgroundColor: '#f0f0f0' }, { 'look/background': '#f0f0f0' }],
  [
    'LabelStyle',
    { labelOpacity: 0.5, labelColor: 'magenta', labelBackground: '#ffffff' },
    { 'look/labelOpacity': 0.5, 'look/labelColor': 'magenta', 'look/labelBackground': '#ffffff' },
  ],
  ['PointStyle', { pointSize: 10, pointOpacity: 0.5 }, { 'look/pointSize': 10, 'look/pointOpacity': 0.5 }],
  [
    'EdgeStyle',
    { edgeCurvature: 0.5, edgeOpacity: 0.5, showArrows: false },
    { 'look/edgeCurvature': 0.5, 'look/edgeOpacity': 0.5, 'look/showArrows': false },
  ],
  ['NeighborhoodHighlightStyle', { neighborhoodHighlight: 'incoming' }, /is not a valid setting/],
  ['HoverProperties', { showLabelPropertiesOnHover: true }, { 'look/labelPropertiesEnabled': true }],
  ['LabelsWithoutProperties', { showLabelInspector: false }, { 'look/labelInspectorEnabled': false }],
  ['LabelsWithoutActions', { showLabelActions: false }, { 'look/labelShowActions': false }],
  ['LabelsOnlyOnHover', { showPointsOfInterest: false }, { 'look/labelPOI': false }],
  ['PointsOfInterestWithoutTextLabel', { showPointsOfInterestLabels: false }, {}],
  ['ManyPointsOfInterest', { pointsOfInterestMax: 50 }, { 'look/labelPOIMax': 50 }],
  ['HideChromeButShowTools', { showToolbar: false, showHistograms: true }, { 'look/showToolbar': false }],
  ['TogglePanelFilters', { togglePanel: 'filters' }, 'filters'],
  ['TogglePanelScene', { togglePanel: 'scene' }, { refused: /no panel of the scene yet/ }],
  ['TogglePanelNone', { togglePanel: false }, /toUpperCase/],
  ['ScalePointSize', { encodePointSize: 'betweenness', pointSize: 0.2 }, { 'look/pointSize': 0.2 }],
  [
    'BindPointSizeCategorical',
    {
      encodePointSize: [
        'tag_wearamask',
        {
          encodingType: 'size',
          graphType: 'point',
          attribute: 'tag_wearamask',
          mapping: { categorical: { fixed: { 0: 1, 1: 1, 2: 10, 3: 1, 4: 1 }, other: 1 } },
        },
      ],
      pointSize: 0.5,
    },
    {
      'encodings/node.size': {
        attribute: 'tag_wearamask',
        mapping: { categorical: { fixed: { 0: 1, 1: 1, 2: 10, 3: 1, 4: 1 }, other: 1 } },
      },
    },
  ],
  [
    'BindPointColorContinuous',
    { encodePointColor: ['degree', 'continuous', ['#00f', '#f00', 'yellow']] },
    {
      'encodings/node.color': {
        attribute: 'degree',
        variation: 'continuous',
        colors: ['#00f', '#f00', 'yellow'],
      },
    },
  ],
  [
    'LayoutSettings',
    { gravity: 0.5, scalingRatio: 0.5, edgeInfluence: 0.5, strongGravity: true, dissuadeHubs: true, linLog: true },
    { 'settings/gravity': 0.5, 'settings/strongGravity': true, 'settings/linLog': true },
  ],
  ['LayoutLockedX', { lockedX: true }, { 'settings/lockedX': true, 'settings/linLog': undefined }],
  ['LayoutLockedY', { lockedY: true }, { 'settings/lockedY': true, 'settings/lockedX': undefined }],
  ['LayoutLockedRadius', { lockedR: true, axes: [{ r: 40 }, { r: 80, label: 'outer' }] }, { 'settings/lockedR': true }],
  ['Filters', { filters: ['point:community_infomap in (4, 5, 6)', 'point:degree > 1'] }, 2],
];
