// Measures the page and other libraries in the same browser, on the same graphs; one line of JSON a browser.
// What is in the file already is not measured again, so that it can be run in slices.
//
// Usage: GRAPHLUME_BIN=<server> node bench/peers/run.mjs <lines.jsonl> [--sizes 20k,100k,1m]
//        [--libraries graphlume,sigma,cosmos,cytoscape] [--repeats 3] [--slices <browsers in this run>]
//        [--shots <folder>]

import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, PEERS, versions } from './bundles.mjs';
import { makeGraph, packGraph, SIZES } from './graph.mjs';
import { measure } from './measure.mjs';
import { startServer, upload } from './ours.mjs';

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sizes: { type: 'string', default: '20k,100k,1m' },
    libraries: { type: 'string', default: ['graphlume', ...PEERS].join() },
    repeats: { type: 'string', default: '3' },
    slices: { type: 'string', default: '1000' },
    port: { type: 'string', default: '8993' },
    shots: { type: 'string' },
  },
});
const [file] = positionals;
if (!file) throw new Error('name the file that the lines go to');

const folder = mkdtempSync(join(tmpdir(), 'peers-pages-'));
const sizes = await bundle(folder);
const graphs = new Map();
const graphOf = (size) => {
  if (!graphs.has(size)) graphs.set(size, makeGraph(SIZES[size]));
  return graphs.get(size);
};

/** The pages of the other libraries and their graphs. */
const pages = createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  const graph = /^\/graph-(\w+)\.bin$/.exec(pathname);
  const path = join(folder, pathname);
  if (graph) response.end(packGraph(graphOf(graph[1])));
  else if (existsSync(path)) {
    const type = path.endsWith('.js') ? 'text/javascript' : 'text/html';
    response.writeHead(200, { 'content-type': type }).end(readFileSync(path));
  } else response.writeHead(404).end();
});
await new Promise((done) => pages.listen(0, '127.0.0.1', done));
const peersAt = `http://127.0.0.1:${pages.address().port}`;

const done = existsSync(file)
  ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean).map((line) => JSON.parse(line))
  : [];
const isDone = (size, library, repeat) =>
  done.some((row) => row.size === size && row.library === library && row.repeat === repeat);
const libraries = given.libraries.split(',');
if (given.shots) mkdirSync(given.shots, { recursive: true });
writeFileSync(`${file}.about.json`, JSON.stringify({ bundles: sizes, versions: versions() }, null, 1));

let server = null;
let left = Number(given.slices);
try {
  for (const size of given.sizes.split(',')) {
    // The libraries take turns, so that a busy minute of the machine is shared.
    for (let repeat = 0; repeat < Number(given.repeats); repeat += 1) {
      for (const library of libraries) {
        if (left === 0 || isDone(size, library, repeat)) continue;
        left -= 1;
        let address = `${peersAt}/${library}.html?size=${size}`;
        if (library === 'graphlume') {
          server ??= await startServer(process.env.GRAPHLUME_BIN, Number(given.port));
          if (!server.datasets.has(size)) {
            server.datasets.set(size, await upload(server, size, graphOf(size)));
          }
          address = server.datasets.get(size);
        }
        const shot = given.shots ? join(given.shots, `${library}-${size}.png`) : null;
        const graph = graphOf(size);
        const counts = SIZES[size];
        const found = await measure({ library, address, counts, graph, headers: server?.headers, shot });
        const load = loadavg()[0];
        const row = { size, library, repeat, date: new Date().toISOString(), load, ...found };
        appendFileSync(file, `${JSON.stringify(row)}\n`);
        console.log(JSON.stringify(row));
      }
    }
  }
} finally {
  server?.child.kill('SIGTERM');
  pages.close();
}
