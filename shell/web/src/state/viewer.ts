import type { Api } from '../net/api.ts';
import { TextWidths } from '../gl/glyph-atlas.ts';
import { LabelLayer, type LayerInput } from '../picture/label-layer.ts';
import { Picture } from '../picture/picture.ts';
import type { Rect } from '../scene/camera.ts';
import type { Names } from '../scene/names.ts';
import { afar, groupNames, isGrouping } from './afar.ts';
import { bound, isBinding, withBound } from './bound.ts';
import type { Dragging } from './dragging.ts';
import { Focus } from './focus.ts';
import { maySteer } from './page-control.ts';
import { load } from './lazy.ts';
import { lookOf, namesShown } from './look.ts';
import * as store from './store.ts';
import { currentTheme, type Theme } from './theme.ts';

/** How long a browser that took WebGL away is waited for. */
const LOST_MS = 3000;

/** The graph on the screen with its names, and what the user does with it. */
export class Viewer {
  readonly picture: Picture;
  readonly labels: LabelLayer;
  /** Names of what is in view; null until the graph is on the screen. */
  protected names: Names | null = null;
  readonly pins = new Set<number>();
  /** Moves nodes by hand; null until the graph is on the screen. */
  drag: Dragging | null = null;
  readonly focus: Focus;
  /** The element set that is shown. */
  epoch = 0;
  /** What the server calls this page. */
  id = '';
  private theme: Theme;
  private scheduled = false;
  private labelsAt = -1e9;
  protected labelsStale = true;
  private labelsOld = false;
  /** Whether names are on their way in or out. */
  private fading = false;
  private later: ReturnType<typeof setTimeout> | undefined;
  /** Called after each frame, to move what hangs on nodes. */
  onDraw: () => void = () => undefined;

  constructor(
    surface: HTMLElement,
    readonly page: HTMLElement,
    readonly api: Api,
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

  // ---- what the user does -----------------------------------------------------------------------

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
    return still && !isBinding() && !isGrouping() && !this.picture.painter.incomplete;
  }
}
