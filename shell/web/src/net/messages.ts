/** Entries of the shared document and what HTTP answers about it; `page-messages.ts` has the messages. */

import type { ToPage, ToServer } from './page-messages.ts';

export type Axis = 'node' | 'edge';
export type Scalar = string | number | boolean | null;

/** Values of one column that pass: a range with both ends (dates in ms since 1970), or a list. */
export type Brush =
  | { axis: Axis; column: string; range: [number, number] }
  | { axis: Axis; column: string; values: Scalar[] };

/** What a filter keeps. `nodes` are bits over all nodes, deflated and in base64 (see bits.ts). */
export type Rule =
  | { expr: string }
  | { brush: Brush }
  | { nodes: string }
  | { ego: { nodes: string; hops: number } }
  | { query: string }
  | { gfql: unknown[] }
  | { sets: string[] };

export interface Filter {
  kind: 'filter' | 'exclusion';
  name: string;
  on: boolean;
  order: number;
  rule: Rule;
}

export interface Collection {
  name: string;
  description: string;
  node_color: string | null;
  edge_color: string | null;
  palette?: string | null;
  on: boolean;
  order: number;
  rule: Rule;
}

/** Nodes that one disc stands for, with its name. */
export interface Collapsed {
  name: string;
  on: boolean;
  order: number;
  rule: Rule;
}

export interface Encoding {
  attribute: string;
  variation: 'categorical' | 'continuous';
  colors?: string[];
  mapping?: unknown;
}

/** The messages of some kinds. */
export type Told<T extends ToPage['t']> = Extract<ToPage, { t: T }>;

/** Messages about the document. */
export type DocumentMessage = Told<'document' | 'changed' | 'done' | 'refused' | 'history' | 'counts'>;

/** A step of the document that the page asks for, or one that it takes back or repeats. */
export type Step = Extract<ToServer, { t: 'do' | 'undo' | 'redo' }>;

export type ColumnKind = 'number' | 'date' | 'category' | 'boolean';

export interface Column {
  axis: Axis;
  name: string;
  kind: ColumnKind;
  /** Computed by the server, as `degree` is. */
  derived: boolean;
}

export interface Nulls {
  total: number;
  passing: number;
}

export interface NumberHistogram {
  axis: Axis;
  name: string;
  kind: 'number' | 'date';
  log: boolean;
  /** One more than there are bins. */
  edges: number[];
  total: number[];
  passing: number[];
  nulls: Nulls;
}

export interface CategoryHistogram {
  axis: Axis;
  name: string;
  kind: 'category' | 'boolean';
  values: { value: Scalar; total: number; passing: number }[];
  distinct: number;
  others: Nulls;
  nulls: Nulls;
}

export type Histogram = NumberHistogram | CategoryHistogram;

/** What a text or a rule finds. */
export interface Found {
  as: 'expr' | 'cypher' | 'gfql';
  nodes: string;
  node_count: number;
  edge_count: number;
  rule: Rule;
}
