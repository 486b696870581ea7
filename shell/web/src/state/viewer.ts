import { batch } from '@preact/signals';
import { Api } from '../net/api.ts';
import { FLAG, KIND, isPosition, readChannel, readLabels, type Frame } from '../net/frames.ts';
import { SessionLink, type Message } from '../net/session.ts';
import { LabelLayer, type LayerInput } from '../picture/label-layer.ts';
import { TextWidths } from '../gl/glyph-atlas.ts';
import type { Names } from '../scene/names.ts';
import { Picture } from '../picture/picture.ts';
import { fitBox, type Rect } from '../scene/camera.ts';
import { afar, groupNames, isGrouping } from './afar.ts';
import { bound, isBinding, withBound } from './bound.ts';
import { readCollections } from './collections.ts';
import { documents, tellsDocument } from './documents.ts';
import type { Dragging } from './dragging.ts';
import { EdgeLoading } from './edge-loading.ts';
import { Ending } from './ending.ts';
import { Focus } from './focus.ts';
import { maySteer } from './helm.ts';
import { load } from './lazy.ts';
import { showLayout, showRefusal } from './layout-state.ts';
import { showLink } from './link-state.ts';
import { lookOf, namesShown } from './look.ts';
import { showNotices } from './notices.ts';
import { forgetSelection } from './selecting.ts';
import * as store from './store.ts';
import { currentTheme, applyMetadata, type Theme } from './theme.ts';

/** How long a browser that took WebGL away is waited for. */
const LOST_MS = 3000;

/** Joins session, picture and panels: the only writer of the store. */
export class Viewer {
  readonly picture: Picture;
  readonly labels: LabelLayer;
  /** Names of what is in view; null until the graph is on the screen. */
  private names: Names | null = null;
  readonly api: Api;
  readonly link: SessionLink;
  readonly pins = new Set<number>();
  /** Moves nodes by hand; null until the graph is on the screen. */
  drag: Dragging | null = null;
  readonly focus: Focus;
  epoch = 0;
  seq = 0;
  graph: Message | null = null;
  /** What the server calls this page. */
  id = '';
  private theme: Theme;
  private scheduled = false;
  private labelsAt = -1e9;
  private labelsStale = true;
  private labelsOld = false;
  /** Whether names are on their way in or out. */
  private fading = false;
  private readonly ending = new Ending(() => this.link.open());
  private later: ReturnType<typeof setTimeout> | undefined;
  /** Called after each frame, to move what hangs on nodes. */
  onDraw: () => void = () => undefined;
  private readonly edges: EdgeLoading;
  /** The next positions at rest are those of a layout by name: show all of them. */
  private fitSoon = false;

  constructor(
    surface: HTMLElement,
    readonly page: HTMLElement,
    private readonly still: boolean,
  ) {
    const { params } = store;
    const widths = new TextWidths();
    this.picture = new Picture(surface, widths, lookOf(params), still, params.test);
    this.picture.over = (moving, now) => this.drawOver(moving, now);
    this.picture.obstacles = () => this.obstacles();
    const options = { must: namesShown(params), shorten: params.shortenLabels, still };
    this.labels = new LabelLayer(widths, options);
    this.setTheme((this.theme = currentTheme()));
    const base = new URL(`../viz/${encodeURIComponent(params.session)}/`, location.href);
    this.api = new Api(base, params.dataset);
    this.edges = new EdgeLoading(this.api, this.picture, () => this.refresh());
    this.link = new SessionLink(base, params.dataset, {
      text: (message) => this.onText(message),
      frame: (frame) => this.onFrame(frame),
      state: showLink,
      ended: (code, reason) => this.ending.ended(code, reason),
      resume: () => (this.graph ? { epoch: this.epoch, seq: this.seq } : null),
      arrival: () => this.ending.helm.arrival(),
      damaged: (error) => {
        console.error('damaged message', error);
        store.notice.value =
          'A message of the server could not be read; the picture may be out of date.';
      },
    });
    this.focus = new Focus(this.picture, this.labels, this.api);
    this.listen();
  }

  /** From now on what is in view is named as well. */
  nameInView(Kind: typeof Names): void {
    this.names = new Kind(this.api, () => this.labels.known, (names) => {
      this.labels.setNear(names);
      this.relabel();
    });
    this.refresh();
  }

