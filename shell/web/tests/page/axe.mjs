import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { GRAPH, withPage } from './context.mjs';
import { settle, until } from './document.mjs';

const FILE = new URL('../../node_modules/axe-core/axe.min.js', import.meta.url);
const AXE = readFileSync(fileURLToPath(FILE), 'utf8');

/** What axe finds serious in the page as it stands. */
async function serious(page) {
  // Evaluated by the debugger: the page's own policy lets no other script in.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run(document));
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`);
}

for (const theme of ['dark', 'light']) {
  test(`axe finds nothing serious, with every panel open and nodes selected: ${theme}`, async () => {
    const size = { width: 1400, height: 900 };
    await withPage(`dataset=${GRAPH}&play=0&test=1&theme=${theme}`, size, async (page) => {
      await settle(page);
      assert.deepEqual(await serious(page), []);
      await page.click('#export');
      await page.waitForSelector('#export-dialog');
      assert.deepEqual(await serious(page), []);
      await page.click('#export-cancel');
      for (const panel of ['filters', 'collections', 'histograms']) await page.click(`#open-${panel}`);
      await page.locator('#surface').focus();
      await page.keyboard.press('Control+a');
      await until(async () => (await page.locator('#selection').count()) === 1);
      await settle(page);
      assert.deepEqual(await serious(page), []);
    });
  });
}
