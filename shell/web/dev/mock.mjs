// A stand-in for the server that speaks the page's protocol: for developing the page and for its tests.
// Usage: node dev/mock.mjs [port]. Datasets are made by name: community-5000-15000 (with -named at its end
// all names come with it, with -backed a background), star-200, path-100, two, one, scripts-12, multi,
// parallel-300, complete-60, tree-300, lattice-4 (edges of their own colour: -green), ropes-200,
// isolated-500, empty, waiting, loading, failed, private, missing.
// With icons, axes or a map, see bound-graphs.mjs.

import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import { WebSocketServer } from 'ws';
import { boundOf, iconFrame } from './bound-graphs.mjs';
import { SharedDocument } from './document.mjs';
import { make } from './graphs.mjs';
import { groupFrame } from './group-frame.mjs';
import { depthFrame } from './lattice.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const DIST = join(HERE, '..', 'dist');
const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
};
const CSP =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'";
const FRAME_MS = 100;
const KEY_EVERY = 9;

function header(kind, { flags = 0, epoch = 1, seq = 0, base = 0, count = 0, bounds = [0, 0, 0, 0] }) {
  const bytes = Buffer.alloc(48);
  bytes.writeUInt32LE(0x315a5647, 0);
  bytes.writeUInt8(1, 4);
  bytes.writeUInt8(kind, 5);
  bytes.writeUInt16LE(flags, 6);
  bytes.writeUInt32LE(epoch, 8);
  bytes.writeUInt32LE(seq, 12);
  bytes.writeUInt32LE(base, 16);
  bytes.writeUInt32LE(count, 24);
  bytes.writeUInt32LE(1, 28);
  bounds.forEach((value, at) => bytes.writeFloatLE(value, 32 + 4 * at));
  return bytes;
}

function raw(view) {
  return Buffer.from(view.buffer, view.byteOffset, view.byteLength);
}

/** One session: a layout that eases from a start to a goal, with its viewers. */
class Session {
  constructor(id, dataset, play) {
    this.id = id;
    this.graph = make(dataset);
    this.bound = boundOf(dataset, this.graph.n, this.graph.m);
    this.seq = 0;
    this.iterations = 0;
    this.viewers = new Set();
    this.pins = new Map();
    this.key = null;
    this.runMs = play ?? 5000;
    this.t = this.runMs === 0 ? 1 : 0;
    this.playing = this.runMs > 0 && this.graph.n > 0;
    this.xy = new Float64Array(2 * this.graph.n);
    this.compute();
    this.encodeKey();
    this.document = new SharedDocument(this, header);
    this.timer = setInterval(() => this.tick(), FRAME_MS);
  }

  leave(viewer) {
    this.viewers.delete(viewer);
  }

  get state() {
    if (this.playing) return 'running';
    return this.t >= 1 ? 'settled' : 'paused';
  }

  /** What messages say of the layout, whether they tell of a graph or of a change. */
  get layout() {
    const { state, playing, iterations } = this;
    const still = { settings: {}, placed_by: '', placements: 0, depths: this.graph.z ? 1 : 0 };
    return { state, playing, iterations, displaced: iterations > 0, ...still };
  }

  compute() {
    const { goal, start, n } = this.graph;
    const k = 1 - (1 - this.t) ** 3;
    for (let i = 0; i < 2 * n; i += 1) this.xy[i] = start[i] + (goal[i] - start[i]) * k;
    for (const [i, [x, y]] of this.pins) {
      this.xy[2 * i] = x;
      this.xy[2 * i + 1] = y;
    }
  }

