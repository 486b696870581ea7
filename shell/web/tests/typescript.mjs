// Modules of the page's sources for tests that run as they are.

import { fileURLToPath } from 'node:url';
import { build } from 'vite';

/** What a module below `src` exports. */
export async function load(path) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const { output } = await build({
    root,
    configFile: false,
    logLevel: 'error',
    build: { ssr: true, write: false, minify: false, rolldownOptions: { input: `src/${path}` } },
  });
  const [{ code }] = output;
  return import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`);
}
