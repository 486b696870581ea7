// Reads a PNG as the browser writes its screenshots: eight bits a channel, colour with or without alpha, not
// interlaced.

import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE_BYTES = 8;
/** Length, name and checksum of a chunk. */
const CHUNK_BYTES = 12;
const CHANNELS = { 2: 3, 6: 4 };

/** Width, height and RGBA bytes of a picture. */
export function decodePng(png) {
  let head = null;
  const packed = [];
  for (let at = SIGNATURE_BYTES; at < png.length;) {
    const length = png.readUInt32BE(at);
    const name = png.toString('latin1', at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (name === 'IHDR') head = body;
    if (name === 'IDAT') packed.push(body);
    at += CHUNK_BYTES + length;
  }
  const [w, h] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const [depth, kind, interlaced] = [head[8], head[9], head[12]];
  const channels = CHANNELS[kind];
  if (depth !== 8 || !channels || interlaced) throw new Error(`a PNG of depth ${depth} and kind ${kind}`);
  const rows = unfiltered(inflateSync(Buffer.concat(packed)), w * channels, h, channels);
  const data = new Uint8Array(4 * w * h);
  for (let from = 0, to = 0; to < data.length; from += channels, to += 4) {
    data[to] = rows[from];
    data[to + 1] = rows[from + 1];
    data[to + 2] = rows[from + 2];
    data[to + 3] = channels === 4 ? rows[from + 3] : 255;
  }
  return { w, h, data };
}

/** What is added to a byte, from those to its left, above it and above that one, by the filter of the row. */
function predicted(filter, left, up, corner) {
  if (filter === 0) return 0;
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

/** The bytes of all rows, each of which begins with the number of its filter. */
function unfiltered(raw, rowBytes, height, channels) {
  const out = new Uint8Array(rowBytes * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (rowBytes + 1)];
    if (filter > 4) throw new Error(`filter ${filter} of a PNG`);
    const [from, to] = [y * (rowBytes + 1) + 1, y * rowBytes];
    for (let x = 0; x < rowBytes; x += 1) {
      const left = x >= channels ? out[to + x - channels] : 0;
      const up = y > 0 ? out[to + x - rowBytes] : 0;
      const corner = x >= channels && y > 0 ? out[to + x - rowBytes - channels] : 0;
      out[to + x] = raw[from + x] + predicted(filter, left, up, corner);
    }
  }
  return out;
}

/** A PNG of one colour. */
export function plainPng(w, h, rgb) {
  const chunk = (name, body) => {
    const named = Buffer.concat([Buffer.from(name, 'latin1'), body]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(body.length);
    sum.writeUInt32BE(crc32(named));
    return Buffer.concat([length, named, sum]);
  };
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
  head.writeUInt32BE(w, 0);
  head.writeUInt32BE(h, 4);
  const row = Buffer.from([0, ...Array(w).fill(rgb).flat()]);
  const rows = deflateSync(Buffer.concat(Array(h).fill(row)));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
}
