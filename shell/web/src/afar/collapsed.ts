import { effect } from '@preact/signals';
import { fromBits64 } from '../document/bits.ts';
import { session } from '../document/current.ts';
import * as state from '../document/state.ts';
import { ABSENT, isPlaced } from '../scene/positions.ts';
import { discs } from '../state/afar.ts';
import type { Viewer } from '../state/viewer.ts';
import { fitWithDiscs, isCut, radiusOf, RIM_PX, type Reaching } from './disc-fit.ts';
import { groupsOf, NO_GROUP } from './groups.ts';

/** Nodes that one disc stands for. */
export interface Disc {
  id: string;
  name: string;
  /** Visible ones, at least 1: it stays while filters leave anything that it stands for. */
  count: number;
  /** Middle in stored coordinates. */
  x: number;
  y: number;
  color: [number, number, number];
}

/**
 * Nodes of the shared document's `collapsed/` entries: hidden, with the edges among them, and gathered at
 * their middle, so that all other edges end at the disc that stands there. A node of two is in the first.
 */
export class CollapsedNodes {
  discs: Disc[] = [];
  /** Members that are on their way from the server. */
  busy = false;
  private epoch = 0;
  private discOf: Uint16Array | null = null;
  /** Places of members by the layout, and where they were put instead; x and y of each node. */
  private own = new Float32Array(0);
  private put = new Float32Array(0);
  /** Members of each entry by what the entry says. */
  private readonly members = new Map<string, Uint8Array>();
  private known: unknown[] = [];
  /** Whether the view was fitted anew for the sake of discs. */
  private widened = false;

  constructor(private readonly viewer: Viewer) {
    effect(() => {
      const entries = state.collapsed.value;
      discs.value = entries.length;
      void this.find(entries);
    });
    const { picture } = viewer;
    picture.gather = () => this.gather();
    picture.fit = (fit) => {
      const isWhole = fit.xy === picture.positions.current;
      const whole = isWhole || this.discs.length === 0 ? null : (picture.fitView()?.scale ?? null);
      return fitWithDiscs(fit, this.reaching(), whole);
    };
  }

  /** The discs as a fit sees them. */
  private reaching(): Reaching[] {
    const { positions, data, size } = this.viewer.picture;
    return this.discs.map(({ count, x, y }) => ({
      x: x + positions.origin.x,
      y: y + positions.origin.y,
      reach: (zoom) => radiusOf(count, data.numNodes, size, zoom) + RIM_PX,
    }));
  }

  private async find(entries: typeof state.collapsed.value): Promise<void> {
    this.busy = true;
    const { viewer } = this;
    if (this.epoch !== viewer.epoch) this.members.clear();
    this.epoch = viewer.epoch;
    const nodes = viewer.picture.data.numNodes;
    for (const { rule } of entries) {
      const key = JSON.stringify(rule);
      if (this.members.has(key)) continue;
      try {
        const found = await session()?.api.find({ rule });
        if (found) this.members.set(key, await fromBits64(found.nodes, nodes));
      } catch (error) {
        // What cannot be found in this graph is not collapsed there.
        console.error('collapsed', error);
      }
    }
    this.busy = false;
    if (entries === state.collapsed.value && nodes === viewer.picture.data.numNodes) this.apply(entries);
  }

  private apply(entries: typeof state.collapsed.value): void {
    const { picture } = this.viewer;
    const { numNodes } = picture.data;
    if (!this.discOf && entries.length === 0) return;
    this.release();
    this.discOf = entries.length > 0 ? new Uint16Array(numNodes).fill(NO_GROUP) : null;
    const { discOf: of } = this;
    entries.forEach(({ rule }, k) => {
      this.members.get(JSON.stringify(rule))?.forEach((mark, i) => {
        if (mark && of && of[i] === NO_GROUP) of[i] = k;
      });
    });
    picture.hiding.covered.node = of && Uint8Array.from(of, (group) => Number(group !== NO_GROUP));
    picture.hide('node', picture.hiding.masks.node);
    this.known = [];
    this.update();
  }

