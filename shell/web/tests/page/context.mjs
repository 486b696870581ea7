// Context that the page tests share: one browser, the server under test and the datasets to open there.
//
// Without `PAGE_URL` the mock server is started. Against a real server name its datasets in `PAGE_GRAPH`
// (a community graph of some thousand nodes), `PAGE_SPARSE` (a tree of some hundred), `PAGE_PARALLEL`
// (hundreds of edges from one node to each of two others), `PAGE_LARGE` (a community graph of many thousand
// nodes) and `PAGE_EMPTY`.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { HANG_MS, OF_WEBGL, launch, open } from './browser.mjs';

export const isMock = !process.env.PAGE_URL;
export const GRAPH = process.env.PAGE_GRAPH ?? 'community-2000-6000';
export const SPARSE = process.env.PAGE_SPARSE ?? 'tree-90';
export const PARALLEL = process.env.PAGE_PARALLEL ?? 'parallel-300';
export const EMPTY = process.env.PAGE_EMPTY ?? 'empty';
/** More nodes than names come with a graph; the mock server has none. */
export const LARGE = process.env.PAGE_LARGE;

const shared = { browser: null, base: process.env.PAGE_URL ?? '', server: null };
let sessions = 0;

before(async () => {
  if (isMock) {
    const script = fileURLToPath(new URL('../../dev/mock.mjs', import.meta.url));
    shared.server = spawn(process.execPath, [script, '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(shared.server.stdout, 'data');
    shared.base = String(line).trim();
  }
  shared.browser = await launch();
});

after(async () => {
  await shared.browser?.close();
  shared.server?.kill();
});

/** A session name that no other test uses. */
export function newSession() {
  sessions += 1;
  return `page-${process.pid}-${sessions}`;
}

/** Opens the page, runs the test on it and closes it, whatever happens. WebGL may have nothing to report. */
export async function withPage(query, options, run) {
  const opened = await open(shared.browser, shared.base, `${query}&splashAfter=False`, options);
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error('the page did not answer in time')), HANG_MS);
  });
  try {
    const result = await Promise.race([run(opened.page, opened), late]);
    assert.deepEqual(opened.complaints.filter((text) => OF_WEBGL.test(text)), []);
    return result;
  } finally {
    clearTimeout(timer);
    await opened.context.close();
  }
}
