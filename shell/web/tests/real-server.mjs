// A real server for what drives the page without pytest, and plain requests to one.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PASSWORD = 'measured';

/** The server's binary: the one that `GRAPHLUME_BIN` names, or that of this checkout's build folder. */
export function binary() {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const ask = ['-c', '. scripts/lib.sh; printf %s "$BIN"'];
  const own = () => spawnSync('bash', ask, { cwd: root, encoding: 'utf8' }).stdout;
  const path = process.env.GRAPHLUME_BIN ?? own();
  if (existsSync(path)) return path;
  throw new Error(`there is no server at ${path}: build it, or name one by GRAPHLUME_BIN`);
}

/** A port that nobody listens on. */
export function freePort() {
  return new Promise((done) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

/** A server of its own on a fresh folder. */
export async function startServer(path, port, internal = port + 1) {
  const folder = mkdtempSync(join(tmpdir(), 'graphlume-server-'));
  const log = openSync(join(folder, 'log'), 'a');
  const listen = ['--listen', `127.0.0.1:${port}`, '--internal-listen', `127.0.0.1:${internal}`];
  const child = spawn(path, ['serve', '--data', join(folder, 'data'), ...listen], {
    env: { ...process.env, GRAPHLUME_ADMIN_PASSWORD: PASSWORD },
    stdio: ['ignore', log, log],
  });
  const base = `http://127.0.0.1:${port}`;
  for (let tries = 0; ; tries += 1) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${folder}/log`);
    if (await fetch(`${base}/healthz`).then((r) => r.ok, () => false)) break;
    if (tries === 600) throw new Error('the server did not come up in 60 s');
    await new Promise((done) => setTimeout(done, 100));
  }
  return { base, child, headers: await signIn(base, 'admin', PASSWORD), datasets: new Map() };
}

/** What requests of an account carry. */
export async function signIn(base, username, password) {
  const { token } = await post(`${base}/api-token-auth/`, { body: { username, password } });
  return { Authorization: `Bearer ${token}` };
}

export async function post(address, { body, headers = {} }) {
  const raw = Buffer.isBuffer(body);
  const type = raw ? {} : { 'content-type': 'application/json' };
  const answer = await fetch(address, {
    method: 'POST',
    headers: { ...headers, ...type },
    body: raw ? body : JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${address}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

/** Makes a dataset of two tables in CSV, with `complex` encodings of its nodes; answers its id. */
export async function upload({ base, headers }, name, { nodes, edges, bindings, complex }) {
  const file = async (data) => {
    const { file_id } = await post(`${base}/api/v2/files/`, { headers, body: { file_type: 'csv' } });
    await post(`${base}/api/v2/upload/files/${file_id}`, { headers, body: Buffer.from(data) });
    return file_id;
  };
  const body = {
    name,
    node_encodings: {
      bindings: { node: 'id', node_x: 'x', node_y: 'y', ...bindings },
      ...(complex && { complex: { default: complex } }),
    },
    edge_encodings: { bindings: { source: 's', destination: 'd' } },
    metadata: {},
    node_files: [await file(nodes)],
    edge_files: [await file(edges)],
  };
  const { data } = await post(`${base}/api/v2/upload/datasets/`, { headers, body });
  return data.dataset_id;
}
