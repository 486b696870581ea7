// Bindings of graphs of the mock server beyond colours and sizes, by the word at the end of their names:
// `star-40-icons`, `path-12-badges`, `tree-60-rings`, `tree-60-lines`, `path-9-map`, `tree-30-explained`.

/** Font Awesome's user, bug, car; a flag, a text, and a picture of one colour. */
const RED =
  'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg" width="8" height="8"%3E%3Crect width="8" height="8" fill="%23ff0000"/%3E%3C/svg%3E';
const BLUE = RED.replace('%23ff0000', '%2380c0ff');
const ENTRIES = [
  { glyph: '\uf007' },
  { glyph: '\uf188' },
  { glyph: '\uf1b9' },
  { flag: 'de' },
  { flag: 'jp' },
  { text: 'AB' },
  { image: RED },
];

function layer(axis, place, count, look, of) {
  const shown = Uint16Array.from({ length: count }, (_, i) => of(i));
  return { axis, place, shown, look };
}

/** Every place of a badge, one on each node, the icons below. */
function badges(n) {
  const looks = [
    { list: [{ text: '!', bg: '#d62728', color: '#ffffff' }] },
    { list: [{ glyph: '\uf0f3', bg: '#2ca02c' }] },
    { list: [{ flag: 'fr' }] },
    { list: [{ text: '7', bg: '#fdd141' }], border: { width: 2, stroke: 'solid' } },
  ];
  const places = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const layers = places.map((place) => {
    const look = place === 9 ? { list: [{ bg: '#00ff00' }] } : looks[place % looks.length];
    return layer('node', place, n, { title: 'state', ...look }, (i) => (i % 9 === place - 1 ? 1 : 0));
  });
  return [...layers, layer('node', 0, n, { title: 'kind', list: ENTRIES }, (i) => (i % 2) * 1)];
}

/** A legend as its encodings say: of nodes in drawn colours, of edges whose colours nobody drew. */
function explained() {
  const row = (label, count, look, signs, more = {}) => ({ label, count, look, signs, ...more });
  const list = [{ glyph: '\uf188' }, { flag: 'de' }, { text: 'VIP account' }, { image: RED }];
  const icons = { place: 0, list };
  const marked = [{ text: '7', bg: '#fdd141' }, { glyph: '\uf0f3', bg: '#2ca02c' }];
  const badges = { place: 2, list: marked };
  const big = { color: '#00ff00', size: 16, opacity: 1 };
  const small = { color: '#ff00ff', size: 8, opacity: 0.5 };
  const bin = (range) => ({ range });
  return {
    node_color: {
      kind: 'categorical',
      title: 'type',
      entries: [
        row('person', 20, big, [1, 1], { color: '#6db9fc' }),
        row('account', 10, small, [0, 2], { color: '#ca5d2f' }),
      ],
      signs: [icons, badges],
      lines: ['inner ring', 'outer ring'],
    },
    node_icon: { title: 'city', kind: 'categorical' },
    blocks: [
      {
        side: 'edge',
        title: 'kind',
        kind: 'categorical',
        entries: [
          row('call', 10, { color: '#ff0000', width: 4 }, [0]),
          row('mail', 10, { color: '#ffff00', width: 0.5 }, [0]),
          row('visit', 9, { color: '#00ffff', width: 2 }, [1]),
        ],
        signs: [{ place: 0, list: [{ glyph: '\uf1b9' }] }],
      },
      {
        side: 'node',
        title: 'city',
        kind: 'categorical',
        entries: [1, 2, 3, 4].map((at) => row(`city ${(at - 1) ** 2}`, 1, undefined, [at])),
        signs: [icons],
      },
      {
        side: 'node',
        title: 'degree',
        kind: 'continuous',
        entries: [
          row('\u2265 3', 4, { size: 16 }, [], bin([3, null])),
          row('< 3', 26, { size: 8 }, [], bin([null, 2.9999999999999996])),
        ],
        stops: [{ at: 0, color: '#000000' }, { at: 1, color: '#ff8000' }],
        min: 1,
        max: 9,
      },
    ],
  };
}