  private listen(): void {
    document.addEventListener('visibilitychange', () => {
      this.link.send({ t: document.hidden ? 'hidden' : 'visible' });
      if (!document.hidden) this.refresh();
    });
    addEventListener('online', () => this.link.retryNow());
    const { renderer } = this.picture;
    renderer.onRestored = () => {
      this.picture.restore();
      this.refresh();
    };
    renderer.onLost = () => setTimeout(() => void this.standIn(), LOST_MS);
    // Names drawn before their font had come are drawn anew.
    document.fonts?.addEventListener('loadingdone', () => {
      this.picture.widths.forget();
      this.picture.renderer.marks.forgetLetters();
      this.relabel();
    });
  }

  /** Shows the server's picture where the browser has not given back what it draws with. */
  private async standIn(): Promise<void> {
    if (!this.picture.renderer.gl.isContextLost()) return;
    await load.still();
  }

  // ---- messages -------------------------------------------------------------------------------

  private onText(message: Message): void {
    batch(() => {
      if (message.t === 'hello') this.onHello(message);
      else if (message.t === 'graph') this.onGraph(message);
      else if (message.t === 'state') this.onState(message);
      else if (message.t === 'collections') this.onCollections(message);
      else if (message.t === 'columns') showNotices('dataset', message.notices);
      else if (message.t === 'legend') {
        this.onLegend(message.legend ?? message);
        this.onUnderlay(message);
      }
      else if (message.t === 'error') showRefusal(message);
      else if (tellsDocument(message)) void documents().then((all) => all.hear(message));
    });
  }

  private onHello(message: Message): void {
    const low = Number(message.protocol_min ?? 1);
    if (low > 1) {
      store.phase.value = 'failed';
      store.detail.value = 'This page is older than the server. Reload it to go on.';
      return;
    }
    this.id = String(message.viewer ?? '');
    this.ending.stands(message);
    showNotices('address', message.notices);
    if (!this.graph) this.onPhase(String(message.state ?? 'loading'), String(message.detail ?? ''));
  }

  private onPhase(state: string, detail: string): void {
    store.detail.value = detail;
    if (state === 'failed') store.phase.value = 'failed';
    else if (state === 'waiting') store.phase.value = 'waiting';
    else if (!this.graph) store.phase.value = 'loading';
  }

  private onGraph(message: Message): void {
    const epoch = Number(message.epoch ?? 1);
    const nodes = Number(message.node_count ?? 0);
    const edges = Number(message.edge_count ?? 0);
    const same =
      this.graph !== null &&
      epoch === this.epoch &&
      nodes === this.picture.data.numNodes &&
      edges === this.picture.data.numEdges;
    this.graph = message;
    this.epoch = epoch;
    document.body.dataset.epoch = String(epoch);
    store.graphName.value = String(message.name ?? '');
    store.graphDescription.value = String(message.description ?? '');
    store.nodeCount.value = nodes;
    store.edgeCount.value = edges;
    this.onLegend(message.legend);
    showNotices('dataset', message.notices);
    this.setTheme(applyMetadata(message.metadata, store.graphName.value));
    const layout = message.layout as Message | undefined;
    if (layout) showLayout(layout);
    store.phase.value = nodes === 0 ? 'empty' : same && this.picture.positions.started ? 'ready' : 'loading';
    if (nodes === 0) store.announcement.value = 'This graph has no nodes.';
    this.picture.given = store.givenPositions.value = message.has_positions === true;
    if (!same) this.newElements(nodes, edges);
    this.onUnderlay(message);
  }

  private onUnderlay(message: Message): void {
    const { axes, map } = (message.underlay ?? {}) as { axes?: unknown[]; map?: unknown };
    if (bound || axes?.length || map || message.edges_named) withBound((all) => all.underlie(message));
  }

  private newElements(nodes: number, edges: number): void {
    this.focus.clear();
    this.pins.clear();
    this.drag?.clear();
    this.seq = 0;
    this.labels.setLabels([]);
    this.labels.clear();
    this.names?.clear();
    this.picture.setGraph(nodes, edges);
    store.shown.value = null;
    forgetSelection();
    const { bounds } = store.params;
    if (bounds && !this.picture.camera.isPlaced) {
      const box = { minX: bounds.left, maxX: bounds.right, minY: bounds.bottom, maxY: bounds.top };
      const { size } = this.picture;
      this.picture.camera.set(fitBox(box, { x: 0, y: 0, ...size }, size));
      this.picture.camera.take();
    }
    this.edges.expect(edges);
    // On a slow link those of a large graph would keep its nodes waiting.
    if (nodes < 1e5) this.edges.start(this.epoch);
    this.refresh();
  }

