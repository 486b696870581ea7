// Messages on the browser's console while the page is used as people use it: none.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from './browser.mjs';
import { EMPTY, GRAPH, SPARSE, isMock, withPage } from './context.mjs';

/** Opens a page, uses it, and answers every message on its console, of whatever kind. */
async function messages(query, use) {
  const said = [];
  const before = (page) => page.on('console', (one) => said.push(`${one.type()}: ${one.text()}`));
  await withPage(`${query}&play=0`, { before }, async (page, { complaints }) => {
    await settle(page);
    await use(page);
    await settle(page);
    // What the device reports comes with the next frame.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100))));
    said.push(...complaints.filter((text) => !said.some((line) => line.endsWith(text))));
  });
  return said;
}

/** Looks around: moves over the picture and turns the wheel. */
async function look(page) {
  const box = await page.locator('#surface').boundingBox();
  const middle = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(middle[0] - 80, middle[1] - 40);
  await page.mouse.move(...middle, { steps: 8 });
  await page.mouse.wheel(0, -300);
  await settle(page);
  await page.mouse.wheel(0, 500);
  await settle(page);
}

async function lasso(page) {
  const box = await page.locator('#surface').boundingBox();
  await page.keyboard.press('l');
  await page.mouse.move(box.x + 300, box.y + 100);
  await page.mouse.down();
  for (const [x, y] of [[700, 100], [700, 400], [300, 400]]) {
    await page.mouse.move(box.x + x, box.y + y, { steps: 3 });
  }
  await page.mouse.up();
  await page.waitForSelector('#selection');
  await page.keyboard.press('Escape');
}

/** Saves the picture as the page draws it. */
async function save(page) {
  await page.click('#export');
  await Promise.all([page.waitForEvent('download'), page.click('#export-save')]);
}

test('an ordinary graph leaves nothing on the console, whatever is done with it', async () => {
  const said = await messages(`dataset=${GRAPH}`, async (page) => {
    await look(page);
    await lasso(page);
    await page.click('.legend li button');
    await settle(page);
    await page.click('#theme');
    await settle(page);
    await page.click('#theme');
    await settle(page);
    await page.setViewportSize({ width: 1100, height: 700 });
    await settle(page);
    await save(page);
    await save(page);
  });
  assert.deepEqual(said, []);
});

test('an empty graph leaves nothing on the console, nor do few nodes', async () => {
  assert.deepEqual(await messages(`dataset=${EMPTY}`, () => undefined), []);
  assert.deepEqual(await messages(`dataset=${SPARSE}&theme=light`, look), []);
  if (isMock) assert.deepEqual(await messages('dataset=one', look), []);
});

test('icons, badges, axes, a map and a background leave nothing', { skip: !isMock }, async () => {
  for (const name of ['path-7-icons', 'path-7-badges', 'path-7-rings', 'path-7-blended', 'GRAPH-backed']) {
    const dataset = name.replace('GRAPH', GRAPH);
    assert.deepEqual(await messages(`dataset=${dataset}`, look), [], dataset);
  }
  const map = async (page) => {
    await look(page);
    await page.click('#theme');
    await settle(page);
    await save(page);
  };
  assert.deepEqual(await messages('dataset=path-7-map', map), []);
});

test('many communities, bundled edges and the third dimension leave nothing', { skip: !isMock }, async () => {
  const bundled = async (page) => {
    await look(page);
    await page.click('#bundle');
    await page.waitForSelector('#bundle[aria-pressed="true"]');
    await settle(page);
    await page.click('#groups');
  };
  assert.deepEqual(await messages('dataset=community-20000-60000', bundled), []);
  const turned = async (page) => {
    await page.click('#space');
    await settle(page);
  };
  assert.deepEqual(await messages('dataset=lattice-4', turned), []);
});
