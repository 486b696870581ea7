/**
 * Writes opaque pictures as PNG without filters: of thin lines and letters on one colour, which repeat,
 * that leaves less than the filters of browsers, and there are three channels instead of four. Where colours
 * change from one pixel to the next, on the rims of lines and letters, they are multiples of four, off by two
 * of 255 at most: a quarter of the file. Surfaces and slow transitions are kept as they are.
 */

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const CHANNELS = 3;
/** Rows that are handed to the compressor at once. */
const ROWS = 64;
/** Pixels up to which a picture is written here; larger ones would hold up the page. */
export const PIXELS_MAX = 32_000_000;

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k += 1) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

function chunk(name: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(12 + body.length);
  const view = new DataView(out.buffer);
  view.setUint32(0, body.length);
  for (let k = 0; k < 4; k += 1) out[4 + k] = name.charCodeAt(k);
  out.set(body, 8);
  let crc = 0xffffffff;
  for (let k = 4; k < 8 + body.length; k += 1) crc = CRC[(crc ^ out[k]) & 255] ^ (crc >>> 8);
  view.setUint32(8 + body.length, (crc ^ 0xffffffff) >>> 0);
  return out;
}

/** The picture in a canvas, whose opacity is left out, as a PNG file. */
export async function encodePng(context: CanvasRenderingContext2D): Promise<Blob> {
  const { width: w, height: h } = context.canvas;
  const packing = new CompressionStream('deflate');
  const packed = new Response(packing.readable).arrayBuffer();
  const writer = packing.writable.getWriter();
  const rowBytes = w * CHANNELS + 1;
  for (let y = 0; y < h; y += ROWS) {
    const rows = Math.min(ROWS, h - y);
    const { data } = context.getImageData(0, y, w, rows);
    const out = new Uint8Array(rows * rowBytes);
    for (let r = 0, from = 0; r < rows; r += 1) {
      // The first byte of a row says that it has no filter.
      const first = r * rowBytes + 1;
      for (let to = first; to < first + w * CHANNELS; to += CHANNELS, from += 4) {
        const back = to === first ? 0 : 4;
        let isRim = false;
        for (let c = 0; c < CHANNELS; c += 1) {
          isRim ||= Math.abs(data[from + c] - data[from + c - back]) > 1;
        }
        for (let c = 0; c < CHANNELS; c += 1) {
          const value = data[from + c];
          out[to + c] = isRim ? Math.min(255, (value + 2) & 0xfc) : value;
        }
      }
    }
    await writer.write(out);
  }
  await writer.close();
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, w);
  view.setUint32(4, h);
  // Eight bits a channel, colours without opacity.
  head.set([8, 2, 0, 0, 0], 8);
  const body = new Uint8Array(await packed);
  const parts = [chunk('IHDR', head), chunk('IDAT', body), chunk('IEND', new Uint8Array(0))];
  return new Blob([Uint8Array.from(SIGNATURE), ...parts], { type: 'image/png' });
}
