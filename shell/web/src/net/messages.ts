/** The shared document of a session as it travels: over the socket in both directions, and over HTTP. */

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

/** One entry of the document; null deletes it. */
export interface Change {
  path: string;
  value: unknown;
}

export interface Author {
  name: string;
  kind: 'person' | 'agent';
  you: boolean;
}

/** What one filter does by itself; null where it does not rest on that axis. */
export type FilterCount = { nodes: number | null; edges: number | null } | { problem: string };

export interface WholeDocument {
  t: 'document';
  revision: number;
  document: Record<string, unknown>;
  /** What only this page sees. */
  own: Record<string, unknown>;
}
export interface Changed {
  t: 'changed';
  revision: number;
  own: boolean;
  by: Author;
  label: string;
  changes: Change[];
}
export interface Done {
  t: 'done';
  id: string;
  revision: number;
  own: boolean;
}
export interface Refused {
  t: 'refused';
  id: string;
  slug: string;
  message: string;
  path?: string;
}
/** What undo and redo would take back for this page. */
export interface History {
  t: 'history';
  undo: string | null;
  redo: string | null;
}
export interface VisibleCounts {
  t: 'counts';
  revision: number;
  nodes: number;
  edges: number;
  filters: Record<string, FilterCount>;
}
export type FromServer = WholeDocument | Changed | Done | Refused | History | VisibleCounts;

/** All changes or none; those with the same `join` in a row are one step of undo. */
export interface Do {
  t: 'do';
  id: string;
  label: string;
  changes: Change[];
  join?: string;
}
export interface StepBack {
  t: 'undo' | 'redo';
  id: string;
}
export type ToServer = Do | StepBack;

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
