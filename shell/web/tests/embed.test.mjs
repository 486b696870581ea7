// The unchanged JavaScript and React clients in a page of another origin that shows ours in a frame. Usage:
// EMBED_URL=<server> EMBED_DATASET=<id> node --test tests/embed.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BASE, connect, does, embedding, inner } from './embed-rig.mjs';
import { until } from './page/browser.mjs';

const visible = (frame) =>
  frame.evaluate(() => window.__viewer.doc.shown?.nodes ?? window.__viewer.counts.nodes);

test('the JavaScript client connects, filters, excludes and takes it back', async () => {
  await embedding('js', async ({ outer, address }) => {
    const frame = await connect(outer, address);
    const all = await frame.evaluate(() => window.__viewer.counts.nodes);
    await does(outer, ['addFilter', 'point:degree > 2']);
    await until(async () => (await visible(frame)) < all);
    const filtered = await visible(frame);
    await does(outer, ['addFilters', ['point:degree > 1', 'point:degree > 3']]);
    await until(async () => (await visible(frame)) < filtered);
    await does(outer, ['resetFilters']);
    await until(async () => (await visible(frame)) === all);
    await does(outer, ['addExclusion', 'point:degree > 2']);
    await until(async () => (await visible(frame)) === all - filtered);
    await does(outer, ['resetExclusions']);
    await until(async () => (await visible(frame)) === all);
    const refused = await outer.evaluate(() =>
      window.run('addFilter', ['point:nothing > 1']).then(
        () => 'done',
        (error) => String(error),
      ),
    );
    assert.match(refused, /nothing/, refused);
    assert.equal(await visible(frame), all);
  });
});

test('settings are set, seen in the picture and read back', async () => {
  await embedding('js', async ({ outer, address }) => {
    const frame = await connect(outer, address);
    const radius = () => frame.evaluate(() => window.__viewer.radius(0));
    const small = await radius();
    await does(
      outer,
      ['updateSetting', 'pointSize', 3],
      ['updateSetting', 'background', '#ffffff'],
      ['updateSetting', 'labelEnabled', false],
      ['updateSetting', 'showToolbar', false],
      ['updateSetting', 'gravity', 4],
      ['updateSetting', 'pruneOrphans', true],
    );
    await until(async () => (await radius()) > 2 * small);
    await until(() => frame.evaluate(() => document.documentElement.dataset.theme === 'light'));
    await until(() => frame.evaluate(() => document.querySelector('.top-bar, header') === null));
    const read = await outer.evaluate(() => window.read('scene.renderer.points.scaling'));
    assert.equal(read, 3);
    assert.equal(await outer.evaluate(() => window.read('layout.options.forceatlas2barnes[1].value')), 4);
  });
});

test('encodings, panels, camera, play and the workbook answer', async () => {
  await embedding('js', async ({ outer, address }) => {
    const frame = await connect(outer, address);
    await does(
      outer,
      ['encodePointColor', ['degree', 'continuous', ['blue', 'yellow', 'red']]],
      ['encodePointSize', ['degree']],
      ['toggleHistograms', true],
      ['togglePanel', 'filters', true],
    );
    const legend = () => frame.evaluate(() => document.querySelector('.legend')?.textContent ?? '');
    await until(async () => (await legend()).includes('degree'));
    await until(() => frame.evaluate(() => document.querySelector('#panel-filters') !== null));
    await until(() => frame.evaluate(() => document.querySelector('#panel-histograms') !== null));
    const icon = () => frame.evaluate(() => window.__viewer.doc.shared.shared['encodings/node.icon']);
    await does(outer, ['encodePointIcons', ['degree']]);
    await until(async () => (await icon())?.attribute === 'degree');
    // The legend names the glyphs, in rows of the column that has the colours, too.
    await until(() => frame.evaluate(() => document.querySelectorAll('.legend .glyph').length > 1));
    await does(outer, ['resetPointIcons']);
    await until(async () => (await icon()) === undefined);
    await does(outer, ['toggleHistograms', false], ['togglePanel', 'filters', false], ['resetPointColor']);
    await until(() => frame.evaluate(() => document.querySelector('#panel-histograms') === null));
    const zoom = () => frame.evaluate(() => window.__viewer.doc.view.scale / window.__viewer.doc.fitScale);
    await does(outer, ['updateZoom', 2]);
    await until(async () => Math.abs((await zoom()) - 2) < 0.01);
    // These two functions of the client trip over their own answer; what they ask for is done all the same.
    await does(outer, ['autocenter', 100]).catch((error) => assert.match(String(error), /toJSON/));
    await until(async () => Math.abs((await zoom()) - 1) < 0.01);
    await does(outer, ['saveWorkbook']).catch((error) => assert.match(String(error), /toJSON/));
    assert.equal(typeof (await outer.evaluate(() => window.read('id'))), 'string');
  });
});

