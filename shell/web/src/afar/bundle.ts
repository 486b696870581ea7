import { GpuTable, Program } from '../gl/gpu.ts';
import type { Marks } from '../gl/marks.ts';
import type { EdgeBending, Place } from '../gl/edge-bending.ts';
import type { Renderer } from '../gl/renderer.ts';
import type { SceneData } from '../scene/scene-data.ts';
import { ARROWS_FS, LINES_FS, QUADS_FS } from '../gl/shaders.ts';
import { ABSENT, isPlaced } from '../scene/positions.ts';
import { BENT_ARROWS_VS, BENT_LINES_VS, BENT_QUADS_VS, SEGMENTS, STRENGTH } from './bundle-shaders.ts';
import { NO_GROUP } from './groups.ts';

type Kind = Parameters<EdgeBending['use']>[0];

/** The texture unit of the middles; those below it are taken by what the shaders of edges read. */
const UNIT = 9;

/**
 * Bundled edges: each edge between two communities is led by the middles of both, so that those of a pair
 * run together (Holten, "Hierarchical Edge Bundles", 2006, with a hierarchy of one level). Edges within a
 * community stay as they are.
 */
export class Bundle implements EdgeBending {
  readonly segments = SEGMENTS;
  private made: (Record<Kind, Program> & { marks: Marks; hubs: GpuTable }) | null = null;
  private hubs = new Float32Array(0);
  private ends: Uint32Array = new Uint32Array(0);
  private stale = false;

  constructor(private readonly renderer: Renderer) {}

  /** Takes the middles of communities from where their nodes are. */
  place(groupOf: Uint16Array, { current: xy, nodeHidden, ends }: SceneData): void {
    this.ends = ends;
    const sums = new Float64Array(3 * (NO_GROUP + 1));
    for (let i = 0; i < groupOf.length; i += 1) {
      if (nodeHidden?.[i] || !(xy[2 * i] < 1e30)) continue;
      sums[3 * groupOf[i]] += 1;
      sums[3 * groupOf[i] + 1] += xy[2 * i];
      sums[3 * groupOf[i] + 2] += xy[2 * i + 1];
    }
    this.hubs = new Float32Array(2 * groupOf.length);
    for (let i = 0; i < groupOf.length; i += 1) {
      const k = 3 * groupOf[i];
      const known = groupOf[i] !== NO_GROUP && sums[k] > 0;
      this.hubs[2 * i] = known ? sums[k + 1] / sums[k] : ABSENT;
      this.hubs[2 * i + 1] = known ? sums[k + 2] / sums[k] : ABSENT;
    }
    this.stale = true;
  }

  /** The same way as the shader's. */
  controls(edge: number, a: Place, b: Place): readonly [Place, Place] | null {
    const [s, d] = this.ends.subarray(2 * edge, 2 * edge + 2);
    const hub = (node: number): Place => [this.hubs[2 * node], this.hubs[2 * node + 1]];
    const [h, k] = [hub(s), hub(d)];
    if (!isPlaced(h[0]) || !isPlaced(k[0]) || (h[0] === k[0] && h[1] === k[1])) return null;
    const led = (share: number, to: Place): Place => {
      const axis = (c: 0 | 1): number => (a[c] + (b[c] - a[c]) * share) * (1 - STRENGTH) + to[c] * STRENGTH;
      return [axis(0), axis(1)];
    };
    return [led(1 / 3, h), led(2 / 3, k)];
  }

  use(kind: Kind): Program {
    const { gl, marks } = this.renderer;
    if (this.made?.marks !== marks) {
      const lines = new Program(gl, BENT_LINES_VS, LINES_FS);
      const quads = new Program(gl, BENT_QUADS_VS, QUADS_FS);
      const arrows = new Program(gl, BENT_ARROWS_VS, ARROWS_FS);
      this.made = { marks, lines, quads, arrows, hubs: new GpuTable(gl, 'rg32f') };
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
