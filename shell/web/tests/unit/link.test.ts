import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isPosition } from '../../src/net/frames.ts';
import type { Told } from '../../src/net/messages.ts';
import type { ToPage, ToServer } from '../../src/net/page-messages.ts';
import { SessionLink, type LinkState } from '../../src/net/session.ts';
import { toPage } from './page-messages.samples.ts';

const key = readFileSync('tests/fixtures/pos_key.bin');
const header = (JSON.parse(readFileSync('tests/fixtures/frames.json', 'utf8')) as {
  pos_key: { header: { epoch: number; seq: number; count: number } };
}).pos_key.header;
const EDGES = 7;
const BASE = new URL('http://graph.test/viz/s1/');

/** Sockets that open or break when the test says so. */
class FakeSocket {
  static readonly OPEN = 1;
  static all: FakeSocket[] = [];
  readyState = 0;
  readonly sent: ToServer[] = [];
  onopen: () => void = () => undefined;
  onmessage: (event: { data: unknown }) => void = () => undefined;
  onclose: (event: { code: number; reason: string }) => void = () => undefined;

  constructor() {
    FakeSocket.all.push(this);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text) as ToServer);
  }

  close(): void {
    this.readyState = 3;
  }

  opens(): void {
    this.readyState = FakeSocket.OPEN;
    this.onopen();
  }
}

type Answer = (url: URL, range: string | null) => Response | Promise<Response>;

/** A link whose page keeps what it is told, on a network that the test makes up. */
function visit(answer: Answer) {
  const asked: string[] = [];
  FakeSocket.all = [];
  Object.assign(globalThis, {
    WebSocket: FakeSocket,
    document: { hidden: false },
    fetch: (url: URL, init?: { headers?: Record<string, string> }) => {
      asked.push(url.pathname + url.search);
      return Promise.resolve(answer(url, init?.headers?.Range ?? null));
    },
  });
  const seen = {
    texts: [] as ToPage[],
    frames: 0,
    kinds: [] as number[],
    states: [] as LinkState[],
    ended: null as [number, string] | null,
  };
  let at: { epoch: number; seq: number } | null = null;
  let wake: () => void = () => undefined;
  const link = new SessionLink(BASE, 'd1', {
    text: (message) => {
      seen.texts.push(message);
      // What is known of the same graph stays.
      if (message.t === 'graph' && at?.epoch !== message.epoch) at = { epoch: message.epoch, seq: 0 };
      wake();
    },
    frame: (frame) => {
      seen.frames += 1;
      seen.kinds.push(frame.header.kind);
      if (at && isPosition(frame.header.kind)) at.seq = frame.header.seq;
      wake();
      return frame.header.seq;
    },
    state: (state) => {
      seen.states.push(state);
      wake();
    },
    ended: (code, reason) => {
      seen.ended = [code, reason];
      wake();
    },
    resume: () => at,
    damaged: (error) => assert.fail(String(error)),
    arrival: () => [],
  });
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise<void>((done) => (wake = done));
  };
  /** No websocket gets through: each attempt breaks before it has opened. */
  const blocked = (): void => {
    link.open();
    for (let k = 0; k < 3; k += 1) {
      link.retryNow();
      FakeSocket.all.at(-1)?.onclose({ code: 1006, reason: '' });
    }
  };
  return { link, seen, asked, until, blocked };
}

/** The first sample of a kind of message. */
function sample<T extends ToPage['t']>(t: T): Told<T> {
  return toPage.find((message): message is (typeof toPage)[number] & Told<T> => message.t === t)!;
}

const LOADING = sample('hello');
const GRAPH = { ...sample('graph'), epoch: header.epoch, node_count: header.count, edge_count: EDGES };
const DESCRIBED: ToPage[] = [{ ...LOADING, state: 'settled' }, sample('collections'), GRAPH];
const described = (title = 'degree'): Response => {
  const legend = { node_size: { title } };
  const messages = DESCRIBED.map((message) => (message.t === 'graph' ? { ...message, legend } : message));
  return Response.json({ messages, scene_frames: 2 });
};
const color = readFileSync('tests/fixtures/color_nodes.bin');
const labels = readFileSync('tests/fixtures/labels.bin');

