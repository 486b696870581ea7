// Every call and every setting of the unchanged JavaScript client against a real server: an effect, or an
// error by name. Usage: node --test tests/embed-calls.test.mjs, with a server of its own, or with
// EMBED_URL=<server> EMBED_USER=<name> EMBED_PASSWORD=<text>.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import { CALL_CHECKS, entry, refused, SETTING_CHECKS, shot, there } from './embed-checks.mjs';
import { account, CLIENTS, connect, does, embedding } from './embed-rig.mjs';
import { changed, HANG_MS, until } from './page/browser.mjs';
import { upload } from './real-server.mjs';
import { load } from './typescript.mjs';

const PACKAGE = `${CLIENTS}/node_modules/@graphistry/client-api`;
const { CALLS, MEANINGS, SETTINGS } = await load('embed/calls.ts');

const NODES = 40;
/** The node with the most edges, of which two steps reach more than one does. */
const HUB = 1;

/** A graph with the columns that the checks name, whose last node has no edge. */
function tables() {
  const nodes = ['id,label,kind,group,score,x,y'];
  for (let i = 0; i < NODES; i += 1) {
    const [angle, r] = [2.4 * i, 60 + 45 * Math.sqrt(i)];
    const at = [80 + r * Math.cos(angle), 30 + r * Math.sin(angle)].map(Math.round);
    nodes.push([`n${i}`, `Node ${i}`, 'abc'[i % 3], 'uv'[i % 2], i, ...at].join());
  }
  const edges = ['s,d,kind,group'];
  const edge = (s, d) => edges.push([`n${s}`, `n${d}`, 'abc'[d % 3], 'uv'[s % 2]].join());
  for (let i = 2; i < 9; i += 1) edge(HUB, i);
  for (let i = 9; i < NODES - 1; i += 1) edge(2 + (i % 7), i);
  edge(0, 2);
  const text = (lines) => `${lines.join('\n')}\n`;
  return { nodes: text(nodes), edges: text(edges), bindings: { node_title: 'label' } };
}

let dataset;
before(async () => {
  dataset = await upload(await account(), 'calls', tables());
});

/** The connected client, the page in its frame, and what checks need beside. */
const connected = (run) => {
  const start = async ({ outer, address }) => run({ outer, frame: await connect(outer, address), hub: HUB });
  return embedding('js', start, { dataset });
};

const names = (text) => [...text.matchAll(/\w+/g)].map(([name]) => name);

test('the list has every call and every setting of the installed client, and each is checked', async () => {
  const source = await readFile(`${PACKAGE}/src/index.js`, 'utf8');
  const version = JSON.parse(await readFile(`${PACKAGE}/package.json`, 'utf8')).version;
  assert.equal(version, '5.1.8');
  await connected(async ({ outer }) => {
    const { exported, chained, settings } = await outer.evaluate(() => {
      const own = Object.keys(window.g).filter((key) => typeof window.g[key] === 'function');
      let said = '';
      try {
        window.api.updateSetting('zzz', 1);
      } catch (error) {
        said = error.message;
      }
      return { exported: Object.keys(window.api), chained: own, settings: said };
    });
    // What it passes on of RxJS, and the classes that upload, which are no calls of the page.
    const rx = new Set(names(await readFile(`${PACKAGE}/src/rxjs.js`, 'utf8')));
    const uploads = new Set(names(/import \{([^}]*)\} from '@graphistry\/js-upload-api'/.exec(source)[1]));
    const isUpload = (name) => uploads.has(name) || uploads.has(`${name}Base`);
    const calls = exported.filter((name) => !rx.has(name) && !uploads.has(name) && !isUpload(name));
    assert.ok(calls.length > 50, `${calls.length} calls`);
    assert.deepEqual(calls.toSorted(), Object.keys(CALLS).toSorted());
    const chain = chained.map((name) => name.replace(/CB$/, ''));
    assert.deepEqual([...new Set(chain)].filter((name) => !(name in CALLS)), []);
    const listed = names(settings.split('available are:')[1]);
    assert.ok(listed.length > 30, `${listed.length} settings`);
    assert.deepEqual(listed.toSorted(), Object.keys(SETTINGS).toSorted());
  });
  for (const [, name, path] of source.matchAll(/^ +'(\w+)': \['view', '([^']+)'\]/gm)) {
    const first = path.replace(/\["x".*/, '.x').replace(/\[(\d)\]/, '.$1');
    assert.equal(SETTINGS[name]?.[0], first, name);
  }
  assert.deepEqual(Object.keys(CALL_CHECKS).toSorted(), Object.keys(CALLS).toSorted());
  assert.deepEqual(Object.keys(SETTING_CHECKS).toSorted(), Object.keys(SETTINGS).toSorted());
  for (const [name, call] of Object.entries(CALLS)) {
    for (const path of call.sets ?? []) assert.ok(MEANINGS.has(path), `${name} sets ${path}`);
  }
});

