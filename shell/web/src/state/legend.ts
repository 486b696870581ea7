/** The legend as the panel shows it, read leniently from the server's JSON. */

import { scaleNumber } from './numbers.ts';

export interface Swatch {
  label: string;
  color: string;
  count: number | null;
  /** The community that it names; null where the label is the value. */
  community: number | null;
}

/** What the colours of the nodes or of the edges mean. */
export interface ColorKey {
  of: 'nodes' | 'edges';
  title: string;
  swatches: Swatch[];
  /** Categories beyond those listed. */
  more: number;
  /** A continuous ramp instead of swatches. */
  ramp: { colors: string[]; low: string; high: string } | null;
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

function swatches(list: unknown): Swatch[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown) => {
    const o = object(entry);
    const color = text(o?.color);
    if (!o || color === null) return [];
    const label = text(o.label ?? o.value ?? o.name) ?? '';
    return [{ label, color, count: count(o.count ?? o.size), community: count(o.community) }];
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

function colorKey(of: ColorKey['of'], side: Json | null): ColorKey | null {
  const color = object(side?.color) ?? side;
  if (!color) return null;
  const list = swatches(color.entries ?? color.categories ?? color.items ?? color.swatches);
  const scale = list.length === 0 ? ramp(color) : null;
  if (list.length === 0 && !scale) return null;
  return {
    of,
    title: text(color.title ?? color.column ?? color.attribute ?? color.name) ?? 'colour',
    swatches: list,
    more: count(color.more ?? color.more_count) ?? 0,
    ramp: scale,
  };
}

const SCALES = [
  ['node_size', 'Size'],
  ['edge_size', 'Width'],
  ['node_opacity', 'Opacity'],
  ['edge_opacity', 'Edge opacity'],
  ['node_icon', 'Icon'],
  ['edge_icon', 'Edge icon'],
] as const;

function scaleKey(of: ScaleKey['of'], side: Json | null): ScaleKey[] {
  const title = text(side?.title);
  if (!side || title === null) return [];
  const [low, high] = [short(side.min), short(side.max)];
  const ranged = low !== '' && high !== '';
  return [{ of, title, low: ranged ? low : null, high: ranged ? high : null }];
}

/** Reads what colours the nodes and the edges; null when there is nothing to explain. */
export function readLegend(value: unknown): Legend | null {
  const root = object(value);
  if (!root) return null;
  const node = object(root.node_color) ?? object(root.node) ?? root;
  const both = [colorKey('nodes', node), colorKey('edges', object(root.edge_color))];
  const keys = both.filter((key): key is ColorKey => key !== null);
  const scales = SCALES.flatMap(([member, of]) => scaleKey(of, object(root[member])));
  return keys.length === 0 && scales.length === 0 ? null : { keys, scales };
}
