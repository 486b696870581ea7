// The server's picture where the browser cannot draw. What the server draws is tested in
// tests/e2e/test_pictures.py; here it answers a picture of one colour.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainPng } from '../png.mjs';
import { pixels, settle, until } from './browser.mjs';
import { GRAPH, SPARSE, isMock, withPage } from './context.mjs';
import { accessible } from './document.mjs';

const PICTURE = { contentType: 'image/png', body: plainPng(40, 30, [30, 160, 90]) };

/** A browser without WebGL 2; `reply` answers its requests for pictures, of which `asked` has each. */
function without(reply = () => PICTURE) {
  const asked = [];
  const before = async (page) => {
    await page.addInitScript(() => {
      const made = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function context(kind, ...more) {
        return kind === 'webgl2' ? null : made.call(this, kind, ...more);
      };
    });
    await answering(page, asked, reply);
  };
  return { asked, before };
}

async function answering(page, asked, reply) {
  await page.route(/\/viz\/[^/]+\/picture\./, async (route) => {
    asked.push({ url: new URL(route.request().url()), at: performance.now() });
    await route.fulfill(reply(asked.length));
  });
}

const shown = (page) =>
  page.waitForFunction(() => {
    const image = document.querySelector('#still');
    return image && !image.hidden && image.complete && image.naturalWidth > 0;
  });

/** Waits until no other picture is on its way; answers how many were asked for. */
async function calm(page, asked) {
  for (let before = -1; before !== asked.length;) {
    before = asked.length;
    await page.waitForTimeout(1200);
  }
  return asked.length;
}

const given = ({ url }) => Object.fromEntries(url.searchParams);
const words = (page) => page.textContent('.still-note');

test('without WebGL 2 the picture of the server stands there, and says so', async () => {
  for (const [theme, width, height] of [['dark', 1000, 640], ['light', 390, 844]]) {
    const { asked, before } = without();
    const query = `dataset=${GRAPH}&play=0&theme=${theme}`;
    await withPage(query, { before, width, height, dense: 2 }, async (page, { complaints }) => {
      await shown(page);
      await calm(page, asked);
      const last = given(asked.at(-1));
      const { view, size } = await page.evaluate(() => window.__viewer.doc);
      assert.deepEqual([last.width, last.height, last.scale], [`${size.w}`, `${size.h}`, '2']);
      assert.deepEqual([last.theme, last.names, last.dataset], [theme, 'true', GRAPH]);
      assert.ok(last.viewer, 'with filters of this page');
      assert.ok(Math.abs(Number(last.left) - (view.cx - size.w / 2 / view.scale)) < 1e-6 * size.w);
      assert.match(await words(page), /no WebGL 2.*still picture drawn by the server.*hardware acceleration/);
      assert.match(await page.getAttribute('#still', 'alt'), /still picture.*nodes and [\d,]+ edges$/);
      assert.notEqual(await page.evaluate(() => window.__viewer.doc.phase), 'connecting');
      assert.doesNotMatch(await page.getAttribute('#link', 'title'), /connecting/);
      assert.equal(await page.locator('#failed').count(), 0);
      const shot = await pixels(page, '.stage');
      assert.deepEqual(shot.at(shot.w / 2, shot.h / 2), [30, 160, 90]);
      const note = await page.locator('.still-note').boundingBox();
      assert.ok(note.x >= 0 && note.x + note.width <= width, 'the note is on the screen');
      await accessible(page, '.still-note');
      assert.deepEqual(complaints, []);
    });
  }
});

test('in a small frame the note is short, and most of the picture is seen', async () => {
  const { before } = without();
  await withPage(`dataset=${SPARSE}&play=0`, { before, width: 400, height: 300 }, async (page) => {
    await shown(page);
    assert.doesNotMatch(await words(page), /hardware acceleration/);
    const { height } = await page.locator('.still-note').boundingBox();
    assert.ok(height < 60, `${height}`);
  });
});

