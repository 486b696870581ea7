import type { TextWidths } from '../gl/glyph-atlas.ts';
import { Painter, type InkPlan } from '../gl/painter.ts';
import { Renderer, type DrawInput } from '../gl/renderer.ts';
import type { Frame } from '../net/frames.ts';
import { CameraControl } from '../scene/camera-control.ts';
import { givenBox, percentileBox, toGraph, toScreen, viewBox } from '../scene/camera.ts';
import type { Box, Rect, Size, View } from '../scene/camera.ts';
import { recolorForLight } from '../scene/color.ts';
import { Dimming } from '../scene/dimming.ts';
import { fitView } from '../scene/fit.ts';
import { Hiding } from '../scene/hiding.ts';
import type { Lit } from '../scene/highlight.ts';
import { inkLength, inkRule, passingAt, type Ink } from '../scene/ink.ts';
import type { Disc } from '../scene/labels.ts';
import { largeDiscs } from '../scene/large-discs.ts';
import type { Backdrop, Look } from '../scene/look.ts';
import type { InView } from '../scene/names.ts';
import { NearEdges } from '../scene/near-edges.ts';
import { contrastAt, diameterOf, type SizeRule } from '../scene/node-size.ts';
import type * as Pointing from '../scene/pointing.ts';
import { Positions } from '../scene/positions.ts';
import type { RareEdges } from '../scene/rare-edges.ts';
import { RenderScale } from '../scene/render-scale.ts';
import { emptyScene, orderBySize, type EdgeList, type SceneData } from '../scene/scene-data.ts';

/** Arrow heads only where they can be told apart. */
const ARROW_EDGES_MAX = 600;
const REST_MS = 150;

/** The graph on the screen: its data, camera, highlight, and what to redraw when. */
export class Picture {
  readonly renderer: Renderer;
  readonly painter: Painter;
  readonly camera: CameraControl;
  positions = new Positions(0);
  data: SceneData;
  size: Size = { w: 1, h: 1 };
  dpr = 1;
  fitScale = 1;
  backdrop: Backdrop;
  lit: Lit | null = null;
  frames = 0;
  /** Whether the positions came with the data; the fit then leaves none out. */
  given = false;
  /** Whether somebody bound the sizes of nodes, which then keep their proportions at every zoom. */
  sizesBound = false;
  /** Screen rectangles that panels cover. */
  obstacles: () => Rect[] = () => [];
  /** Adds names and rings to what is drawn; told whether the picture moves. */
  over: (moving: boolean, now: number) => void = () => undefined;
  /** Tells whether edges show that they have a direction; null until it is there. */
  findDirection: ((ends: Uint32Array, edges: number, nodes: number) => boolean) | null = null;
  /** What the pointer needs; null until it is there. */
  pointing: typeof Pointing | null = null;
  /** Change how a frame is drawn, one after another. */
  readonly adjusters: ((input: DrawInput) => DrawInput)[] = [];
  private readonly renderScale: RenderScale;
  readonly hiding = new Hiding();
  /** Moves nodes of a frame of positions to where they are shown. */
  gather: () => void = () => undefined;
  /** The view that shows a box; what is drawn larger than its place may take more. */
  fit = fitView;
  /** Whether the last frame was one of a picture that moves. */
  moving = false;
  private sharpness = 1;
  private directed: boolean | null = null;
  private rawColor: Uint8Array | null = null;
  /** Colours of nodes in this theme; in 3D those that are drawn are fainter with distance. */
  ownColor: Uint8Array | null = null;
  private chosen: Uint8Array = new Uint8Array(0);
  /** Whether many nodes are highlighted, which hovering leaves alone. */
  private held = false;
  /** Highlights of many nodes so far. */
  private lights = 0;
  private readonly dimming: Dimming;
  version = 0;
  private tweenStart = 0;
  private tweenMs = 100;
  private lastFrameAt = 0;
  private touchedAt = -1e9;
  private readonly near: NearEdges;
  /** Lines of the near tier in the last frame; null: too many. */
  drawnLines: EdgeList | null = null;
  /** Finds edges of rare colours; null until it is there. */
  rare: RareEdges | null = null;

