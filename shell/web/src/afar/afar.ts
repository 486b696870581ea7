import type { Marks, TextInk } from '../gl/marks.ts';
import type { DrawInput } from '../gl/renderer.ts';
import type { NodeList } from '../scene/scene-data.ts';
import { toBits64 } from '../document/bits.ts';
import { collapse, expand } from '../document/collapse.ts';
import { readFrame } from '../net/frames.ts';
import { toScreen, viewBox, type Rect } from '../scene/camera.ts';
import { css } from '../scene/color.ts';
import type { LayerInput } from '../picture/label-layer.ts';
import { shorten } from '../scene/labels.ts';
import { bundled, groupsShown } from '../state/afar.ts';
import type { AfarLayer, ShownGroup } from '../state/lazy.ts';
import { inSpace } from '../state/space.ts';
import { announcement, notice, params } from '../state/store.ts';
import type { Viewer } from '../state/viewer.ts';
import { Blobs, type Color, type Place } from './blobs.ts';
import { Bundle } from './bundle.ts';
import { CollapsedNodes } from './collapsed.ts';
import { AREA, radiusOf, RIM_PX } from './disc-fit.ts';
import { readGroups } from './groups.ts';
import { APART, LARGE, Level } from './level.ts';
import { NodeSample } from './node-sample.ts';
import { MANY } from './watch.ts';

/** Groups of each level at most: more have no room on a stage. */
export const MOST = [140, 600] as const;
/** What is left of nodes and edges behind groups. */
export const CONTEXT = { nodes: 0.4, edges: 0.4 };
/** What is left of groups when nodes are highlighted. */
const ASIDE = 0.25;
/** Room around the stage in which discs reach into it, on both sides together. */
const MARGIN_PX = 160;
/** Whether the address has `superGraph=false`. */
const SWITCHED_OFF = /^(false|0|no|off)$/i.test(new URLSearchParams(location.search).get('superGraph') ?? '');
/** Names asked for at a time, as many as the server answers. */
const ASKED = 200;
/** Size of the number of nodes below a name. */
const NUMBER_PX = 10.5;
/** Time between two looks at where nodes are while they move, in multiples of what a look takes. */
const PATIENCE = 20;

/** The level of discs that stand for collapsed nodes. */
const COLLAPSED = -1;

/**
 * The view from afar: communities as discs with their names and numbers of nodes and lines between them,
 * over the nodes, which are too many there to be told apart; zoomed in, groups open into those within, and
 * these into their nodes. Everything but who belongs together is the page's own: groups follow the layout,
 * the filters and the colours.
 */
export class Afar implements AfarLayer {
  /** Where names stand. */
  obstacles: Rect[] = [];
  /** Groups of the last frame, the largest first. */
  groups: ShownGroup[] = [];
  private levels: Level[] = [];
  private epoch = 0;
  private loading: AbortController | null = null;
  private readonly blobs = new Blobs();
  private readonly names = new Map<number, string>();
  private asking = false;
  private hovered: ShownGroup | null = null;
  /** What groups and places were made of. */
  private made: unknown[] = [];
  private linked: unknown[] = [];
  private placed: unknown[] = [];
  private placedAt = -1e9;
  private tookMs = 0;
  private later: ReturnType<typeof setTimeout> | undefined;
  /** 0 where nodes are seen, 1 where groups are in their place. */
  private strength = 0;

  private readonly sample: NodeSample;
  private readonly collapsed: CollapsedNodes;
  private readonly bundles: Bundle;
  private bundledAt: unknown[] = [];

  constructor(private readonly viewer: Viewer) {
    this.sample = new NodeSample(viewer.picture.renderer.software);
    this.bundles = new Bundle(viewer.picture.renderer);
    this.collapsed = new CollapsedNodes(viewer);
    // First: the third dimension orders what this chooses.
    viewer.picture.adjusters.unshift((input) => this.behind(input));
  }

  /** Whether something is on its way that changes the picture. */
  get busy(): boolean {
    return this.loading !== null || this.asking || this.collapsed.busy || this.later !== undefined;
  }

