// The examples of the clients' own documentation, read out of the installed packages and run as they are
// printed, and the properties of the React component's published stories. Usage:
// EMBED_URL=<server> EMBED_DATASET=<id> EMBED_USER=<name> EMBED_PASSWORD=<text>
// node --test tests/examples.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { STORIES } from '../../../tests/clients/stories.mjs';
import { jsExamples, mended, parses } from './client-examples.mjs';
import { BASE, CLIENTS, embedding, inner } from './embed-rig.mjs';
import { until } from './page/browser.mjs';

const PACKAGE = `${CLIENTS}/node_modules/@graphistry/client-api`;
const settings = {
  user: process.env.EMBED_USER,
  password: process.env.EMBED_PASSWORD,
  origin: BASE,
};

/** How many texts are no programs: misprints of the client, mended before they run. */
const MISPRINTS = 9;
/** Examples that name what the client does not have. */
const ABSENT = {
  makeSetterWithModel: ['myValuesFromModel'],
  makeSetter: ['$value'],
  graphistryJS: ['openFilters', 'addColumn'],
};
/** How the client trips over some answers, whatever they are; what it asked for is done. */
const TRIPS = /toJSON/;
/** What the client says by itself where an example misuses it, whatever the server does. */
const OWN_ERRORS = [
  ['subscribeSelections({', /Unable to lift/],
  ['subscribeLabels({', /Unable to lift/],
  ['dataset.upload()', /No client provided/],
  // An edge has no degree: the server says so, and which columns there are.
  ["encodeEdgeColor(['degree'", /Column .*degree.* does not exist in the edge table/],
];

/** In the embedding page the examples' pauses of seconds are short; the frame has its own clock. */
const quick = (page) =>
  page.addInitScript(() => {
    if (window !== window.top) return;
    for (const name of ['setTimeout', 'setInterval']) {
      const real = window[name].bind(window);
      window[name] = (act, ms, ...more) => real(act, ms >= 1000 ? ms / 20 : ms, ...more);
    }
  });

const doc = (frame) => frame.evaluate(() => window.__viewer.doc);
const entries = async (frame) => (await doc(frame)).shared.shared;
const there = (frame, selector) => frame.evaluate((s) => document.querySelector(s) !== null, selector);
const has = (name, wanted) => async (frame) => ((await entries(frame))[name] !== undefined) === wanted;
const rules = (kind, count) => async (frame) =>
  Object.values(await entries(frame)).filter((value) => value?.kind === kind).length === count;

/** What has to be seen once an example has run, by how it begins; the others only have to run. */
const EFFECTS = [
  ["G.addFilter('point:degree > 1')", rules('filter', 1)],
  ['g.addFilter()', has('look/background', true)],
  // It waits for the last of what never ends.
  ['takeLast(1)', (_, outer) => outer.evaluate(() => window.logged.length > 0)],
  ['encodeColor(', has('encodings/node.color', true)],
  ['resetColor(', has('encodings/node.color', false)],
  ["encodePointColor('prebaked", has('encodings/node.color', true)],
  ['resetPointColor(', has('encodings/node.color', false)],
  ["encodeEdgeColor('prebaked", has('encodings/edge.color', true)],
  ['resetEdgeColor(', has('encodings/edge.color', false)],
  ['encodeSize(', has('encodings/node.size', true)],
  ['resetPointSize(', has('encodings/node.size', false)],
  ['togglePanel(', (frame) => there(frame, '#panel-filters')],
  ['toggleHistograms(', (frame) => there(frame, '#panel-histograms')],
  ['toggleToolbar(false', async (frame) => !(await there(frame, 'header.bar'))],
  ['addFilter(', rules('filter', 2)],
  ['addFilters(', rules('filter', 4)],
  ['resetFilters(', rules('filter', 0)],
  ['addExclusion(', rules('exclusion', 1)],
  ['addExclusions(', rules('exclusion', 2)],
  ['resetExclusions(', rules('exclusion', 0)],
  ['setSelectionExternal(', (frame) => there(frame, '#selection')],
  ['updateSetting(', has('look/background', true)],
  // Each step is written down when it is done: there is nothing to see.
  ['saveWorkbook(', async () => true],
  ['autocenter(', async (frame) => (await doc(frame)).following !== undefined],
];

/** Whether an example shows something, or needs hands of its own. */
const shows = ({ of, text }) =>
  of in ABSENT ||
  of === 'toggleToolbar' ||
  EFFECTS.some(([begin]) => (parses(text) ? text : mended(text)).includes(begin));

