import { FrameError, type Frame } from './frames.ts';

/** Icons and badges as they travel (see `engine/scene/src/wire/icons.rs`). */

const PREFIX_BYTES = 16;

/** CSS filters of an icon, as numbers. */
export type Filters = Partial<
  Record<'opacity' | 'grayscale' | 'brightness' | 'contrast' | 'hueRotate' | 'saturate', number>
>;

/** One of the things that a layer shows: a glyph of the icon font, a flag's code, a text, or an address. */
export interface Entry {
  glyph?: string;
  flag?: string;
  text?: string;
  image?: string;
  color?: string;
  bg?: string;
  bg_image?: string;
  border_color?: string;
}

export interface LayerLook {
  title: string;
  shape?: 'circle' | 'none';
  /** A CSS blend mode. */
  blend?: string;
  /** The diameter of a badge at most, in pixels. */
  max?: number;
  border?: { width: number; stroke: 'solid' | 'dotted' | 'dashed' | 'double' | 'none' };
  style?: Filters;
  bg_style?: Filters;
  fg_style?: Filters;
  list: Entry[];
}

/** Places as the server numbers them: the icon, badges clockwise from the top, the cover of a disc. */
export const PLACE = { ICON: 0, COVER: 9 } as const;

export interface IconLayer {
  axis: 'node' | 'edge';
  place: number;
  /** Of every element the entry of the list that it shows, counted from 1; 0 for none. */
  shown: Uint16Array;
  look: LayerLook;
}

export function readIcons({ header, payload }: Frame): IconLayer {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const listAt = PREFIX_BYTES + 2 * header.count;
  const bytes = payload.byteLength < PREFIX_BYTES ? 0 : view.getUint32(4, true);
  if (payload.byteLength !== listAt + bytes || bytes === 0) {
    throw new FrameError(`ICONS needs ${listAt + bytes} bytes of payload, has ${payload.byteLength}`);
  }
  const look = JSON.parse(new TextDecoder().decode(payload.subarray(listAt))) as LayerLook;
  const shown = new Uint16Array(payload.slice(PREFIX_BYTES, listAt).buffer);
  return { axis: payload[0] === 1 ? 'edge' : 'node', place: payload[1], shown, look };
}