  /** Members go back to their own places. */
  release(): void {
    const { discOf: of, own, put } = this;
    const { current, previous } = this.viewer.picture.positions;
    if (of?.length === this.viewer.picture.data.numNodes) {
      of.forEach((group, i) => {
        if (group === NO_GROUP || current[2 * i] !== put[2 * i]) return;
        for (const k of [2 * i, 2 * i + 1]) current[k] = previous[k] = own[k];
      });
    }
    const places = 2 * this.viewer.picture.data.numNodes;
    this.own = new Float32Array(places).fill(ABSENT);
    this.put = new Float32Array(places).fill(ABSENT);
  }

  /** Hides the edges among members anew, and counts members, where edges or filters are others. */
  update(): void {
    const { discOf: of } = this;
    const { picture, epoch } = this.viewer;
    const { data, hiding } = picture;
    const entries = state.collapsed.value;
    // In other elements other nodes are meant.
    if (epoch !== this.epoch && entries.length > 0 && !this.busy) void this.find(entries);
    const { masks } = hiding;
    const now = [data.edgesKnown, masks.node, data.nodeColor, data.nodeSize, of];
    if (now.every((value, k) => value === this.known[k]) && this.known.length > 0) return;
    this.known = now;
    if (of) {
      const covered = new Uint8Array(data.numEdges);
      for (let e = 0; e < data.edgesKnown; e += 1) {
        const group = of[data.ends[2 * e]];
        covered[e] = Number(group !== NO_GROUP && group === of[data.ends[2 * e + 1]]);
      }
      picture.hiding.covered.edge = covered;
    } else picture.hiding.covered.edge = null;
    picture.hide('edge', masks.edge);
    this.regather();
  }

  private regather(): void {
    const { picture } = this.viewer;
    const { camera, size, zoom } = picture;
    this.gather();
    picture.moved();
    // What is seen stays where it is as long as no disc is cut, and comes back with what was in its place.
    const isAnyCut = this.reaching().some((disc) => isCut(disc, camera.view, size, zoom));
    if (camera.following && (isAnyCut || this.widened)) {
      picture.refit();
      this.widened = isAnyCut || this.discs.length > 0;
    }
    this.viewer.relabel();
  }

  /** Takes the members of discs to the middles of these; called for every frame of positions. */
  private gather(): void {
    const { discOf: of } = this;
    const { data, hiding, positions } = this.viewer.picture;
    this.discs = [];
    if (!of || of.length !== data.numNodes) return;
    const entries = state.collapsed.value;
    const xy = data.current;
    const sums = new Float64Array(3 * entries.length);
    const { own, put } = this;
    for (let i = 0; i < of.length; i += 1) {
      if (of[i] === NO_GROUP) continue;
      // A place that is not where it was put is a new one of the layout.
      if (xy[2 * i] !== put[2 * i] || xy[2 * i + 1] !== put[2 * i + 1]) {
        own[2 * i] = xy[2 * i];
        own[2 * i + 1] = xy[2 * i + 1];
      }
      if (!isPlaced(own[2 * i])) continue;
      sums[3 * of[i]] += 1;
      sums[3 * of[i] + 1] += own[2 * i];
      sums[3 * of[i] + 2] += own[2 * i + 1];
    }
    for (let k = 0; k < entries.length; k += 1) {
      sums[3 * k + 1] /= sums[3 * k] || 1;
      sums[3 * k + 2] /= sums[3 * k] || 1;
    }
    for (let i = 0; i < of.length; i += 1) {
      if (of[i] === NO_GROUP || !isPlaced(own[2 * i])) continue;
      for (const axis of [0, 1]) {
        const k = 2 * i + axis;
        xy[k] = sums[3 * of[i] + 1 + axis];
        if (!isPlaced(positions.previous[k])) positions.previous[k] = xy[k];
        put[k] = xy[k];
      }
    }
    const { nodeColor, nodeSize } = data;
    const elements = { xy, nodeColor, nodeSize, nodeHidden: hiding.masks.node };
    for (const { id, count, color } of groupsOf(of, elements, entries.length, 1)) {
      const entry = entries[id];
      if (!entry || sums[3 * id] === 0) continue;
      const [x, y] = [sums[3 * id + 1], sums[3 * id + 2]];
      this.discs.push({ id: entry.id, name: entry.name, count, color, x, y });
    }
  }
}
