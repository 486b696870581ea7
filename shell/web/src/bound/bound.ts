import { effect } from '@preact/signals';
import { Marks, type TextInk } from '../gl/marks.ts';
import type { Frame } from '../net/frames.ts';
import type { Told } from '../net/messages.ts';
import type { Rect } from '../scene/camera.ts';
import { css } from '../scene/color.ts';
import type { Disc } from '../scene/labels.ts';
import type { LayerInput } from '../picture/label-layer.ts';
import type { BoundLayer, EdgeLabel } from '../state/lazy.ts';
import { inSpace } from '../state/space.ts';
import * as store from '../state/store.ts';
import type { Viewer } from '../state/viewer.ts';
import {
  EdgeNames,
  LABEL_PX as EDGE_LABEL_PX,
  NAMED_MAX,
  linesToName,
  placeEdgeLabels,
  type Line,
} from './edge-labels.ts';
import { PLACE, readIcons, type IconLayer } from '../net/icon-frame.ts';
import { Icons } from './icons.ts';
import { LegendSign, arrivals, legendFiles } from './legend-sign.tsx';
import { Files } from './pictures.ts';
import { discsInView, linesInView } from './spots.ts';
import { TurnedText } from './turned-text.ts';
import { Underlay } from './underlay.ts';

/** Notices of files that could not be had, at most. */
const REFUSED_MAX = 5;

/** Draws what datasets bind beyond colours and sizes. Loaded when the first of it comes. */
export class Bound implements BoundLayer {
  private layers: IconLayer[] = [];
  private readonly files: Files;
  private icons: Icons;
  private underlay: Underlay;
  private texts: Marks;
  private turned: TurnedText;
  private readonly edgeNames: EdgeNames;
  /** Whether somebody bound a label or a title of edges. */
  private edgesNamed = false;
  private hovered = -1;
  private written: EdgeLabel[] = [];
  /** The renderer's own marks: others stand for another context. */
  private context: Marks;

  constructor(private readonly viewer: Viewer) {
    const arrived = (): void => {
      arrivals.value += 1;
      viewer.refresh();
    };
    this.files = new Files(arrived, (what, why) => this.refused(what, why));
    legendFiles.value = this.files;
    this.edgeNames = new EdgeNames(viewer.api, () => viewer.refresh());
    [this.icons, this.underlay, this.texts, this.turned] = this.make();
    this.context = viewer.picture.renderer.marks;
    effect(() => this.explained(store.legend.value));
    // A map comes and goes with it.
    effect(() => {
      void store.displaced.value;
      viewer.picture.change();
      viewer.refresh();
    });
    document.fonts?.addEventListener('loadingdone', () => {
      this.icons.forgetLetters();
      this.texts.forgetLetters();
      this.turned.forgetLetters();
      viewer.refresh();
    });
  }

  private make(): [Icons, Underlay, Marks, TurnedText] {
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
      new TurnedText(gl, picture.widths),
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
    return this.files.busy || this.underlay.busy || this.edgeNames.busy;
  }