test('axes are drawn as a script sets them, until it takes them back', async () => {
  await embedding('js', async ({ outer, address }) => {
    const frame = await connect(outer, address);
    // Somebody else who looks at the same session.
    const other = await outer.context().newPage();
    await other.goto(address);
    await other.waitForFunction(() => window.__viewer?.counts.nodes > 0);
    const shotOf = async (page) => {
      await page.evaluate(() => window.__viewer.settle());
      return page.locator('#surface').screenshot();
    };
    const shot = () => shotOf(frame);
    const [before, elsewhere] = [await shot(), await shotOf(other)];
    const rows = [{ y: 0, label: 'middle', external: true, width: 6 }];
    const refused = does(outer, ['encodeAxis', [...rows, { label: 'nowhere' }]]);
    await assert.rejects(refused, /rows\[1\].*r, x or y/);
    await does(outer, ['encodeAxis', rows]);
    await until(async () => !before.equals(await shot()));
    // They are a step of the session's document, which everybody sees.
    await until(async () => !elsewhere.equals(await shotOf(other)));
    const kept = () => frame.evaluate(() => window.__viewer.doc.shared.shared['encodings/node.axis']);
    assert.deepEqual(await kept(), { rows });
    await does(outer, ['encodeAxis']);
    await until(async () => before.equals(await shot()));
    await until(async () => elsewhere.equals(await shotOf(other)));
    assert.equal(await kept(), undefined);
  });
});

test('callbacks tell of selections, labels and the end of play', async () => {
  await embedding('js', async ({ outer, address }) => {
    const frame = await connect(outer, address);
    await outer.evaluate(() => window.listen());
    await does(outer, ['toggleClustering', true]);
    await until(() => frame.evaluate(() => window.__viewer.doc.playing));
    await does(outer, ['toggleClustering', false]);
    await until(() => outer.evaluate(() => window.heard.plays > 0));
    await until(() => outer.evaluate(() => window.heard.labels > 0));
    await does(outer, ['setSelectionExternal', { point: [1, 2, 3], edge: [] }]);
    await until(() => outer.evaluate(() => window.heard.selection.some((s) => s.point.length === 3)));
    const last = await outer.evaluate(() => window.heard.selection.at(-1));
    assert.deepEqual(last.point, [1, 2, 3]);
    assert.equal(last.labels.length, 3);
    assert.ok(last.labels.every((label) => label.title !== ''));
  });
});

test('the React component embeds, sets its properties and says that it is connected', async () => {
  await embedding('react', async ({ outer, query }) => {
    await outer.evaluate(
      ([host, text]) => {
        const params = new URLSearchParams(text);
        window.mount({
          graphistryHost: host,
          dataset: params.get('dataset'),
          session: params.get('session'),
          play: 0,
          showSplashScreen: false,
          backgroundColor: '#ffffff',
          pointSize: 2.5,
          filters: ['point:degree > 2'],
          axes: undefined,
          containerStyle: { width: 900, height: 600 },
        });
      },
      [BASE, query],
    );
    const frame = await inner(outer);
    await until(() => outer.evaluate(() => window.connected > 0));
    await until(() => frame.evaluate(() => document.documentElement.dataset.theme === 'light'));
    const all = await frame.evaluate(() => window.__viewer.counts.nodes);
    await until(async () => (await visible(frame)) < all);
    await outer.evaluate(() => window.mount({ ...window.props, filters: [], pointSize: 1 }));
  });
});
