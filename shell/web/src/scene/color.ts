/** Colours: parsing, luminance, the two built-in palettes. Channels are 0..255, alpha 0..1. */

export interface Rgb {
  r: number;
  g: number;
  b: number;
  a: number;
}

/** Resolves a CSS colour name; the browser's own table is used, tests pass a small one. */
export type NameResolver = (name: string) => Rgb | null;

/** Twelve hues for a dark background, then the neutral "other". */
export const PALETTE_DARK = [
  '#6db9fc',
  '#ca5d2f',
  '#fdd141',
  '#35957c',
  '#9467ca',
  '#2df1c4',
  '#e490bb',
  '#a6aa07',
  '#d7cefd',
  '#a8c991',
  '#7385aa',
  '#c0935f',
  '#6b7589',
];
/**
 * The same twelve for a light background: contrast of at least 2.8 to white, none much darker than the
 * others, and told apart by the colour-blind (least distance of the first eight in OKLab times 100, by the
 * model of Machado et al., 2009: 15.7 for all, 7.8 deuteranopia, 9.2 protanopia, 9.8 tritanopia).
 */
export const PALETTE_LIGHT = [
  '#327cb9',
  '#ef7a10',
  '#aa2914',
  '#977750',
  '#6537d9',
  '#a08de8',
  '#ca3894',
  '#4bad6d',
  '#bb899e',
  '#98536d',
  '#9c0699',
  '#925ee3',
  '#9ea5b2',
];

function parseHex(hex: string): Rgb | null {
  if (!/^([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i.test(hex)) return null;
  const wide = hex.length <= 4 ? [...hex].map((digit) => digit + digit).join('') : hex;
  const byte = (start: number): number => parseInt(wide.slice(start, start + 2), 16);
  return { r: byte(0), g: byte(2), b: byte(4), a: wide.length === 8 ? byte(6) / 255 : 1 };
}

function parseFunction(text: string): Rgb | null {
  const match = /^rgba?\(([^)]*)\)$/i.exec(text);
  if (!match) return null;
  const parts = match[1].split(/[\s,/]+/).filter((part) => part !== '');
  if (parts.length < 3 || parts.length > 4) return null;
  const value = (part: string, full: number): number =>
    part.endsWith('%') ? (parseFloat(part) / 100) * full : parseFloat(part);
  const [r, g, b] = parts.slice(0, 3).map((part) => Math.min(255, Math.max(0, value(part, 255))));
  const a = parts.length === 4 ? Math.min(1, Math.max(0, value(parts[3], 1))) : 1;
  return [r, g, b, a].every(Number.isFinite) ? { r, g, b, a } : null;
}

/** Reads a colour as the clients write it: `#fff`, `fff`, `%23fff`, `rgb(…)`, or a CSS name. */
export function parseColor(text: string | null, names?: NameResolver): Rgb | null {
  if (text === null) return null;
  const clean = text.trim().replace(/^%23/, '#');
  if (clean.startsWith('#')) return parseHex(clean.slice(1));
  return parseHex(clean) ?? parseFunction(clean) ?? names?.(clean.toLowerCase()) ?? null;
}

/** The CSS form of a colour. */
export function css(color: Rgb, alpha = color.a): string {
  const channel = (value: number): number => Math.round(value);
  return `rgba(${channel(color.r)},${channel(color.g)},${channel(color.b)},${alpha})`;
}

function linear(channel: number): number {
  const c = channel / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
}

/** Relative luminance (WCAG 2), 0 black to 1 white. */
export function luminance(color: Rgb): number {
  return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b);
}

/** Whether text and palette should be those of a light page on this background. */
export function isLight(color: Rgb): boolean {
  return luminance(color) > 0.3;
}

/** Mixes two colours; `t` is the share of the second. */
export function mix(first: Rgb, second: Rgb, t: number): Rgb {
  const at = (a: number, b: number): number => a + (b - a) * t;
  return {
    r: at(first.r, second.r),
    g: at(first.g, second.g),
    b: at(first.b, second.b),
    a: at(first.a, second.a),
  };
}

const LIGHT_OF = new Map(
  PALETTE_DARK.map((dark, k) => [
    parseInt(dark.slice(1), 16),
    parseInt(PALETTE_LIGHT[k].slice(1), 16),
  ]),
);

/**
 * Recolours RGBA bytes for a light page: entries of the built-in dark palette become their light
 * counterparts. Every other colour stays, and so do those that somebody chose: each has a bit in `chosen`.
 */
export function recolorForLight(rgba: Uint8Array, chosen: Uint8Array): Uint8Array {
  const out = new Uint8Array(rgba);
  for (let at = 0; at + 3 < out.length; at += 4) {
    const light = LIGHT_OF.get((out[at] << 16) | (out[at + 1] << 8) | out[at + 2]);
    if (light === undefined || (chosen[at >> 5] >> ((at >> 2) & 7)) & 1) continue;
    out[at] = light >> 16;
    out[at + 1] = (light >> 8) & 255;
    out[at + 2] = light & 255;
  }
  return out;
}

/** The same rule for one CSS colour of the legend that nobody chose. */
export function cssForLight(color: string): string {
  const rgb = parseColor(color);
  if (!rgb) return color;
  const light = LIGHT_OF.get((rgb.r << 16) | (rgb.g << 8) | rgb.b);
  return light === undefined ? color : `#${light.toString(16).padStart(6, '0')}`;
}
