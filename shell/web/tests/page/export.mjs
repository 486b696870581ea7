// The dialog in which the picture is saved. The server's answers are given here: what it draws is tested
// in tests/e2e/test_pictures.py, and whether both draw the same by dev/picture-difference.mjs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pixels, settle, until } from './browser.mjs';
import { SPARSE, isMock, withPage } from './context.mjs';
import { filter } from './document.mjs';

const STILL = 'play=0&test=1';

/** Answers requests for pictures, and collects their addresses. */
async function answering(page, reply) {
  const asked = [];
  await page.route(/\/viz\/[^/]+\/picture\./, async (route) => {
    asked.push(new URL(route.request().url()));
    await route.fulfill(reply);
  });
  return asked;
}

/** The file that saving gives. */
async function saved(page) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#export-save')]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  return { name: download.suggestedFilename(), text: Buffer.concat(chunks).toString('latin1') };
}

test('the picture is saved as SVG with title and legend, as it is shown', async () => {
  await withPage(`dataset=${SPARSE}&${STILL}&pointSize=2`, {}, async (page) => {
    await settle(page);
    const asked = await answering(page, { contentType: 'image/svg+xml', body: '<svg/>' });
    await page.click('#export');
    await page.selectOption('#export-format', 'svg');
    assert.ok(await page.isDisabled('#export-size'), 'shapes have no size');
    await page.fill('#export-heading', 'A & B');
    await page.check('#export-legend');
    await page.check('#export-clear');
    const { name, text } = await saved(page);
    assert.ok(name.endsWith('.svg') && text === '<svg/>', `${name} ${text}`);
    await page.waitForFunction(() => !document.querySelector('#export-dialog'));
    const [{ pathname, searchParams }] = asked;
    assert.match(pathname, /\/viz\/[^/]+\/picture\.svg$/);
    const { view, size, fitScale, theme } = await page.evaluate(() => window.__viewer.doc);
    const given = Object.fromEntries(searchParams);
    assert.equal(given.title, 'A & B');
    assert.deepEqual([given.legend, given.names, given.background], ['true', 'true', 'none']);
    assert.deepEqual([given.theme, given.pointSize, given.wait], [theme, '2', '0']);
    assert.deepEqual([given.superGraph, given.bundle], ['false', 'false']);
    assert.deepEqual([Number(given.width), Number(given.height)], [size.w, size.h]);
    const wide = size.w / view.scale;
    assert.ok(Math.abs(Number(given.right) - Number(given.left) - wide) < 1e-6 * wide);
    assert.ok(Math.abs(Number(given.zoom) - view.scale / fitScale) < 1e-9);
    assert.equal(given.viewer !== undefined, true, 'filters of its own count');
  });
});

test('communities and bundled edges are asked for where they are on the screen', { skip: !isMock }, async () => {
  await withPage(`dataset=community-20000-60000&${STILL}`, {}, async (page) => {
    await settle(page);
    await page.click('#bundle');
    await page.waitForSelector('#bundle[aria-pressed="true"]');
    const asked = await answering(page, { contentType: 'image/svg+xml', body: '<svg/>' });
    const save = async () => {
      await page.click('#export');
      await page.selectOption('#export-format', 'svg');
      await saved(page);
      await page.waitForFunction(() => !document.querySelector('#export-dialog'));
      const { searchParams } = asked.at(-1);
      return ['superGraph', 'bundle'].map((name) => searchParams.get(name));
    };
    assert.deepEqual(await save(), ['true', 'true']);
    await page.click('#groups');
    await page.click('#bundle');
    await page.waitForSelector('#bundle[aria-pressed="false"]');
    assert.deepEqual(await save(), ['false', 'false']);
  });
});

