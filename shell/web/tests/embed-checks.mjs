// Checks of the effect of each call and each setting of the JavaScript client, in the picture or in the state
// of the page.

import assert from 'node:assert/strict';
import { does } from './embed-rig.mjs';
import { changed, until } from './page/browser.mjs';
import { decodePng } from './png.mjs';

/** Pixels that differ where something has an effect: no fewer than a small disc has. */
const SEEN = 8;

/** The picture once all is drawn. */
export async function shot(frame) {
  await frame.evaluate(() => window.__viewer.settle());
  return decodePng(await frame.locator('#surface').screenshot());
}

export const there = (frame, selector) => frame.evaluate((s) => document.querySelector(s) !== null, selector);
export const doc = (frame) => frame.evaluate(() => window.__viewer.doc);
export const entry = async (frame, path) => (await doc(frame)).shared.shared[path];
const view = (frame) => frame.evaluate(() => window.__viewer.doc.view);
const color = (frame, node) => frame.evaluate((i) => window.__viewer.color(i).join(), node);
const radius = (frame, node) => frame.evaluate((i) => window.__viewer.radius(i), node);
const shownNodes = (frame) =>
  frame.evaluate(() => window.__viewer.doc.shown?.nodes ?? window.__viewer.counts.nodes);

/** Runs a call that has to be refused; answers what it says. */
export const refused = (outer, name, ...args) =>
  outer.evaluate(([call, given]) => window.run(call, given).then(() => 'done', String), [name, args]);

/** Sets a setting, and waits until the page has the entry of its document. */
const set = (outer, name, value) => does(outer, ['updateSetting', name, value]);

/** Something that is seen in the picture, and not any more when it is taken back. */
async function seen(frame, apply, back) {
  const before = await shot(frame);
  await apply();
  await until(async () => changed(before, await shot(frame)) > SEEN);
  await back();
  await until(async () => changed(before, await shot(frame)) === 0);
}

/** Without names, which keep the places that they once got: what changes the picture may have moved them. */
async function nameless(outer, run) {
  await set(outer, 'labelEnabled', false);
  await run();
  await set(outer, 'labelEnabled', null);
}

/** Has the places of names chosen anew, as if none had had one. */
const replaced = (outer) => nameless(outer, async () => undefined);

const setting = (value, back) => async ({ outer, frame, name }) =>
  seen(frame, () => set(outer, name, value), async () => {
    await set(outer, name, null);
    await back(outer);
  });

/** A setting of names. */
const names = (value) => async (rig) => {
  await replaced(rig.outer);
  await setting(value, replaced)(rig);
};
/** A setting of the rest of the picture. */
const pixels = (value) => async (rig) =>
  nameless(rig.outer, () => setting(value, async () => undefined)(rig));

/** Points at a node, and away from all. */
const point = async (frame, node) => {
  const [x, y] = await frame.evaluate((i) => window.__viewer.project(i), node);
  await frame.locator('#surface').hover({ position: { x, y }, force: true });
};
const away = async (frame) => {
  await frame.locator('#surface').hover({ position: { x: 2, y: 300 }, force: true });
  await until(() => frame.evaluate(() => window.__viewer.doc.hovered === -1));
};

/** A setting that changes what is highlighted around the node under the pointer. */
const highlights = (value) => ({ outer, frame, name, hub }) =>
  nameless(outer, async () => {
    const lit = async () => {
      await away(frame);
      await point(frame, hub);
      await until(async () => (await doc(frame)).hovered === hub);
      // The card comes when the server has told what is on it.
      await until(() => there(frame, '.card.hover dl:not(.pending)'));
      return shot(frame);
    };
    const before = await lit();
    await set(outer, name, value);
    await until(async () => changed(before, await lit()) > SEEN);
    await set(outer, name, null);
    await until(async () => changed(before, await lit()) === 0);
    await away(frame);
  });

