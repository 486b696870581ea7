import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PALETTE_DARK,
  PALETTE_LIGHT,
  cssForLight,
  isLight,
  parseColor,
  recolorForLight,
} from '../../src/scene/color.ts';
import { fill } from '../../src/panels/collection-key.ts';
import { readCollections } from '../../src/state/collections.ts';
import {
  layoutNews,
  layoutWord,
  whyNoPlay,
  type LayoutFacts,
} from '../../src/state/layout-words.ts';
import { readLegend } from '../../src/state/legend.ts';
import { cardNumber, countWords, scaleNumber } from '../../src/state/numbers.ts';
import { blockedSite } from '../../src/state/picture-sites.ts';
import { parseParams } from '../../src/state/params.ts';
import { playWords } from '../../src/state/play-words.ts';

const names = (name: string) => (name === 'red' ? { r: 255, g: 0, b: 0, a: 1 } : null);

test('colours are read in every form that clients send', () => {
  const white = { r: 255, g: 255, b: 255, a: 1 };
  for (const text of ['#fff', 'fff', '%23fff', '#FFFFFF', 'ffffffff', 'rgb(255,255,255)', ' #fff ']) {
    assert.deepEqual(parseColor(text, names), white, text);
  }
  assert.deepEqual(parseColor('red', names), { r: 255, g: 0, b: 0, a: 1 });
  assert.equal(parseColor('rgba(0 0 0 / 50%)')?.a, 0.5);
  for (const text of ['#ggg', '12345', 'nonsense', '', 'rgb(1,2)'])
    assert.equal(parseColor(text, names), null, text);
  assert.equal(parseColor(null), null);
});

test('text and palette follow the luminance of the background', () => {
  assert.ok(isLight({ r: 226, g: 226, b: 226, a: 1 }));
  assert.ok(!isLight({ r: 51, g: 51, b: 57, a: 1 }));
});

