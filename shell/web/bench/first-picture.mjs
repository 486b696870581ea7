// How soon a page on a slow link shows a graph: node bench/first-picture.mjs ADDRESS [MBIT]. All bytes from the server
// pass a proxy that lets so many million bits a second through (10 without). Prints one line of JSON: seconds from the
// navigation to the first draw of nodes that have places, to all positions, colours and edges, and to rest.

import { connect, createServer } from 'node:net';
import { launch } from '../tests/page/browser.mjs';

const [address, mbit = '10'] = process.argv.slice(2);
const to = new URL(address);
/** How often bytes are let through, how many a millisecond, and for how long they are saved up at most. */
const TICK_MS = 5;
const BYTES_A_MS = (Number(mbit) * 1e6) / 8000;
const SAVED_MS = 100;

/** A proxy whose connections share a link: those that have something to send take turns. */
function throttle() {
  const links = new Set();
  let [left, at] = [0, performance.now()];
  const send = (link, most) => {
    const piece = link.waiting[0].subarray(0, Math.ceil(most));
    link.waiting[0] = link.waiting[0].subarray(piece.length);
    if (link.waiting[0].length === 0) link.waiting.shift();
    left -= piece.length;
    link.held -= piece.length;
    link.down.write(piece);
    if (link.held < 131_072) link.up.resume();
  };
  setInterval(() => {
    const now = performance.now();
    left = Math.min(SAVED_MS * BYTES_A_MS, left + (now - at) * BYTES_A_MS);
    at = now;
    for (;;) {
      const busy = [...links].filter(({ waiting }) => waiting.length > 0);
      if (busy.length === 0 || left < 1) return;
      const share = Math.min(1448, left / busy.length);
      for (const link of busy) if (link.waiting.length > 0) send(link, share);
    }
  }, TICK_MS).unref();
  return createServer((down) => {
    const up = connect(Number(to.port), to.hostname);
    const link = { down, up, waiting: [], held: 0 };
    links.add(link);
    down.pipe(up);
    up.on('data', (bytes) => {
      link.waiting.push(bytes);
      link.held += bytes.length;
      if (link.held > 262_144) up.pause();
    });
    const end = () => (links.delete(link), down.destroy(), up.destroy());
    for (const side of [down, up]) side.on('close', end).on('error', end);
  });
}

/** In the page: when frames come, and when nodes are first drawn. */
function watch() {
  const seen = (window.__seen = { kinds: {}, drawn: null });
  const draw = WebGL2RenderingContext.prototype.drawElements;
  WebGL2RenderingContext.prototype.drawElements = function (mode, count, ...rest) {
    // What is drawn before positions have come has no place.
    if (mode === this.POINTS && count > 0 && (seen.kinds[1] || seen.kinds[3])) seen.drawn ??= performance.now();
    return draw.call(this, mode, count, ...rest);
  };
  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...args) {
      super(...args);
      this.addEventListener('message', ({ data }) => {
        if (!(data instanceof ArrayBuffer)) return;
        const kind = new Uint8Array(data)[5];
        const known = (seen.kinds[kind] ??= { first: performance.now(), bytes: 0, frames: 0 });
        known.last = performance.now();
        known.bytes += data.byteLength;
        known.frames += 1;
      });
    }
  };
}

const proxy = throttle();
await new Promise((done) => proxy.listen(0, '127.0.0.1', done));
const here = `http://127.0.0.1:${proxy.address().port}`;
const browser = await launch();
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
page.setDefaultTimeout(600_000);
await page.addInitScript(watch);
await page.goto(`${here}${to.pathname}${to.search}`);
await page.waitForFunction(() => window.__seen.drawn !== null);
const first = await page.evaluate(() => window.__seen.drawn);
await page.waitForFunction(() => {
  const v = window.__viewer;
  return v?.ready && v.counts.edgesLoaded === v.counts.edges;
});
const edges = await page.evaluate(() => performance.now());
await page.evaluate(() => window.__viewer.settle());
const rest = await page.evaluate(() => performance.now());
const seconds = (ms) => Math.round(ms / 10) / 100;
const { kinds } = await page.evaluate(() => window.__seen);
const of = (kind) => {
  const { last, bytes, frames } = kinds[kind] ?? { last: NaN, bytes: 0, frames: 0 };
  return { s: seconds(last), bytes, frames };
};
console.log(JSON.stringify({
  mbit: Number(mbit), first: seconds(first), positions: of(1), colors: of(17), sizes: of(18), labels: of(19),
  edges: seconds(edges), rest: seconds(rest),
}));
await browser.close();
proxy.close();
process.exit(0);
