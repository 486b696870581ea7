// A person signs in in a browser: run by tests/e2e/test_access.py with the settings below.
// Pictures go to SIGN_IN_PICTURES when that is set.

import assert from 'node:assert/strict';
import { HANG_MS, launch } from './browser.mjs';

const { env } = process;
const [url, graph, password] = [env.SIGN_IN_URL, env.SIGN_IN_GRAPH, env.SIGN_IN_PASSWORD];
const pictures = env.SIGN_IN_PICTURES;
const browser = await launch();

async function session(options, work) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(HANG_MS);
  const picture = (name) => pictures && page.screenshot({ path: `${pictures}/${name}.png` });
  await work(page, context, picture);
  await context.close();
}

const looks = [
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1000, height: 640 } },
  { name: 'light', colorScheme: 'light', viewport: { width: 1000, height: 640 } },
  { name: 'phone', colorScheme: 'dark', viewport: { width: 390, height: 780 } },
];
for (const { name, ...options } of looks) {
  await session(options, async (page, context, picture) => {
    await page.goto(`${url}/graph/graph.html?dataset=${graph}&play=0&test=1`);
    await page.waitForSelector('#missing #signin');
    assert.match(await page.textContent('#missing h2'), /no such graph, or you have to sign in/);
    await picture(`missing-${name}`);
    await page.click('#signin');
    await page.waitForSelector('input[name=password]');
    await picture(`form-${name}`);
    await page.fill('input[name=username]', 'admin');
    await page.fill('input[name=password]', 'wrong');
    await page.click('button.primary');
    await page.waitForSelector('.refused');
    assert.equal(await page.inputValue('input[name=username]'), 'admin');
    await picture(`refused-${name}`);
    await page.fill('input[name=password]', password);
    await page.click('button.primary');
    await page.waitForFunction(() => window.__viewer?.ready);
    assert.ok(new URL(page.url()).searchParams.get('dataset') === graph);
    if (name !== 'phone') assert.equal(await page.textContent('#account'), 'admin');
    await picture(`graph-${name}`);
    // The token ends before the session of the browser: the page goes on.
    await context.clearCookies({ name: 'graphlume_jwt' });
    await page.reload();
    await page.waitForFunction(() => window.__viewer?.ready);
    await page.goto(`${url}/`);
    await picture(`start-${name}`);
    await page.click('text=Sign out');
    await page.waitForSelector('text=Sign in');
    assert.equal((await context.cookies()).filter((c) => c.name !== 'graphlume_known').length, 0);
  });
}

// Without scripts.
await session({ javaScriptEnabled: false }, async (page) => {
  await page.goto(`${url}/login?next=/healthcheck/`);
  await page.fill('input[name=username]', 'admin');
  await page.fill('input[name=password]', password);
  await page.click('button.primary');
  await page.waitForURL(`${url}/healthcheck/`);
});
await browser.close();