/** A setting of the card of a node that is pointed at, or was clicked. */
const card = (kind, part) => async ({ outer, frame, name, hub }) => {
  await point(frame, hub);
  if (kind === 'pinned') {
    await frame.locator('#surface').click({ position: await at(frame, hub), force: true });
  }
  await until(() => there(frame, `.card.${kind} ${part}`));
  await set(outer, name, false);
  await until(async () => !(await there(frame, `.card.${kind} ${part}`)));
  assert.ok(await there(frame, `.card.${kind} b`), 'the card keeps its title');
  await set(outer, name, true);
  await until(() => there(frame, `.card.${kind} ${part}`));
  await set(outer, name, null);
  await frame.locator('#surface').press('Escape');
  await away(frame);
};
const at = async (frame, node) => {
  const [x, y] = await frame.evaluate((i) => window.__viewer.project(i), node);
  return { x, y };
};

/** A knob of the layout, which the server keeps in the document and refuses when it is none. */
const knob = (value, wrong) => async ({ outer, frame, name }) => {
  await set(outer, name, value);
  await until(async () => (await entry(frame, `settings/${name}`)) === value);
  const said = await refused(outer, 'updateSetting', name, wrong);
  assert.match(said, new RegExp(name), said);
  await set(outer, name, null);
  await until(async () => (await entry(frame, `settings/${name}`)) === undefined);
};

/** Each member of `updateSetting`. */
export const SETTING_CHECKS = {
  showToolbar: async ({ outer, frame, name }) => {
    await set(outer, name, false);
    await until(async () => !(await there(frame, 'header.bar')));
    await set(outer, name, null);
    await until(() => there(frame, 'header.bar'));
  },
  pruneOrphans: pixels(true),
  showArrows: pixels(true),
  background: pixels('#804020'),
  edgeOpacity: pixels(0.1),
  edgeSize: pixels(6),
  edgeCurvature: pixels(1),
  pointOpacity: pixels(0.2),
  pointSize: pixels(3),
  neighbhorhoodHighlight: highlights('none'),
  neighbhorhoodHighlightHops: highlights(2),
  zoom: async ({ outer, frame }) => {
    await set(outer, 'zoom', 2);
    await until(async () => Math.abs((await view(frame)).scale / (await doc(frame)).fitScale - 2) < 0.01);
    assert.match(await refused(outer, 'updateSetting', 'zoom', 0), /zoom is 0.*above 0/);
  },
  center: async ({ outer, frame }) => {
    await set(outer, 'center', { x: 12, y: -7, z: 0 });
    await until(async () => (await view(frame)).cx === 12 && (await view(frame)).cy === -7);
    await set(outer, 'center', 0);
    await until(async () => (await view(frame)).cx === 0 && (await view(frame)).cy === 0);
    assert.match(await refused(outer, 'updateSetting', 'center', 'left'), /center is .*left.*\{x, y\}/);
  },
  labelOpacity: names(0.2),
  labelEnabled: names(false),
  labelPropertiesEnabled: card('hover', 'dl'),
  labelInspectorEnabled: card('pinned', 'dl'),
  labelShowActions: card('pinned', '[aria-label="Centre"]'),
  labelPOI: names(false),
  labelLabelPOI: names(false),
  labelPOIMax: names(0),
  labelHighlightEnabled: async ({ outer, frame, name, hub }) => {
    await point(frame, hub);
    await until(() => there(frame, '.card.hover'));
    await set(outer, name, false);
    await until(async () => !(await there(frame, '.card.hover')));
    await set(outer, name, null);
    await until(() => there(frame, '.card.hover'));
    await away(frame);
  },
  labelColor: names('#ff0000'),
  labelBackground: names('#3355ff'),
  precisionVsSpeed: knob(2, 'fast'),
  gravity: knob(4, 'down'),
  scalingRatio: knob(3, []),
  edgeInfluence: knob(2, 'much'),
  strongGravity: knob(true, 'strong'),
  dissuadeHubs: knob(true, 3),
  linLog: knob(true, 'log'),
  lockedX: knob(true, 'left'),
  lockedY: knob(true, 'down'),
  lockedR: knob(true, 'round'),
};

