import { Marks } from '../gl/marks.ts';
import type { Frame } from '../net/frames.ts';
import type { Message } from '../net/session.ts';
import type { Rect } from '../scene/camera.ts';
import type { Disc } from '../scene/labels.ts';
import type { LayerInput } from '../scene/label-layer.ts';
import * as store from '../state/store.ts';
import type { Viewer } from '../state/viewer.ts';
import type { AxisRow } from './axes.ts';
import { PLACE, readIcons, type IconLayer } from './icon-frame.ts';
import { Icons } from './icons.ts';
import { Files } from './pictures.ts';
import { discsInView, linesInView } from './spots.ts';
import { Underlay } from './underlay.ts';
import type { MapPlace } from './world-map.ts';

/** Notices of files that could not be had, at most. */
const REFUSED_MAX = 5;

/** Draws what datasets bind beyond colours and sizes. Loaded when the first of it comes. */
export class Bound {
  private layers: IconLayer[] = [];
  private readonly files: Files;
  private icons: Icons;
  private underlay: Underlay;
  private texts: Marks;
  /** The renderer's own marks: others stand for another context. */
  private context: Marks;

  constructor(private readonly viewer: Viewer) {
    this.files = new Files(() => viewer.refresh(), (what, why) => this.refused(what, why));
    [this.icons, this.underlay, this.texts] = this.make();
    this.context = viewer.picture.renderer.marks;
    document.fonts?.addEventListener('loadingdone', () => {
      this.icons.forgetLetters();
      this.texts.forgetLetters();
      viewer.refresh();
    });
  }

  private make(): [Icons, Underlay, Marks] {
    const { viewer } = this;
    const { picture } = viewer;
    const { gl } = picture.renderer;
    const arrived = (): void => {
      // The painter keeps a picture at rest as it is.
      picture.change();
      viewer.refresh();
    };
    return [
      new Icons(gl, picture, this.files),
      new Underlay(gl, picture, arrived, (what, why) => this.refused(what, why)),
      new Marks(gl, picture.widths),
    ];
  }

  /** Says what could not be had: each once, and no more than a few. */
  private refused(what: string, why: string): void {
    const text = `${what} is not shown: ${why}.`;
    const { page } = store.notices.value;
    const known = page.filter((notice) => notice.slug === 'file-refused');
    if (known.length >= REFUSED_MAX || known.some((notice) => notice.text === text)) return;
    store.notices.value = { ...store.notices.value, page: [...page, { slug: 'file-refused', text }] };
  }

  /** Whether files are on their way to the screen. */
  get busy(): boolean {
    return this.files.busy || this.underlay.busy;
  }

  /** Takes what a graph lies on. */
  graph(message: Message): void {
    this.layers = [];
    const { axes, map } = (message.underlay ?? {}) as { axes?: AxisRow[]; map?: MapPlace | null };
    this.underlay.set(axes ?? [], map ?? null);
    this.hook();
    this.viewer.refresh();
  }

  /** Takes a frame of icons; one of the same elements and place takes the place of the other. */
  frame(frame: Frame): void {
    const layer = readIcons(frame);
    const is = ({ axis, place }: IconLayer): boolean => axis === layer.axis && place === layer.place;
    this.layers = [...this.layers.filter((other) => !is(other)), layer];
    this.layers.sort((a, b) => order(a) - order(b));
    this.hook();
    this.viewer.refresh();
  }

  private hook(): void {
    const { renderer } = this.viewer.picture;
    renderer.under = this.underlay.isEmpty
      ? null
      : ({ view, size }) => {
          this.current();
          // A layout that has moved the nodes has moved them off the map.
          this.underlay.draw(view, size, store.iterations.value === 0);
        };
  }

  /** Makes everything on the device anew after the context was lost or exchanged. */
  private current(): void {
    const { marks } = this.viewer.picture.renderer;
    if (marks === this.context) return;
    this.context = marks;
    const before = this.underlay;
    [this.icons, this.underlay, this.texts] = this.make();
    this.underlay.adopt(before);
  }

  /** Where names may not stand. */
  get obstacles(): readonly Rect[] {
    const square = ({ x, y, r }: Disc): Rect => ({ x: x - r, y: y - r, w: 2 * r, h: 2 * r });
    const discs = this.viewer.picture.discs().map(square);
    return this.underlay.chooseLabels([...this.viewer.obstacles(), ...discs]);
  }

  /** Draws what lies over nodes and under names. */
  over(input: LayerInput): void {
    const { picture } = this.viewer;
    if (!picture.positions.started) return;
    this.current();
    this.texts.begin(picture.pixelsPerCss);
    this.underlay.drawLabels(this.texts);
    this.texts.draw(picture.size);
    const of = (axis: 'node' | 'edge'): IconLayer[] => this.layers.filter((layer) => layer.axis === axis);
    const [edges, nodes] = [of('edge'), of('node')];
    if (edges.length > 0) this.icons.draw(edges, linesInView(picture, picture.drawnLines, edges), null);
    if (nodes.length > 0) this.icons.draw(nodes, discsInView(picture, nodes), input.lit);
  }
}

/** The cover lies below the icon, and badges above it. */
function order({ place }: IconLayer): number {
  return place === PLACE.COVER ? -1 : place;
}
