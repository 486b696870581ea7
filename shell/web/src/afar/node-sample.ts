import type { NodeList } from '../scene/scene-data.ts';
import type { Box } from '../scene/camera.ts';

/** Nodes from which a moving picture may have fewer than all. */
const SAMPLED_FROM = 50_000;
/** Nodes a frame, at first and at least; without a graphics card some 600 a millisecond are drawn. */
const START = { software: 60_000, card: 2_000_000 };
const LEAST = 30_000;
/** Milliseconds of a frame above which it has fewer nodes, and below which it may have more. */
const SLOW_MS = 90;
const FAST_MS = 35;
/** Share of a sample that the largest nodes may take, which are drawn in any case. */
const LARGEST = 0.4;

export interface Sampled {
  numNodes: number;
  current: Float32Array;
  nodeSize: Uint8Array | null;
  nodeHidden: Uint8Array | null;
  order: Uint32Array | null;
}

/** Where a node stands in the order in which samples take nodes: the same for all, so that none flickers. */
const turn = (node: number): number => (Math.imul(node, 0x9e3779b1) ^ (node >>> 7)) >>> 0;

/**
 * Chooses which nodes of a large graph a frame draws: those in view, and of a moving picture no more than
 * the device draws in time, namely the largest and a fair sample of the others. A sample of fewer is part of
 * one of more, so that zooming adds nodes and moves none.
 */
export class NodeSample {
  private budget: number;
  private key: unknown[] = [];
  private last: NodeList | null = null;

  constructor(software: boolean) {
    this.budget = software ? START.software : START.card;
  }

  /** Learns from how long the last frame took, in ms. */
  learn(ms: number | null, numNodes: number): void {
    if (ms === null || !this.last) return;
    if (ms > SLOW_MS) this.budget = Math.max(LEAST, this.budget * 0.75);
    else if (ms < FAST_MS) this.budget = Math.min(2 * numNodes, this.budget * 1.2);
  }

  /** The nodes of a frame; null for all. `box` is in stored coordinates; `version` changes with these. */
  of(data: Sampled, box: Box, whole: boolean, version: unknown): NodeList | null {
    if (data.numNodes < SAMPLED_FROM || !data.order) return null;
    const most = whole ? Infinity : Math.round(this.budget);
    const key = [most, version, data.order, data.nodeHidden, box.minX, box.maxX, box.minY, box.maxY];
    if (key.some((part, k) => part !== this.key[k])) {
      this.key = key;
      this.last = sample(data, box, most);
    }
    return this.last;
  }
}

/** At most about `most` nodes within a box; null where these are nearly all of the graph. */
export function sample(data: Sampled, box: Box, most: number): NodeList | null {
  const { numNodes, current, nodeSize, nodeHidden, order } = data;
  if (!order) return null;
  const sizes = new Uint32Array(257);
  let inView = 0;
  const isIn = (i: number): boolean => {
    const x = current[2 * i];
    const y = current[2 * i + 1];
    return x >= box.minX && x <= box.maxX && y >= box.minY && y <= box.maxY && !nodeHidden?.[i];
  };
  for (let i = 0; i < numNodes; i += 1) {
    if (!isIn(i)) continue;
    inView += 1;
    sizes[nodeSize ? nodeSize[i] : 0] += 1;
  }
  const whole = inView <= most;
  if (whole && inView > 0.8 * numNodes) return null;
  // The largest have the first claim.
  let large = 257;
  let taken = 0;
  if (!whole) {
    while (large > 1 && taken + sizes[large - 1] <= LARGEST * most) taken += sizes[(large -= 1)];
  }
  const share = whole ? 2 ** 32 : ((most - taken) / Math.max(1, inView - taken)) * 2 ** 32;
  const kept: number[] = [];
  const starts = new Uint32Array(258);
  for (let i = 0; i < numNodes; i += 1) {
    const size = nodeSize ? nodeSize[i] : 0;
    if ((size < large && turn(i) >= share) || !isIn(i)) continue;
    kept.push(i);
    starts[size + 1] += 1;
  }
  for (let k = 0; k < 257; k += 1) starts[k + 1] += starts[k];
  const list = new Uint32Array(kept.length);
  for (const i of kept) list[starts[nodeSize ? nodeSize[i] : 0]++] = i;
  return { list, whole };
}