const PALETTE = ['categorical', ['#ff0000', '#00ff00', '#0000ff']];
const COLORS = ['kind', ...PALETTE];
const SHAPES = { categorical: { fixed: { a: 'star', b: 'flag' }, other: 'circle' } };

/** An encoding of nodes, and what goes back to what was before. */
const encodes = (of, apply, back) => async ({ outer, frame }) => {
  const before = await of(frame);
  await does(outer, apply);
  await until(async () => String(await of(frame)) !== String(before));
  await does(outer, back);
  await until(async () => String(await of(frame)) === String(before));
};
const nodeColor = (frame) => color(frame, 0);
const sizes = (frame) => Promise.all([0, 1, 2].map((node) => radius(frame, node)));

/** An encoding that is seen as pixels. */
const paints = (apply, back) => async ({ outer, frame }) =>
  nameless(outer, () => seen(frame, () => does(outer, apply), () => does(outer, back)));

/** A default is shown, gives way to another encoding, and is what a reset of that goes back to. */
const isDefault = (element, first, other, reset, none) => async ({ outer, frame }) => {
  const path = `encodings/${element}`;
  const attribute = async () => (await entry(frame, path))?.attribute;
  await does(outer, first);
  await until(async () => (await attribute()) === 'kind');
  await does(outer, other);
  await until(async () => (await attribute()) === 'group');
  await does(outer, reset);
  await until(async () => (await attribute()) === 'kind');
  await does(outer, none);
  await until(async () => (await attribute()) === undefined);
};

const clientThrows = async ({ outer, name }) => {
  const said = await outer.evaluate((call) => {
    try {
      window.api[call]('point', 'score');
      return 'nothing';
    } catch (error) {
      return String(error);
    }
  }, name);
  assert.match(said, /TypeError/);
};

const opens = (panel, on, off) => async ({ outer, frame }) => {
  await does(outer, on);
  await until(() => there(frame, panel));
  await does(outer, off);
  await until(async () => !(await there(frame, panel)));
};

const rules = (kind, add, reset) => async ({ outer, frame }) => {
  const count = async () =>
    Object.values((await doc(frame)).shared.shared).filter((value) => value?.kind === kind).length;
  const all = await shownNodes(frame);
  await does(outer, add);
  await until(async () => (await shownNodes(frame)) < all);
  assert.ok((await count()) > 0);
  await does(outer, reset);
  await until(async () => (await shownNodes(frame)) === all && (await count()) === 0);
};

/** Dims all but what is named. */
const emphasizes = (call) => async ({ outer, frame }) => {
  const before = await shot(frame);
  await does(outer, [call, { point: [0, 1], edge: [3] }]);
  await until(async () => changed(before, await shot(frame)) > SEEN);
  const both = await shot(frame);
  await does(outer, [call, { point: [0, 1] }]);
  await until(async () => changed(both, await shot(frame)) > 0);
  await does(outer, [call, {}]);
  await until(async () => changed(before, await shot(frame)) === 0);
  assert.match(await refused(outer, call, { point: [9999] }), /point has 9999.*0 to/);
  assert.match(await refused(outer, call, { edge: ['x'] }), /edge has .*x.*0 to/);
};

const heard = (outer) => outer.evaluate(() => window.heard);

/** Something that is told while the layout begins and ends, or another node is selected. */
const tells = (listen, cause, what) => async ({ outer, name }) => {
  await outer.evaluate(([call, args]) => window.hear(call, args), [name, listen]);
  await does(outer, ...cause);
  await until(async () => what((await heard(outer))[name] ?? []));
};
const RUN = [['toggleClustering', true], ['toggleClustering', false]];

