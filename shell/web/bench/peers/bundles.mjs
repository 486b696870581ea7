// One bundle for each library, by the bundler of the page, and its compressed size.

import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

export const PEERS = ['sigma', 'cosmos', 'cytoscape'];
const here = fileURLToPath(new URL('.', import.meta.url));
const page = fileURLToPath(new URL('../../', import.meta.url));
const packed = (bytes) => gzipSync(bytes, { level: 9 }).length;

/** Writes a page for each library into a folder; answers the compressed bytes of its script. */
export async function bundle(folder) {
  if (!existsSync(join(here, 'node_modules'))) throw new Error(`first: npm ci --prefix ${here}`);
  const sizes = {};
  for (const name of PEERS) {
    const { output } = await build({
      root: here,
      configFile: false,
      // The script that this package names first exports nothing.
      resolve: { alias: { 'gl-bench': join(here, 'node_modules/gl-bench/dist/gl-bench.module.js') } },
      logLevel: 'warn',
      build: {
        write: false,
        target: 'es2022',
        modulePreload: false,
        rolldownOptions: { input: join(here, 'pages', `${name}.js`), output: { codeSplitting: false } },
      },
    }).then((made) => (Array.isArray(made) ? made[0] : made));
    const code = output.filter((part) => part.type === 'chunk').map((part) => part.code).join('\n');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.js`), code);
    writeFileSync(
      join(folder, `${name}.html`),
      `<!doctype html><meta charset="utf-8"><title>${name}</title>
<style>html,body,#stage{margin:0;height:100%;background:#0b0d12;overflow:hidden}</style>
<div id="stage"></div><script type="module" src="./${name}.js"></script>`,
    );
    sizes[name] = { start: packed(code), all: packed(code) };
  }
  const assets = join(page, 'dist', 'assets');
  const html = readFileSync(join(page, 'dist', 'graph.html'), 'utf8');
  const scripts = readdirSync(assets).filter((name) => name.endsWith('.js'));
  const sum = (names) => names.reduce((total, name) => total + packed(readFileSync(join(assets, name))), 0);
  sizes.graphlume = { start: sum(scripts.filter((name) => html.includes(name))), all: sum(scripts) };
  return sizes;
}

/** Versions of the libraries as installed. */
export function versions() {
  const read = (name) => readFileSync(join(here, 'node_modules', name, 'package.json'), 'utf8');
  const of = (name) => JSON.parse(read(name)).version;
  return { sigma: of('sigma'), cosmos: of('@cosmos.gl/graph'), cytoscape: of('cytoscape') };
}