  constructor(
    host: HTMLElement,
    readonly widths: TextWidths,
    readonly look: Look,
    private readonly still: boolean,
    private readonly test: boolean,
  ) {
    this.renderer = new Renderer(host, widths);
    this.renderScale = new RenderScale(this.renderer.software);
    this.painter = new Painter(this.renderer, test);
    this.near = new NearEdges(this.renderer.software);
    this.camera = new CameraControl(still);
    this.dimming = new Dimming(still);
    this.data = emptyScene(0, 0);
    this.backdrop = {
      center: { r: 19, g: 22, b: 30, a: 1 },
      edge: { r: 11, g: 13, b: 18, a: 1 },
      clear: false,
      light: false,
    };
  }

  /** Starts a new element set. */
  setGraph(numNodes: number, numEdges: number): void {
    this.positions = new Positions(numNodes);
    this.data = emptyScene(numNodes, numEdges);
    this.data.previous = this.positions.previous;
    this.data.current = this.positions.current;
    this.hiding.clear();
    this.rawColor = this.ownColor = null;
    this.lit = null;
    this.held = false;
    this.dimming.end();
    this.edgesChanged();
    this.data.order = orderBySize(this.data.nodeSize ?? new Uint8Array(numNodes));
    this.renderer.setScene(this.data);
    this.change();
  }

  /** Edges, their colours, or which of them are visible have changed. */
  private edgesChanged(): void {
    this.near.forget();
    this.rare?.forget();
    this.directed = null;
  }

  /** Everything derived from data or camera is stale. */
  change(): void {
    this.version += 1;
  }

  touched(now: number): void {
    this.touchedAt = now;
  }

  setNodeColors(rgba: Uint8Array, chosen: Uint8Array): void {
    this.rawColor = rgba.slice(0, this.data.numNodes * 4);
    this.chosen = chosen;
    this.applyTheme();
  }

  /** Colours of the built-in palette that nobody chose follow the theme. */
  applyTheme(): void {
    this.renderer.setOpaque(!this.backdrop.clear);
    this.painter.reset();
    if (this.rawColor) {
      this.ownColor = this.backdrop.light ? recolorForLight(this.rawColor, this.chosen) : this.rawColor;
      this.data.nodeColor = this.ownColor;
      this.renderer.uploadStyle();
    }
    this.change();
  }

  setNodeSizes(sizes: Uint8Array): void {
    this.data.nodeSize = sizes.slice(0, this.data.numNodes);
    this.data.order = orderBySize(this.data.nodeSize);
    this.restyle();
  }

  /**
   * With `some`, an opacity of 0 stands for an edge's own look; no colour at all for that of all edges.
   * Colours at the destinations may follow, and stay behind the others in their buffer.
   */
  setEdgeColors(rgba: Uint8Array, some: boolean): void {
    const { data } = this;
    data.edgeColor = rgba.length === 0 ? null : rgba.slice().subarray(0, 4 * data.numEdges);
    this.data.edgeColorSome = some;
    this.edgesChanged();
    this.restyle();
  }

  setEdgeWidths(bytes: Uint8Array): void {
    this.data.edgeWidth = bytes.slice();
    this.restyle();
  }

  private restyle(): void {
    this.renderer.uploadStyle();
    this.change();
  }

  /** Hides the elements that are marked, for drawing, picking and names; null shows all. */
  hide(axis: 'node' | 'edge', marks: Uint8Array | null): void {
    this.data[`${axis}Hidden`] = this.hiding.with(axis, marks);
    this.edgesChanged();
    if (!this.held) this.lit = null;
    this.restyle();
  }

  addEdges(first: number, ends: Uint32Array): void {
    // While edges come in the picture does not rest: each piece would have all be drawn anew.
    this.touched(performance.now());
    this.data.ends.set(ends.subarray(0, Math.max(0, this.data.ends.length - 2 * first)), 2 * first);
    this.data.edgesKnown = Math.max(
      this.data.edgesKnown,
      Math.min(this.data.numEdges, first + ends.length / 2),
    );
    this.renderer.uploadEdges(first);
    this.edgesChanged();
    this.change();
  }

