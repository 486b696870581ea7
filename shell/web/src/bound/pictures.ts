import type { Filters } from '../net/icon-frame.ts';
import { SPRITE } from './bound-shaders.ts';

/** Files that pictures come from, and how they are painted into sprites. */

/** The icon font, under a name that no font of the system has. */
export const ICON_FONT = 'Graphlume Icons';

/** Pictures of a page that are kept at most. */
const KEPT_MAX = 2_000;

/** What is loaded from elsewhere, and what of it is on its way. */
export class Files {
  private readonly images = new Map<string, HTMLImageElement | null>();
  private flags: Record<string, string> | null = null;
  private asking: Promise<unknown> | null = null;
  private font: 'none' | 'loading' | 'there' = 'none';
  private pending = 0;

  constructor(
    private readonly arrived: () => void,
    private readonly refused: (what: string, why: string) => void,
  ) {}

  get busy(): boolean {
    return this.pending > 0;
  }

  private wait(work: Promise<unknown>, what: string, why: string): void {
    this.pending += 1;
    void work
      .catch(() => this.refused(what, why))
      .finally(() => {
        this.pending -= 1;
        this.arrived();
      });
  }

  /** Whether the icon font is there; asks for it when it is not. */
  hasFont(): boolean {
    if (this.font === 'none') {
      this.font = 'loading';
      const face = new FontFace(ICON_FONT, 'url("./bound/icons.woff2")');
      const come = face.load().then(() => {
        document.fonts.add(face);
        this.font = 'there';
      });
      this.wait(come, 'The icon font', 'it could not be loaded; reload the page to try again');
    }
    return this.font === 'there';
  }

  /** A flag by its code; null while it is on its way. */
  flag(code: string): HTMLImageElement | null {
    if (!this.flags) {
      if (!this.asking) {
        this.asking = fetch('./bound/flags.json').then(async (answer) => {
          if (!answer.ok) throw new Error(answer.statusText);
          this.flags = (await answer.json()) as Record<string, string>;
        });
        this.wait(this.asking, 'Flags', 'they could not be loaded; reload the page to try again');
      }
      return null;
    }
    const svg = this.flags[code];
    return svg ? this.image(`data:image/svg+xml,${encodeURIComponent(svg)}`) : null;
  }

  /** A picture by its address; null while it is on its way, or where it cannot be had. */
  image(address: string): HTMLImageElement | null {
    const known = this.images.get(address);
    if (known !== undefined) return known;
    if (this.images.size >= KEPT_MAX) this.images.clear();
    this.images.set(address, null);
    const image = new Image();
    // Only what may be read may be drawn into a texture.
    if (!/^data:/i.test(address)) image.crossOrigin = 'anonymous';
    image.src = address;
    const come = image.decode().then(() => {
      if (this.images.has(address)) this.images.set(address, image);
    });
    const name = address.length > 80 ? `${address.slice(0, 77)}…` : address;
    const why =
      'it is not there, is no picture, or its site lets no other page draw it (Access-Control-Allow-Origin); ' +
      'put it into the data as a data: address';
    this.wait(come, `The picture ${name}`, why);
    return null;
  }
}

/** Filters as CSS. */
export function filterOf(style: Filters | undefined): string {
  if (!style) return 'none';
  const parts = Object.entries(style).map(([name, value]) =>
    name === 'hueRotate' ? `hue-rotate(${value}deg)` : `${name}(${value})`,
  );
  return parts.length === 0 ? 'none' : parts.join(' ');
}

export interface Painting {
  /** What is below: the disc with which a blend mode mixes; null for nothing. */
  under: string | null;
  underImage: HTMLImageElement | null;
  underStyle: Filters | undefined;
  image: HTMLImageElement | null;
  letters: { text: string; font: string; color: string; size: number } | null;
  style: Filters | undefined;
  blend: string | undefined;
  round: boolean;
  /** Width as a share of the radius. */
  border: { width: number; stroke: string; color: string } | null;
}

let shared: CanvasRenderingContext2D | null = null;

/** The shared scratch canvas of one sprite, empty. */
function scratch(): CanvasRenderingContext2D | null {
  if (!shared) {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = SPRITE;
    shared = canvas.getContext('2d');
  }
  shared?.reset();
  return shared;
}

function circle(c: CanvasRenderingContext2D, r: number): void {
  c.beginPath();
  c.arc(SPRITE / 2, SPRITE / 2, r, 0, 2 * Math.PI);
}

/** An image in the square, whole, or filling it where it is clipped to a disc. */
function place(c: CanvasRenderingContext2D, image: HTMLImageElement, fill: boolean): void {
  const [w, h] = [image.naturalWidth || SPRITE, image.naturalHeight || SPRITE];
  const scale = SPRITE / (fill ? Math.min(w, h) : Math.max(w, h));
  c.drawImage(image, (SPRITE - w * scale) / 2, (SPRITE - h * scale) / 2, w * scale, h * scale);
}

function strokes(c: CanvasRenderingContext2D, border: NonNullable<Painting['border']>): void {
  const width = border.width * (SPRITE / 2);
  c.strokeStyle = border.color;
  const ring = (radius: number, line: number): void => {
    c.lineWidth = line;
    circle(c, radius);
    c.stroke();
  };
  const outer = SPRITE / 2 - width / 2 - 1;
  if (border.stroke === 'double') {
    ring(outer + width / 3, width / 3);
    ring(outer - width / 3, width / 3);
    return;
  }
  const around = 2 * Math.PI * outer;
  // A whole number of dashes, so that the last meets the first.
  const even = (length: number): number => around / Math.max(3, Math.round(around / (2 * length))) / 2;
  const dash = border.stroke === 'dotted' ? even(width) : even(2.5 * width);
  if (border.stroke === 'dotted' || border.stroke === 'dashed') c.setLineDash([dash, dash]);
  ring(outer, width);
}

/** Paints a sprite. */
export function paintSprite(painting: Painting): HTMLCanvasElement | null {
  const c = scratch();
  if (!c) return null;
  const { under, underImage, image, letters, border } = painting;
  c.save();
  if (painting.round) {
    circle(c, SPRITE / 2 - 0.5);
    c.clip();
  }
  c.filter = filterOf(painting.underStyle);
  if (under !== null) {
    c.fillStyle = under;
    c.fillRect(0, 0, SPRITE, SPRITE);
  }
  if (underImage) place(c, underImage, painting.round);
  c.filter = filterOf(painting.style);
  if (painting.blend) c.globalCompositeOperation = painting.blend as GlobalCompositeOperation;
  if (image) place(c, image, painting.round);
  if (letters) {
    c.font = `400 ${letters.size * (SPRITE / 2)}px ${letters.font}`;
    c.textAlign = 'center';
    c.textBaseline = 'alphabetic';
    c.fillStyle = letters.color;
    const box = c.measureText(letters.text);
    const rise = (box.actualBoundingBoxAscent - box.actualBoundingBoxDescent) / 2;
    const side = (box.actualBoundingBoxLeft - box.actualBoundingBoxRight) / 2;
    c.fillText(letters.text, SPRITE / 2 + side, SPRITE / 2 + rise);
  }
  c.restore();
  if (border && border.stroke !== 'none' && border.width > 0) strokes(c, border);
  return c.canvas;
}