test('it is taken anew by the button, for another size, part and theme, and nothing throws', async () => {
  const { asked, before } = without();
  await withPage(`dataset=${SPARSE}&play=0&test=1`, { before }, async (page, { complaints }) => {
    await shown(page);
    const first = await calm(page, asked);
    await page.click('#still-again');
    await until(() => asked.length === first + 1);
    assert.deepEqual(given(asked.at(-1)), given(asked.at(-2)));
    await page.setViewportSize({ width: 820, height: 500 });
    await until(() => given(asked.at(-1)).width === '820');
    await calm(page, asked);
    const box = await page.locator('#surface').boundingBox();
    await page.mouse.move(box.x + 400, box.y + 300);
    const wide = ({ left, right }) => Number(right) - Number(left);
    const whole = wide(given(asked.at(-1)));
    for (let k = 0; k < 8; k += 1) await page.mouse.wheel(0, -100);
    // Until there is another picture, this one is drawn larger.
    const scaled = () => /scale\((1\.[1-9]|[2-9])/.test(document.querySelector('#still').style.transform);
    await page.waitForFunction(scaled);
    await until(() => wide(given(asked.at(-1))) < 0.5 * whole);
    await page.waitForFunction(() => /scale\(1\)/.test(document.querySelector('#still').style.transform));
    await page.click('#theme');
    await until(() => given(asked.at(-1)).theme === 'light');
    await page.keyboard.press('f');
    await page.keyboard.press('l');
    await page.mouse.move(box.x + 60, box.y + 60);
    await page.mouse.down();
    for (const [x, y] of [[760, 60], [760, 400], [60, 400]]) await page.mouse.move(box.x + x, box.y + y);
    await page.mouse.up();
    await page.waitForSelector('#selection');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.mouse.dblclick(box.x + 400, box.y + 200);
    await calm(page, asked);
    assert.deepEqual(complaints, []);
  });
});

test('what the server refuses is said; what passes is asked for again', async () => {
  const replies = [];
  const { asked, before } = without(() => replies.shift() ?? PICTURE);
  const refused = (status, message, headers = {}) =>
    replies.push({ status, headers, contentType: 'application/json', body: JSON.stringify({ message }) });
  refused(503, 'The server is being restarted', { 'Retry-After': '1' });
  await withPage(`dataset=${SPARSE}&play=0&test=1`, { before }, async (page) => {
    const says = (text) =>
      page.waitForFunction((t) => document.querySelector('.still-note .problem')?.textContent === t, text);
    await says('There is no picture: The server is being restarted.');
    await shown(page);
    await calm(page, asked);
    assert.equal(await page.locator('.still-note .problem').count(), 0);
    for (const [status, message] of [[401, 'Sign in first.'], [404, 'No dataset has this id.']]) {
      refused(status, message);
      await page.click('#still-again');
      await says(`The picture is an older one: ${message}`);
    }
    refused(429, 'One picture at a time', { 'Retry-After': '1' });
    await page.click('#still-again');
    await says('The picture is an older one: One picture at a time.');
    await page.waitForFunction(() => !document.querySelector('.still-note .problem'));
  });
});

test('while the layout runs it is renewed, but not while nobody looks', { skip: !isMock }, async () => {
  const { asked, before } = without();
  await withPage(`dataset=${SPARSE}&play=10000`, { before }, async (page) => {
    await shown(page);
    await until(() => asked.length >= 2);
    await page.waitForFunction(() => window.__viewer.doc.playing === false);
    const running = asked.length;
    await calm(page, asked);
    assert.ok(running <= 5, `${running} while it ran`);
    assert.ok(asked[1].at - asked[0].at > 3000, `${asked[1].at - asked[0].at} ms apart`);
    const hide = (hidden) =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'hidden', { value, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    await hide(true);
    const count = asked.length;
    await page.keyboard.press('+');
    await page.waitForTimeout(1500);
    assert.equal(asked.length, count);
    await hide(false);
    await until(() => asked.length > count);
  });
});

test('a context that the browser takes and keeps is stood in for, until it is back', async () => {
  const asked = [];
  const before = (page) => answering(page, asked, () => PICTURE);
  await withPage(`dataset=${SPARSE}&play=0&test=1`, { before }, async (page, { complaints }) => {
    await settle(page);
    await page.evaluate(() => {
      const gl = document.querySelector('#picture').getContext('webgl2');
      window.loss = gl.getExtension('WEBGL_lose_context');
      window.loss.loseContext();
    });
    await shown(page);
    assert.match(await words(page), /took WebGL away.*reload/);
    await page.evaluate(() => window.loss.restoreContext());
    await page.waitForFunction(() => !document.querySelector('#still, .still-note'));
    await settle(page);
    const shot = await pixels(page);
    const { at, color } = await page.evaluate(() => {
      const v = window.__viewer;
      const all = Array.from({ length: v.counts.nodes }, (_, i) => i);
      const [largest] = all.sort((a, b) => v.radius(b) - v.radius(a));
      return { at: v.project(largest), color: v.color(largest) };
    });
    const isThere = shot.at(...at).every((channel, k) => Math.abs(channel - color[k]) < 40);
    assert.ok(isThere, 'the page draws again');
    // The browser reports what this test did.
    complaints.length = 0;
  });
});

test('saving asks the server, for the page has nothing to save', async () => {
  const { asked, before } = without();
  await withPage(`dataset=${SPARSE}&play=0&test=1`, { before }, async (page) => {
    await shown(page);
    await calm(page, asked);
    await page.click('#export');
    await Promise.all([page.waitForEvent('download'), page.click('#export-save')]);
    assert.equal(given(asked.at(-1)).scale, '2');
  });
});
