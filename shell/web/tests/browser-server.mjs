// A browser that the scripts of a test run share: starts Chromium, prints the address for `BROWSER_WS`, and
// ends it when standard input ends.

import { chromium } from 'playwright-core';
import { START } from './page/browser.mjs';

const server = await chromium.launchServer({ ...START, host: '127.0.0.1' });
console.log(server.wsEndpoint());
for await (const _ of process.stdin);
await server.close();
