// Written by a test of graphlume-engine from `engine/core/src/messages.rs`: the messages between page and server.
import type { LegendSides, Underlay } from './scene-parts.ts';

/** A message from the server to a page. A page passes over those that it does not know. */
export type ToPage =
  | { t: 'hello' } & Hello
  | { t: 'state' } & SessionState
  | {
    t: 'graph';
    /** The meaning of colours and sizes (`graphlume_scene::legend`). */
    legend: LegendSides;
    /** Whether a label or a title of the edges is bound. */
    edges_named: boolean;
    /** Axes and map under the edges (`graphlume_scene::axes`). */
    underlay: Underlay;
    /** Whether edges have colours of their own. */
    has_edge_colors: boolean;
    /** The layout. */
    layout: LayoutState;
    /** Version of the element set; node and edge indices are valid within it. */
    epoch: number;
    /** The dataset's name. */
    name: string;
    /** The dataset's description. */
    description: string;
    /** Nodes. */
    node_count: number;
    /** Edges. */
    edge_count: number;
    /** Columns of the node table; none without one. */
    node_columns: Array<ColumnInfo>;
    /** Columns of the edge table. */
    edge_columns: Array<ColumnInfo>;
    /** The dataset's metadata as uploaded. */
    metadata: unknown;
    /** Whether positions are bound. */
    has_positions: boolean;
    /** What of the dataset is not shown as asked. */
    notices: Array<Notice>;
  }
  | {
    t: 'columns';
    /** The element set. */
    epoch: number;
    /** Columns of the node table. */
    node_columns: Array<ColumnInfo>;
    /** Columns of the edge table. */
    edge_columns: Array<ColumnInfo>;
    /** What of the dataset is not shown as asked. */
    notices: Array<Notice>;
  }
  | {
    t: 'legend';
    /** As in `Graph`. */
    legend: LegendSides;
    /** As in `Graph`. */
    underlay: Underlay;
  }
  | { t: 'collections' } & CollectionList
  | {
    t: 'error';
    /** The machine name of the reason. */
    slug: string;
    /** The reason in a sentence. */
    message: string;
  }
  | {
    t: 'document';
    /** Its revision. */
    revision: number;
    /** The entries that all pages have. */
    document: Record<string, unknown>;
    /** The entries of this page alone. */
    own: Record<string, unknown>;
  }
  | {
    t: 'changed';
    /** The revision after it. */
    revision: number;
    /** Whether it is about the entries of this page alone. */
    own: boolean;
    /** A name for it. */
    label: string;
    /** The author. */
    by: Author;
    /** The entries that are others. */
    changes: Array<Change>;
  }
  | {
    t: 'done';
    /** The id that the page gave it. */
    id: string;
    /** The revision after it. */
    revision: number;
    /** Whether it is about the entries of this page alone. */
    own: boolean;
  }
  | {
    t: 'refused';
    /** The id that the page gave it. */
    id: string;
    /** The machine name of the reason. */
    slug: string;
    /** The reason in a sentence. */
    message: string;
  }
  | {
    t: 'history';
    /** The step that undo takes back; null for none. */
    undo: string | null;
    /** The step that redo repeats; null for none. */
    redo: string | null;
  }
  | {
    t: 'counts';
    /** The revision of the document. */
    revision: number;
    /** Nodes. */
    nodes: number;
    /** Edges. */
    edges: number;
    /** The effect of each filter, by its id. */
    filters: { [key in string]: FilterCount };
  };

/** A message from a page to the server. */
export type ToServer =
  | {
    t: 'ack';
    /** The number of the frame. */
    seq: number;
  }
  | {
    t: 'play';
    /** Run it. */
    on: boolean;
    /** Play time in milliseconds, which says for how many iterations; without it, until it settles. */
    ms?: number;
  }
  | { t: 'settings' } & Record<string, unknown>
  | {
    t: 'pin';
    /** The node. */
    index: number;
    /** Its place in the coordinates of the layout. */
    x: number;
    /** Likewise. */
    y: number;
  }
  | {
    t: 'unpin';
    /** The node. */
    index: number;
  }
  | {
    t: 'layout';
    /** The name; `given` for the positions of the data. */
    name: string;
    /** Its parameters. */
    params?: Record<string, unknown>;
  }
  | {
    t: 'do';
    /** The id of the step, for the answer. */
    id: string;
    /** A name for it. */
    label: string;
    /** Those in a row with the same one are one step of undo. */
    join?: string;
    /** The changes. */
    changes: Array<Change>;
  }
  | {
    t: 'undo';
    /** The id of the step, for the answer. */
    id: string;
  }
  | {
    t: 'redo';
    /** The id of the step, for the answer. */
    id: string;
  }
  | { t: 'hidden' }
  | { t: 'visible' }
  | {
    t: 'resume';
    /** The element set. */
    epoch: number;
    /** The number of the frame. */
    seq: number;
  };