  private onCollections(message: Message): void {
    const known = store.collections.value;
    const list = readCollections(message);
    store.collections.value = list;
    const fresh = list.entries.find((entry) => !known.entries.some((old) => old.id === entry.id));
    if (fresh) store.announcement.value = `New collection: ${fresh.name}.`;
  }

  private onLegend(value: unknown): void {
    store.legend.value = value;
    const size = (value as { node_size?: { title?: unknown } | null } | null | undefined)?.node_size;
    // The degree is what sizes go by when nobody says otherwise.
    this.picture.sizesBound = Boolean(size) && size?.title !== 'degree';
  }

  private onState(message: Message): void {
    const state = String(message.state ?? '');
    if (state === 'loading' || state === 'waiting' || state === 'failed') {
      this.onPhase(state, String(message.detail ?? ''));
      return;
    }
    const placements = store.placements.value;
    showLayout(message);
    if (store.placements.value !== placements) this.fitSoon = true;
    if (typeof message.viewers === 'number') store.viewers.value = message.viewers;
  }

  private onFrame(frame: Frame): number | null {
    const { header } = frame;
    // A frame of another element set is of no use, but the server counts it until it is acknowledged.
    if (header.epoch !== this.epoch || !this.graph) return isPosition(header.kind) ? header.seq : null;
    const { picture } = this;
    switch (header.kind) {
      case KIND.POS_KEY:
      case KIND.POS_DELTA:
      case KIND.POS_F32:
      case KIND.POS_LIST:
        return this.onPositions(frame);
      case KIND.COLOR: {
        const { axis, some, data, chosen } = readChannel(frame, 4);
        if (axis === 'node') picture.setNodeColors(data, chosen);
        else picture.setEdgeColors(data, some);
        break;
      }
      case KIND.SIZE: {
        const { axis, data } = readChannel(frame, 1);
        if (axis === 'node') picture.setNodeSizes(data);
        else picture.setEdgeWidths(data);
        break;
      }
      case KIND.MASK:
        void documents().then((all) => all.mask(frame));
        break;
      case KIND.ICONS:
        withBound((all) => all.frame(frame));
        break;
      case KIND.LABELS:
        this.labels.setLabels(readLabels(frame));
        this.labelsStale = true;
        break;
      default:
        break; // A kind of a newer server.
    }
    this.refresh();
    return null;
  }

  private onPositions(frame: Frame): number | null {
    const now = performance.now();
    const { header } = frame;
    if (this.picture.applyFrame(frame, now)) {
      if (this.fitSoon && !(header.flags & FLAG.RUNNING)) {
        this.fitSoon = false;
        this.fit();
      }
      // What came in part is asked for again after a lost connection.
      if (this.picture.positions.whole) {
        this.seq = header.seq;
        this.edges.start(this.epoch);
      }
      document.body.dataset.seq = String(header.seq);
      this.drag?.hold(now);
      if (['loading', 'waiting'].includes(store.phase.value)) store.phase.value = 'ready';
      if (store.link.value === 'polling') store.playing.value = (header.flags & FLAG.RUNNING) !== 0;
    }
    this.refresh();
    return this.picture.positions.whole ? header.seq : null;
  }

  // ---- what the user does -----------------------------------------------------------------------

  play(on: boolean): void {
    if (!maySteer() || !this.link.send({ t: 'play', on })) return;
    store.playing.value = on;
    if (!on) store.iterationsPerSecond.value = 0;
  }

  /** Shows everything, and follows the layout again while it runs. */
  fit(): void {
    const { picture } = this;
    const view = picture.fitView(true);
    if (!view) return;
    picture.fitScale = picture.fitView()?.scale ?? view.scale;
    picture.camera.following = picture.hiding.masks.node === null;
    picture.camera.fly(view, picture.size, performance.now());
    this.refresh();
  }

  zoomBy(factor: number): void {
    const { size, camera } = this.picture;
    camera.take();
    camera.fly({ ...camera.view, scale: camera.view.scale * factor }, size, performance.now());
    this.refresh();
  }

  /** Brings a node to the middle and close enough to see its neighbours. */
  flyTo(index: number): void {
    const place = this.picture.at(index);
    if (!place) return;
    const { camera, size, fitScale } = this.picture;
    camera.take();
    const scale = Math.max(camera.view.scale, fitScale * Math.min(12, Math.max(2, this.zoomFor())));
    camera.fly({ cx: place[0], cy: place[1], scale }, size, performance.now());
    this.refresh();
  }

  private zoomFor(): number {
    return Math.sqrt(this.picture.data.numNodes) / 25; // about 40 nodes across the screen
  }