  /** Takes what a graph lies on, of a message `graph`, or of a `legend` after its encodings have changed. */
  underlie(message: Told<'graph' | 'legend'>): void {
    if (message.t === 'graph') {
      this.layers = [];
      this.edgeNames.clear();
      this.edgesNamed = message.edges_named;
      this.hovered = -1;
    }
    this.underlay.set(message.underlay.axes, message.underlay.map);
    this.hook();
    // The painter keeps a picture at rest as it is.
    this.viewer.picture.change();
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

  /** Lets go of icons that the legend no longer explains: somebody had them follow a column, and undid it. */
  private explained(legend: unknown): void {
    if (typeof legend !== 'object' || !legend) return;
    const stays = ({ axis, place }: IconLayer): boolean => place !== PLACE.ICON || `${axis}_icon` in legend;
    if (this.layers.every(stays)) return;
    this.layers = this.layers.filter(stays);
    this.viewer.refresh();
  }

  /** The edge under the pointer, -1 for none. */
  hover(edge: number): void {
    if (edge === this.hovered) return;
    this.hovered = edge;
    this.viewer.refresh();
  }

  /** What is written along lines, for whoever looks. */
  get edgeLabels(): readonly EdgeLabel[] {
    return this.written;
  }

  /** Draws the signs of the legend's rows. */
  get LegendSign(): typeof LegendSign {
    return LegendSign;
  }

  private hook(): void {
    const { renderer } = this.viewer.picture;
    renderer.under = this.underlay.isEmpty
      ? null
      : ({ view, size }) => {
          this.current();
          // Axes and maps are of the plane.
          if (inSpace.value) return;
          // On a map nodes stand where the data has them.
          this.underlay.draw(view, size, !store.displaced.value);
        };
  }

  /** Makes everything on the device anew after the context was lost or exchanged. */
  private current(): void {
    const { marks } = this.viewer.picture.renderer;
    if (marks === this.context) return;
    this.context = marks;
    const before = this.underlay;
    [this.icons, this.underlay, this.texts, this.turned] = this.make();
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
    if (edges.length > 0) this.icons.draw(edges, linesInView(picture, picture.drawnLines, edges));
    if (nodes.length > 0) this.icons.draw(nodes, discsInView(picture, nodes));
    this.writeEdges(input);
  }

  /** The lines whose text is wanted: of what is lit, else of a view of few; and the one under the pointer. */
  private linesToName(): Line[] {
    const { picture, focus } = this.viewer;
    const lines: Line[] = [];
    if (this.edgesNamed && store.params.showLabels) {
      const lit = focus.any && picture.lit ? picture.lit.edges : null;
      if (!lit) lines.push(...linesToName(picture));
      for (let k = 0; lit && k < Math.min(lit.count, NAMED_MAX); k += 1) {
        lines.push({ edge: lit.pairs[2 * k], packed: lit.pairs[2 * k + 1] });
      }
    }
    const { hovered } = this;
    if (hovered < 0 || lines.some(({ edge }) => edge === hovered)) return lines;
    const list = picture.drawnLines;
    const at = list ? list.pairs.findIndex((edge, k) => k % 2 === 0 && edge === hovered) : -1;
    return list && at >= 0 ? [...lines, { edge: hovered, packed: list.pairs[at + 1] }] : lines;
  }

  private writeEdges({ style, obstacles }: LayerInput): void {
    const { picture, labels } = this.viewer;
    const lines = this.linesToName();
    this.written = [];
    if (lines.length === 0) return;
    void this.edgeNames.want(lines.map(({ edge }) => edge));
    const around = ({ x, y, w, h }: Rect): Rect => ({ x: x - 2, y: y - h * 0.6, w: w + 4, h: h * 1.2 });
    const names = labels.visible.map(around);
    this.written = placeEdgeLabels({
      picture,
      lines,
      nameOf: (edge) => this.edgeNames.of(edge),
      taken: [...names, ...obstacles],
      measure: (text) => picture.widths.line(text, 400).width * EDGE_LABEL_PX,
      hovered: this.hovered,
    });
    this.turned.begin(picture.pixelsPerCss);
    const ink: TextInk = {
      text: { ...style.text, a: 0.82 },
      halo: style.halo,
      haloPx: 2,
      css: { text: css(style.text), halo: css(style.halo) },
    };
    for (const { edge, text, x, y, angle } of this.written) {
      this.turned.add({ text, x, y, angle, size: EDGE_LABEL_PX, opacity: picture.leftOfEdge(edge) }, ink);
    }
    this.turned.draw(picture.size);
  }
}

/** The cover lies below the icon, and badges above it. */
function order({ place }: IconLayer): number {
  return place === PLACE.COVER ? -1 : place;
}