  bounds() {
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i < this.xy.length; i += 2) {
      x0 = Math.min(x0, this.xy[i]);
      x1 = Math.max(x1, this.xy[i]);
      y0 = Math.min(y0, this.xy[i + 1]);
      y1 = Math.max(y1, this.xy[i + 1]);
    }
    if (!(x1 >= x0)) return [0, 0, 1, 1];
    const [w, h] = [Math.max(1e-6, x1 - x0), Math.max(1e-6, y1 - y0)];
    return [x0 - 0.05 * w, y0 - 0.05 * h, (1.1 * w) / 65534, (1.1 * h) / 65534];
  }

  flags() {
    return (this.playing ? 2 : 0) | (this.state === 'settled' ? 4 : 0);
  }

  encodeKey() {
    const bounds = this.bounds().map(Math.fround);
    const q = new Uint16Array(this.xy.length);
    for (let i = 0; i < q.length; i += 1) {
      q[i] = Math.max(
        0,
        Math.min(65534, Math.round((this.xy[i] - bounds[i & 1]) / bounds[2 + (i & 1)])),
      );
    }
    this.seq += 1;
    this.key = { seq: this.seq, q, bounds };
    const head = header(1, { flags: this.flags(), seq: this.seq, count: q.length / 2, bounds });
    this.keyFrame = Buffer.concat([head, raw(q)]);
    this.frame = this.keyFrame;
  }

  encodeDelta() {
    const { q, bounds, seq } = this.key;
    const n = q.length / 2;
    const moved = new Float64Array(2 * n);
    let far = 0;
    for (let i = 0; i < 2 * n; i += 1) {
      moved[i] = (this.xy[i] - bounds[i & 1]) / bounds[2 + (i & 1)];
      if (!(moved[i] >= 0 && moved[i] <= 65534)) return false;
      far = Math.max(far, Math.abs(moved[i] - q[i]));
    }
    const step = Math.max(far / 127, 1e-3);
    const body = Buffer.alloc(8 + 2 * n);
    body.writeFloatLE(step, 0);
    for (let i = 0; i < n; i += 1) {
      body.writeInt8(Math.round((moved[2 * i] - q[2 * i]) / step), 8 + i);
      body.writeInt8(Math.round((moved[2 * i + 1] - q[2 * i + 1]) / step), 8 + n + i);
    }
    this.seq += 1;
    const packed = deflateRawSync(body, { level: 1 });
    const head = header(2, { flags: this.flags() | 1, seq: this.seq, base: seq, count: n, bounds });
    this.frame = Buffer.concat([head, packed]);
    return true;
  }

  tick() {
    if (!this.playing || this.viewers.size === 0) return;
    this.t = Math.min(1, this.t + FRAME_MS / Math.max(1, this.runMs));
    this.iterations += 4;
    if (this.t >= 1) this.playing = false;
    this.publish();
    if (!this.playing || this.seq % 5 === 0) this.tell();
  }

  publish() {
    this.compute();
    if (this.seq - this.key.seq >= KEY_EVERY || !this.playing || !this.encodeDelta()) this.encodeKey();
    for (const viewer of this.viewers) viewer.offer();
  }

  tell() {
    const rate = this.playing ? 42.3 : 0;
    for (const viewer of this.viewers) {
      viewer.say({
        t: 'state',
        ...this.layout,
        detail: '',
        iterations_per_s: rate,
        viewers: this.viewers.size,
        backend: 'cpu',
        backend_reason: '',
      });
    }
  }

  graphMessage() {
    const { graph } = this;
    return {
      t: 'graph',
      epoch: 1,
      name: graph.id,
      description: `The mock graph ${graph.id}`,
      node_count: graph.n,
      edge_count: graph.m,
      node_columns: [],
      edge_columns: [],
      legend: this.bound?.legend ?? graph.legend ?? {},
      metadata: this.bound?.metadata ?? graph.metadata ?? {},
      underlay: this.bound?.underlay ?? { axes: [], map: null },
      edges_named: this.bound?.edgesNamed === true,
      layout: this.layout,
      has_positions: false,
      notices: [],
      has_edge_colors: false,
    };
  }

  scene() {
    const { graph } = this;
    const axis = Buffer.alloc(16);
    const labels = graph.labels.map(({ index, text }) => {
      const word = Buffer.from(text);
      const entry = Buffer.alloc(6);
      entry.writeUInt32LE(index, 0);
      entry.writeUInt16LE(word.length, 4);
      return Buffer.concat([entry, word]);
    });
    const frames = [
      Buffer.concat([header(17, { count: graph.n }), axis, raw(graph.color)]),
      Buffer.concat([header(18, { count: graph.n }), axis, raw(graph.size)]),
      Buffer.concat([header(19, { count: graph.labels.length }), ...labels]),
    ];
    if (graph.edgeColor) {
      const edges = Buffer.alloc(16);
      edges.writeUInt8(1, 0);
      frames.push(Buffer.concat([header(17, { count: graph.m }), edges, raw(graph.edgeColor)]));
    }
    const { colors, edgeColors, widths } = this.bound ?? {};
    const edges = Buffer.alloc(16);
    edges.writeUInt8(1, 0);
    if (colors) frames.push(Buffer.concat([header(17, { count: graph.n }), axis, Buffer.from(colors)]));
    if (edgeColors) {
      const head = header(17, { count: edgeColors.length / 4 });
      frames.push(Buffer.concat([head, edges, Buffer.from(edgeColors)]));
    }
    if (widths) {
      frames.push(Buffer.concat([header(18, { count: graph.m }), edges, Buffer.from(widths)]));
    }
    for (const layer of this.bound?.icons ?? []) frames.push(iconFrame(header, layer));
    return frames;
  }
}

/** One page on a session: at most two frames that it has not acknowledged. */
class Viewer {
  constructor(socket, session) {
    this.socket = socket;
    this.session = session;
    this.id = Math.random().toString(36).slice(2);
    this.unacked = 0;
    this.sent = 0;
    this.keySent = 0;
  }

