/**
 * The parameters of the page's address.
 *
 * Public clients write them without encoding, with Python's `True` and `None`, and sometimes twice, so
 * reading is lenient: the last value wins, junk falls back to the default, and a `#` tail (the rest of a
 * raw colour such as `bg=#fff`) is given back to the parameter that it was cut from.
 */

export type Highlight = 'both' | 'incoming' | 'outgoing' | 'node' | 'none';

export interface Params {
  dataset: string;
  session: string;
  /** Milliseconds of layout after load; null when the address does not say. */
  play: number | null;
  pointSize: number;
  pointOpacity: number;
  pointStrokeWidth: number;
  edgeOpacity: number;
  edgeCurvature: number;
  /** Factor of the widths of edges, of which no address speaks. */
  edgeSize: number;
  /** Null: where the edges show that they have a direction. */
  showArrows: boolean | null;
  showLabels: boolean;
  showLabelOnHover: boolean;
  /** What cards show: properties of a hovered node, of a selected one, buttons. No address speaks of it. */
  hoverProperties: boolean;
  cardProperties: boolean;
  cardActions: boolean;
  showPointsOfInterest: boolean;
  showPointsOfInterestLabel: boolean;
  pointsOfInterestMax: number;
  shortenLabels: boolean;
  labelOpacity: number;
  labelColor: string | null;
  labelBackground: string | null;
  neighborhoodHighlight: Highlight;
  neighborhoodHighlightHops: number;
  bg: string | null;
  menu: boolean;
  info: boolean;
  /** Whether the list of collections is shown; null: folded away, when there are any. */
  showCollections: boolean | null;
  /** Whether the histograms are open from the start. */
  showHistograms: boolean;
  /** False: never; true: always; a number: only when opened after that moment (epoch seconds). */
  splashAfter: boolean | number;
  pageTitle: string | null;
  favicon: string | null;
  logoUrl: string | null;
  logoPosition: string | null;
  logoMaxHeight: number | null;
  logoMaxWidth: number | null;
  logoAutoInvert: boolean | null;
  /** First camera in graph coordinates; null unless all four sides are given. */
  bounds: { left: number; right: number; top: number; bottom: number } | null;
  theme: 'dark' | 'light' | null;
  test: boolean;
}

/** Parameters whose value is a name: a `#` after them is an anchor and not a part of the value. */
const OPAQUE = new Set(['dataset', 'session', 'type', 'viztoken', 'usertag', 'workbook']);
const ABSENT = new Set(['', 'none', 'null', 'undefined', 'nan']);
const YES = new Set(['true', '1', 'yes', 'on']);
const NO = new Set(['false', '0', 'no', 'off']);

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A raw `%` that starts no escape.
  }
}

/** Splits a raw query and its fragment into name and value pairs, in order. */
export function splitQuery(search: string, hash: string): [string, string][] {
  const parts = search
    .replace(/^\?/, '')
    .split('&')
    .filter((part) => part !== '');
  if (hash !== '') {
    // The server appends `session` last, after the parameter that the fragment was cut from.
    let last = parts.length - 1;
    while (last >= 0 && parts[last].startsWith('session=')) last -= 1;
    const cut = hash.indexOf('&');
    const head = cut < 0 ? hash : hash.slice(0, cut);
    const rest =
      cut < 0
        ? []
        : hash
            .slice(cut + 1)
            .split('&')
            .filter((part) => part !== '');
    const name = last < 0 ? '' : parts[last].split('=', 1)[0];
    if (last >= 0 && !OPAQUE.has(name)) parts[last] += head;
    parts.push(...rest);
  }
  return parts.map((part) => {
    const at = part.indexOf('=');
    return at < 0 ? [decode(part), ''] : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
  });
}

/** A typed reader over the pairs. */
class Reader {
  private readonly values = new Map<string, string>();

  constructor(pairs: [string, string][]) {
    for (const [name, value] of pairs) this.values.set(name, value);
  }

  text(name: string): string | null {
    const value = this.values.get(name)?.trim();
    return value === undefined || ABSENT.has(value.toLowerCase()) ? null : value;
  }

  bool(name: string, otherwise: boolean): boolean {
    return this.flag(name) ?? otherwise;
  }

