import { effect } from '@preact/signals';
import { failure } from '../net/api.ts';
import { readFrame } from '../net/frames.ts';
import type { DrawInput } from '../gl/renderer.ts';
import type { NodeList } from '../scene/scene-data.ts';
import type { Positions } from '../scene/positions.ts';
import { afar } from '../state/afar.ts';
import type { SpaceView } from '../state/lazy.ts';
import { inSpace } from '../state/space.ts';
import * as store from '../state/store.ts';
import type { Viewer } from '../state/viewer.ts';
import { colorsOf, edgeColorsOf, farFirst, sizesOf } from './look.ts';
import { readDepth } from './read.ts';
import { ballOf, PLANE, project, type Ball, type Turn } from './turn.ts';

/** The side from which nodes are seen at first. */
const FIRST: Turn = { yaw: -0.55, pitch: 0.38, depth: 1 };
const PITCH_MAX = Math.PI / 2;
/** Radians for a pixel that the pointer moves. */
const TURN_PX = 0.008;
const TURN_MS = 450;
/** Zoom from which the picture turns around what is in the middle of the view. */
const NEAR_ZOOM = 1.3;

/**
 * Nodes with a third coordinate, seen from any side. Where each is seen is computed here and takes the place
 * of the positions in the plane, which pointer, names, fit and lists of edges read, and so work on it.
 * Pan and zoom are those of the plane.
 */
export class Space implements SpaceView {
  private turn: Turn = PLANE;
  /** Whose nodes are shown in space, and where these are in the plane. */
  private positions: Positions | null = null;
  private flat = new Float32Array(0);
  private z: Float32Array = new Float32Array(0);
  private near = new Float32Array(0);
  private ball: Ball | null = null;
  /** Which third coordinates `z` holds. */
  private known = '';
  /** Looks without nearness, and those that are drawn. */
  private plain: { color: Uint8Array | null; size: Uint8Array | null } = { color: null, size: null };
  private color = new Uint8Array(0);
  private size = new Uint8Array(0);
  private edgeColor = new Uint8Array(0);
  /** Edges whose ends were known when their colours were last made. */
  private edgesShaded = 0;
  private listed: { base: NodeList | null; of: number; list: NodeList } | null = null;
  private shown = 0;
  private pending = false;
  private pointing: Viewer['picture']['pointing'] = null;

  constructor(private readonly viewer: Viewer) {
    viewer.picture.adjusters.push((input) => this.adjust(input));
    effect(() => {
      const version = store.depths.value;
      if (!inSpace.peek() || this.known.endsWith(` ${version}`)) return;
      if (version === 0) this.leave();
      else void this.show(true);
    });
  }

  /** Shows the third dimension, or the plane. */
  async show(on: boolean): Promise<void> {
    if (!on) return this.moveTo(PLANE, () => this.leave());
    try {
      await this.load();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      store.notice.value = `The third dimension could not be loaded: ${why}`;
      return;
    }
    const first = !inSpace.value;
    if (!this.enter()) return;
    if (first) this.moveTo(FIRST, () => undefined);
    else this.place();
  }

  private async load(): Promise<void> {
    const { viewer } = this;
    const key = `${viewer.epoch} ${store.depths.value}`;
    if (key === this.known) return;
    const answer = await fetch(viewer.api.at(`${viewer.epoch}/depth.bin`), { credentials: 'same-origin' });
    if (!answer.ok) throw await failure(answer);
    this.z = readDepth(await readFrame(await answer.arrayBuffer()), viewer.picture.data.numNodes);
    this.known = key;
    this.measure();
  }

  /** Looks anew how large what is shown is. */
  private measure(): void {
    const { positions } = this.viewer.picture;
    this.ball = ballOf(this.positions === positions ? this.flat : positions.current, this.z);
  }

  /** Takes the positions of the picture's nodes; answers whether there is something to show. */
  private enter(): boolean {
    const { picture } = this.viewer;
    const { positions } = picture;
    if (inSpace.value && this.positions === positions) return this.ball !== null;
    afar.layer?.ungather();
    this.flat = positions.current.slice();
    this.positions = positions;
    this.near = new Float32Array(this.z.length);
    this.size = new Uint8Array(this.z.length);
    this.color = new Uint8Array(4 * this.z.length);
    this.measure();
    if (!this.ball) return false;
    positions.turning = {
      undo: () => positions.current.set(this.flat),
      redo: () => {
        this.flat.set(positions.current);
        // While a layout runs its nodes keep their scale on the screen.
        if (!store.playing.value) this.measure();
        this.see();
      },
    };
    const { pointing } = picture;
    this.pointing = pointing;
    const near = this.near;
    if (pointing) {
      const pick: typeof pointing.pickNode = (input, ...at) => pointing.pickNode({ ...input, near }, ...at);
      picture.pointing = { ...pointing, pickNode: pick };
    }
    picture.renderer.shade = (rgba) => this.shade(rgba);
    inSpace.value = true;
    return true;
  }

  /** Own colours of edges, which get the more of the background the farther their ends are. */
  private shade(rgba: Uint8Array): Uint8Array {
    const { renderer, data, backdrop } = this.viewer.picture;
    const bytes = 8 * data.numEdges;
    this.edgesShaded = data.edgesKnown;
    // There is no room on the device for a colour at each end.
    if (2 * data.numEdges > renderer.edgesMax) return rgba;
    if (this.edgeColor.length !== bytes) this.edgeColor = new Uint8Array(bytes);
    edgeColorsOf(rgba, data.ends, this.near, this.turn.depth, backdrop.center, this.edgeColor);
    return this.edgeColor;
  }