  say(message) {
    this.socket.send(JSON.stringify(message));
  }

  offer() {
    const { session } = this;
    if (this.unacked >= 2 || session.seq <= this.sent) return;
    // A delta is of use only to those who have its keyframe.
    if (session.frame !== session.keyFrame && this.keySent !== session.key.seq)
      this.socket.send(session.keyFrame);
    this.keySent = session.key.seq;
    this.sent = session.seq;
    this.unacked += 1;
    this.socket.send(session.frame);
  }

  join() {
    const { session } = this;
    session.viewers.add(this);
    this.say(session.graphMessage());
    this.offer();
    for (const frame of session.scene()) this.socket.send(frame);
    if (session.graph.n > 0) session.document.join(this);
    session.tell();
  }

  hear(message) {
    const { session } = this;
    if (message.t === 'ack') {
      this.unacked = Math.max(0, this.unacked - 1);
      this.offer();
    } else if (message.t === 'play') {
      session.playing = message.on;
      if (message.on && session.t >= 1) session.t = 0.6;
      session.publish();
      session.tell();
    } else if (message.t === 'pin' || message.t === 'unpin') {
      if (message.t === 'pin') session.pins.set(message.index, [message.x, message.y]);
      else session.pins.delete(message.index);
      session.publish();
    } else if (message.t === 'do' || message.t === 'undo' || message.t === 'redo') {
      session.document.hear(this, message);
    }
  }
}

const DOCUMENT = new Set(['columns', 'bins', 'find', 'export', 'dataset']);
const sessions = new Map();

function parse(url) {
  const at = new URL(url, 'http://mock');
  return { path: at.pathname, query: at.searchParams };
}

function sessionOf(id, dataset, play) {
  if (!sessions.has(id)) sessions.set(id, new Session(id, dataset, play));
  return sessions.get(id);
}