const connects = async ({ outer }) => {
  assert.equal(typeof (await outer.evaluate(() => window.read('id'))), 'string');
};
const runs = async ({ outer, frame }) => {
  await does(outer, ['toggleClustering', true]);
  await until(async () => (await doc(frame)).playing);
  await does(outer, ['toggleClustering', false]);
  await until(async () => !(await doc(frame)).playing);
};
const reads = async ({ outer, name }) => {
  const id = await outer.evaluate((call) => window.value(call, ['view', 'id']), name);
  assert.match(JSON.stringify(id), /embed-/);
};

const DEFAULT_COLOR = isDefault(
  'node.color',
  ['encodeDefaultColor', 'point', 'kind', 'categorical'],
  ['encodeColor', 'point', 'group', 'categorical'],
  ['resetColor', 'point'],
  ['encodeDefaultColor', 'point'],
);
const DEFAULT_ICONS = isDefault(
  'node.icon',
  ['encodeDefaultIcons', 'point', 'kind', SHAPES],
  ['encodeIcons', 'point', 'group', SHAPES],
  ['resetIcons', 'point'],
  ['encodeDefaultIcons', 'point'],
);
const POINT_COLOR = encodes(nodeColor, ['encodePointColor', COLORS], ['resetPointColor']);
const EDGE_COLOR = paints(['encodeEdgeColor', COLORS], ['resetEdgeColor']);
const POINT_SIZE = encodes(sizes, ['encodePointSize', ['score']], ['resetPointSize']);
const ANY_COLOR = encodes(nodeColor, ['encodeColor', 'point', ...COLORS], ['resetColor', 'point']);
const ANY_SIZE = encodes(sizes, ['encodeSize', 'point', 'score'], ['resetSize', 'point']);
const ANY_ICON = paints(['encodeIcons', 'point', 'kind', SHAPES], ['resetIcons', 'point']);
const POINT_ICON = paints(['encodePointIcons', ['kind', SHAPES]], ['resetPointIcons']);
const EDGE_ICON = paints(['encodeEdgeIcons', ['kind', SHAPES]], ['resetEdgeIcons']);

