/** Sets of elements as bits, least significant first, and their form in JSON: deflated, then base64. */

/** One byte an element, 1 for a member, as bits. */
export function packBits(marks: Uint8Array): Uint8Array<ArrayBuffer> {
  const bits = new Uint8Array((marks.length + 7) >> 3);
  for (let i = 0; i < marks.length; i += 1) if (marks[i]) bits[i >> 3] |= 1 << (i & 7);
  return bits;
}

/** The other way round; bits that are missing count as 0. */
export function unpackBits(bits: Uint8Array, count: number): Uint8Array<ArrayBuffer> {
  const marks = new Uint8Array(count);
  const known = Math.min(count, bits.length * 8);
  for (let i = 0; i < known; i += 1) marks[i] = (bits[i >> 3] >> (i & 7)) & 1;
  return marks;
}

/** Which of `count` elements the bits leave out, 1 each; null when they leave out none. */
export function leftOut(bits: Uint8Array, count: number): Uint8Array<ArrayBuffer> | null {
  const marks = unpackBits(bits, count);
  let some = false;
  for (let i = 0; i < count; i += 1) {
    marks[i] ^= 1;
    some ||= marks[i] === 1;
  }
  return some ? marks : null;
}

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
): Promise<Uint8Array<ArrayBuffer>> {
  const out = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(out).arrayBuffer());
}

/** Marked elements as `bits64`. */
export async function toBits64(marks: Uint8Array): Promise<string> {
  const packed = await through(packBits(marks), new CompressionStream('deflate-raw'));
  let text = '';
  // In pieces: a call takes only so many arguments.
  for (let at = 0; at < packed.length; at += 0x8000) {
    text += String.fromCharCode(...packed.subarray(at, at + 0x8000));
  }
  return btoa(text);
}

/** Marks of the elements of `bits64`. */
export async function fromBits64(text: string, count: number): Promise<Uint8Array<ArrayBuffer>> {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return unpackBits(await through(packed, new DecompressionStream('deflate-raw')), count);
}