  /** What is named may be something else. */
  relabel(): void {
    this.labelsStale = true;
    this.refresh();
  }

  hover(index: number): void {
    if (this.focus.hover(index)) this.relabel();
  }

  /** Names the edge under the pointer, -1 for none. */
  hoverEdge(edge: number): void {
    if (bound || edge >= 0) withBound((all) => all.hover(edge));
  }

  select(index: number): void {
    this.focus.select(index);
    this.relabel();
  }

  /** Moves a node with the pointer; the server keeps it there. */
  dragTo(index: number, x: number, y: number): void {
    if (maySteer()) this.drag?.to(index, x, y);
    this.refresh();
  }

  unpin(index: number): void {
    this.drag?.unpin(index);
    this.refresh();
  }

  // ---- drawing ----------------------------------------------------------------------------------

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.picture.widths.setFont(theme.labels.font);
    this.picture.backdrop = theme.backdrop;
    this.picture.applyTheme();
    this.refresh();
  }

  /** Panels over the canvas, in its coordinates. */
  obstacles(selector = '[data-over]'): Rect[] {
    const canvas = this.picture.renderer.canvas.getBoundingClientRect();
    return [...this.page.querySelectorAll(selector)].map((panel) => {
      const r = panel.getBoundingClientRect();
      return { x: r.left - canvas.left, y: r.top - canvas.top, w: r.width, h: r.height };
    });
  }

  resize(w: number, h: number, dpr: number, draw?: () => void): void {
    const { picture } = this;
    picture.size = { w, h };
    picture.dpr = dpr;
    const fit = picture.fitView();
    if (fit) {
      picture.fitScale = fit.scale;
      if (picture.camera.following) picture.camera.set(fit);
    }
    this.labelsStale = true;
    // At once: a resized canvas is empty until it is drawn.
    if (draw) draw();
    else this.draw(performance.now());
  }

  refresh(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame((now) => {
      this.scheduled = false;
      this.draw(now);
    });
  }

  private layerInput(moving: boolean): LayerInput {
    const { picture } = this;
    return {
      view: picture.camera.view,
      size: picture.size,
      snap: moving ? 0 : picture.dpr,
      at: (index) => (afar.layer?.covers(index) ? null : picture.at(index)),
      radius: picture.radius,
      obstacles: [...this.obstacles('[data-over], .card'), ...(bound?.obstacles ?? []), ...groupNames()],
      discs: () => picture.discs(),
      style: this.theme.labels,
      selected: this.focus.selected,
      hovered: this.focus.hovered,
      lit: picture.lit?.set ?? null,
      left: picture.left,
      pins: this.pins,
      counts: picture.counts(),
      carded: new Set([store.params.showLabelOnHover ? this.focus.hovered : -1, this.focus.selected]),
    };
  }

  /** Names and rings of a frame, chosen anew where they are out of date. */
  private drawOver(moving: boolean, now: number): void {
    const { picture, labels } = this;
    const { marks } = picture.renderer;
    const input = this.layerInput(moving);
    if (picture.positions.started && store.params.showLabels) {
      const gliding = picture.camera.isMoving || picture.tween(now) < 1;
      const due = now - this.labelsAt > (gliding ? 900 : 140);
      if (this.labelsStale || (this.labelsOld && due)) {
        labels.choose(input);
        this.labelsAt = now;
        this.labelsStale = false;
        this.labelsOld = false;
      }
    }
    bound?.over(input);
    marks.begin(picture.pixelsPerCss);
    afar.layer?.over(marks, input);
    this.fading = labels.draw(marks, input, now);
    marks.draw(picture.size);
  }

  private draw(now: number): void {
    const { picture } = this;
    const next = picture.draw(now);
    const named = picture.positions.started && store.params.showLabels;
    if (next !== null && named) this.labelsOld = true;
    this.onDraw();
    clearTimeout(this.later);
    this.later = undefined;
    if (next === 0 || this.fading) this.refresh();
    else if (next !== null || this.labelsOld) {
      // At rest: the full picture, and labels chosen for it.
      this.later = setTimeout(() => this.refresh(), Math.max(next ?? 0, this.still ? 0 : 120));
    } else if (named) {
      void this.names?.look(picture.looking, () => picture.inView());
    }
  }

  /** Whether nothing is on its way to the screen. */
  get settled(): boolean {
    const still = !this.scheduled && this.later === undefined && !this.names?.busy;
    return still && !isBinding() && !isGrouping() && this.edges.done && !this.picture.painter.incomplete;
  }
}