  flag(name: string): boolean | null {
    const value = this.text(name)?.toLowerCase();
    if (value === undefined) return null;
    if (YES.has(value)) return true;
    return NO.has(value) ? false : null;
  }

  number(name: string, low: number, high: number): number | null {
    const value = this.text(name);
    if (value === null) return null;
    const number = Number(value);
    return Number.isFinite(number) ? Math.min(high, Math.max(low, number)) : null;
  }

  word<T extends string>(name: string, words: readonly T[], otherwise: T): T {
    // `none` can be one of the words; `None`, as Python writes what is not there, is not.
    const value = this.text(name)?.toLowerCase() ?? this.values.get(name)?.trim();
    return words.find((word) => word === value) ?? otherwise;
  }
}

function bounds(read: Reader): Params['bounds'] {
  const [left, right, top, bottom] = ['left', 'right', 'top', 'bottom'].map((side) =>
    read.number(side, -1e30, 1e30),
  );
  if (left === null || right === null || top === null || bottom === null) return null;
  if (left === right || top === bottom) return null;
  return {
    left: Math.min(left, right),
    right: Math.max(left, right),
    top: Math.max(top, bottom),
    bottom: Math.min(top, bottom),
  };
}

function splash(read: Reader): boolean | number {
  const value = read.text('splashAfter');
  if (value === null) return false;
  // `0` and `1` are booleans, any greater number is a moment.
  return read.flag('splashAfter') ?? read.number('splashAfter', 0, 1e12) ?? false;
}

function play(read: Reader): number | null {
  const flag = read.text('play')?.toLowerCase();
  if (flag === 'true') return 5000;
  if (flag === 'false') return 0;
  return read.number('play', 0, 10_000);
}

function theme(read: Reader): Params['theme'] {
  const word = read.word('theme', ['dark', 'light', 'auto'], 'auto');
  return word === 'auto' ? null : word;
}

/** Reads the parameters from `location.search` and `location.hash`. */
export function parseParams(search: string, hash: string): Params {
  const read = new Reader(splitQuery(search, hash));
  return {
    dataset: read.text('dataset') ?? '',
    session: read.text('session') ?? '',
    play: play(read),
    pointSize: read.number('pointSize', 0.1, 10) ?? 1,
    pointOpacity: read.number('pointOpacity', 0, 1) ?? 1,
    pointStrokeWidth: read.number('pointStrokeWidth', 0, 5) ?? 0,
    edgeOpacity: read.number('edgeOpacity', 0, 1) ?? 1,
    edgeCurvature: read.number('edgeCurvature', 0, 1) ?? 0,
    edgeSize: 1,
    showArrows: read.flag('showArrows'),
    showLabels: read.bool('showLabels', true),
    showLabelOnHover: read.bool('showLabelOnHover', true),
    hoverProperties: true,
    cardProperties: true,
    cardActions: true,
    showPointsOfInterest: read.bool('showPointsOfInterest', true),
    showPointsOfInterestLabel: read.bool('showPointsOfInterestLabel', true),
    pointsOfInterestMax: Math.round(read.number('pointsOfInterestMax', 0, 100) ?? 5),
    shortenLabels: read.bool('shortenLabels', true),
    labelOpacity: read.number('labelOpacity', 0, 1) ?? 1,
    labelColor: read.text('labelColor'),
    labelBackground: read.text('labelBackground'),
    neighborhoodHighlight: read.word(
      'neighborhoodHighlight',
      ['both', 'incoming', 'outgoing', 'node', 'none'],
      'both',
    ),
    neighborhoodHighlightHops: Math.round(read.number('neighborhoodHighlightHops', 1, 5) ?? 1),
    bg: read.text('bg'),
    menu: read.bool('menu', true),
    info: read.bool('info', true),
    showCollections: read.flag('showCollections'),
    showHistograms: read.bool('showHistograms', false),
    splashAfter: splash(read),
    pageTitle: read.text('pageTitle'),
    favicon: read.text('favicon'),
    logoUrl: read.text('logoUrl'),
    logoPosition: read.text('logoPosition'),
    logoMaxHeight: read.number('logoMaxHeight', 1, 1000),
    logoMaxWidth: read.number('logoMaxWidth', 1, 1000),
    logoAutoInvert: read.flag('logoAutoInvert'),
    bounds: bounds(read),
    theme: theme(read),
    test: read.bool('test', false),
  };
}
