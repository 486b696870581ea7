import { batch } from '@preact/signals';
import { Api } from '../net/api.ts';
import { FLAG, KIND, isPosition, readChannel, readLabels, type Frame } from '../net/frames.ts';
import type { Told } from '../net/messages.ts';
import type { SessionState, ToPage } from '../net/page-messages.ts';
import type { LegendSides } from '../net/scene-parts.ts';
import { SessionLink } from '../net/session.ts';
import { fitBox } from '../scene/camera.ts';
import { bound, withBound } from './bound.ts';
import { readCollections } from './collections.ts';
import { documents } from './documents.ts';
import { EdgeLoading } from './edge-loading.ts';
import { Ending } from './ending.ts';
import { maySteer } from './page-control.ts';
import { showLayout, showRefusal } from './layout-state.ts';
import { showLink } from './link-state.ts';
import { showNotices } from './notices.ts';
import { forgetSelection } from './selecting.ts';
import * as store from './store.ts';
import { applyMetadata } from './theme.ts';
import { Viewer } from './viewer.ts';

/** Hears the server and joins what it says with picture and panels: the only writer of the store. */
export class LiveViewer extends Viewer {
  readonly link: SessionLink;
  seq = 0;
  graph: Told<'graph'> | null = null;
  private readonly ending = new Ending(() => this.link.open());
  private readonly edges: EdgeLoading;
  /** The next positions at rest are those of a layout by name: show all of them. */
  private fitSoon = false;

  constructor(surface: HTMLElement, page: HTMLElement, still: boolean) {
    const { session, dataset } = store.params;
    const base = new URL(`../viz/${encodeURIComponent(session)}/`, location.href);
    super(surface, page, new Api(base, dataset), still);
    this.edges = new EdgeLoading(this.api, this.picture, () => this.refresh());
    this.link = new SessionLink(base, dataset, {
      text: (message) => this.onText(message),
      frame: (frame) => this.onFrame(frame),
      state: showLink,
      ended: (code, reason) => this.ending.ended(code, reason),
      resume: () => (this.graph ? { epoch: this.epoch, seq: this.seq } : null),
      arrival: () => this.ending.control.arrival(),
      damaged: (error) => {
        console.error('damaged message', error);
        store.notice.value =
          'A message of the server could not be read; the picture may be out of date.';
      },
    });
    document.addEventListener('visibilitychange', () => {
      this.link.send({ t: document.hidden ? 'hidden' : 'visible' });
      if (!document.hidden) this.refresh();
    });
    addEventListener('online', () => this.link.retryNow());
  }

  private onText(message: ToPage): void {
    batch(() => {
      switch (message.t) {
        case 'hello':
          return this.onHello(message);
        case 'graph':
          return this.onGraph(message);
        case 'state':
          return this.onState(message);
        case 'collections':
          return this.onCollections(message);
        case 'columns':
          return showNotices('dataset', message.notices);
        case 'legend':
          this.onLegend(message.legend);
          return this.onUnderlay(message);
        case 'error':
          return showRefusal(message);
        case 'document':
        case 'changed':
        case 'done':
        case 'refused':
        case 'history':
        case 'counts':
          return void documents().then((all) => all.hear(message));
        default:
          // A message of a newer server; the compiler knows all of this one.
          message satisfies never;
      }
    });
  }

  private onHello(message: Told<'hello'>): void {
    if (message.protocol_min > 1) {
      store.phase.value = 'failed';
      store.detail.value = 'This page is older than the server. Reload it to go on.';
      return;
    }
    this.id = message.viewer ?? '';
    this.ending.stands(message);
    showNotices('address', message.notices);
    if (!this.graph) this.onPhase(message);
  }

  private onPhase({ state, detail }: Pick<SessionState, 'state' | 'detail'>): void {
    store.detail.value = detail;
    if (state === 'failed') store.phase.value = 'failed';
    else if (state === 'waiting') store.phase.value = 'waiting';
    else if (!this.graph) store.phase.value = 'loading';
  }

  private onGraph(message: Told<'graph'>): void {
    const { epoch, node_count: nodes, edge_count: edges } = message;
    const same =
      this.graph !== null &&
      epoch === this.epoch &&
      nodes === this.picture.data.numNodes &&
      edges === this.picture.data.numEdges;
    this.graph = message;
    this.epoch = epoch;
    document.body.dataset.epoch = String(epoch);
    store.graphName.value = message.name;
    store.graphDescription.value = message.description;
    store.nodeCount.value = nodes;
    store.edgeCount.value = edges;
    this.onLegend(message.legend);
    showNotices('dataset', message.notices);
    this.setTheme(applyMetadata(message.metadata, store.graphName.value));
    showLayout(message.layout);
    store.phase.value = nodes === 0 ? 'empty' : same && this.picture.positions.started ? 'ready' : 'loading';
    if (nodes === 0) store.announcement.value = 'This graph has no nodes.';
    this.picture.given = store.givenPositions.value = message.has_positions;
    if (!same) this.newElements(nodes, edges);
    this.onUnderlay(message);
  }

  private onUnderlay(message: Told<'graph' | 'legend'>): void {
    const { underlay } = message;
    const isNamed = message.t === 'graph' && message.edges_named;
    if (bound || underlay.axes.length || underlay.map || isNamed) withBound((all) => all.underlie(message));
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

  private onCollections(message: Told<'collections'>): void {
    const known = store.collections.value;
    const list = readCollections(message);
    store.collections.value = list;
    const fresh = list.entries.find((entry) => !known.entries.some((old) => old.id === entry.id));
    if (fresh) store.announcement.value = `New collection: ${fresh.name}.`;
  }

  private onLegend(legend: LegendSides): void {
    store.legend.value = legend;
    const size = legend.node_size;
    // The degree is what sizes go by when nobody says otherwise.
    this.picture.sizesBound = Boolean(size) && size?.title !== 'degree';
  }

  private onState(message: Told<'state'>): void {
    const { state } = message;
    if (state === 'loading' || state === 'waiting' || state === 'failed') {
      this.onPhase(message);
      return;
    }
    const placements = store.placements.value;
    showLayout(message);
    if (store.placements.value !== placements) this.fitSoon = true;
    store.viewers.value = message.viewers;
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

  play(on: boolean): void {
    if (!maySteer() || !this.link.send({ t: 'play', on })) return;
    store.playing.value = on;
    if (!on) store.iterationsPerSecond.value = 0;
  }

  override get settled(): boolean {
    return super.settled && this.edges.done;
  }
}
