import { css, isLight, parseColor, type Rgb } from '../scene/color.ts';
import type { LabelStyle } from '../picture/label-layer.ts';
import type { Backdrop } from '../scene/look.ts';
import * as store from './store.ts';

/** Background, palette and label colours, from the address, the dataset's metadata and the user. */

export interface Theme {
  backdrop: Backdrop;
  labels: LabelStyle;
}

interface Meta {
  bg: { color: string | null; layers: string[]; blend: string } | null;
  /** How the graph mixes with the background. */
  fg: string;
  title: string | null;
  favicon: string | null;
}

type Json = Record<string, unknown>;

const DARK = { center: '#13161e', edge: '#0b0d12' };
const LIGHT = { center: '#ffffff', edge: '#f1f3f7' };
const FONT = 'Inter, system-ui, "DejaVu Sans", sans-serif';
const KEY = 'graphlume.theme';

let meta: Meta = { bg: null, fg: '', title: null, favicon: null };

const probe = document.createElement('canvas').getContext('2d', { willReadFrequently: true });

/** The browser's own table of colour names. */
export function named(name: string): Rgb | null {
  if (!probe || !CSS.supports('color', name)) return null;
  probe.clearRect(0, 0, 1, 1);
  probe.fillStyle = name;
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = probe.getImageData(0, 0, 1, 1).data;
  return { r, g, b, a: a / 255 };
}

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

/** An address that a page may show as a picture, as CSS; null for anything else. */
function image(value: unknown): string | null {
  const url = text(value);
  if (url === null || !/^(https?:|data:image\/|\/|\.)/i.test(url)) return null;
  return `url("${url.replace(/["\\\n\r]/g, encodeURIComponent)}")`;
}

function gradient(value: unknown): { css: string; first: string } | null {
  const o = object(value);
  if (!Array.isArray(o.stops)) return null;
  const stops = o.stops.flatMap((stop: unknown) => {
    const [color, at] = Array.isArray(stop) ? stop : [stop, null];
    const rgb = parseColor(text(color), named);
    if (!rgb) return [];
    const place = typeof at === 'string' && /^-?[\d.]+(%|px)$/.test(at) ? ` ${at}` : '';
    return [{ css: css(rgb) + place, plain: css(rgb) }];
  });
  if (stops.length === 0) return null;
  if (stops.length === 1) stops.push(stops[0]);
  const list = stops.map((stop) => stop.css).join(', ');
  const angle = Number(o.position);
  const linear = Number.isFinite(angle) && text(o.position) !== null ? `${angle}deg, ` : '';
  const full = o.kind === 'radial' ? `radial-gradient(${list})` : `linear-gradient(${linear}${list})`;
  return { css: full, first: stops[0].plain };
}

/** A blend mode of CSS; empty for none. */
function blendOf(value: unknown): string {
  const mode = text(value)?.trim().toLowerCase() ?? '';
  return mode !== 'normal' && CSS.supports('background-blend-mode', mode) ? mode : '';
}

/** Place and size of a background picture as CSS: the middle and the whole, unless bound otherwise. */
function placed({ position, width, height }: Json): string {
  const side = (v: unknown): string => (typeof v === 'number' ? `${v}px` : (text(v) ?? 'auto'));
  const size = `${side(width)} ${side(height)}`;
  const at = text(position) ?? 'center';
  const sized = size !== 'auto auto' && CSS.supports('background-size', size);
  return `${CSS.supports('background-position', at) ? at : 'center'} / ${sized ? size : 'cover'}`;
}

function readMeta(value: unknown): Meta {
  const root = object(value);
  const page = object(root.page);
  const bg = object(root.bg);
  const layers: string[] = [];
  const picture = object(bg.image);
  const url = image(picture.url);
  if (url) layers.push(`${url} ${placed(picture)} no-repeat`);
  const shade = gradient(bg.gradient);
  if (shade) layers.push(shade.css);
  const color = text(bg.color) ?? shade?.first ?? null;
  const any = color !== null || layers.length > 0;
  return {
    bg: any ? { color, layers, blend: url ? blendOf(picture.blendMode) : '' } : null,
    fg: blendOf(object(root.fg).blendMode),
    title: text(page.title),
    favicon: text(page.favicon),
  };
}

