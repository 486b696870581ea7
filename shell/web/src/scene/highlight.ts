import type { Look } from './look.ts';
import { looks } from './near-edges.ts';
import { bundles, edgeList, type Bundle } from './near.ts';
import { neighbourhood } from './pick.ts';
import type { EdgeList, SceneData } from './scene-data.ts';

/** Edges of a hovered node that are drawn one by one. */
const LIT_EDGES_MAX = 20_000;
/** Numbers on the highlighted lines that stand for several edges. */
const COUNTS_MAX = 30;

/** What is highlighted: the node whose surroundings it is or -1, and its nodes, the largest last. */
export interface Lit {
  index: number;
  nodes: Uint32Array;
  edges: EdgeList;
  bundles: Bundle[];
  set: ReadonlySet<number>;
}

/** A highlight of many nodes with the edges given. */
export function highlightOfMany(data: SceneData, nodes: number[], edges: readonly number[]): Lit {
  const size = data.nodeSize;
  const sorted = size ? nodes.toSorted((a, b) => size[a] - size[b]) : nodes;
  const list = edgeList([...edges], data.ends, looks(data));
  return { index: -1, nodes: Uint32Array.from(sorted), edges: list, bundles: [], set: new Set(nodes) };
}

/** The highlight of a node and what is around it, as far as the look says. */
export function highlightOf(data: SceneData, look: Look, index: number): Lit {
  const around =
    look.highlight === 'node' || look.highlight === 'none'
      ? { nodes: [], edges: [] }
      : neighbourhood(
          data.ends.subarray(0, 2 * data.edgesKnown),
          index,
          look.highlight,
          look.hops,
          LIT_EDGES_MAX,
          data.edgeHidden,
        );
  const size = data.nodeSize;
  const nodes = [...around.nodes].sort((a, b) => (size ? size[a] - size[b] : a - b));
  const edges = edgeList(around.edges, data.ends, looks(data));
  const counted = bundles(edges).slice(0, COUNTS_MAX);
  const set = new Set([...nodes, index]);
  return { index, nodes: Uint32Array.from([...nodes, index]), edges, bundles: counted, set };
}
