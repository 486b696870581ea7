// The page itself, served by the real server: uploading the graph, and telling the page new positions.

import { upload as uploadTables } from '../../tests/real-server.mjs';
import { SPACE, tables } from './graph.mjs';

export { startServer } from '../../tests/real-server.mjs';

/** Uploads a graph with its positions; answers the address of its page. */
export async function upload(server, name, graph) {
  const dataset = await uploadTables(server, name, tables(graph));
  return `${server.base}/graph/graph.html?dataset=${dataset}&play=0`;
}

/** In the page: keeps frames of positions ready that turn the layout, as the server would send them. */
export async function prepareFrames([count, space]) {
  const HEADER = 48;
  const { sockets, received } = window.__bench;
  const first = new DataView(received[0]);
  const nodes = first.getUint32(24, true);
  let payload = received[0].slice(HEADER);
  if (first.getUint16(6, true) & 1) {
    const stream = new Blob([payload]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    payload = await new Response(stream).arrayBuffer();
  }
  const bounds = [32, 36, 40, 44].map((at) => first.getFloat32(at, true));
  const [x0, y0, sx, sy] = first.getUint8(5) === 3 ? [0, 0, 1, 1] : bounds;
  const raw = first.getUint8(5) === 3 ? new Float32Array(payload) : new Uint16Array(payload);
  // Room around the square, which turning needs.
  const [low, step] = [-space / 2, (2 * space) / 65_000];
  const seq = window.__viewer.seq;
  window.__bench.ready = Array.from({ length: count }, (_, k) => {
    const bytes = new ArrayBuffer(HEADER + 4 * nodes);
    new Uint8Array(bytes).set(new Uint8Array(received[0], 0, HEADER));
    const head = new DataView(bytes);
    head.setUint8(5, 1);
    head.setUint16(6, 0, true);
    head.setUint32(12, seq + 1 + k, true);
    head.setUint32(16, 0, true);
    head.setUint32(20, 0, true);
    head.setUint32(28, 1, true);
    [low, low, step, step].forEach((v, at) => head.setFloat32(32 + 4 * at, v, true));
    const out = new Uint16Array(bytes, HEADER);
    const [c, s, m] = [Math.cos(0.02 * (k + 1)), Math.sin(0.02 * (k + 1)), space / 2];
    for (let i = 0; i < nodes; i += 1) {
      const [x, y] = [x0 + raw[2 * i] * sx - m, y0 + raw[2 * i + 1] * sy - m];
      out[2 * i] = Math.round((m + c * x - s * y - low) / step);
      out[2 * i + 1] = Math.round((m + s * x + c * y - low) / step);
    }
    return bytes;
  });
  return { nodes, sockets: sockets.length };
}

export const FRAMES_ARGUMENT = (count) => [count, SPACE];
