import { GpuTable, Program } from '../gl/gpu.ts';
import type { Marks } from '../gl/marks.ts';
import type { EdgeBending, Renderer, SceneData } from '../gl/renderer.ts';
import { LINES_FS, QUADS_FS } from '../gl/shaders.ts';
import { ABSENT } from '../scene/positions.ts';
import { BENT_LINES_VS, BENT_QUADS_VS, SEGMENTS } from './bundle-shaders.ts';
import { NO_GROUP } from './groups.ts';

/** The texture unit of the middles; those below it are taken by what the shaders of edges read. */
const UNIT = 9;

/**
 * Bundled edges: each edge between two communities is led by the middles of both, so that those of a pair
 * run together (Holten, "Hierarchical Edge Bundles", 2006, with a hierarchy of one level). Edges within a
 * community stay as they are.
 */
export class Bundle implements EdgeBending {
  readonly segments = SEGMENTS;
  private made: { marks: Marks; lines: Program; quads: Program; hubs: GpuTable } | null = null;
  private hubs = new Float32Array(0);
  private stale = false;

  constructor(private readonly renderer: Renderer) {}

  /** Takes the middles of communities from where their nodes are. */
  place(of: Uint16Array, { current: xy, nodeHidden }: SceneData): void {
    const sums = new Float64Array(3 * (NO_GROUP + 1));
    for (let i = 0; i < of.length; i += 1) {
      if (nodeHidden?.[i] || !(xy[2 * i] < 1e30)) continue;
      sums[3 * of[i]] += 1;
      sums[3 * of[i] + 1] += xy[2 * i];
      sums[3 * of[i] + 2] += xy[2 * i + 1];
    }
    this.hubs = new Float32Array(2 * of.length);
    for (let i = 0; i < of.length; i += 1) {
      const k = 3 * of[i];
      const known = of[i] !== NO_GROUP && sums[k] > 0;
      this.hubs[2 * i] = known ? sums[k + 1] / sums[k] : ABSENT;
      this.hubs[2 * i + 1] = known ? sums[k + 2] / sums[k] : ABSENT;
    }
    this.stale = true;
  }

  use(kind: 'lines' | 'quads'): Program {
    const { gl, marks } = this.renderer;
    if (this.made?.marks !== marks) {
      const lines = new Program(gl, BENT_LINES_VS, LINES_FS);
      const quads = new Program(gl, BENT_QUADS_VS, QUADS_FS);
      this.made = { marks, lines, quads, hubs: new GpuTable(gl, 'rg32f') };
      this.stale = true;
    }
    const { made } = this;
    if (this.stale) {
      made.hubs.reserve(this.hubs.length / 2);
      made.hubs.write(this.hubs, this.hubs.length / 2);
      this.stale = false;
    }
    made.hubs.bind(UNIT);
    return made[kind].use().int('uHubs', UNIT);
  }
}
