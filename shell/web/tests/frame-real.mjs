// A page that shows ours in a frame. Usage:
// node tests/frame-real.mjs '{"address": …, "server": …, "token": …, "calls": …}'
// Opens `address`, signed in at `server` by `token` where there is one, and prints what became of the frame,
// or of the page itself where it has none: whether it was loaded, what its picture shows, whether positions
// stream, and what it answered to the embedding client's operation `calls`.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { HANG_MS, START, census, launch, settle, until } from './page/browser.mjs';
import { decodePng } from './png.mjs';

const { address, server, token, calls } = JSON.parse(process.argv[2]);
const viewport = { width: 1000, height: 640 };

/** A profile in which cookies go into frames of other sites, too, as browsers let people choose. */
async function generous() {
  const folder = await mkdtemp(join(tmpdir(), 'graphlume-profile-'));
  await mkdir(join(folder, 'Default'));
  const wishes = { profile: { cookie_controls_mode: 0, block_third_party_cookies: false } };
  await writeFile(join(folder, 'Default/Preferences'), JSON.stringify(wishes));
  return folder;
}

const profile = token ? await generous() : null;
const browser = profile ? null : await launch();
const context = browser
  ? await browser.newContext({ viewport })
  : await chromium.launchPersistentContext(profile, { ...START, viewport });
if (token) {
  const { hostname } = new URL(server);
  const flags = { path: '/', httpOnly: true, secure: true, sameSite: 'None' };
  await context.addCookies([{ name: 'graphlume_jwt', value: token, domain: hostname, ...flags }]);
}
const page = await context.newPage();
page.setDefaultTimeout(HANG_MS);
const complaints = [];
page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
page.on('pageerror', (error) => complaints.push(String(error)));
await page.goto(address);

const isOurs = (frame) => /graph\.html$|^chrome-error:/.test(frame.url().split('?')[0]);
const find = () => page.frames().find(isOurs);
await until(async () => find() !== undefined);
const out = { url: find().url(), loaded: !find().url().startsWith('chrome-error') };
if (out.loaded) {
  const frame = find();
  await frame.waitForFunction(() => window.__viewer?.ready === true);
  const seq = () => frame.evaluate(() => Number(document.body.dataset.seq));
  const first = await seq();
  const plays = new URL(frame.url()).searchParams.get('play') !== '0';
  if (plays) await until(async () => (await seq()) > first + 3);
  await settle(frame);
  out.live = await frame.evaluate(() => document.body.dataset.connected === 'true');
  out.user = await frame.evaluate(() => document.getElementById('account')?.textContent ?? '');
  const element = page.frames().length > 1 ? page.locator('iframe') : page;
  const { w, h, data } = decodePng(await element.screenshot());
  Object.assign(out, census({ w, h, data }));
}
if (out.loaded && calls) {
  out.answer = await page.evaluate(
    ([path, args]) =>
      new Promise((done) => {
        const { contentWindow } = document.querySelector('iframe');
        addEventListener('message', ({ data }) => {
          if (data.type === 'init') {
            const operation = { id: '1', method: 'call', callPath: path, callArgs: args };
            contentWindow.postMessage({ type: 'falcor-operation', ...operation }, '*');
          } else if (data.type === 'falcor-operation-1') done(data);
        });
        contentWindow.postMessage({ type: 'ready' }, '*');
      }),
    calls,
  );
}
out.complaints = complaints;
console.log(JSON.stringify(out));
await context.close();
await browser?.close();
if (profile) await rm(profile, { recursive: true, force: true });