test('what the server refuses stands in the dialog, which stays', async () => {
  await withPage(`dataset=${SPARSE}&${STILL}`, {}, async (page) => {
    await settle(page);
    const message = 'format: a picture of shapes has at most 20000 nodes and edges';
    const body = JSON.stringify({ message });
    await answering(page, { status: 400, contentType: 'application/json', body });
    await page.click('#export');
    await page.selectOption('#export-format', 'pdf');
    await page.click('#export-save');
    const shows = (text) => document.querySelector('#export-dialog .problem')?.textContent === text;
    await page.waitForFunction(shows, message);
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => !document.querySelector('#export-dialog'));
  });
});

test('a PNG as shown is drawn by the page, in the size that was chosen', async () => {
  await withPage(`dataset=${SPARSE}&${STILL}`, { width: 700, height: 500 }, async (page) => {
    await settle(page);
    const asked = await answering(page, { status: 500, body: '' });
    const { size } = await page.evaluate(() => window.__viewer.doc);
    for (const times of [1, 4]) {
      await page.click('#export');
      await page.selectOption('#export-size', String(times));
      const { text } = await saved(page);
      const side = (at) => Buffer.from(text, 'latin1').readUInt32BE(at);
      assert.deepEqual([side(16), side(20)], [times * size.w, times * size.h]);
    }
    assert.equal(asked.length, 0, 'the server is not asked');
  });
});