  /** Nodes and edges as they are drawn behind groups; looks first at what there is to show. */
  private behind(input: DrawInput): DrawInput {
    this.collapsed.update();
    this.rebundle();
    this.look(performance.now());
    const { strength } = this;
    const nodes = this.sampled(input);
    if (strength === 0) return { ...input, nodes };
    return {
      ...input,
      nodes,
      pointOpacity: input.pointOpacity * (1 - strength * (1 - CONTEXT.nodes)),
      edgeOpacity: input.edgeOpacity * (1 - strength * (1 - CONTEXT.edges)),
    };
  }

  /** The nodes of a frame: all in view once it is at rest and its edges are drawn. */
  private sampled({ view, size }: DrawInput): NodeList | null {
    const { picture } = this.viewer;
    const { data, painter, positions } = picture;
    this.sample.learn(painter.lastMs, data.numNodes);
    const whole = !picture.moving && !painter.incomplete;
    const box = viewBox(view, { w: size.w + MARGIN_PX, h: size.h + MARGIN_PX });
    const { x, y } = positions.origin;
    const stored = { minX: box.minX - x, maxX: box.maxX - x, minY: box.minY - y, maxY: box.maxY - y };
    return this.sample.of(data, stored, whole, positions.version);
  }

  private async load(): Promise<void> {
    const { viewer } = this;
    this.loading?.abort();
    const abort = (this.loading = new AbortController());
    this.epoch = viewer.epoch;
    this.levels = [];
    this.names.clear();
    groupsShown.value = null;
    try {
      const url = viewer.api.at(`${this.epoch}/groups.bin`);
      const answer = await fetch(url, { credentials: 'same-origin', signal: abort.signal });
      // Where none were found in time, all nodes are shown, as they are without groups.
      if (answer.ok) {
        const levels = readGroups(await readFrame(await answer.arrayBuffer()));
        if (levels[0]?.length === viewer.picture.data.numNodes) {
          let above: Level | null = null;
          this.levels = levels.slice(0, 2).map((groupOf, k) => (above = new Level(groupOf, MOST[k], above)));
          // In a small graph they are asked for to bundle edges along.
          if (viewer.picture.data.numNodes > MANY) groupsShown.value = !SWITCHED_OFF;
        }
      }
    } catch (error) {
      if (!abort.signal.aborted) console.error('groups', error);
    }
    if (this.loading === abort) this.loading = null;
    this.made = [];
    this.changed();
  }

  private changed(): void {
    this.viewer.picture.change();
    this.viewer.relabel();
  }

  /** Brings groups up to date with the picture, and finds which are shown. */
  private look(now: number): void {
    const { picture, epoch } = this.viewer;
    const { data, positions } = picture;
    const { started, whole } = positions;
    // On a slow link groups would keep positions waiting.
    if (data.numNodes <= MANY || !started || !whole || inSpace.value) {
      this.strength = 0;
      return;
    }
    if (epoch !== this.epoch) void this.load();
    const [coarse, fine] = this.levels;
    if (!coarse || !groupsShown.value) {
      this.strength = 0;
      return;
    }
    this.update(now);
    const { scale } = picture.camera.view;
    // Among the few that filters leave, each is seen.
    const many = coarse.total > MANY;
    coarse.look(many ? scale : Infinity, fine !== undefined);
    fine?.look(many ? scale : Infinity, false);
    let hidden = 0;
    coarse.groups.forEach(({ count }, k) => (hidden += count * (many ? coarse.closed(k, scale) : 0)));
    this.strength = hidden / Math.max(1, coarse.total);
  }

  private update(now: number): void {
    const { data, positions, size, fitScale } = this.viewer.picture;
    const elements = [data.nodeHidden, data.nodeColor, data.nodeSize, this.levels];
    const fresh = differs(this.made, elements);
    if (fresh) {
      this.made = elements;
      this.linked = [];
      for (const level of this.levels) level.regroup(data);
    }
    const edges = [data.edgeHidden, data.edgesKnown];
    // While edges come in, the lines between groups wait for the last of them.
    if (differs(this.linked, edges) && (data.edgesKnown === data.numEdges || this.linked.length === 0)) {
      this.linked = edges;
      for (const level of this.levels) level.relink(data);
    }
    const places = [positions.seq, size.w, size.h, Math.round(Math.log2(fitScale) * 20)];
    const stale = differs(this.placed, places);
    const wait = this.placedAt + PATIENCE * this.tookMs - now;
    if (!fresh && stale && wait > 0) this.lookLater(wait);
    if (!fresh && (!stale || wait > 0)) return;
    const began = performance.now();
    const area = (AREA * size.w * size.h) / (fitScale * fitScale);
    for (const level of this.levels) level.replace(data, { area });
    this.placed = places;
    this.tookMs = performance.now() - began;
    this.placedAt = now;
  }

