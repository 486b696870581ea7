/** Data of the picture; the arrays are kept by reference and uploaded again after a lost context. */
export interface SceneData {
  numNodes: number;
  numEdges: number;
  previous: Float32Array;
  current: Float32Array;
  nodeColor: Uint8Array | null;
  nodeSize: Uint8Array | null;
  /** Node indices in ascending importance, so that hubs end on top. */
  order: Uint32Array | null;
  ends: Uint32Array;
  edgesKnown: number;
  edgeColor: Uint8Array | null;
  /** An opacity of 0 in `edgeColor` stands for the edge's own look. */
  edgeColorSome: boolean;
  edgeWidth: Uint8Array | null;
  /** 1 for each that is not drawn; null when all are. */
  nodeHidden: Uint8Array | null;
  edgeHidden: Uint8Array | null;
}

/**
 * Lines of the near tier in pairs: a drawn edge index; the rank among parallel lines plus 128, and above 8
 * bits how many edges the line stands for.
 */
export interface EdgeList {
  pairs: Uint32Array;
  /** Lines. */
  count: number;
  /** Edges that the lines stand for. */
  edges: number;
  /** Whether some edges are parallel or loops and need curves. */
  curved: boolean;
}

/** Nodes by index, in ascending importance. */
export interface NodeList {
  list: Uint32Array;
  /** Whether it has all that are in view. */
  whole: boolean;
}

/** A graph of which nothing is known but its size. */
export function emptyScene(numNodes: number, numEdges: number): SceneData {
  const nodeColor = new Uint8Array(numNodes * 4);
  for (let i = 0; i < nodeColor.length; i += 4) nodeColor.set([107, 117, 137, 255], i);
  return {
    numNodes,
    numEdges,
    previous: new Float32Array(0),
    current: new Float32Array(0),
    nodeColor,
    nodeSize: new Uint8Array(numNodes).fill(14),
    order: new Uint32Array(0),
    ends: new Uint32Array(numEdges * 2),
    edgesKnown: 0,
    edgeColor: null,
    edgeColorSome: false,
    edgeWidth: null,
    nodeHidden: null,
    edgeHidden: null,
  };
}

/** Node indices in ascending size by counting. */
export function orderBySize(sizes: Uint8Array): Uint32Array {
  const starts = new Uint32Array(257);
  for (const size of sizes) starts[size + 1] += 1;
  for (let k = 0; k < 256; k += 1) starts[k + 1] += starts[k];
  const order = new Uint32Array(sizes.length);
  for (let i = 0; i < sizes.length; i += 1) order[starts[sizes[i]]++] = i;
  return order;
}

/** Colours as the device gets them: a node without opacity is not drawn. */
export function shownColors(rgba: Uint8Array, hidden: Uint8Array | null): Uint8Array {
  if (!hidden) return rgba;
  const out = rgba.slice();
  for (let i = 0; i < hidden.length; i += 1) if (hidden[i]) out[4 * i + 3] = 0;
  return out;
}

/** Width of an edge that has none of its own, in sixteenths of a pixel. */
const PLAIN_WIDTH = 16;

/** Widths as the device gets them: an edge of width 0 is not drawn. Null when all have one width. */
export function shownWidths({ numEdges, edgeWidth, edgeHidden }: SceneData): Uint8Array | null {
  if (!edgeWidth && !edgeHidden) return null;
  const out = new Uint8Array(numEdges);
  for (let e = 0; e < numEdges; e += 1) {
    // The narrowest line is drawn the same from 0 to 4.
    out[e] = edgeHidden?.[e] ? 0 : edgeWidth ? edgeWidth[e] || 1 : PLAIN_WIDTH;
  }
  return out;
}
