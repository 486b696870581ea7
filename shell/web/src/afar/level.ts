import type { SceneData } from '../scene/scene-data.ts';
import { setApart, type Body } from './apart.ts';
import { groupsOf, linksOf, placesOf, type Group, type Link } from './groups.ts';

/** Pixels between neighbouring nodes at which they begin to be told apart, and at which all are. */
export const APART = { some: 3, all: 6 };
/** Radius in pixels at which a group begins to give way to the groups in it, and at which it has. */
export const LARGE = { some: 80, all: 115 };
/** Lines a group, of which the strongest are drawn. */
const LINKS_EACH = 3;

/** What of the stage the level has to know to choose its measures. */
export interface Measure {
  /** Area that all discs together take, in square graph units. */
  area: number;
}

/** One level of groups: which there are, where they stand, what joins them, and how dense their nodes lie. */
export class Level {
  groups: Group[] = [];
  links: Link[] = [];
  /** Discs in stored coordinates, none on another. */
  bodies: Body[] = [];
  /** Middles and standard deviations of the nodes, four numbers a group. */
  places: Float64Array = new Float64Array(0);
  /** Graph units between neighbouring nodes in the middle of each group. */
  spacing: Float64Array = new Float64Array(0);
  /** How strongly each group is shown in the present view, 0 to 1. */
  shown = new Float32Array(0);
  /** The group of the level above that each group lies in; -1 for none. */
  parents: number[] = [];
  /** Visible nodes in groups. */
  total = 0;
  private place = new Int32Array(0);

  constructor(
    readonly groupOf: Uint16Array,
    private readonly most: number,
    readonly above: Level | null,
  ) {}

  /** Finds the groups anew: other nodes are visible, or their colours or sizes are others. */
  regroup(data: SceneData): void {
    this.groups = groupsOf(this.groupOf, elementsOf(data), this.most);
    this.total = this.groups.reduce((sum, group) => sum + group.count, 0);
    this.place = new Int32Array(0x10000).fill(-1);
    this.groups.forEach((group, k) => (this.place[group.id] = k));
    this.parents = this.groups.map(({ top }) => this.above?.indexOf(top) ?? -1);
    this.shown = new Float32Array(this.groups.length);
  }

  /** Counts the edges between groups anew. */
  relink(data: SceneData): void {
    this.links = linksOf(this.groupOf, this.groups, data, LINKS_EACH * this.groups.length);
  }

  /** Places the discs anew after nodes have moved. */
  replace(data: SceneData, { area }: Measure): void {
    this.places = placesOf(this.groupOf, this.groups, elementsOf(data));
    const { places, above } = this;
    const all = above?.total ?? this.total;
    this.bodies = this.groups.map(({ count }, k) => {
      const r = Math.sqrt((area * count) / Math.max(1, all) / Math.PI);
      return { x: places[4 * k], y: places[4 * k + 1], r };
    });
    if (!above) setApart(this.bodies);
    else this.follow(above);
    this.measure(above ?? this);
  }

  /** Groups in a group move with its disc, and apart from one another. */
  private follow(above: Level): void {
    const families = new Map<number, Body[]>();
    this.bodies.forEach((body, k) => {
      const parent = this.parents[k];
      if (parent < 0) return;
      body.x += above.bodies[parent].x - above.places[4 * parent];
      body.y += above.bodies[parent].y - above.places[4 * parent + 1];
      const family = families.get(parent);
      if (family) family.push(body);
      else families.set(parent, [body]);
    });
    for (const family of families.values()) setApart(family);
  }

  /** How dense nodes lie in the middle of each group, those of the groups around it included. */
  private measure(coarse: Level): void {
    this.spacing = new Float64Array(this.groups.length);
    for (let k = 0; k < this.spacing.length; k += 1) {
      let density = 0;
      for (let j = 0; j < coarse.groups.length; j += 1) {
        const sx = coarse.places[4 * j + 2] || 1e-9;
        const sy = coarse.places[4 * j + 3] || 1e-9;
        const dx = (this.places[4 * k] - coarse.places[4 * j]) / sx;
        const dy = (this.places[4 * k + 1] - coarse.places[4 * j + 1]) / sy;
        const most = coarse.groups[j].count / (2 * Math.PI * sx * sy);
        density += most * Math.exp(-(dx * dx + dy * dy) / 2);
      }
      this.spacing[k] = 1 / Math.sqrt(Math.max(density, 1e-300));
    }
  }

  /** How strongly each group is shown at a scale; with `below`, large ones give way to those in them. */
  look(scale: number, below: boolean): void {
    for (let k = 0; k < this.groups.length; k += 1) {
      const parent = this.parents[k];
      const inside = this.above ? (parent < 0 ? 0 : this.above.opened(parent, scale)) : 1;
      const own = below ? 1 - this.opened(k, scale) : 1;
      this.shown[k] = this.closed(k, scale) * inside * own;
    }
  }

  /** 1 where nodes of a group cannot be told apart, 0 where they can. */
  closed(k: number, scale: number): number {
    return 1 - smooth(APART.some, APART.all, this.spacing[k] * scale);
  }

  private opened(k: number, scale: number): number {
    return smooth(LARGE.some, LARGE.all, this.bodies[k].r * scale);
  }

  /** The place in the list of the group of a node; -1 for none. */
  indexOf(node: number): number {
    return this.place[this.groupOf[node]] ?? -1;
  }
}

function elementsOf(data: SceneData): Parameters<typeof groupsOf>[1] {
  const { current: xy, nodeColor, nodeSize, nodeHidden } = data;
  return { xy, nodeColor, nodeSize, nodeHidden };
}

function smooth(from: number, to: number, x: number): number {
  const t = Math.min(1, Math.max(0, (x - from) / (to - from)));
  return t * t * (3 - 2 * t);
}