  /** Looks again although nothing moves by then: the last places must not stay unseen. */
  private lookLater(wait: number): void {
    this.later ??= setTimeout(() => {
      this.later = undefined;
      this.changed();
    }, wait);
  }

  /** Draws groups over the picture and puts their names where there is room. */
  over(marks: Marks, input: LayerInput): void {
    const before = new Set(this.obstacles);
    this.obstacles = [];
    this.groups = [];
    if (this.strength === 0 && this.collapsed.discs.length === 0) return;
    const { picture } = this.viewer;
    const { view, size } = input;
    const { origin } = picture.positions;
    const back = picture.backdrop.center;
    const aside = picture.lit ? ASIDE : 1;
    this.blobs.begin();
    const seen = this.strength > 0 ? this.levels : [];
    seen.forEach((level, number) => {
      const at = level.bodies.map(({ x, y }) => toScreen(view, size, x + origin.x, y + origin.y));
      this.addLines(level, at, aside);
      level.groups.forEach(({ count, top, color }, k) => {
        const opacity = level.shown[k] * aside;
        const r = level.bodies[k].r * view.scale;
        const [x, y] = at[k];
        if (opacity < 0.02 || x < -r || y < -r || x > size.w + r || y > size.h + r) return;
        const name = this.nameOf(top);
        this.groups.push({ level: number, at: k, name, count, x, y, r, opacity, color, top });
      });
    });
    this.addCollapsed(input);
    for (const group of this.groups) {
      const lit = this.hovered && isSame(group, this.hovered);
      const { x, y, r, color, opacity } = group;
      // Names have to be read on it, so the inside is nearer to the background.
      const inside = mixed(color, [back.r, back.g, back.b], lit ? 0.25 : 0.45);
      this.blobs.disc(x, y, r, { inside, rim: color }, 0.86 * opacity, opacity);
    }
    this.blobs.draw(picture.renderer, size);
    this.groups.sort((a, b) => b.count - a.count);
    // Names of the last frame are no obstacle for themselves.
    const obstacles = input.obstacles.filter((rect) => !before.has(rect));
    if (!params.showLabels) return;
    this.addNames(marks, { ...input, obstacles });
    this.ask();
  }

  /** Discs that stand for collapsed nodes: as large as those of communities at fit, and never small. */
  private addCollapsed({ view, size }: LayerInput): void {
    const { picture } = this.viewer;
    const { origin } = picture.positions;
    this.collapsed.discs.forEach(({ id, name, count, color, x, y }, index) => {
      const r = radiusOf(count, picture.data.numNodes, size, picture.zoom);
      const [px, py] = toScreen(view, size, x + origin.x, y + origin.y);
      const { center } = picture.backdrop;
      // A second rim tells it from a community.
      const around = { inside: [center.r, center.g, center.b], rim: color } as const;
      this.blobs.disc(px, py, r + RIM_PX, around, 1, 1);
      const disc = { level: COLLAPSED, at: index, name, count, x: px, y: py, r, opacity: 1, color };
      this.groups.push({ ...disc, top: -1, id });
    });
  }

  private addLines(level: Level, places: readonly [number, number][], aside: number): void {
    const most = level.links[0]?.count ?? 1;
    for (const { a, b, count } of level.links) {
      const seen = Math.min(level.shown[a], level.shown[b]) * aside;
      if (seen < 0.02) continue;
      const share = Math.sqrt(count / most);
      const ends: [Level['groups'][0]['color'], Level['groups'][0]['color']] = [
        level.groups[a].color,
        level.groups[b].color,
      ];
      const { scale } = this.viewer.picture.camera.view;
      const line = between(places[a], places[b], level.bodies[a].r * scale, level.bodies[b].r * scale);
      if (line) this.blobs.line(line[0], line[1], ends, seen * (0.12 + 0.5 * share), 0.8 + 7 * share);
    }
  }

