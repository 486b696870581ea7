import { toGraph } from '../scene/camera.ts';
import { afar } from '../state/afar.ts';
import { SLACK } from '../scene/pick.ts';
import { edgeAt } from '../scene/pick-edge.ts';
import { inSpace, space } from '../state/space.ts';
import { clearSelection, selecting } from '../state/selecting.ts';
import * as store from '../state/store.ts';
import type { Viewer } from '../state/viewer.ts';

/** Mouse, pen and touch: pan, zoom, pinch, hover, select, drag a node. */

const CLICK_SLOP = 4;
/** A group opens when no second click has followed within this time. */
const DOUBLE_MS = 260;
const WHEEL_STEP = 0.0016;

interface Point {
  x: number;
  y: number;
}

interface Press {
  start: Point;
  last: Point;
  index: number;
  moved: boolean;
  /** Turns the third dimension. */
  turns: boolean;
  offset: Point;
}

export class PointerInput {
  private readonly down = new Map<number, Point>();
  private press: Press | null = null;
  private pinch: { distance: number; middle: Point } | null = null;
  /** The line of a gesture that selects, and how its nodes join the others. */
  private line: { points: Point[]; tool: store.Tool; how: 'replace' | 'add' | 'remove' } | null = null;
  private hoverAt: Point | null = null;
  private hoverPending = false;
  private opening: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly surface: HTMLElement,
    private readonly viewer: Viewer,
  ) {
    void import('../scene/zoom-ends.ts').then((all) => all.endZoom(viewer.picture));
    surface.addEventListener('pointerdown', (e) => this.onDown(e));
    surface.addEventListener('pointermove', (e) => this.onMove(e));
    surface.addEventListener('pointerup', (e) => this.onUp(e));
    surface.addEventListener('pointercancel', (e) => this.onUp(e));
    surface.addEventListener('pointerleave', (e) => {
      if (e.pointerType === 'mouse' && this.down.size === 0) this.leave();
    });
    surface.addEventListener('wheel', (e) => this.onWheel(e), { passive: false });
    surface.addEventListener('contextmenu', (e) => inSpace.value && e.preventDefault());
    surface.addEventListener('dblclick', (e) => this.onDouble(e));
  }

  private at(event: MouseEvent): Point {
    const r = this.surface.getBoundingClientRect();
    return { x: event.clientX - r.left, y: event.clientY - r.top };
  }

  /** The node under a point, -1 for none: behind a group none can be told from others. */
  private nodeAt(p: Point): number {
    return afar.layer?.groupAt(p.x, p.y) ? -1 : this.viewer.picture.nodeAt(p.x, p.y);
  }

  private leave(): void {
    this.hoverAt = null;
    afar.layer?.hover(null);
    this.viewer.hover(-1);
    this.viewer.hoverEdge(-1);
  }

  private onDown(event: PointerEvent): void {
    const turns = this.turns(event);
    if (event.button > 1 && !turns) return;
    const p = this.at(event);
    this.surface.setPointerCapture(event.pointerId);
    this.surface.focus({ preventScroll: true });
    this.down.set(event.pointerId, p);
    if (this.down.size === 2) {
      this.endLine(false);
      this.press = null;
      this.pinch = this.span();
      return;
    }
    const index = event.button === 0 ? this.nodeAt(p) : -1;
    const place = index < 0 ? null : this.viewer.picture.project(index);
    const offset = place ? { x: place[0] - p.x, y: place[1] - p.y } : { x: 0, y: 0 };
    this.press = { start: p, last: p, index, moved: false, turns, offset };
    const tool = store.tool.value;
    if (event.button === 0 && !turns && (event.shiftKey || tool !== 'pan')) {
      const how = event.altKey ? 'remove' : event.shiftKey ? 'add' : 'replace';
      this.line = { points: [p], tool: tool === 'pan' ? 'rectangle' : tool, how };
    }
  }

  /** Whether a drag turns: by the right button, with a modifier, or by one finger. */
  private turns({ button, shiftKey, altKey, ctrlKey, pointerType }: PointerEvent): boolean {
    if (!inSpace.value || shiftKey || store.tool.value !== 'pan') return false;
    return button === 2 || altKey || ctrlKey || pointerType === 'touch';
  }

  /** Draws the line of a gesture that selects; answers whether there is one. */
  private onLine(p: Point): boolean {
    const { line, press } = this;
    if (!line || !press) return false;
    press.moved ||= Math.hypot(p.x - press.start.x, p.y - press.start.y) > CLICK_SLOP;
    line.points.push(p);
    if (!press.moved) return true;
    this.leave();
    void selecting().then((tools) => this.line && tools.draw(line.points, line.tool));
    return true;
  }

  /** Ends it: selects what is inside, or gives it up. */
  private endLine(selects: boolean): void {
    const { line } = this;
    this.line = null;
    if (!line) return;
    const points = selects ? line.points : [];
    void selecting().then((tools) => tools.finish(points, line.tool, line.how));
  }

  private onMove(event: PointerEvent): void {
    const p = this.at(event);
    if (!this.down.has(event.pointerId)) {
      if (event.pointerType !== 'touch') this.hoverSoon(p);
      return;
    }
    this.down.set(event.pointerId, p);
    this.viewer.picture.touched(performance.now());
    if (this.pinch) this.onPinch();
    else if (this.press && !this.onLine(p)) this.onDrag(p);
  }

  private onDrag(p: Point): void {
    const press = this.press;
    if (!press) return;
    const far = Math.hypot(p.x - press.start.x, p.y - press.start.y) > CLICK_SLOP;
    if (!press.moved && !far) return;
    const { picture } = this.viewer;
    if (!press.moved) this.surface.classList.add('dragging');
    const from = press.moved ? press.last : press.start;
    if (press.turns) {
      space?.turnBy(p.x - from.x, p.y - from.y);
    } else if (press.index >= 0 && !inSpace.value) {
      const [x, y] = toGraph(
        picture.camera.view,
        picture.size,
        p.x + press.offset.x,
        p.y + press.offset.y,
      );
      if (!press.moved) picture.camera.take();
      this.viewer.dragTo(press.index, x, y);
    } else {
      picture.camera.pan(p.x - from.x, p.y - from.y);
      this.viewer.refresh();
    }
    press.moved = true;
    press.last = p;
  }

  private span(): { distance: number; middle: Point } {
    const [a, b] = [...this.down.values()];
    return {
      distance: Math.max(1, Math.hypot(a.x - b.x, a.y - b.y)),
      middle: { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 },
    };
  }

  private onPinch(): void {
    if (!this.pinch || this.down.size < 2) return;
    const now = this.span();
    const { picture } = this.viewer;
    picture.camera.pan(now.middle.x - this.pinch.middle.x, now.middle.y - this.pinch.middle.y);
    picture.camera.zoom(picture.size, now.middle.x, now.middle.y, now.distance / this.pinch.distance);
    this.pinch = now;
    this.viewer.refresh();
  }

  private onUp(event: PointerEvent): void {
    const known = this.down.delete(event.pointerId);
    this.surface.classList.remove('dragging');
    if (this.pinch) {
      if (this.down.size < 2) this.pinch = null;
      return;
    }
    const press = this.press;
    this.press = null;
    if (!known || !press) return;
    const up = event.type === 'pointerup';
    if (this.line && press.moved) {
      this.endLine(up);
    } else if (press.moved) {
      if (press.index >= 0 && !press.turns && !inSpace.value) this.viewer.drag?.end();
    } else if (up && event.button !== 2) {
      this.click(press.index, event.shiftKey, this.at(event));
    }
    this.line = null;
    this.viewer.refresh();
  }

  private click(index: number, joins: boolean, p: Point): void {
    const group = joins ? null : afar.layer?.groupAt(p.x, p.y);
    if (group) {
      // A second click soon after collapses it, or expands it.
      clearTimeout(this.opening);
      this.opening = setTimeout(() => afar.layer?.open(group), DOUBLE_MS);
      return;
    }
    if (joins) {
      if (index >= 0) void selecting().then((tools) => tools.toggle(index));
      return;
    }
    clearSelection();
    this.viewer.select(index);
  }

  private onWheel(event: WheelEvent): void {
    event.preventDefault();
    const p = this.at(event);
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    // Browsers report a pinch on a touch pad as a wheel with Ctrl, in small steps.
    const step = event.ctrlKey ? WHEEL_STEP * 6 : WHEEL_STEP;
    const delta = Math.max(-400, Math.min(400, event.deltaY * unit));
    const { picture, focus } = this.viewer;
    // A node under the pointer stays where it is; were it the point of the disc, the middle would go away.
    const [x, y] = picture.project(focus.hovered) ?? [NaN, NaN];
    const over = Math.hypot(x - p.x, y - p.y) <= Math.max(SLACK, picture.radius(focus.hovered));
    picture.camera.zoom(picture.size, over ? x : p.x, over ? y : p.y, Math.exp(-delta * step));
    picture.touched(performance.now());
    this.viewer.refresh();
    this.hoverSoon(p);
  }

  private onDouble(event: MouseEvent): void {
    const p = this.at(event);
    const group = afar.layer?.groupAt(p.x, p.y);
    if (group) {
      clearTimeout(this.opening);
      void afar.layer?.toggle(group);
      return;
    }
    const index = this.nodeAt(p);
    if (index >= 0) this.viewer.flyTo(index);
    else this.viewer.zoomBy(event.shiftKey ? 0.5 : 2);
  }

  /** Picks once a frame, however many moves the mouse reports. */
  private hoverSoon(p: Point): void {
    this.hoverAt = p;
    if (this.hoverPending) return;
    this.hoverPending = true;
    requestAnimationFrame(() => {
      this.hoverPending = false;
      if (!this.hoverAt || this.down.size > 0) return;
      const { picture } = this.viewer;
      const { x, y } = this.hoverAt;
      const group = afar.layer?.groupAt(x, y) ?? null;
      afar.layer?.hover(group);
      const index = group ? -1 : picture.nodeAt(x, y);
      this.surface.classList.toggle('over-node', group !== null || index >= 0);
      this.viewer.hover(index);
      this.viewer.hoverEdge(index < 0 && !group ? edgeAt(picture, picture.drawnLines, x, y) : -1);
    });
  }
}
