/** The legend as the panel shows it, read leniently from the server's JSON (`engine/scene/src/legend.rs`). */

import type { LayerLook } from '../net/icon-frame.ts';
import type { CollectionEntry } from './collections.ts';
import { scaleNumber } from './numbers.ts';

export interface Swatch {
  label: string;
  /** Empty where the row shows no colour. */
  color: string;
  /** Whether somebody chose the colour, which is then the same in every theme. */
  chosen?: true;
  count: number | null;
  /** The community that it names; null where the label is the value. */
  community: number | null;
  /** The collection that it stands for. */
  collection?: CollectionEntry;
  /** What encodings of the legend and icons add to it. */
  shown?: Shown;
  /** The least and the greatest number of a bin; null where it has no end. */
  range?: [number | null, number | null];
}

/** How a row looks, whatever elements look like. */
export interface Shown {
  color?: string;
  /** 0 to 1. */
  opacity?: number;
  /** Diameter of a disc, in pixels. */
  size?: number;
  /** Width of a line, in pixels. */
  width?: number;
  /** For each of the key's signs the entry of its list, counted from 1; 0 for none. */
  signs: number[];
}

/** Icons or badges of one place, as layers of the picture have them. */
export type SignLook = LayerLook & { place: number };

/** What the colours of the nodes or of the edges mean, or what the legend says of another column. */
export interface ColorKey {
  of: 'nodes' | 'edges' | 'elements';
  title: string;
  swatches: Swatch[];
  /** Categories beyond those listed. */
  more: number;
  /** A continuous ramp instead of swatches. */
  ramp: { colors: string[]; low: string; high: string } | null;
  signs?: SignLook[];
  /** Texts below the rows. */
  lines?: string[];
}

export interface Legend {
  keys: ColorKey[];
  /** What else is bound: sizes, widths and opacities with their ranges, icons by their columns. */
  scales: ScaleKey[];
}

export interface ScaleKey {
  of: 'Size' | 'Width' | 'Opacity' | 'Edge opacity' | 'Icon' | 'Edge icon';
  title: string;
  /** Ends of the range; null for a column without one. */
  low: string | null;
  high: string | null;
}

type Json = Record<string, unknown>;

function object(value: unknown): Json | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null;
}

function text(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** What stands at an end of a scale. */
function short(value: unknown): string {
  return typeof value === 'number' ? scaleNumber(value) : (text(value) ?? '');
}

function shown(entry: Json): Shown | undefined {
  const look = object(entry.look);
  const list = Array.isArray(entry.signs) ? entry.signs : [];
  const signs = list.map((entry: unknown) => count(entry) ?? 0);
  if (!look && !signs.some((sign) => sign > 0)) return undefined;
  const color = text(look?.color);
  const numbers = (['opacity', 'size', 'width'] as const).flatMap((name) => {
    const value = count(look?.[name]);
    return value === null ? [] : [[name, value] as const];
  });
  return { ...(color === null ? {} : { color }), ...Object.fromEntries(numbers), signs };
}

function swatches(list: unknown, isBlock: boolean): Swatch[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown) => {
    const o = object(entry);
    if (!o) return [];
    const look = shown(o);
    const color = text(o.color);
    if (color === null && !isBlock && !look) return [];
    const label = text(o.label ?? o.value ?? o.name) ?? '';
    const [many, community] = [count(o.count ?? o.size), count(o.community)];
    const swatch: Swatch = { label, color: color ?? '', count: many, community };
    if (look) swatch.shown = look;
    if (o.chosen === true) swatch.chosen = true;
    if (Array.isArray(o.range)) swatch.range = [count(o.range[0]), count(o.range[1])];
    return [swatch];
  });
}

function ramp(o: Json): ColorKey['ramp'] {
  const stops = o.stops ?? o.colors ?? o.ramp;
  if (!Array.isArray(stops) || stops.length === 0) return null;
  const colors = stops.flatMap((stop: unknown) => {
    const color =
      text(stop) ?? text(object(stop)?.color) ?? (Array.isArray(stop) ? text(stop[1]) : null);
    return color === null ? [] : [color];
  });
  return colors.length === 0
    ? null
    : { colors, low: short(o.min ?? o.low), high: short(o.max ?? o.high) };
}

function colorKey(elements: ColorKey['of'], side: Json | null, isBlock = false): ColorKey | null {
  const color = object(side?.color) ?? side;
  if (!color) return null;
  const list = swatches(color.entries ?? color.categories ?? color.items ?? color.swatches, isBlock);
  const scale = list.every((swatch) => swatch.color === '') ? ramp(color) : null;
  const lines = Array.isArray(color.lines) ? color.lines.flatMap((line) => text(line) ?? []) : [];
  if (list.length === 0 && !scale && lines.length === 0) return null;
  const key: ColorKey = {
    of: elements,
    title: text(color.title ?? color.column ?? color.attribute ?? color.name) ?? 'colour',
    swatches: list,
    more: count(color.more ?? color.more_count) ?? 0,
    ramp: scale,
  };
  const signs: unknown[] = Array.isArray(color.signs) ? color.signs : [];
  // One that cannot be read keeps its place, by which rows name it.
  const none = { place: 0, title: '', list: [] };
  const read = signs.map((look) => (Array.isArray(object(look)?.list) ? look : none));
  if (read.length > 0) key.signs = read as SignLook[];
  if (lines.length > 0) key.lines = lines;
  return key;
}

const SCALES = [
  ['node_size', 'Size'],
  ['edge_size', 'Width'],
  ['node_opacity', 'Opacity'],
  ['edge_opacity', 'Edge opacity'],
  ['node_icon', 'Icon'],
  ['edge_icon', 'Edge icon'],
] as const;

function scaleKey(channel: ScaleKey['of'], side: Json | null): ScaleKey[] {
  const title = text(side?.title);
  // Icons that have rows need no line.
  if (!side || title === null || side.kind === 'categorical') return [];
  const [low, high] = [short(side.min), short(side.max)];
  const ranged = low !== '' && high !== '';
  return [{ of: channel, title, low: ranged ? low : null, high: ranged ? high : null }];
}

/** Reads what colours the nodes and the edges; null when there is nothing to explain. */
export function readLegend(value: unknown): Legend | null {
  const root = object(value);
  if (!root) return null;
  const node = object(root.node_color) ?? object(root.node) ?? root;
  const both = [colorKey('nodes', node), colorKey('edges', object(root.edge_color))];
  const blocks = (Array.isArray(root.blocks) ? root.blocks : []).map((block: unknown) => {
    const own = object(block);
    return colorKey(own?.side === 'edge' ? 'edges' : 'nodes', own, true);
  });
  const keys = [...both, ...blocks].filter((key): key is ColorKey => key !== null);
  const scales = SCALES.flatMap(([member, of]) => scaleKey(of, object(root[member])));
  return keys.length === 0 && scales.length === 0 ? null : { keys, scales };
}