/** Each function of the client. */
export const CALL_CHECKS = {
  graphistryJS: connects,
  GraphistryJS: connects,
  makeCaller: async ({ outer, frame }) => {
    await does(outer, ['makeCaller', 'view', 'tick', []]);
    await until(async () => (await doc(frame)).playing);
    await until(async () => !(await doc(frame)).playing);
    const said = await refused(outer, 'makeCaller', 'view', 'fly', []);
    assert.match(said, /no function fly; there are filters\.add/);
  },
  // It throws at every answer, as the two functions that use it do.
  makeCallerJSON: async ({ outer }) =>
    assert.match(await refused(outer, 'makeCallerJSON', 'view', 'filters.reset', []), /toJSON/),
  makeGetter: reads,
  makeGetterJSON: reads,
  makeSetter: async ({ outer }) =>
    assert.match(await refused(outer, 'makeSetter', 'view', { path: ['zzz'], value: 1 }), /no setting zzz/),
  makeSetterWithModel: async ({ outer, frame }) => {
    await outer.evaluate(() => window.setWithModel({ path: ['labels', 'poiMax'], value: 7 }));
    await until(async () => (await entry(frame, 'look/labelPOIMax')) === 7);
  },
  encodeColor: ANY_COLOR,
  encodePointColor: POINT_COLOR,
  encodeEdgeColor: EDGE_COLOR,
  resetColor: ANY_COLOR,
  resetPointColor: POINT_COLOR,
  resetEdgeColor: EDGE_COLOR,
  encodeAxis: paints(['encodeAxis', [{ y: 0, external: true, width: 6, label: 'here' }]], ['encodeAxis']),
  encodeIcons: ANY_ICON,
  encodePointIcons: POINT_ICON,
  encodeEdgeIcons: EDGE_ICON,
  resetIcons: ANY_ICON,
  resetPointIcons: POINT_ICON,
  resetEdgeIcons: EDGE_ICON,
  encodeSize: ANY_SIZE,
  encodePointSize: POINT_SIZE,
  resetSize: ANY_SIZE,
  resetPointSize: POINT_SIZE,
  encodeDefaultColor: DEFAULT_COLOR,
  encodeDefaultPointColor: isDefault(
    'node.color',
    ['encodeDefaultPointColor', ['kind', 'categorical']],
    ['encodePointColor', ['group', 'categorical']],
    ['resetPointColor'],
    ['encodeDefaultPointColor'],
  ),
  encodeDefaultEdgeColor: isDefault(
    'edge.color',
    ['encodeDefaultEdgeColor', ['kind', 'categorical']],
    ['encodeEdgeColor', ['group', 'categorical']],
    ['resetEdgeColor'],
    ['encodeDefaultEdgeColor'],
  ),
  encodeDefaultIcons: DEFAULT_ICONS,
  encodeDefaultPointIcons: isDefault(
    'node.icon',
    ['encodeDefaultPointIcons', ['kind', SHAPES]],
    ['encodePointIcons', ['group', SHAPES]],
    ['resetPointIcons'],
    ['encodeDefaultPointIcons'],
  ),
  encodeDefaultEdgeIcons: isDefault(
    'edge.icon',
    ['encodeDefaultEdgeIcons', ['kind', SHAPES]],
    ['encodeEdgeIcons', ['group', SHAPES]],
    ['resetEdgeIcons'],
    ['encodeDefaultEdgeIcons'],
  ),
  encodeDefaultSize: clientThrows,
  encodeDefaultPointSize: clientThrows,
  encodeDefaultEdgeSize: clientThrows,
  togglePanel: async (rig) => {
    const { outer, frame } = rig;
    for (const panel of ['filters', 'exclusions']) {
      await opens('#panel-filters', ['togglePanel', panel, true], ['togglePanel', panel, false])(rig);
    }
    await does(outer, ['togglePanel', 'filters', true]);
    for (const [panel, said] of [
      ['scene', /no panel of the scene yet.*pointSize/],
      ['labels', /no panel of the labels yet.*labelEnabled/],
      ['layout', /no panel of the layout yet.*gravity/],
      ['zzz', /no panel of this name.*filters or exclusions/],
      ['histograms', /no panel of this name.*toggleHistograms/],
    ]) {
      assert.match(await refused(outer, 'togglePanel', panel, true), said, panel);
      assert.match(await refused(outer, 'togglePanel', [panel, true]), said, panel);
    }
    assert.ok(await there(frame, '#panel-filters'), 'a refused call changes nothing');
    await does(outer, ['togglePanel', 'filters', false]);
  },
  toggleInspector: async ({ outer }) => {
    assert.match(await refused(outer, 'toggleInspector', true), /toggleInspector\(true\).*no table.*yet/);
    await does(outer, ['toggleInspector', false]);
  },
  toggleTimebars: async ({ outer }) => {
    assert.match(await refused(outer, 'toggleTimebars', true), /toggleTimebars\(true\).*no time bars yet/);
    await does(outer, ['toggleTimebars', false]);
  },
  toggleHistograms: opens('#panel-histograms', ['toggleHistograms', true], ['toggleHistograms', false]),
  toggleClustering: runs,
  tickClustering: async ({ outer, frame }) => {
    const done = does(outer, ['tickClustering', 500]);
    await until(async () => (await doc(frame)).playing);
    await done;
    await until(async () => !(await doc(frame)).playing);
  },
  toggleToolbar: opens('header.bar', ['toggleToolbar', true], ['toggleToolbar', false]),
  updateSetting: async ({ outer }) => {
    const said = (name, value) => refused(outer, 'updateSetting', name, value);
    assert.match(await said('pointSize', 'big'), /pointSize is .*big.*number from 0\.1 to 10/);
    assert.match(await said('background', 'nowhere'), /background is .*nowhere.*colour/);
    assert.match(await said('labelEnabled', 'on'), /labelEnabled is .*true or false/);
  },
  updateZoom: async ({ outer, frame }) => {
    await does(outer, ['updateZoom', 3]);
    await until(async () => Math.abs((await view(frame)).scale / (await doc(frame)).fitScale - 3) < 0.01);
  },
  addFilter: rules('filter', ['addFilter', 'point:score > 5'], ['resetFilters']),
  addFilters: rules('filter', ['addFilters', ['point:score > 5', 'point:degree > 1']], ['resetFilters']),
  resetFilters: rules('filter', ['addFilter', 'point:score > 5'], ['resetFilters']),
  addExclusion: rules('exclusion', ['addExclusion', 'point:score > 5'], ['resetExclusions']),
  addExclusions: rules(
    'exclusion',
    ['addExclusions', ['point:score > 5', 'point:degree > 5']],
    ['resetExclusions'],
  ),
  resetExclusions: rules('exclusion', ['addExclusion', 'point:score > 5'], ['resetExclusions']),
  setSelectionExternal: async (rig) => {
    await emphasizes('setSelectionExternal')(rig);
    const { outer, frame } = rig;
    await does(outer, ['setSelectionExternal', { point: [], edge: [0, 2] }]);
    await until(() => there(frame, '#selection'));
    assert.match(await frame.innerText('#selection'), /^2 edges selected/);
    await does(outer, ['setSelectionExternal', {}]);
    await until(async () => !(await there(frame, '#selection')));
  },
  setHighlightExternal: async (rig) => {
    await emphasizes('setHighlightExternal')(rig);
    const { outer, frame } = rig;
    // It leaves the selection alone, and ends with what was emphasized before.
    await does(outer, ['setSelectionExternal', { point: [4] }]);
    const selected = await shot(frame);
    await does(outer, ['setHighlightExternal', { point: [9], edge: [1] }]);
    await until(async () => changed(selected, await shot(frame)) > SEEN);
    assert.match(await frame.innerText('#selection'), /^1 node selected/);
    await does(outer, ['setHighlightExternal', {}]);
    await until(async () => changed(selected, await shot(frame)) === 0);
    await does(outer, ['setSelectionExternal', {}]);
  },
  autocenter: async ({ outer, frame }) => {
    const whole = await frame.evaluate(() => window.__viewer.doc.fitScale);
    assert.match(await refused(outer, 'autocenter', 0.5), /toJSON/);
    await until(async () => (await view(frame)).scale > 1.2 * whole);
    assert.match(await refused(outer, 'autocenter', 100), /toJSON/);
    await until(async () => Math.abs((await view(frame)).scale / whole - 1) < 0.01);
    assert.match(await refused(outer, 'autocenter', -1), /percentile of autocenter is -1/);
  },
  // What is shared is written down with each step, so that there is nothing to see but the answer.
  saveWorkbook: async ({ outer }) => {
    assert.match(await refused(outer, 'saveWorkbook'), /toJSON/);
    const said = await outer.evaluate(() => window.value('makeCaller', ['workbook', 'save', []]));
    assert.match(JSON.stringify(said), /"saved":true/);
  },
  getCurrentWorkbook: async ({ outer }) => {
    const id = await outer.evaluate(() => window.value('getCurrentWorkbook', []));
    assert.match(JSON.stringify(id), /embed-/);
  },
  selectionUpdates: tells([{}], [['setSelectionExternal', { point: [5], edge: [0] }]], (all) =>
    all.some(({ point, edge }) => String(point) === '5' && String(edge) === '0'),
  ),
  subscribeSelections: tells(['onChange'], [['setSelectionExternal', { point: [6] }]], (all) =>
    all.some((selection) => String(selection.point) === '6'),
  ),
  labelUpdates: tells([], RUN, (all) => all.length > 0),
  subscribeLabels: tells(['onChange'], RUN, (all) => all.some(({ id }) => Number.isInteger(id))),
  playUpdates: tells([], RUN, (all) => all.length > 0),
};
