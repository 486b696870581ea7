import type { JSX } from 'preact';
import type { Marks } from '../gl/marks.ts';
import type { Frame } from '../net/frames.ts';
import type { DocumentMessage, Rule, Told } from '../net/messages.ts';
import type { LayerInput } from '../picture/label-layer.ts';
import type { Rect } from '../scene/camera.ts';
import type { ColorKey, Swatch } from './legend.ts';
import type { Tool } from './store.ts';

/** The parts of the page that are loaded when they are needed, as the rest of it sees them. */

/** A community, or what is collapsed, in place of its nodes. */
export interface ShownGroup {
  /** Level, coarse first, and place in its list. */
  level: number;
  at: number;
  name: string;
  count: number;
  x: number;
  y: number;
  r: number;
  opacity: number;
  color: readonly [number, number, number];
  /** The node that gives its name. */
  top: number;
  /** The document's entry of collapsed nodes. */
  id?: string;
}

/** What is drawn for nodes that are too many to be told apart. */
export interface AfarLayer {
  readonly busy: boolean;
  readonly obstacles: Rect[];
  readonly groups: readonly ShownGroup[];
  covers(node: number): boolean;
  over(marks: Marks, input: LayerInput): void;
  groupAt(px: number, py: number): ShownGroup | null;
  hover(group: ShownGroup | null): void;
  open(group: ShownGroup): void;
  toggle(group: ShownGroup): Promise<void>;
  show(on: boolean): void;
  bundle(on: boolean): Promise<void>;
  expandAll(): Promise<void>;
  ungather(): void;
}

/** What is written along a line: the middle, the direction and the width of the text. */
export interface EdgeLabel {
  edge: number;
  text: string;
  x: number;
  y: number;
  angle: number;
  width: number;
}

/** What draws icons, axes, maps and labels of edges. */
export interface BoundLayer {
  readonly busy: boolean;
  readonly obstacles: readonly Rect[];
  readonly edgeLabels: readonly EdgeLabel[];
  readonly LegendSign: (props: { colorKey: ColorKey; swatch: Swatch; color?: string }) => JSX.Element;
  underlie(message: Told<'graph' | 'legend'>): void;
  frame(frame: Frame): void;
  hover(edge: number): void;
  over(input: LayerInput): void;
}

/** The page's part in the shared document. */
export interface DocumentPart {
  hear(message: DocumentMessage): void;
  mask(frame: Frame): void;
  pin(index: number, x: number, y: number): void;
  unpin(index: number): void;
  step(which: 'undo' | 'redo'): Promise<void>;
}

/** A place on the stage, in pixels. */
export interface Point {
  x: number;
  y: number;
}

/** How what was just found joins what is selected. */
export type Joining = 'replace' | 'add' | 'remove' | 'common';

/** What selects many nodes. */
export interface SelectionPart {
  readonly selection: { nodes(most?: number): number[] };
  visibleEdges(): number[];
  /** What is selected, or else the node whose card is open: a mark for each, and how many. */
  chosen(): { marks: Uint8Array; count: number; bits64: () => Promise<string> };
  /** All that is connected with what is selected. */
  componentOf(): Promise<{ bits64: string; count: number }>;
  do(what: 'all' | 'invert' | 'clear'): void;
  grow(): void;
  component(): void;
  path(): void;
  sameColor(): void;
  fit(): void;
  toggle(index: number): void;
  draw(points: readonly Point[], tool: Tool): void;
  finish(points: readonly Point[], tool: Tool, how: Joining): void;
  legend(key: ColorKey, swatch: Swatch, hides: boolean): Promise<void>;
  select(rule: Rule): Promise<void>;
  match(text: string): Promise<string | null>;
  choose(marks: Uint8Array, edges: readonly number[]): void;
  emphasize(nodes: readonly number[], edges: readonly number[], darken: boolean): void;
  forget(): void;
  hiddenChanged(): void;
}

/** What shows nodes with a third coordinate from any side. */
export interface SpaceView {
  show(on: boolean): Promise<void>;
  /** Turns the picture by so many pixels of the pointer. */
  turnBy(dx: number, dy: number): void;
}

/** How each part is loaded. */
export interface Loaders {
  afar(): Promise<AfarLayer>;
  bound(): Promise<BoundLayer>;
  document(): Promise<DocumentPart>;
  selection(): Promise<SelectionPart>;
  space(): Promise<SpaceView>;
  /** Shows the server's picture in place of the page's own. */
  still(): Promise<void>;
  /** Asks how the picture is to be saved. */
  exporting(): Promise<void>;
}

export const load = {} as Loaders;

/** Says how parts are loaded; they know the rest of the page, which does not know them. */
export function addLoaders(loaders: Partial<Loaders>): void {
  Object.assign(load, loaders);
}