  private addNames(marks: Marks, { style, size: stage, snap, obstacles }: LayerInput): void {
    const { labels } = this.viewer;
    const ink: TextInk = {
      text: style.text,
      halo: style.halo,
      haloPx: 2,
      css: { text: css(style.text), halo: css(style.halo) },
    };
    const to = (place: number): number => (snap > 0 ? Math.round(place * snap) / snap : place);
    const taken: Rect[] = [...obstacles];
    const named = new Set<ShownGroup>();
    for (const [group, letters] of this.groups.flatMap((one) => [[one, 22], [one, 11]] as const)) {
      if (named.has(group)) continue;
      const { x, y, r, count, opacity } = group;
      // A long name that finds no room may find it when it is shorter.
      const name = shorten(group.name, letters);
      if (name === '' || opacity < 0.25 || r < 6) continue;
      // As large as the disc is wide, within what can be read and does not shout.
      const size = Math.round(Math.min(17, Math.max(10, (1.8 * r) / labels.measure(name, 1, true))));
      const number = count.toLocaleString('en');
      const [w, w2] = [labels.measure(name, size, true), labels.measure(number, NUMBER_PX, false)];
      const wide = Math.max(w, w2);
      const [up, down] = [size * 0.6 + 4, size * 0.6 + 9];
      const box = { x: x - wide / 2 - 2, y: y - up - 4, w: wide + 4, h: up + down + 4 };
      if (box.x < 0 || box.y < 0 || box.x + box.w > stage.w || box.y + box.h > stage.h) continue;
      if (taken.some((other) => overlap(box, other))) continue;
      named.add(group);
      taken.push(box);
      this.obstacles.push(box);
      const at = { name: to(y - 5), number: to(y + size * 0.6 + 2) };
      marks.text({ text: name, x: to(x - w / 2), y: at.name, size, weight: 600, opacity }, ink);
      const below = { text: number, x: to(x - w2 / 2), y: at.number, size: NUMBER_PX, weight: 400, opacity };
      marks.text(below, ink);
    }
  }

  private nameOf(node: number): string {
    return this.viewer.labels.labelOf(node) ?? this.names.get(node) ?? '';
  }

  /** Asks for names of groups in view that did not come with the graph. */
  private ask(): void {
    const unnamed = (group: ShownGroup): boolean => group.name === '' && group.top >= 0;
    const wanted = this.groups.filter((group) => unnamed(group) && !this.names.has(group.top));
    if (this.asking || wanted.length === 0) return;
    this.asking = true;
    const indices = [...new Set(wanted.slice(0, ASKED).map(({ top }) => top))];
    const done = (names: readonly string[]): void => {
      // One without a name is not asked for again.
      indices.forEach((index, k) => this.names.set(index, names[k] ?? ''));
      this.asking = false;
      this.changed();
    };
    this.viewer.api.names(indices, AbortSignal.timeout(30_000)).then(done, () => done([]));
  }

  /** Whether a node is behind a group, which is named in its place; one that is looked at keeps its name. */
  covers(node: number): boolean {
    const { selected, hovered } = this.viewer.focus;
    if (this.strength === 0 || node === selected || node === hovered) return false;
    return this.levels.some((level) => {
      const k = level.indexOf(node);
      return k >= 0 && level.shown[k] > 0.4;
    });
  }

  /** The group under a pixel; those of the finer level lie on top. */
  groupAt(px: number, py: number): ShownGroup | null {
    const hit = ({ x, y, r, opacity }: ShownGroup): boolean => {
      return opacity > 0.4 && (px - x) ** 2 + (py - y) ** 2 <= r * r;
    };
    const hits = this.groups.filter(hit);
    const rank = (group: ShownGroup): number => (group.level === COLLAPSED ? 9 : group.level);
    return hits.sort((a, b) => rank(b) - rank(a) || a.r - b.r)[0] ?? null;
  }

  /** Emphasizes the group under the pointer. */
  hover(group: ShownGroup | null): void {
    if (isSame(group, this.hovered)) return;
    this.hovered = group;
    this.viewer.refresh();
  }