/** The first message of a stream. */
export type Hello = {
  /** The oldest version of the messages that the server speaks. */
  protocol_min: number;
  /** The newest one. */
  protocol_max: number;
  /** The build of the server. */
  build: string;
  /** The name of the account; empty without one. */
  user: string;
  /** Parameters of the address that were not taken as given. */
  notices: Array<Notice>;
  /** Whether the page only watches, since a page of another site shows it in a frame. */
  framed: boolean;
  /** The session. */
  session: string;
  /** The dataset that it shows. */
  dataset: string;
  /** The phase of the session. */
  state: Phase;
  /** A sentence for the user, or nothing. */
  detail: string;
  /** Whether the page controls the session; absent where it has no stream. */
  steers?: boolean;
  /** The key with which it proves that when it comes again, where it needs one; absent as above. */
  key?: string | null;
  /** The id of the page among those of the session; absent as above. */
  viewer?: string;
};

/** The changing facts about a session. */
export type SessionState = {
  /** The phase. */
  state: Phase;
  /** A sentence for the user, or nothing. */
  detail: string;
  /** Iterations of the layout since the session began. */
  iterations: number;
  /** Iterations per second of late; 0 when the layout does not run. */
  iterations_per_s: number;
  /** Whether the layout runs, or will with the first viewer. */
  playing: boolean;
  /** Viewers attached. */
  viewers: number;
  /** The processor of the layout. */
  backend: Backend;
  /** Why that is the CPU although the server has a GPU, or nothing. */
  backend_reason: string;
  /** The layout that was named last and placed the nodes, or nothing; forces keep its size. */
  placed_by: string;
  /** How often nodes were placed so: after each the page shows all of them. */
  placements: number;
  /** Whether a layout has moved nodes from where the data has them, so that they do not stand on its map. Nodes that viewers hold do not count. */
  displaced: boolean;
  /** 0 while nodes have no third coordinate; another number whenever these are others. */
  depths: number;
  /** The knobs. */
  settings: LayoutSettings;
};

/** The layout of a graph at the moment when a page is told of the graph. */
export type LayoutState = {
  /** The phase of the session. */
  state: Phase;
  /** Whether the layout runs, or will with the first viewer. */
  playing: boolean;
  /** Iterations of the layout since the session began. */
  iterations: number;
  /** The knobs. */
  settings: LayoutSettings;
  /** As in [`SessionState`]. */
  placed_by: string;
  /** As in [`SessionState`]. */
  placements: number;
  /** As in [`SessionState`]. */
  depths: number;
  /** As in [`SessionState`]. */
  displaced: boolean;
};

/** How the layout of a session runs. Numbers are multipliers of the layout's own defaults. */
export type LayoutSettings = {
  /** How much the layout runs once the graph is loaded and a viewer is attached, as the milliseconds that the size of the graph turns into a number of iterations; 0 keeps the given positions. */
  play: number;
  /** Logarithmic attraction: tighter communities. Without a value, graphs of some size have it, because otherwise their communities lie over each other. */
  linLog: boolean | null;
  /** A pull to the centre that does not weaken with distance. */
  strongGravity: boolean;
  /** Pushes hubs outwards. */
  dissuadeHubs: boolean;
  /** Pull to the centre. */
  gravity: number;
  /** Repulsion. */
  scalingRatio: number;
  /** Exponent of the edge weight; 0 ignores weights. */
  edgeInfluence: number;
  /** Tolerated swinging: more is faster and rougher. */
  precisionVsSpeed: number;
  /** Keeps every x. */
  lockedX: boolean;
  /** Keeps every y. */
  lockedY: boolean;
  /** Keeps every distance from the origin. */
  lockedR: boolean;
};

/** The state of a session in one word. */
export type Phase =
  | 'loading'
  | 'waiting'
  | 'running'
  | 'paused'
  | 'stopped'
  | 'settled'
  | 'failed';

/** The processor that computes a layout. */
export type Backend =
  | 'cpu'
  | 'cuda';

/** A column of a table. */
export type ColumnInfo = {
  /** Its name. */
  name: string;
  /** Its type in the words of pandas. */
  dtype: string;
};

/** A [`Notice`], or a sentence of the server about the page itself, which has no count. */
export type Notice = {
  /** The machine name of its kind. */
  slug: string;
  /** The sentence for the user. */
  text: string;
  /** Rows, nodes or values that it is about. */
  count?: number;
};

/** The collections of a session. */
export type CollectionList = {
  /** The one on top first. */
  collections: Array<CollectionEntry>;
  /** The colour of elements in none of them; empty for their own colours. */
  background: Array<string>;
};

/** A collection in the list of a page. */
export type CollectionEntry = {
  /** Its id within the session. */
  id: string;
  /** Its place, 0 on top. */
  position: number;
  /** Its elements; null while unknown. */
  match_count: number | null;
  /** Its colours: one, or those of its palette. */
  swatches: Array<string>;
  /** The name. */
  name: string;
  /** The description. */
  description: string;
  /** The palette by name, in place of one colour. */
  palette: string | null;
};

/** The author of a step of the document. */
export type Author = {
  /** The name of the account; empty where the page may not know it. */
  name: string;
  /** A person or an agent. */
  kind: AuthorKind;
  /** Whether it is the account of the page. */
  you: boolean;
};

/** Kinds of authors. */
export type AuthorKind =
  | 'person'
  | 'agent';

/** An entry of the document after a step. */
export type Change = {
  /** Its path. */
  path: string;
  /** Its value; null where it was deleted. */
  value: unknown;
};

/** The effect of one filter. */
export type FilterCount =
  | {
    /** Nodes. */
    nodes: number | null;
    /** Edges. */
    edges: number | null;
  }
  | {
    /** The reason. */
    problem: string;
  };