function setHead(name: string): void {
  const { params } = store;
  const template = params.pageTitle ?? meta.title ?? name;
  const title = template.replace(/\{\{\s*name\s*\}\}/g, name);
  document.title =
    title === '' ? 'Graphlume' : params.pageTitle || meta.title ? title : `${title} · Graphlume`;
  const icon = params.favicon ?? meta.favicon;
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (icon && link && /^(https?:|data:image\/|\/|\.)/i.test(icon)) {
    link.removeAttribute('type');
    link.href = icon;
  }
}

function setLogo(value: unknown): void {
  const { params } = store;
  const from = object(object(value).logo);
  const url = params.logoUrl ?? text(from.url);
  if (url === null || !/^(https?:|data:image\/|\/|\.)/i.test(url)) {
    store.logo.value = null;
    return;
  }
  const box = object(from.dimensions);
  const number = (a: number | null, b: unknown, otherwise: number): number =>
    a ?? (typeof b === 'number' && b > 0 ? b : otherwise);
  store.logo.value = {
    url,
    position: (params.logoPosition ?? text(from.position) ?? 'bottom right').toLowerCase(),
    maxWidth: number(params.logoMaxWidth, box.maxWidth, 160),
    maxHeight: number(params.logoMaxHeight, box.maxHeight, 64),
    invert: params.logoAutoInvert ?? from.autoInvert === true,
  };
}

/** Takes the dataset's metadata; answers the theme that follows from it. */
export function applyMetadata(value: unknown, name: string): Theme {
  meta = readMeta(value);
  setHead(name);
  setLogo(value);
  return currentTheme();
}

function remembered(): 'dark' | 'light' | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'dark' || value === 'light' ? value : null;
  } catch {
    return null; // Storage is closed to pages in some frames.
  }
}

/** Switches between dark and light for this user; a bound background then gives way. */
export function toggleTheme(): Theme {
  chosen = store.theme.value === 'dark' ? 'light' : 'dark';
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // The choice then lasts as long as the page.
  }
  return currentTheme();
}

let chosen: 'dark' | 'light' | null = null;

/** The theme in force: the user's click, the address, the dataset, what the user chose before. */
export function currentTheme(): Theme {
  const { params } = store;
  const bound = chosen ? null : parseColor(params.bg, named);
  const bg = chosen || bound ? null : meta.bg;
  const base = bound ?? parseColor(bg?.color ?? null, named);
  const word = chosen ?? params.theme ?? (base ? null : remembered());
  const light = base ? isLight(base) : word === 'light';
  const preset = light ? LIGHT : DARK;
  const center = base ?? (parseColor(preset.center) as Rgb);
  const edge = base ?? (parseColor(preset.edge) as Rgb);
  const layers = bg?.layers ?? [];
  store.theme.value = light ? 'light' : 'dark';
  const clear = layers.length > 0;
  store.backdrop.value = clear
    ? { background: [...layers, css(center)].join(', '), backgroundBlendMode: bg?.blend || 'normal' }
    : null;
  store.foreground.value = clear ? meta.fg : '';
  document.documentElement.dataset.theme = store.theme.value;
  return {
    backdrop: { center, edge, clear, light },
    labels: labelStyle(light, center),
  };
}

function labelStyle(light: boolean, back: Rgb): LabelStyle {
  const { params } = store;
  const color = (hex: string): Rgb => parseColor(hex) as Rgb;
  return {
    font: params.test ? '"DejaVu Sans", sans-serif' : FONT,
    text: parseColor(params.labelColor, named) ?? color(light ? '#141821' : '#eef1f7'),
    halo: { ...back, a: 0.85 },
    plate: parseColor(params.labelBackground, named),
    opacity: params.labelOpacity,
    ring: color(light ? '#111' : '#fff'),
    accent: color(light ? '#1769d2' : '#5aa9ff'),
  };
}
