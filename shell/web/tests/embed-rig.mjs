// Pages of another origin that show ours in a frame, for the tests of the embedding clients. `EMBED_URL` is
// the server; without it one is started. `EMBED_DATASET` is what is shown, unless a test says.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { HANG_MS, launch, until } from './page/browser.mjs';
import { binary, freePort, signIn, startServer } from './real-server.mjs';

export const CLIENTS = fileURLToPath(new URL('../../../tests/clients', import.meta.url));
const OUT = join(CLIENTS, 'node_modules/.embed');
const own = process.env.EMBED_URL
  ? null
  : await startServer(binary(), await freePort(), await freePort());
export const BASE = own?.base ?? process.env.EMBED_URL;
/** Requests of somebody who may make datasets. */
export const account = async () => ({
  base: BASE,
  headers: own?.headers ?? (await signIn(BASE, process.env.EMBED_USER, process.env.EMBED_PASSWORD)),
});
const DATASET = process.env.EMBED_DATASET;
const ENTRIES = { js: 'embed-js.mjs', react: 'embed-react.mjs', examples: 'embed-examples.mjs' };
const page = (name) =>
  `<!doctype html><meta charset="utf-8"><title>embeds</title><div id="root"></div>
   <iframe id="viz" width="900" height="600"></iframe><script type="module" src="/${name}.mjs"></script>`;

let server;
let browser;
let here;

before(async () => {
  await build({
    root: CLIENTS,
    configFile: false,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis' },
    build: {
      outDir: OUT,
      emptyOutDir: true,
      minify: false,
      rolldownOptions: {
        input: Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, join(CLIENTS, file)])),
        output: { entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' },
      },
    },
  });
  server = createServer(async (request, answer) => {
    const name = request.url.slice(1);
    const isPage = name in ENTRIES;
    answer.setHeader('Content-Type', isPage ? 'text/html' : 'text/javascript');
    answer.end(isPage ? page(name) : await readFile(join(OUT, name)).catch(() => ''));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  here = `http://127.0.0.1:${server.address().port}`;
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.close();
  own?.child.kill('SIGTERM');
});

let sessions = 0;

/** Opens an embedding page and gives it, and what is in its frame. */
export async function embedding(name, run, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1000, height: 800 } });
  const outer = await context.newPage();
  outer.setDefaultTimeout(HANG_MS);
  await options.before?.(outer);
  const errors = [];
  outer.on('pageerror', (error) => errors.push(String(error)));
  await outer.goto(`${here}/${name}`);
  sessions += 1;
  const dataset = options.dataset ?? DATASET;
  const query = `dataset=${dataset}&session=embed-${process.pid}-${sessions}&play=0&test=1&splashAfter=False`;
  try {
    await run({ outer, address: `${BASE}/graph/graph.html?${query}`, query, errors });
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
  }
}

/** The frame of our page, once its picture is there. */
export async function inner(outer) {
  const find = () => outer.frames().find((frame) => frame.url().includes('graph.html'));
  await until(async () => find() !== undefined);
  await find().waitForFunction(() => window.__viewer?.ready === true);
  return find();
}

/** Connects the JavaScript client to the frame. */
export async function connect(outer, address) {
  await outer.evaluate((url) => {
    const frame = document.getElementById('viz');
    frame.src = url;
    return new Promise((done, fail) => {
      window.api.graphistryJS(frame).subscribe((g) => {
        window.g = g;
        done();
      }, fail);
    });
  }, address);
  return inner(outer);
}

/** Runs functions of the client one after another on the connected picture. */
export const does = (outer, ...steps) =>
  outer.evaluate(async (list) => {
    let last;
    for (const [name, ...args] of list) last = await window.run(name, args);
    return last;
  }, steps);