/** Runs one example in the embedding page; answers what is wrong with what became of it, or null. */
async function outcome({ outer, errors }, frame, text) {
  const program = parses(text) ? text : mended(text);
  await outer.evaluate(([code, more]) => window.runExample(code, more), [program, settings]);
  const ended = ({ values, error }) => values > 0 || error !== null;
  const state = () => outer.evaluate(() => ({ runs: window.runs, thrown: window.thrown }));
  const effect = EFFECTS.find(([begin]) => program.includes(begin));
  await until(async () => {
    const { runs, thrown } = await state();
    // What the client throws where nobody listens is told by the browser.
    if (thrown !== null || errors.some((error) => !TRIPS.test(error))) return true;
    // The client keeps an answer to itself that is the same as the last one.
    return effect ? effect[1](frame, outer) : runs.every(ended);
  });
  const { runs, thrown } = await state();
  const all = [thrown, ...runs.map(({ error }) => error), ...errors.splice(0)];
  const found = all.filter((error) => error !== null && !TRIPS.test(error)).join('; ');
  const own = OWN_ERRORS.find(([part]) => program.includes(part));
  if (own) return own[1].test(found) ? null : `${own[1]} was expected, not: ${found}`;
  return found === '' ? null : found;
}

/** Buttons as a page would have them: the client's picture is `g`. */
async function buttons(outer, html, labels) {
  await outer.evaluate((text) => {
    Object.assign(window, window.api);
    const box = document.createElement('div');
    box.innerHTML = text;
    document.body.prepend(box);
  }, html);
  for (const [label, check] of labels) {
    await outer.evaluate(() => window.begin());
    await outer.click(`button:has-text("${label}")`);
    await until(check);
  }
}

test('every example of the JavaScript client runs as it is printed', async () => {
  const examples = await jsExamples(PACKAGE);
  assert.ok(examples.length >= 72, `the package has ${examples.length} examples`);
  assert.equal(examples.filter(({ text }) => !parses(text)).length, MISPRINTS);
  const run = async ({ outer, address, errors }) => {
    await outer.evaluate((url) => {
      document.getElementById('viz').src = url;
    }, address);
    const frame = await inner(outer);
    const problems = [];
    // The gate runs those that show something; `scripts/long.sh page` runs all.
    const all = Boolean(process.env.GRAPHLUME_LONG);
    const chosen = examples.filter((example) => all || shows(example));
    assert.ok(chosen.length >= EFFECTS.length, `${chosen.length} examples show something`);
    for (const { of, text } of chosen) {
      const absent = ABSENT[of] ?? [];
      if (absent.length > 0) {
        const exported = await outer.evaluate((names) => names.filter((name) => name in window.api), absent);
        if (exported.length > 0) problems.push(`${of}: the client has ${exported} now`);
      } else if (of === 'toggleToolbar') {
        const bar = () => there(frame, 'header.bar');
        await buttons(outer, mended(text), [
          ['Hide toolbar', async () => !(await bar())],
          ['Show toolbar', bar],
        ]);
      } else {
        const problem = await outcome({ outer, errors }, frame, text);
        if (problem !== null) problems.push(`${of}: ${problem}\n${text}`);
      }
    }
    assert.deepEqual(problems, []);
    // What was expected above may be told by the browser a little later.
    const late = errors.splice(0).filter((text) => text !== 'Object' && !TRIPS.test(text));
    assert.deepEqual(late, []);
  };
  await embedding('examples', run, { before: quick });
});

/** The component again, after an error of its own took it away. */
const mountAnew = (outer, props) =>
  outer.evaluate((all) => {
    const root = document.createElement('div');
    root.id = 'root';
    document.getElementById('root').replaceWith(root);
    window.mount(all);
  }, props);

test('what the stories of the React component set is done', async () => {
  await embedding('react', async ({ outer, query, errors }) => {
    const asked = new URLSearchParams(query);
    const base = {
      graphistryHost: BASE,
      dataset: asked.get('dataset'),
      play: 0,
      showSplashScreen: false,
      queryParamExtra: { session: asked.get('session'), test: 1 },
      iframeStyle: { width: '900px', height: '600px', border: 0 },
    };
    const connected = () => outer.evaluate(() => window.connected);
    const printed = [];
    const text = (handle) => handle.evaluate((value) => JSON.stringify(value)).catch(() => '');
    outer.on('console', async (message) => {
      if (message.type() === 'error') printed.push(...(await Promise.all(message.args().map(text))));
    });
    await outer.evaluate((props) => window.mount(props), base);
    let frame = await inner(outer);
    await until(async () => (await connected()) > 0);
    for (const [name, props, expected] of STORIES) {
      const before = await connected();
      await outer.evaluate((all) => window.mount(all), { ...base, ...props });
      if (expected instanceof RegExp) {
        await until(() => errors.length > 0);
        assert.match(String(errors.splice(0)), expected, name);
        await mountAnew(outer, base);
        frame = await inner(outer);
        await until(async () => (await connected()) > before);
      } else if (expected.refused) {
        await until(() => printed.some((said) => expected.refused.test(said)));
      } else if (expected === 'filters') await until(() => there(frame, '#panel-filters'));
      else if (expected === 2) await until(() => rules('filter', 2)(frame));
      else {
        const wanted = Object.entries(expected);
        await until(async () => {
          const now = await entries(frame);
          return wanted.every(([path, value]) => isDeepStrictEqual(now[path], value));
        });
      }
      assert.deepEqual(errors, [], name);
    }
  });
});