  /** Takes a position frame; answers false when it cannot be used. */
  applyFrame(frame: Frame, now: number): boolean {
    const first = !this.positions.started;
    const t = this.tween(now);
    if (!first) this.positions.freeze(t);
    if (!this.positions.apply(frame)) return false;
    this.gather();
    if (first) this.positions.previous.set(this.positions.current);
    this.positions.settleNew();
    // The tween lasts as long as frames are apart, so motion is even and one frame behind.
    const gap = now - this.lastFrameAt;
    if (gap < 1500) this.tweenMs += (Math.min(400, Math.max(50, gap)) - this.tweenMs) * 0.3;
    this.lastFrameAt = now;
    this.tweenStart = now;
    this.renderer.uploadPositions(first || t < 1);
    this.change();
    this.refit();
    return true;
  }

  /** Uploads positions that were changed in place (a drag). */
  moved(): void {
    this.renderer.uploadPositions(true);
    this.change();
  }

  tween(now: number): number {
    if (this.still) return 1;
    return Math.min(1, Math.max(0, (now - this.tweenStart) / this.tweenMs));
  }

  /** The view that shows the layout, or what filters leave, in the free part of the screen; null without. */
  fitView(visible = false): View | null {
    const { origin } = this.positions;
    const hidden = this.hiding.masks.node;
    const current = visible && hidden ? this.positions.without(hidden) : this.positions.current;
    const box = this.given ? givenBox(current, origin) : percentileBox(current, origin);
    if (!box) return null;
    const most = this.given ? 0 : this.data.numNodes / 2000;
    return this.fit({ box, size: this.size, panels: this.obstacles(), xy: current, origin, most });
  }

  /** Looks anew where the layout is; a camera that follows glides there, or jumps. */
  refit(jump = false): void {
    const fit = this.fitView();
    if (!fit) return;
    this.fitScale = fit.scale;
    if (jump && this.camera.following) this.camera.set(fit);
    else this.camera.follow(fit);
  }

  get zoom(): number {
    return this.camera.view.scale / this.fitScale;
  }

  get sizes(): SizeRule {
    const { data, look, zoom } = this;
    const screen = Math.min(1.15, Math.max(0.6, Math.sqrt(Math.min(this.size.w, this.size.h) / 780)));
    const scale = look.pointSize * screen * Math.max(1e-3, zoom) ** 0.55;
    const least = data.order && data.nodeSize ? data.nodeSize[data.order[0]] : 0;
    return { scale, floor: least ?? 0, contrast: this.sizesBound ? 1 : contrastAt(zoom) };
  }

  /** Radius of a node on the screen in pixels. */
  radius = (index: number): number => diameterOf(this.data.nodeSize?.[index] ?? 16, this.sizes) / 2;

  /** Discs in view that are large enough to keep names of others off them. */
  discs(): Disc[] {
    return largeDiscs(this.data, this.sizes, this.size, (index) => this.project(index));
  }

  /** Graph coordinates at which a node is shown now. */
  at = (index: number): [number, number] | null =>
    this.data.nodeHidden?.[index] ? null : this.positions.shownAt(index, this.tween(performance.now()));

  /** What is looked at, in a few characters: it changes with the view, the layout and the highlight. */
  get looking(): string {
    const { cx, cy, scale } = this.camera.view;
    const { size, positions, lit, lights, dimming } = this;
    const lighted = dimming.wanted && lit?.index;
    return [cx, cy, scale, size.w, size.h, positions.version, lighted, lights].join(' ');
  }

  /** The nodes and what of them is shown, for whoever names them. */
  inView(): InView {
    const { camera, size, data, dimming, lit } = this;
    const { current: xy, origin } = this.positions;
    const set = dimming.wanted && lit ? lit.set : null;
    const { nodeSize, nodeHidden: hidden } = data;
    return { xy, origin, view: camera.view, size, nodeSize, lit: set, hidden };
  }

  project(index: number): [number, number] | null {
    const place = this.at(index);
    return place && toScreen(this.camera.view, this.size, place[0], place[1]);
  }