  private leave(): void {
    const { picture } = this.viewer;
    const { data } = picture;
    inSpace.value = false;
    picture.renderer.shade = (rgba) => rgba;
    picture.renderer.uploadEdgeColors();
    this.edgeColor = new Uint8Array(0);
    picture.pointing = this.pointing ?? picture.pointing;
    this.turn = PLANE;
    if (this.positions) {
      this.positions.turning = null;
      if (this.positions === picture.positions) {
        this.positions.current.set(this.flat);
        if (data.nodeColor === this.color) data.nodeColor = this.plain.color;
        if (data.nodeSize === this.size) data.nodeSize = this.plain.size;
        this.positions.version += 1;
        this.upload(true);
      }
    }
    this.positions = null;
    picture.refit();
    this.viewer.relabel();
  }

  /** Where nodes are seen, to the picture's positions; how near they are to their looks. */
  private see(): void {
    const { picture } = this.viewer;
    const { data, positions, backdrop } = picture;
    if (!this.ball || this.positions !== positions) return;
    const { near, turn } = this;
    project(this.flat, this.z, this.ball, turn, positions.current, near);
    positions.version += 1;
    this.shown += 1;
    if (data.nodeColor && data.nodeColor !== this.color) this.plain.color = data.nodeColor;
    if (data.nodeSize && data.nodeSize !== this.size) this.plain.size = data.nodeSize;
    const { color, size } = this.plain;
    if (color) {
      colorsOf(color, near, turn.depth, backdrop.center, this.color);
      data.nodeColor = this.color;
    }
    if (size) {
      sizesOf(size, near, turn.depth, data.order?.[0] ?? 0, this.size);
      data.nodeSize = this.size;
    }
    picture.renderer.uploadNodes();
    picture.renderer.uploadEdgeColors();
  }

  /** Shows nodes from the present side. */
  private place(): void {
    const { picture } = this.viewer;
    const { positions, camera } = picture;
    if (this.positions !== positions) return this.leave();
    const anchor = picture.zoom > NEAR_ZOOM ? this.middle() : -1;
    const from = anchor < 0 ? null : positions.shownAt(anchor, 1);
    this.see();
    const to = anchor < 0 ? null : positions.shownAt(anchor, 1);
    if (from && to) {
      const { cx, cy, scale } = camera.view;
      camera.set({ cx: cx + to[0] - from[0], cy: cy + to[1] - from[1], scale });
    }
    this.upload(false);
  }

  private upload(all: boolean): void {
    const { picture } = this.viewer;
    picture.gather();
    const tweens = all || picture.tween(performance.now()) < 1;
    if (tweens) picture.positions.previous.set(picture.positions.current);
    picture.renderer.uploadPositions(tweens);
    if (all) picture.renderer.uploadNodes();
    picture.touched(performance.now());
    picture.change();
    this.viewer.refresh();
  }

  /** The visible node that is seen nearest to the middle of the view, -1 for none. */
  private middle(): number {
    const { positions, camera, data } = this.viewer.picture;
    const { current, origin } = positions;
    const [x, y] = [camera.view.cx - origin.x, camera.view.cy - origin.y];
    let [found, least] = [-1, Infinity];
    for (let i = 0; i < data.numNodes; i += 1) {
      const far = (current[2 * i] - x) ** 2 + (current[2 * i + 1] - y) ** 2;
      if (far < least && !data.nodeHidden?.[i]) [found, least] = [i, far];
    }
    return found;
  }

  /** Turns the picture by so many pixels of the pointer. */
  turnBy(dx: number, dy: number): void {
    const { yaw, pitch, depth } = this.turn;
    const up = Math.max(-PITCH_MAX, Math.min(PITCH_MAX, pitch + dy * TURN_PX));
    this.turn = { yaw: yaw + dx * TURN_PX, pitch: up, depth };
    if (this.pending) return;
    // Once a frame, however many moves the mouse reports.
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      if (inSpace.value) this.place();
    });
  }

  private moveTo(to: Turn, done: () => void): void {
    const { camera } = this.viewer.picture;
    const from = { ...this.turn, yaw: Math.atan2(Math.sin(this.turn.yaw), Math.cos(this.turn.yaw)) };
    const at = (t: number): void => {
      const mix = (key: keyof Turn): number => from[key] + (to[key] - from[key]) * t;
      this.turn = { yaw: mix('yaw'), pitch: mix('pitch'), depth: mix('depth') };
      this.place();
      if (camera.following) this.viewer.picture.refit(true);
      if (t >= 1) done();
    };
    if (document.documentElement.classList.contains('still')) return at(1);
    const start = performance.now();
    const step = (now: number): void => {
      if (!inSpace.value) return;
      const t = Math.min(1, Math.max(0, (now - start) / TURN_MS));
      at(t * t * (3 - 2 * t));
      if (t < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  /** Draws the nearest nodes last, and takes over looks that have changed. */
  private adjust(input: DrawInput): DrawInput {
    const { data } = this.viewer.picture;
    if (!inSpace.value || this.positions !== this.viewer.picture.positions) return input;
    const isLate = data.edgeColor !== null && this.edgesShaded !== data.edgesKnown;
    if (data.nodeColor !== this.color || data.nodeSize !== this.size || isLate) {
      this.see();
      this.upload(false);
    }
    const base = input.nodes;
    if (this.listed?.base !== base || this.listed.of !== this.shown) {
      const list = farFirst(base?.list ?? null, this.near);
      this.listed = { base, of: this.shown, list: { list, whole: base?.whole ?? true } };
    }
    return { ...input, nodes: this.listed.list };
  }
}