for (const theme of ['dark', 'light']) {
  test(`the dialog is seen on a ${theme} page and leaves with Cancel`, async () => {
    await withPage(`dataset=${SPARSE}&${STILL}&theme=${theme}`, {}, async (page) => {
      await settle(page);
      await page.click('#export');
      const { at, w, h } = await pixels(page, '#export-dialog');
      const light = (rgb) => rgb.reduce((sum, c) => sum + c) / 3;
      const panel = light(at(Math.round(w / 2), 6));
      assert.ok(theme === 'light' ? panel > 220 : panel < 60, `${panel}`);
      // Letters of the title stand out from the panel.
      let most = 0;
      for (let x = 10; x < w / 2; x += 1) {
        for (let y = 14; y < 40; y += 1) most = Math.max(most, Math.abs(light(at(x, y)) - panel));
      }
      assert.ok(most > 120 && h > 150, `${most} ${h}`);
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/export-${theme}.png` });
      await page.click('#export-cancel');
      await page.waitForFunction(() => !document.querySelector('#export-dialog'));
    });
  });
}

/** A picture of the dialog, for looking at. */
async function shoot(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/export-${name}.png` });
}

/** What the dialog says is wrong, which has to be seen within it, and read on it. */
async function problem(page) {
  await until(async () => (await page.innerText('#export-dialog .problem')) !== '');
  const text = await page.innerText('#export-dialog .problem');
  const [dialog, own] = await Promise.all(['#export-dialog', '#export-dialog .problem'].map((selector) => {
    return page.locator(selector).boundingBox();
  }));
  assert.ok(own.x >= dialog.x && own.x + own.width <= dialog.x + dialog.width, text);
  assert.ok(own.y + own.height <= dialog.y + dialog.height, text);
  return text;
}

function json(status, message) {
  return { status, contentType: 'application/json', body: JSON.stringify({ message }) };
}

const BAD_GATEWAY = { status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' };
const ANSWERS = {
  gone: [json(404, 'session "s" was not found'), [/no session \S+ any more/, /Reload the page/]],
  signed: [json(401, 'Authentication credentials were not provided.'), [/refused \(401\)/, /Sign in again/]],
  busy: [json(429, 'pictures of this visualization (one at a time): busy'), [/one at a time/, /in a moment/]],
  down: [BAD_GATEWAY, [/answered 502/, /in a moment/]],
  cut: [null, [/127\.0\.0\.1|localhost/, /Check the connection/]],
};

test('whatever fails, the dialog names what was asked for, what came of it and what to do', async () => {
  for (const theme of ['dark', 'light']) {
    await withPage(`dataset=${SPARSE}&${STILL}&theme=${theme}`, {}, async (page) => {
      await settle(page);
      for (const [name, [reply, wanted]] of Object.entries(ANSWERS)) {
        const answer = (route) => (reply ? route.fulfill(reply) : route.abort());
        await page.route(/\/viz\/[^/]+\/picture\./, answer);
        await page.click('#export');
        await page.selectOption('#export-format', 'svg');
        await page.click('#export-save');
        const text = await problem(page);
        assert.match(text, /^Format SVG: /);
        for (const part of wanted) assert.match(text, part);
        assert.match(text, /A PNG without title, legend and transparent background is drawn by this page/);
        await shoot(page, `${name}-${theme}`);
        // That is so: the file comes although the server draws none.
        await page.selectOption('#export-format', 'png');
        await page.selectOption('#export-size', '1');
        assert.ok((await saved(page)).name.endsWith('.png'));
        await page.unroute(/\/viz\/[^/]+\/picture\./);
      }
    });
  }
});

test('sizes that nobody draws are not offered, and one that the browser cannot is told', async () => {
  await withPage(`dataset=${SPARSE}&${STILL}`, { width: 1000, height: 680 }, async (page) => {
    await settle(page);
    await page.click('#export');
    await page.waitForSelector('#export-size');
    const options = page.locator('#export-size option');
    const offered = () => options.evaluateAll((all) => all.map((one) => one.value));
    assert.deepEqual(await offered(), ['1', '2', '4', '8'], 'up to 8,192 pixels a side');
    await page.selectOption('#export-size', '8');
    // The server draws at most 40,000,000 pixels.
    await page.check('#export-legend');
    assert.deepEqual(await offered(), ['1', '2', '4']);
    assert.equal(await page.inputValue('#export-size'), '4');
    const asked = await answering(page, { contentType: 'image/png', body: '' });
    await saved(page);
    assert.equal(asked[0].searchParams.get('scale'), '4');
    await page.evaluate(() => {
      const { get } = Object.getOwnPropertyDescriptor(WebGL2RenderingContext.prototype, 'drawingBufferWidth');
      const less = { get() { return Math.min(3000, get.call(this)); } };
      Object.defineProperty(WebGL2RenderingContext.prototype, 'drawingBufferWidth', less);
    });
    const before = await pixels(page);
    await page.click('#export');
    await page.selectOption('#export-size', '4');
    await page.click('#export-save');
    const { size } = await page.evaluate(() => window.__viewer.doc);
    const text = await problem(page);
    const named = text.startsWith(`Size ${4 * size.w} × ${4 * size.h}: `);
    assert.ok(named && text.includes('smaller size'), text);
    await shoot(page, 'large');
    await page.keyboard.press('Escape');
    await settle(page);
    const after = await pixels(page);
    const isSame = Buffer.compare(Buffer.from(before.data), Buffer.from(after.data)) === 0;
    assert.ok(isSame, 'the page is as before');
  });
});

test('a file has the pixels that the dialog says, on a dense screen too', async () => {
  const dense = { width: 700, height: 500, dense: 2 };
  await withPage(`dataset=${SPARSE}&${STILL}`, dense, async (page) => {
    await settle(page);
    await page.click('#export');
    const option = page.locator('#export-size option').nth(1);
    const [w, h] = (await option.innerText()).split(' × ').map(Number);
    const { text } = await saved(page);
    const side = (at) => Buffer.from(text, 'latin1').readUInt32BE(at);
    assert.deepEqual([side(16), side(20)], [w, h]);
  });
});

test('that filters hide everything is said before an empty picture is saved', { skip: !isMock }, async () => {
  await withPage(`dataset=${SPARSE}&${STILL}`, {}, async (page) => {
    await settle(page);
    const hint = () => page.innerText('#export-dialog .hint');
    await page.click('#export');
    assert.equal(await hint(), '');
    await page.click('#export-cancel');
    await filter(page, 'degree > 100000');
    await until(async () => (await page.innerText('#counts')).startsWith('0'));
    await page.click('#export');
    assert.match(await hint(), /^Filters hide all 90 nodes: the picture is empty\. Turn a filter off/);
    await shoot(page, 'empty');
  });
});