/** Icons, badges, axes and maps of a graph by its id; null for those without. */
export function boundOf(id, n, m) {
  const word = id.split('-').at(-1);
  const icons = (look, of = (i) => 1 + (i % ENTRIES.length)) => [
    layer('node', 0, n, { title: 'kind', list: ENTRIES, ...look }, of),
  ];
  if (word === 'icons') return { icons: icons({}) };
  if (word === 'square') return { icons: icons({ shape: 'none' }, () => 7) };
  if (word === 'blended') return { icons: icons({ blend: 'multiply' }, () => 7) };
  if (word === 'bordered') {
    const list = [{ glyph: '\uf007', border_color: '#ff00ff' }];
    return { icons: icons({ border: { width: 3, stroke: 'dashed' }, list }, () => 1) };
  }
  if (word === 'missing') {
    const list = [{ image: 'http://pictures.example/a.png' }, { image: './bound/none.png' }];
    return { icons: icons({ list }, (i) => 1 + (i % 2)) };
  }
  if (word === 'badges') return { icons: badges(n) };
  if (word === 'limited') {
    const icons = badges(n).filter(({ place }) => place !== 0);
    for (const { look } of icons) look.max = 6;
    return { icons };
  }
  if (word === 'lined') {
    const list = [{ glyph: '\uf188', bg: '#ff0000', color: '#ffffff' }];
    const look = { title: 'way', list };
    const flags = { title: 'way', list: ENTRIES };
    return { icons: [layer('edge', 0, m, look, () => 1), layer('edge', 2, m, flags, () => 4)] };
  }
  if (word === 'rings') {
    const axes = [
      { r: 24, kind: 'external', label: 'outer' },
      { r: 16, kind: 'space' },
      { r: 8, kind: 'internal', label: 'inner', width: 6 },
    ];
    return { underlay: { axes, map: null } };
  }
  if (word === 'lines') {
    const axes = [
      { y: 10, kind: 'external', label: 'upper' },
      { x: 0, kind: 'space', label: 'middle' },
      { y: -10, kind: 'internal', width: 20, min: -20, max: 20 },
    ];
    return { underlay: { axes, map: null } };
  }
  if (word === 'pictured') {
    // Light blue times red, on the left 200 pixels.
    const image = { url: BLUE, blendMode: 'multiply', width: 200, height: '100%', position: 'left top' };
    return { metadata: { bg: { color: '#c00000', image } } };
  }
  if (word === 'screened') {
    const image = { url: BLUE, width: '100%', height: '100%' };
    return { metadata: { bg: { color: '#000000', image }, fg: { blendMode: 'difference' } } };
  }
  // Red and blue ends, and a line of eight pixels.
  if (word === 'graded') return { colors: [255, 0, 0, 255, 0, 0, 255, 255], widths: [128] };
  // White nodes, and an edge that is red at its source and green at its destination.
  if (word === 'ended') {
    const edgeColors = [255, 0, 0, 255, 0, 255, 0, 255];
    return { colors: [255, 255, 255, 255, 255, 255, 255, 255], edgeColors, widths: [128] };
  }
  if (word === 'explained') return { legend: explained() };
  if (word === 'called') return { edgesNamed: true };
  if (word === 'map') return { underlay: { axes: [], map: { scale: 0.1, x: 0, y: 0 } } };
  return null;
}

/** The frame of a layer of icons; `header` makes one. */
export function iconFrame(header, { axis, place, shown, look }) {
  const list = Buffer.from(JSON.stringify(look));
  const prefix = Buffer.alloc(16);
  prefix.writeUInt8(axis === 'edge' ? 1 : 0, 0);
  prefix.writeUInt8(place, 1);
  prefix.writeUInt32LE(list.length, 4);
  const body = Buffer.from(shown.buffer, shown.byteOffset, shown.byteLength);
  return Buffer.concat([header(20, { count: shown.length }), prefix, body, list]);
}