  /** Collapses a community for all who look, or expands what is collapsed. */
  async toggle(group: ShownGroup): Promise<void> {
    if (group.id !== undefined) return expand(group.id);
    const { viewer } = this;
    const { nodeHidden, numNodes } = viewer.picture.data;
    const level = this.levels[group.level];
    const marks = Uint8Array.from({ length: numNodes }, (_, i) => {
      return Number(!nodeHidden?.[i] && level.indexOf(i) === group.at);
    });
    await collapse(viewer, group.top, { nodes: await toBits64(marks) }, group.count);
  }

  /** Goes to a group, so near that it opens. */
  open(group: ShownGroup): void {
    if (group.id !== undefined) {
      const { name, count } = group;
      const nodes = count === 1 ? '1 node' : `${count} nodes`;
      announcement.value = `${name}: ${nodes} in one disc. Press it twice to expand it.`;
      return;
    }
    const { picture } = this.viewer;
    const { camera, size, positions } = picture;
    const level = this.levels[group.level];
    const k = group.at;
    const [x, y, sx, sy] = level.places.subarray(4 * k, 4 * k + 4);
    const whole = Math.min(size.w / (5 * sx + 1e-9), size.h / (5 * sy + 1e-9));
    const opens = Math.min(
      APART.all / level.spacing[k],
      group.level + 1 < this.levels.length ? LARGE.all / level.bodies[k].r : Infinity,
    );
    const scale = Math.max(whole, 1.02 * opens, 1.3 * camera.view.scale);
    camera.take();
    camera.fly({ cx: x + positions.origin.x, cy: y + positions.origin.y, scale }, size, performance.now());
    this.viewer.refresh();
  }

  /** Bundles the edges between communities, or draws them straight. */
  async bundle(on: boolean): Promise<void> {
    const { viewer } = this;
    if (on && this.epoch !== viewer.epoch) await this.load();
    if (on && this.levels.length === 0) {
      notice.value = 'The server found no communities in this graph, along which edges could be bundled.';
      return;
    }
    bundled.value = on;
    this.bundledAt = [];
    viewer.picture.renderer.bending = on ? this.bundles : null;
    this.changed();
  }

  /** Follows the layout, the filters and other graphs with what edges are bundled along. */
  private rebundle(): void {
    if (!bundled.value) return;
    const { picture, epoch } = this.viewer;
    const { data, positions } = picture;
    const [coarse] = this.levels;
    if (epoch !== this.epoch && !this.loading) void this.load();
    const fits = coarse?.groupOf.length === data.numNodes;
    picture.renderer.bending = fits && !inSpace.value ? this.bundles : null;
    const now = [positions.seq, data.nodeHidden, coarse];
    if (!fits || inSpace.value || !differs(this.bundledAt, now)) return;
    this.bundledAt = now;
    this.bundles.place(coarse.groupOf, data);
  }

  /** Puts members of collapsed discs where the layout has them, until they are gathered again. */
  ungather(): void {
    this.collapsed.release();
  }

  /** Shows all collapsed nodes again. */
  expandAll(): Promise<void> {
    return expand();
  }

  /** Shows groups in place of nodes, or never. */
  show(on: boolean): void {
    groupsShown.value = on;
    this.changed();
  }
}

/** The part of a line that no disc at its ends covers; null where nothing is left. */
function between(a: Place, b: Place, ra: number, rb: number): [Place, Place] | null {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  const span = Math.hypot(dx, dy);
  if (span <= ra + rb) return null;
  const [ta, tb] = [ra / span, 1 - rb / span];
  return [
    [a[0] + dx * ta, a[1] + dy * ta],
    [a[0] + dx * tb, a[1] + dy * tb],
  ];
}

function mixed(a: Color, b: Color, share: number): Color {
  return [0, 1, 2].map((k) => a[k] + (b[k] - a[k]) * share) as [number, number, number];
}

function isSame(a: ShownGroup | null, b: ShownGroup | null): boolean {
  return a?.level === b?.level && a?.at === b?.at;
}

function differs(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length !== b.length || a.some((value, k) => value !== b[k]);
}

function overlap(a: Rect, b: Rect): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}