  /** The node under a pixel, or -1. */
  nodeAt(px: number, py: number): number {
    const { origin, current } = this.positions;
    const [x, y] = toGraph(this.camera.view, this.size, px, py);
    const input = { xy: current, radius: this.radius, hidden: this.data.nodeHidden };
    if (!this.pointing) return -1;
    return this.pointing.pickNode(input, x - origin.x, y - origin.y, this.camera.view.scale);
  }

  /** Highlights many nodes with the edges given, until it is told otherwise; null ends that. */
  lightUp(nodes: number[] | null, edges: readonly number[], darkens = true): void {
    this.held = nodes !== null;
    this.lights += 1;
    this.dimming.darken(darkens);
    this.dimming.wanted = nodes !== null;
    if (nodes === null) return;
    this.lit = this.pointing?.highlightOfMany(this.data, nodes, edges) ?? null;
    this.change();
  }

  /** Highlights a node and what is around it, or nothing (-1). */
  setLit(index: number): void {
    if (this.held) return;
    this.dimming.wanted = index >= 0 && this.look.highlight !== 'none';
    if (!this.dimming.wanted || this.lit?.index === index) return;
    this.lit = this.pointing?.highlightOf(this.data, this.look, index) ?? null;
  }

  /** How many edges the highlighted lines stand for, where there is room to say so. */
  counts(): { text: string; x: number; y: number }[] {
    if (!this.dimming.wanted || !this.lit) return [];
    return this.pointing?.countsOn(this, this.lit.bundles) ?? [];
  }

  /** Arrow heads are for the near view: the closer, the more of them can be told apart. */
  private canShowArrows(edges: number): boolean {
    return edges <= ARROW_EDGES_MAX * Math.max(1, this.zoom) && this.showsDirection();
  }

  /** Whether arrow heads say something; looked into once, when they are first wanted. */
  private showsDirection(): boolean {
    if (this.look.arrows !== null) return this.look.arrows;
    const { ends, edgesKnown, numEdges, numNodes } = this.data;
    if (edgesKnown < numEdges || !this.findDirection) return false;
    return (this.directed ??= this.findDirection(ends, edgesKnown, numNodes));
  }

  /** Draws one frame; answers in how many milliseconds the next is due (0: at once), or null for none. */
  draw(now: number): number | null {
    const camera = this.camera.step(now);
    if (this.painter.busy(now)) return 0;
    const tween = this.tween(now);
    const tweening = tween < 1;
    const fading = this.dimming.step(now);
    if (this.dimming.shine === 0 && !this.dimming.wanted) this.lit = null;
    const resting = now - this.touchedAt >= REST_MS && !camera && !tweening;
    const moving = (this.moving = !resting && !this.test);
    if (moving && this.painter.lastMs !== null) this.renderScale.learn(this.painter.lastMs);
    this.sharpen(moving ? this.renderScale.moving : 1);
    const { cx, cy, scale } = this.camera.view;
    const key = [cx, cy, scale, this.version, tween, this.size.w, this.size.h, this.sharpness].join();
    const input = this.drawInput(tween);
    this.paint(this.painter, { key, moving, over: () => this.over(moving, now) }, input, now);
    this.frames += 1;
    if (tweening || fading || camera || this.camera.isMoving) return 0;
    if ((this.painter.incomplete || input.nodes?.whole === false) && resting) return 0;
    const rest = REST_MS - (now - this.touchedAt);
    return rest > 0 && !this.test ? rest + 5 : null;
  }

  /** Pixels of the canvas a CSS pixel. */
  get pixelsPerCss(): number {
    return this.sharpness;
  }

  /** Gives the canvas a share of its resolution. */
  private sharpen(share: number): void {
    const { canvas } = this.renderer;
    this.sharpness = this.dpr * share;
    const [w, h] = [this.size.w, this.size.h].map((s) => Math.max(1, Math.round(s * this.sharpness)));
    if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  }

