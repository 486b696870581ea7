import type { Picture } from '../picture/picture.ts';
import type { Rgb } from '../scene/color.ts';

/** Emphasis by a script: by darkening all else or, where it wants that left as it is, by rings. */

const RING: Record<'dark' | 'light', Rgb> = {
  dark: { r: 255, g: 255, b: 255, a: 1 },
  light: { r: 17, g: 17, b: 17, a: 1 },
};
/** Nodes that get a ring. */
const RINGS_MAX = 1_000;

export class Emphasis {
  private nodes: readonly number[] = [];
  private edges: readonly number[] = [];
  private darken = true;

  constructor(private readonly picture: Picture) {
    const { over } = picture;
    picture.over = (moving, now) => {
      over(moving, now);
      if (this.any && !this.darken) this.drawRings();
    };
  }

  get any(): boolean {
    return this.nodes.length + this.edges.length > 0;
  }

  set(nodes: readonly number[], edges: readonly number[], darken: boolean): void {
    Object.assign(this, { nodes, edges, darken });
  }

  /** Shows it; answers whether there is anything to show. */
  show(): boolean {
    const { picture } = this;
    if (this.any) picture.lightUp([...new Set(this.nodes)], [...new Set(this.edges)], this.darken);
    return this.any;
  }

  private drawRings(): void {
    const { picture } = this;
    const { marks } = picture.renderer;
    const color = RING[picture.backdrop.light ? 'light' : 'dark'];
    marks.begin(picture.pixelsPerCss);
    for (const node of this.nodes.slice(0, RINGS_MAX)) {
      const place = picture.project(node);
      if (place) marks.ring(...place, Math.max(3, picture.radius(node)) + 2, 2, 8, color);
    }
    marks.draw(picture.size);
  }
}
