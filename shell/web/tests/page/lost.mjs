import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GRAPH, isMock, withPage } from './context.mjs';
import { filter, graphOf, settle, until, visible } from './document.mjs';

/** Lets the test see what the page sends, and keep back what the server answers until it cuts the line. */
async function between(page, line) {
  await page.routeWebSocket(/\/viz\/[^/]+\/ws/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((text) => {
      const message = JSON.parse(text);
      if (['do', 'undo', 'redo'].includes(message.t)) line.sent.push(message);
      server.send(text);
    });
    server.onMessage((data) => {
      const message = typeof data === 'string' ? JSON.parse(data) : null;
      if (line.deaf && ['changed', 'done', 'refused', 'history', 'counts'].includes(message?.t)) return;
      socket.send(data);
    });
    line.cut = () => {
      line.deaf = false;
      socket.close({ code: 4000 });
    };
  });
}

test('what was not answered is asked again after a lost connection, once', { skip: !isMock }, async () => {
  const line = { sent: [], deaf: false };
  const options = { before: (page) => between(page, line) };
  await withPage(`dataset=${GRAPH}&play=0&test=1`, options, async (page) => {
    await settle(page);
    const { degree } = await graphOf(page);
    const high = (n) => degree.filter((d) => d > n).length;
    await filter(page, 'degree > 4');
    await visible(page, high(4));
    line.deaf = true;
    await filter(page, 'degree > 8');
    await until(() => line.sent.length === 2);
    line.cut();
    await visible(page, high(8));
    await until(async () => (await page.inputValue('#filter-text')) === '');
    const [first, second, again] = line.sent;
    assert.equal(line.sent.length, 3, 'what was answered is not sent again');
    assert.notEqual(first.id, second.id);
    assert.deepEqual(again, second);
    assert.equal(await page.locator('[data-filter]').count(), 2, 'and it was done once');
    // A step back is not taken twice: the page says that it does not know.
    line.deaf = true;
    await page.click('#undo');
    await until(() => line.sent.length === 4);
    line.cut();
    await page.waitForSelector('#notice');
    assert.match(await page.innerText('#notice'), /before the server answered/);
    assert.equal(line.sent.length, 4);
  });
});