  /** Draws everything in one go, whatever it costs (an export). */
  drawWhole(now: number): void {
    this.sharpen(1);
    this.moving = false;
    const { center } = this.backdrop;
    // One colour behind it: the gradient would be a third of the file.
    const input = { ...this.drawInput(this.tween(now)), noise: false, backEdge: center };
    const how = { key: 'whole', moving: false, over: () => this.over(false, now) };
    this.paint(new Painter(this.renderer, true), how, input, now);
    this.painter.reset();
  }

  private paint(
    painter: Painter,
    how: Pick<InkPlan, 'key' | 'moving' | 'over'>,
    input: DrawInput,
    now: number,
  ): void {
    const list = (this.drawnLines = this.nearList(now, !how.moving));
    const { alpha, fade, room, share } = this.ink(list);
    painter.paint({ ...input, alpha, fade, room }, {
      ...how,
      numEdges: this.data.numEdges,
      numNodes: this.data.numNodes,
      known: this.data.edgesKnown,
      share,
      list,
      arrows: list !== null && this.canShowArrows(list.count),
    });
  }

  /** What is left of the strength of what belongs to nodes, unless all of them are highlighted. */
  left = (...nodes: number[]): number =>
    this.lit && !nodes.every((node) => this.lit?.set.has(node)) ? 1 - this.dimming.lost : 1;

  /** The nodes that stay as they are while all else is dimmed, until it is told otherwise; null for all. */
  get emphasized(): ReadonlySet<number> | null {
    return this.held && this.dimming.darkens && this.lit ? this.lit.set : null;
  }

  leftOfEdge = (edge: number): number => this.left(...this.data.ends.subarray(2 * edge, 2 * edge + 2));

  private drawInput(tween: number): DrawInput {
    const { look, backdrop } = this;
    const rare = this.rare?.list(this.data) ?? null;
    return this.adjusters.reduce<DrawInput>((input, adjust) => adjust(input), {
      view: this.camera.view,
      size: this.size,
      dpr: this.sharpness,
      origin: this.positions.origin,
      tween,
      sizes: this.sizes,
      passing: passingAt(this.zoom),
      nodes: null,
      pointOpacity: look.pointOpacity,
      ring: look.strokeWidth,
      dim: this.dimming.lost,
      shine: this.dimming.shine,
      light: backdrop.light,
      backCenter: backdrop.center,
      backEdge: backdrop.edge,
      clear: backdrop.clear,
      noise: this.sharpness >= this.dpr,
      curvature: look.curvature,
      arrows: look.arrows !== false && (this.lit?.edges.count ?? 0) <= 600,
      edgeOpacity: look.edgeOpacity,
      alpha: 1,
      fade: 1,
      room: 0,
      fadeLength: 160 * this.zoom * (Math.min(this.size.w, this.size.h) / 800),
      highlight: this.lit,
      rare,
      rareOpacity: rare && this.rare ? this.rare.opacity(rare) : 0,
    });
  }

  private ink(list: EdgeList | null): Ink {
    const { data } = this;
    if (data.edgesKnown === 0) return { alpha: 0, share: 1, fade: 0, room: 0 };
    const box = this.relative(viewBox(this.camera.view, this.size));
    const known = data.ends.subarray(0, 2 * data.edgesKnown);
    const { scale } = this.camera.view;
    const fade = passingAt(this.zoom);
    const length = inkLength(known, data.current, box, scale, data.numEdges, data.edgeHidden, fade);
    // Parallel edges that share a line cost the ink of one.
    const drawn = list && list.edges > 0 ? list.count / list.edges : 1;
    return inkRule(this.size.w * this.size.h, length * drawn);
  }

  private nearList(now: number, resting: boolean): EdgeList | null {
    const view = this.relative(viewBox(this.camera.view, this.size));
    return this.near.list(this.data, view, this.version, now, resting);
  }

  private relative(box: Box): Box {
    const { x, y } = this.positions.origin;
    return { minX: box.minX - x, maxX: box.maxX - x, minY: box.minY - y, maxY: box.maxY - y };
  }

  /** Takes the browser's restored context. */
  restore(): void {
    this.renderer.restore();
    this.painter.reset();
    this.edgesChanged();
    this.change();
  }
}