/** A server with one frame of positions and two of the scene. */
const frames: Answer = (url) => {
  const path = url.pathname.replace('/viz/s1/', '');
  if (path === 'graph') return described();
  if (path.startsWith('scene/')) return new Response(path === 'scene/0' ? color : labels);
  return Number(url.searchParams.get('after')) === 0 ? new Response(key) : new Promise(() => undefined);
};

test('a first visit without websockets gets by polling what a socket tells', async () => {
  const { link, seen, asked, until, blocked } = visit(frames);
  blocked();
  await until(() => seen.frames === 3);
  const paths = asked.map((path) => path.replace('/viz/s1/', ''));
  const all = ['graph?', 'frame?after=0&', 'scene/0?', 'scene/1?'].map((path) => `${path}dataset=d1`);
  assert.deepEqual(paths.slice(0, 4), all);
  assert.deepEqual(seen.texts, DESCRIBED);
  assert.deepEqual(seen.kinds, [1, 17, 19], 'positions first');
  assert.equal(seen.states.at(-1), 'polling');
  link.close();
});

test('a graph that is not there yet is told of with its first frame, and asked for again when nothing moves', async () => {
  let asks = 0;
  const { link, seen, until, blocked } = visit((url, range) => {
    if (!url.pathname.endsWith('/graph')) return frames(url, range);
    asks += 1;
    if (asks > 1) return described();
    return Response.json({ messages: [LOADING], scene_frames: 0 });
  });
  blocked();
  await until(() => seen.frames === 3);
  assert.deepEqual(seen.texts, [LOADING, ...DESCRIBED]);
  link.close();
});

test('where nothing moves a new scene is noticed, and one that is known is not fetched again', async () => {
  let asks = 0;
  const { link, seen, asked, until, blocked } = visit((url, range) => {
    if (url.pathname.endsWith('/frame') && url.searchParams.get('after') !== '0')
      return new Response(null, { status: 204 });
    if (!url.pathname.endsWith('/graph')) return frames(url, range);
    asks += 1;
    return described(asks < 3 ? 'degree' : 'community');
  });
  blocked();
  await until(() => seen.frames === 5);
  assert.deepEqual(seen.kinds, [1, 17, 19, 17, 19]);
  assert.equal(asks, 3);
  assert.equal(asked.filter((path) => path.includes('/scene/')).length, 4);
  link.close();
});

test('a websocket that opens after polling tells of the whole graph', async () => {
  const { link, seen, until, blocked } = visit(frames);
  blocked();
  await until(() => seen.frames === 1);
  link.retryNow();
  const late = FakeSocket.all.at(-1);
  late?.opens();
  assert.deepEqual(late?.sent, [], 'a page with the bare positions has nothing to resume');
  late?.onmessage({ data: JSON.stringify({ ...GRAPH, name: 'named' }) });
  late?.onclose({ code: 1006, reason: '' });
  link.retryNow();
  const next = FakeSocket.all.at(-1);
  next?.opens();
  assert.deepEqual(next?.sent.map((message) => message.t), ['resume']);
  link.close();
});

test('a graph that is not for this visitor is said to be so without websockets, too', async () => {
  for (const [status, code] of [
    [401, 4401],
    [404, 4404],
    [410, 4410],
  ]) {
    const { seen, until, blocked } = visit(() =>
      Response.json({ message: 'There is no such graph.' }, { status }),
    );
    blocked();
    await until(() => seen.ended !== null);
    assert.deepEqual(seen.ended, [code, 'There is no such graph.']);
    assert.equal(seen.states.at(-1), 'closed');
  }
});

test('a server that does not answer a poll either is tried again', async () => {
  const { link, seen, until, blocked } = visit(() => new Response('', { status: 502 }));
  blocked();
  await until(() => seen.states.at(-1) === 'reconnecting');
  assert.equal(seen.ended, null);
  link.retryNow();
  FakeSocket.all.at(-1)?.onclose({ code: 1006, reason: '' });
  seen.states.length = 0;
  await until(() => seen.states.at(-1) === 'reconnecting');
  link.close();
});