function json(response, status, body) {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

async function page(path, response) {
  const name = path === '/graph/graph.html' ? 'graph.html' : normalize(path.slice('/graph/'.length));
  if (name.startsWith('..')) return response.writeHead(404).end();
  try {
    const bytes = await readFile(join(DIST, name));
    response.writeHead(200, {
      'Content-Type': TYPES[extname(name)] ?? 'application/octet-stream',
      'Content-Security-Policy': CSP,
    });
    return response.end(bytes);
  } catch {
    return response.writeHead(404).end('The page is not built.');
  }
}

function edges(session, range, response) {
  const bytes = raw(session.graph.edges);
  const match = /^bytes=(\d+)-(\d+)$/.exec(range ?? '');
  if (!match) return response.writeHead(200).end(bytes);
  const [from, to] = [Number(match[1]), Math.min(bytes.length - 1, Number(match[2]))];
  response.writeHead(206, { 'Content-Range': `bytes ${from}-${to}/${bytes.length}` });
  return response.end(bytes.subarray(from, to + 1));
}

function node(session, index, response) {
  const { graph } = session;
  const valueOf = (name) => session.document.columns.find((column) => column.name === name).values[index];
  json(response, 200, {
    title: `entity ${index}`,
    id: index,
    degree: graph.degree[index],
    degree_in: 0,
    degree_out: 0,
    properties: [
      { name: 'type', value: valueOf('type') },
      { name: 'community', value: graph.group[index] },
      { name: 'amount', value: 18204.5 + index },
      { name: 'first seen', value: new Date(valueOf('first seen')).toISOString() },
      { name: 'risk', value: null },
      { name: 'profile', value: `https://example.org/entities/${index}` },
    ],
  });
}

function hello(session, dataset, state, detail = '') {
  const facts = { build: 'mock', user: '', notices: [], framed: false };
  return { t: 'hello', protocol_min: 1, protocol_max: 1, ...facts, session, dataset, state, detail };
}

/** What a socket tells before its frames. */
function described(session, response) {
  const messages = [hello(session.id, session.graph.id, session.state), session.graphMessage()];
  json(response, 200, { messages, scene_frames: session.scene().length });
}

/** What waits behind the splash; of a private graph nothing is said. */
function about(dataset, response) {
  if (dataset === 'private') return json(response, 404, { message: 'No dataset has this id.' });
  const { id, n, m } = make(dataset);
  const description = `The mock graph ${id}`;
  return json(response, 200, { name: id, description, node_count: n, edge_count: m });
}

function search(session, text, response) {
  const wanted = text.toLowerCase();
  const results = session.graph.labels
    .filter((label) => label.text.includes(wanted))
    .sort((a, b) => Number(b.text === wanted) - Number(a.text === wanted))
    .slice(0, 20)
    .map(({ index, text: label }) => ({ index, label, id: String(index) }));
  json(response, 200, { results });
}

let signedIn = false;

function login(request, response) {
  let text = '';
  request.on('data', (piece) => (text += piece));
  request.on('end', () => {
    const { username, password } = JSON.parse(text);
    signedIn = username === 'ana' && password === 'secret';
    if (signedIn) json(response, 200, { token: 'mock' });
    else json(response, 400, { non_field_errors: ['Unable to log in with provided credentials.'] });
  });
}

const server = createServer((request, response) => {
  const { path, query } = parse(request.url);
  if (path === '/graph/graph.html' && !query.has('session') && query.has('dataset')) {
    const id = Math.random().toString(36).slice(2, 10);
    return response.writeHead(302, { Location: `${request.url}&session=${id}` }).end();
  }
  if (path === '/graph/graph.html') {
    const play = query.get('play');
    if (play !== null && !Number.isNaN(Number(play))) plays.set(query.get('session'), Number(play));
  }
  if (path === '/favicon.ico') return response.writeHead(204).end();
  if (path.startsWith('/graph/')) return page(path, response);
  if (path === '/api/v2/auth/token/generate') return login(request, response);
  const match = /^\/viz\/([^/]+)\/(.*)$/.exec(path);
  if (match?.[2] === 'about') return about(query.get('dataset') ?? '', response);
  // A page that gets no websocket through begins its session with a poll.
  if (match?.[2] === 'frame' || match?.[2] === 'graph')
    sessionOf(match[1], query.get('dataset') ?? '', plays.get(match[1]));
  const session = match && sessions.get(match[1]);
  if (!session) return json(response, 404, { message: 'There is no such session.' });
  const [head, tail] = match[2].split('/');
  if (tail === 'groups.bin') return response.writeHead(200).end(groupFrame(session.graph, header));
  if (tail === 'depth.bin') return response.writeHead(200).end(depthFrame(session.graph, header));
  if (tail === 'edges.bin') return edges(session, request.headers.range, response);
  if (head === 'graph') return described(session, response);
  if (head === 'scene') return response.writeHead(200).end(session.scene()[Number(tail)]);
  if (head === 'node') return node(session, Number(tail), response);
  if (head === 'names') {
    const each = (key, name) => (query.get(key) ?? '').split(',').filter((i) => i !== '').map(name);
    const names = each('nodes', (i) => `entity ${i}`);
    const edges = each('edges', (i) => `way ${i}`);
    return json(response, 200, { names, edges });
  }
  if (head === 'search') return search(session, query.get('q') ?? '', response);
  if (DOCUMENT.has(head)) {
    return session.document.route(head, request, query, (status, body) => {
      if (typeof body === 'string') response.writeHead(status, { 'Content-Type': 'text/csv' }).end(body);
      else json(response, status, body);
    });
  }
  if (head === 'frame') return response.writeHead(200).end(session.keyFrame);
  return json(response, 404, { message: 'There is no such route.' });
});

const plays = new Map();
const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'graph-viz.v1' });

/** Datasets that never become a picture. */
function special(socket, dataset) {
  const greet = (state, detail) => socket.send(JSON.stringify(hello('s', dataset, state, detail)));
  if (dataset === 'missing') socket.close(4404, 'No dataset has this id.');
  else if (dataset === 'private' && !signedIn)
    socket.close(4401, 'This graph is shared with members of acme.');
  else if (dataset === 'ended') socket.close(4410, '');
  else if (dataset === 'loading') greet('loading', 'Reading edges: 1,204,112 rows');
  else if (dataset === 'waiting') greet('waiting');
  else if (dataset === 'failed')
    greet('failed', 'Column "dst" of the edge table holds lists; bind a column of numbers or text.');
  else return false;
  return true;
}

server.on('upgrade', (request, raw_, head) => {
  const { path, query } = parse(request.url);
  const match = /^\/viz\/([^/]+)\/ws$/.exec(path);
  if (!match) return raw_.destroy();
  sockets.handleUpgrade(request, raw_, head, (socket) => {
    const dataset = query.get('dataset') ?? '';
    if (special(socket, dataset)) return;
    const session = sessionOf(
      match[1],
      dataset === 'private' ? 'community-500-1500' : dataset,
      plays.get(match[1]),
    );
    const viewer = new Viewer(socket, session);
    const { steers } = session.document.part(viewer);
    viewer.say({ ...hello(session.id, dataset, session.state), viewer: viewer.id, steers, key: null });
    viewer.join();
    socket.on('message', (text) => viewer.hear(JSON.parse(String(text))));
    socket.on('close', () => session.leave(viewer));
  });
});

const port = Number(process.argv[2] ?? 8787);
server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
