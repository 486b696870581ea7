import { EdgeBudget } from '../scene/budget.ts';
import type { EdgeList } from '../scene/scene-data.ts';
import type { DrawInput, InkStep, Renderer } from './renderer.ts';

/** Facts by which the painter chooses how to draw the edges of this frame. */
export interface InkPlan {
  /** Changes with every camera, position or colour change: the edge picture is then stale. */
  key: string;
  moving: boolean;
  /** Edges in total and those that have arrived. */
  numEdges: number;
  known: number;
  numNodes: number;
  /** Share of the edges that the ink rule wants drawn. */
  share: number;
  /** The near tier's edges, when few enough are in view. */
  list: EdgeList | null;
  arrows: boolean;
  /** Draws what lies over the picture, on the same canvas. */
  over: () => void;
}

/** Time after which a frame that the device has not finished no longer holds back the next, in ms. */
const STALL_MS = 1500;

/**
 * Spreads the drawing of edges over frames. While things move, a prefix of the shuffled edges that the
 * device can draw in time stands for all of them; at rest the rest is added piece by piece, and nothing
 * is drawn twice.
 */
export class Painter {
  readonly budget: EdgeBudget;
  private key = '';
  private mode: 'none' | 'list' | 'lines' = 'none';
  private list: EdgeList | null = null;
  private reduce = 1;
  private drawn = 0;
  private goal = 0;
  /** How long the last frame took that the device has finished, in ms; null when it is known already. */
  lastMs: number | null = null;
  private fence: { sync: WebGLSync; start: number; units: number } | null = null;

  constructor(
    private readonly renderer: Renderer,
    private readonly whole: boolean,
  ) {
    this.budget = new EdgeBudget(renderer.software);
  }

  /** Whether the device is still busy with the frame before; also learns how long that one took. */
  busy(now: number): boolean {
    this.lastMs = null;
    if (!this.fence || this.whole) return false;
    const { gl } = this.renderer;
    const { sync, start, units } = this.fence;
    const done = gl.getSyncParameter(sync, gl.SYNC_STATUS) === gl.SIGNALED;
    if (!done && now - start < STALL_MS) return true;
    gl.deleteSync(sync);
    this.fence = null;
    this.lastMs = now - start;
    this.budget.learn(now - start, units);
    return false;
  }

  /** Forgets fences and pictures of a lost context. */
  reset(): void {
    this.fence = null;
    this.key = '';
    this.mode = 'none';
  }

  /** Whether edges are still missing from the picture at rest. */
  get incomplete(): boolean {
    return this.mode === 'lines' && this.drawn < this.goal;
  }

  /** Brings the edge picture up to date as far as one frame allows, then paints the screen. */
  paint(input: DrawInput, plan: InkPlan): void {
    const known = Math.min(plan.known, this.renderer.edgesMax);
    const step = known === 0 ? null : this.next(plan, known);
    if (step) this.renderer.drawInk(input, step);
    const goal = plan.numEdges * plan.share;
    const scale = this.drawn > 0 ? goal / this.drawn : 1;
    this.renderer.drawScreen(input, scale, known > 0 && this.mode !== 'none');
    plan.over();
    const units = step ? (step.list ? step.list.count * this.budget.quadCost : step.to - step.from) : 0;
    this.setFence(units);
  }

  private next(plan: InkPlan, known: number): InkStep | null {
    const limit = this.budget.lines;
    const near = plan.list !== null && (!plan.moving || plan.list.count * this.budget.quadCost <= limit);
    const goal = Math.min(known, Math.ceil(plan.numEdges * plan.share));
    const mode = near || (this.whole && plan.list) ? 'list' : 'lines';
    const reduce = mode === 'lines' && plan.moving && !this.whole && goal > limit ? 2 : 1;
    const fresh = plan.key !== this.key || mode !== this.mode || reduce < this.reduce;
    const relisted = mode === 'list' && plan.list !== this.list;
    if (fresh || relisted) {
      this.key = plan.key;
      this.mode = mode;
      this.reduce = reduce;
      this.list = plan.list;
      this.drawn = 0;
    } else if (mode === 'list' || this.drawn >= goal || plan.moving) {
      return null;
    }
    this.goal = goal;
    const from = this.drawn;
    if (mode === 'list') {
      // A list stands for all edges that have arrived, also for those out of view.
      this.drawn = known;
      return { clear: true, reduce: 1, list: plan.list, from: 0, to: 0, arrows: plan.arrows };
    }
    // At rest a few larger pieces: each also costs a repaint of the nodes, of which one costs about a line.
    const piece = plan.moving ? limit : Math.max(limit, goal / 5, plan.numNodes);
    const to = this.whole ? goal : Math.min(goal, Math.ceil(from + piece));
    this.drawn = to;
    return { clear: from === 0, reduce: this.reduce, list: null, from, to, arrows: false };
  }

  private setFence(units: number): void {
    if (this.whole || this.fence) return;
    const { gl } = this.renderer;
    const sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    if (sync) this.fence = { sync, start: performance.now(), units };
    gl.flush();
  }
}
