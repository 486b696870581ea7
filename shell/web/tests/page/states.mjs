import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { settle } from './browser.mjs';
import { GRAPH, isMock, withPage } from './context.mjs';

test('a small frame shows the graph, play and the way out, and nothing else', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, { width: 400, height: 300 }, async (page) => {
    await settle(page);
    assert.equal(await page.locator('header, .legend, .zoom').count(), 0);
    assert.equal(await page.locator('.tiny #play').count(), 1);
    assert.equal(await page.locator('.tiny a').count(), 1);
  });
});

test('an unknown dataset is said to be unknown', { skip: !isMock }, async () => {
  await withPage('dataset=missing&session=none', { wait: false }, async (page) => {
    await page.waitForSelector('#missing');
    assert.match(await page.textContent('#missing'), /No dataset has this id/);
  });
});

test('a failure shows its message', { skip: !isMock }, async () => {
  await withPage('dataset=failed', { wait: false }, async (page) => {
    await page.waitForSelector('#failed');
    assert.match(await page.textContent('#failed'), /holds lists/);
  });
});

test('loading and waiting show what they wait for', { skip: !isMock }, async () => {
  for (const [name, words] of [
    ['loading', /Reading edges/],
    ['waiting', /Waiting for data/],
  ]) {
    await withPage(`dataset=${name}`, { wait: false }, async (page) => {
      await page.waitForFunction(
        (source) => new RegExp(source).test(document.querySelector('#loading')?.textContent ?? ''),
        words.source,
      );
    });
  }
});

test('a private graph leads to the sign-in form and opens after it', { skip: !isMock }, async () => {
  await withPage('dataset=private&test=1', { wait: false }, async (page) => {
    await page.waitForSelector('#signin');
    assert.match(await page.textContent('#missing'), /no such graph, or you have to sign in/);
    const href = await page.getAttribute('#signin', 'href');
    assert.match(href, /^\.\.\/login\?next=%2Fgraph%2Fgraph\.html%3F.*dataset%3Dprivate/);
    // The person signs in in another window and comes back.
    await page.evaluate(async () => {
      await fetch('../api/v2/auth/token/generate', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ username: 'ana', password: 'secret' }),
      });
      dispatchEvent(new Event('focus'));
    });
    await page.waitForFunction(() => window.__viewer?.ready);
    await settle(page);
  });
});

test('the splash waits for a click', { skip: !isMock }, async () => {
  // Opened without the splash first, then again with a moment that has passed.
  await withPage('dataset=two&test=1&pageTitle=a', { wait: false }, async (page) => {
    await page.goto(page.url().replace('splashAfter=False', 'splashAfter=2'));
    await page.waitForSelector('#splash');
    assert.equal(await page.getAttribute('body', 'data-connected'), 'false');
    await page.click('#splash button');
    await page.waitForFunction(() => window.__viewer?.ready);
  });
});

test('the splash says which graph waits, and how large it is', async () => {
  await withPage(`dataset=${GRAPH}&test=1`, { wait: false }, async (page) => {
    await page.goto(page.url().replace('splashAfter=False', 'splashAfter=2'));
    await page.waitForSelector('#awaited');
    assert.equal(await page.getAttribute('body', 'data-connected'), 'false');
    const name = await page.textContent('#splash h2');
    assert.match(await page.textContent('#awaited'), /^[\d,]+ nodes · [\d,]+ edges$/);
    assert.notEqual(name, 'A graph is waiting');
    assert.equal(await page.title(), `${name} · Graphlume`);
    await page.click('#splash button');
    await page.waitForFunction(() => window.__viewer?.ready);
    assert.equal(await page.textContent('.brand h1'), name);
  });
});

test('the splash of a graph that is not for everybody says nothing of it', { skip: !isMock }, async () => {
  await withPage('dataset=private&test=1', { wait: false }, async (page) => {
    const asked = page.waitForResponse((answer) => answer.url().includes('/about?'));
    await page.goto(page.url().replace('splashAfter=False', 'splashAfter=2'));
    assert.equal((await asked).status(), 404);
    assert.equal(await page.textContent('#splash h2'), 'A graph is waiting');
    assert.equal(await page.locator('#awaited, .what').count(), 0);
  });
});

test('a picture of a site that the operator did not name is not asked for, and that is said', async () => {
  const asked = [];
  const site = createServer((request, response) => {
    asked.push(request.url);
    response.end();
  });
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  const origin = `http://127.0.0.1:${site.address().port}`;
  const query = `dataset=${GRAPH}&play=0&test=1&logoUrl=${origin}/logo.png`;
  try {
    await withPage(query, {}, async (page) => {
      await page.waitForSelector('#notices');
      await page.click('#notices button');
      const text = await page.textContent('#notices');
      assert.match(text, /^1 notice/);
      assert.ok(text.includes(`A picture of ${origin} is not shown`), text);
      assert.match(text, /--picture-host/);
      assert.equal(await page.locator('img.logo').count(), 0);
      assert.deepEqual(asked, []);
    });
  } finally {
    site.close();
  }
});

test('the counts and the status are on the screen at every width', async () => {
  await withPage(`dataset=${GRAPH}&play=0&test=1`, { height: 780 }, async (page) => {
    for (const width of [360, 390, 480, 560, 680, 760, 785, 899, 900, 1000, 1280]) {
      await page.setViewportSize({ width, height: 780 });
      await page.waitForFunction((w) => innerWidth === w, width);
      await settle(page);
      const outside = await page.evaluate(() =>
        [...document.querySelectorAll('.bar > *, #counts')]
          .map((part) => [part.id || part.className, part.getBoundingClientRect()])
          .filter(([, { left, right }]) => left < -0.5 || right > innerWidth + 0.5)
          .map(([name]) => name),
      );
      assert.deepEqual(outside, [], `at ${width}`);
      assert.match(await page.innerText('#counts'), /nodes\s*·/, `at ${width}`);
    }
  });
});

test('what was never laid out is not called settled', { skip: !isMock }, async () => {
  await withPage('dataset=two&play=0&test=1', {}, async (page) => {
    await settle(page);
    assert.equal(await page.textContent('#link .word'), 'no layout run');
    assert.match(await page.getAttribute('#link', 'title'), /No layout was run/);
  });
});