test('built-in colours have a light counterpart and bound ones stay', () => {
  assert.equal(PALETTE_DARK.length, PALETTE_LIGHT.length);
  assert.equal(cssForLight(PALETTE_DARK[2]), PALETTE_LIGHT[2]);
  assert.equal(cssForLight('#123456'), '#123456');
  const none = new Uint8Array(0);
  const out = recolorForLight(Uint8Array.of(0x6d, 0xb9, 0xfc, 200, 1, 2, 3, 4), none);
  assert.deepEqual([...out], [0x32, 0x7c, 0xb9, 200, 1, 2, 3, 4]);
  // Of ten nodes of that colour it was chosen for the first, the second and the last.
  const same = Uint8Array.from({ length: 40 }, (_, k) => [0x6d, 0xb9, 0xfc, 255][k % 4]);
  const shown = recolorForLight(same, Uint8Array.of(0b11, 0b10));
  const kept = Array.from({ length: 10 }, (_, i) => shown[4 * i] === 0x6d);
  assert.deepEqual(kept.map(Number), [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
});

const parse = (search: string, hash = '') => parseParams(search, hash);

test('the address of the Python client is read', () => {
  const p = parse(
    '?dataset=abc&type=arrow&viztoken=1-2&usertag=x-pygraphistry-0.61&splashAfter=1700000000&info=true',
  );
  assert.equal(p.dataset, 'abc');
  assert.equal(p.splashAfter, 1_700_000_000);
  assert.equal(p.info, true);
  assert.equal(p.play, null);
});

test('booleans come in many spellings, None is absent and the last value wins', () => {
  assert.equal(parse('?menu=False').menu, false);
  assert.equal(parse('?menu=0&info=off').info, false);
  assert.equal(parse('?menu=None').menu, true);
  assert.equal(parse('?menu=perhaps').menu, true);
  assert.equal(parse('?splashAfter=1700000000&splashAfter=False').splashAfter, false);
  assert.equal(parse('?pointSize=2&pointSize=None').pointSize, 1);
});

test('none is a word of the highlight, and Python\'s None is not', () => {
  const highlight = (query: string): string => parse(query).neighborhoodHighlight;
  assert.equal(highlight('?neighborhoodHighlight=none'), 'none');
  assert.equal(highlight('?neighborhoodHighlight=None'), 'both');
  assert.equal(highlight('?neighborhoodHighlight=Incoming'), 'incoming');
});

test('numbers are clamped and junk falls back to the default', () => {
  assert.equal(parse('?pointSize=99').pointSize, 10);
  assert.equal(parse('?pointSize=junk').pointSize, 1);
  assert.equal(parse('?edgeOpacity=-3').edgeOpacity, 0);
  assert.equal(parse('?pointsOfInterestMax=7.6').pointsOfInterestMax, 8);
  assert.equal(parse('?play=12000').play, 10_000);
  assert.equal(parse('?play=False').play, 0);
  assert.equal(parse('?play=true').play, 5000);
});

test('a raw # belongs to the parameter that it was cut from', () => {
  assert.equal(parse('?dataset=a&bg=', '#fff').bg, '#fff');
  assert.equal(parse('?dataset=a&bg=&session=s1', '#fff').bg, '#fff');
  const cut = parse('?dataset=a&bg=&session=s1', '#333339&menu=False&pageTitle=a');
  assert.deepEqual([cut.bg, cut.menu, cut.pageTitle, cut.session], ['#333339', false, 'a', 's1']);
  assert.equal(parse('?dataset=a&pageTitle=Case%20', '#12').pageTitle, 'Case #12');
  assert.equal(parse('?dataset=a', '#top').dataset, 'a');
});

test('raw values survive: percent signs, plus signs, encoded colours', () => {
  assert.equal(parse('?pageTitle=100%').pageTitle, '100%');
  assert.equal(parse('?pageTitle=a+b').pageTitle, 'a+b');
  assert.equal(parse('?bg=%23E2E2E2').bg, '#E2E2E2');
});

test('camera bounds count only when all four are there', () => {
  assert.equal(parse('?left=0&right=1&top=1').bounds, null);
  assert.deepEqual(parse('?left=4&right=-4&top=-2&bottom=2').bounds, {
    left: -4,
    right: 4,
    top: 2,
    bottom: -2,
  });
});

test('legends of both kinds are read, and nothing is made of nothing', () => {
  const entries = [{ label: 'a', color: '#fff', count: 3, community: null }];
  const legend = readLegend({
    node_color: { title: 'type', entries, more: 2 },
    node_size: { title: 'degree' },
  });
  const key = legend?.keys[0];
  assert.deepEqual(key?.swatches, [{ label: 'a', color: '#fff', count: 3, community: null }]);
  assert.deepEqual([key?.of, key?.title, key?.more], ['nodes', 'type', 2]);
  assert.deepEqual(legend?.scales, [{ of: 'Size', title: 'degree', low: null, high: null }]);
  const faded = readLegend({
    node_opacity: { title: 'trust', min: 0.25, max: 1 },
    edge_size: { title: 'weight', min: 1, max: 9 },
    node_icon: { title: 'kind', kind: 'none' },
  });
  assert.deepEqual(faded?.scales, [
    { of: 'Width', title: 'weight', low: '1', high: '9' },
    { of: 'Opacity', title: 'trust', low: '0.25', high: '1' },
    { of: 'Icon', title: 'kind', low: null, high: null },
  ]);
  const ramp = readLegend({
    node_color: { title: 'score', stops: ['#000', '#fff'], min: 0, max: 1250 },
  });
  assert.deepEqual(ramp?.keys[0].ramp, { colors: ['#000', '#fff'], low: '0', high: '1,250' });
  const edges = readLegend({ node_color: null, edge_color: { title: 'kind', entries } });
  assert.deepEqual(
    edges?.keys.map((one) => [one.of, one.title, one.swatches.length]),
    [['edges', 'kind', 1]],
  );
  for (const value of [null, {}, [], 'x', { node_color: { entries: [] } }])
    assert.equal(readLegend(value), null);
});

test('what encodings of the legend and icons add to rows is read, and other columns have blocks', () => {
  const signs = [{ place: 0, title: '', list: [{ glyph: 'x' }] }];
  const legend = readLegend({
    node_color: {
      title: 'type',
      entries: [{ label: 'a', color: '#fff', look: { color: '#f00', size: 16, opacity: 'x' }, signs: [1] }],
      signs,
      lines: ['inner', 3, null],
    },
    node_icon: { title: 'type', kind: 'categorical' },
    blocks: [
      { side: 'edge', title: 'n', entries: [{ label: '< 3', count: 2, range: [null, 3], look: {} }, 7] },
      { side: 'node', title: 'degree', entries: [], lines: ['opacity 1–5'] },
      { side: 'node', title: 'nothing', entries: [] },
      null,
    ],
  });
  assert.deepEqual(legend?.scales, [], 'icons that have rows need no line');
  const [type, bins, lines, ...rest] = legend?.keys ?? [];
  assert.equal(rest.length, 0);
  assert.deepEqual(type.swatches[0].shown, { color: '#f00', size: 16, signs: [1] });
  assert.deepEqual([type.signs, type.lines], [signs, ['inner', '3']]);
  assert.deepEqual([bins.of, bins.swatches.length, bins.swatches[0].color], ['edges', 1, '']);
  assert.deepEqual(bins.swatches[0].range, [null, 3]);
  assert.deepEqual([lines.title, lines.lines], ['degree', ['opacity 1–5']]);
  const entries = [{ label: 'a', signs: [1] }];
  const odd = readLegend({ node_color: { title: 'k', entries, signs: [null, 3] } });
  assert.deepEqual(odd?.keys[0].signs?.map(({ list }) => list), [[], []]);
  // A row of colours that has neither a colour nor a look says nothing.
  assert.equal(readLegend({ node_color: { title: 'k', entries: [{ label: 'a' }] } }), null);
});

test('collections keep their order, and an unknown count is not zero', () => {
  const plain = { position: 0, description: '', palette: null };
  const read = readCollections({
    collections: [
      { ...plain, id: 'a', name: 'A', description: 'd', swatches: ['#ff0000'], match_count: 0 },
      { ...plain, id: 'b', name: 'B', position: 1, swatches: ['#111111', '#222222'], match_count: null },
    ],
    background: ['#333333'],
  });
  assert.deepEqual(
    read.entries.map((e) => [e.id, e.name, e.description, e.count]),
    [
      ['a', 'A', 'd', 0],
      ['b', 'B', '', null],
    ],
  );
  assert.equal(read.background, '#333333');
  assert.equal(fill(read.entries[0].swatches), '#ff0000');
  assert.ok(fill(read.entries[1].swatches).startsWith('linear-gradient'));
  assert.deepEqual(readCollections({ collections: [], background: [] }), { entries: [], background: null });
});

test('a small number is not written as 0', () => {
  const card: [number, string][] = [
    [0, '0'],
    [-0.00001234, '-0.00001234'],
    [0.00004, '0.00004'],
    [0.123456789, '0.123457'],
    [1.5e-7, '1.5e-7'],
    [5e-324, '5e-324'],
    [1234.56789, '1,234.5679'],
    [2019, '2019'],
  ];
  for (const [value, text] of card) assert.equal(cardNumber(value), text);
  const scale: [number, string][] = [
    [0, '0'],
    [0.0042, '0.0042'],
    [-0.25, '-0.25'],
    [0.00042, '4.2e-4'],
    [1250, '1,250'],
    [3.14159, '3.14'],
    [2.5e7, '2.5e7'],
  ];
  for (const [value, text] of scale) assert.equal(scaleNumber(value), text);
});

const layout = (more: Partial<LayoutFacts>): LayoutFacts => ({
  state: 'settled',
  playing: false,
  iterations: 400,
  end: '',
  given: false,
  placedBy: '',
  ...more,
});

test('what was never laid out is not called settled', () => {
  assert.equal(layoutWord(layout({}))?.word, 'settled');
  const never = layoutWord(layout({ iterations: 0 }));
  assert.equal(never?.word, 'no layout run');
  assert.match(never?.title ?? '', /^No layout was run/);
  const given = layoutWord(layout({ given: true }));
  assert.equal(given?.word, 'as given');
  assert.match(given?.title ?? '', /dataset's own/);
  assert.equal(layoutWord(layout({ given: true, playing: true, state: 'running' })), null);
  assert.match(layoutNews(layout({ given: true })), /dataset's own/);
  assert.equal(layoutNews(layout({ iterations: 0 })), 'No layout was run.');
  assert.equal(layoutWord(layout({ state: 'running', playing: true, iterations: 0 })), null);
  assert.equal(layoutWord(layout({ state: 'paused', iterations: 0 })), null);
  assert.equal(layoutWord(layout({ iterations: 0, placedBy: 'kk' }))?.word, 'settled');
  const stopped = layout({ state: 'stopped', end: 'The layout stopped.' });
  assert.deepEqual(layoutWord(stopped), { word: 'stopped', title: 'The layout stopped.' });
});

test('who may not run the layout is told why before a click', () => {
  const facts = layout({ iterations: 0 });
  assert.equal(whyNoPlay(true, 'live'), '');
  assert.match(whyNoPlay(false, 'live'), /^Whoever opened this visualization/);
  assert.match(whyNoPlay(true, 'polling'), /websocket/);
  assert.deepEqual(playWords(facts, ''), { label: 'Run layout', title: 'Run the layout (space)' });
  assert.deepEqual(playWords(facts, 'Because.'), { label: 'Run layout', title: 'Because.' });
  const stopped = layout({ state: 'stopped', end: 'The layout stopped.' });
  assert.equal(playWords(stopped, '').title, 'Run the layout (space). The layout stopped.');
});

test('how much waits behind the splash is said as far as it is known', () => {
  assert.equal(countWords({ node_count: 2000, edge_count: 1 }), '2,000 nodes · 1 edge');
  assert.equal(countWords({ node_count: 1, edge_count: 0 }), '1 node · 0 edges');
  assert.equal(countWords({ node_count: null, edge_count: 12_345 }), '12,345 edges');
  assert.equal(countWords({ node_count: null, edge_count: null }), '');
});

test('only reports of pictures of other sites are told', () => {
  assert.equal(blockedSite('img-src', 'https://a.example:8443/x.png?y'), 'https://a.example:8443');
  assert.equal(blockedSite('img-src', 'http://a.example/'), 'http://a.example');
  for (const [directive, blocked] of [
    ['script-src-elem', 'https://a.example/x.js'],
    ['img-src', 'data'],
    ['img-src', 'blob:https://a.example/1'],
    ['img-src', ''],
  ]) {
    assert.equal(blockedSite(directive, blocked), null, blocked);
  }
});