for (const [kind, checks] of [
  ['call', CALL_CHECKS],
  ['setting', SETTING_CHECKS],
]) {
  test(`each ${kind} has an effect, or is an error by name`, async (t) => {
    await connected(async (rig) => {
      for (const [name, check] of Object.entries(checks)) {
        await t.test(name, { timeout: HANG_MS }, () => check({ ...rig, name }));
        // The next one finds the picture as a whole.
        await rig.frame.locator('#surface').press('f');
      }
    });
  });
}

test('calls after the first selection that the client is told of answer as those before', async () => {
  await connected(async ({ outer, frame }) => {
    await outer.evaluate(() => window.listen());
    const select = async (node) => {
      await does(outer, ['setSelectionExternal', { point: [node] }]);
      await until(() => outer.evaluate((n) => window.heard.selection.at(-1)?.point[0] === n, node));
    };
    const works = async (size, color) => {
      assert.equal(await does(outer, ['updateSetting', 'pointSize', size]), true);
      await until(async () => (await entry(frame, 'look/pointSize')) === size);
      assert.equal(await does(outer, ['encodePointColor', [color, 'categorical']]), true);
      await until(async () => (await entry(frame, 'encodings/node.color'))?.attribute === color);
      assert.equal(await does(outer, ['addFilters', ['point:degree > 1', 'point:degree > 0']]), true);
      assert.equal(await does(outer, ['resetFilters']), true);
      assert.equal(await does(outer, ['togglePanel', 'filters', true]), true);
      await until(() => there(frame, '#panel-filters'));
      assert.equal(await does(outer, ['togglePanel', 'filters', false]), true);
      await until(async () => !(await there(frame, '#panel-filters')));
      assert.match(await refused(outer, 'togglePanel', 'scene', true), /no panel of the scene/);
      assert.match(await refused(outer, 'addFilter', 'point:nothing > 1'), /nothing/);
      assert.equal(await does(outer, ['getCurrentWorkbook']), true);
    };
    await select(3);
    await works(2, 'kind');
    await select(4);
    await works(3, 'group');
    await select(5);
    await works(2, 'kind');
  });
});

test('`darken: false`, which the client drops, makes rings and leaves all else as it is', async () => {
  await connected(async ({ outer, frame }) => {
    // What the client makes of it.
    const sent = await outer.evaluate(async () => {
      const asked = [];
      const real = window.g.models.model._source.emitter;
      const { emit } = real;
      real.emit = (name, data) => {
        asked.push(data);
        return emit.call(real, name, data);
      };
      await window.run('setHighlightExternal', [{ point: [1], darken: false }]);
      real.emit = emit;
      return JSON.stringify(asked);
    });
    assert.match(sent, /"setExternal"/);
    assert.doesNotMatch(sent, /darken/);
    await does(outer, ['setHighlightExternal', {}]);
    const before = await shot(frame);
    const callPath = ['workbooks', 'open', 'views', 'current', 'highlight', 'setExternal'];
    const call = (what) =>
      outer.evaluate((given) => window.send(given), { method: 'call', callPath, callArgs: [what] });
    assert.equal((await call({ point: [HUB, 20], edge: [], darken: false })).kind, 'C');
    const rings = await shot(frame);
    assert.ok(changed(before, rings) > 50, 'rings are seen');
    // The disc of another node, which is darkened otherwise.
    const [x, y] = (await frame.evaluate(() => window.__viewer.project(12))).map(Math.round);
    const disc = ({ w, data }) => data.slice(4 * (y * w + x), 4 * (y * w + x) + 3).join();
    assert.equal(disc(rings), disc(before));
    assert.equal((await call({ point: [HUB, 20], edge: [] })).kind, 'C');
    assert.notEqual(disc(await shot(frame)), disc(before));
    assert.equal((await call({})).kind, 'C');
    await until(async () => changed(before, await shot(frame)) === 0);
  });
});
