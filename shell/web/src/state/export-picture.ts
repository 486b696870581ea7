import { css } from '../scene/color.ts';
import { encodePng, PIXELS_MAX } from './png.ts';
import * as store from './store.ts';
import type { Viewer } from './viewer.ts';

/** That a browser draws no picture of a size. */
const tooLarge = (w: number, h: number): Error =>
  new Error(`Size ${w} × ${h}: this browser cannot draw so many pixels at once. Choose a smaller size.`);

/** What is on the screen as a PNG of so many times its size in CSS pixels, at most 8192 pixels a side. */
export async function exportPng(viewer: Viewer, times: number): Promise<Blob> {
  const { picture } = viewer;
  const { size, dpr } = picture;
  const scale = Math.min(times, 8192 / size.w, 8192 / size.h);
  const following = picture.camera.following;
  const out = document.createElement('canvas');
  out.width = Math.round(size.w * scale);
  out.height = Math.round(size.h * scale);
  const c = out.getContext('2d', { alpha: false, willReadFrequently: true });
  if (!c) throw tooLarge(out.width, out.height);
  picture.camera.following = false;
  viewer.resize(size.w, size.h, scale, () => picture.drawWhole(performance.now()));
  // In the same task, before the browser throws the drawing buffer away.
  c.fillStyle = css(picture.backdrop.center);
  c.fillRect(0, 0, out.width, out.height);
  const { canvas, gl } = picture.renderer;
  // A browser gives a canvas that is too large for it fewer pixels.
  const isWhole = gl.drawingBufferWidth === canvas.width && gl.drawingBufferHeight === canvas.height;
  if (isWhole) c.drawImage(canvas, 0, 0);
  viewer.resize(size.w, size.h, dpr);
  picture.camera.following = following;
  if (!isWhole) throw tooLarge(out.width, out.height);
  if (out.width * out.height <= PIXELS_MAX) return encodePng(c);
  return new Promise((done, fail) => {
    out.toBlob(
      (blob) => (blob ? done(blob) : fail(tooLarge(out.width, out.height))),
      'image/png',
    );
  });
}

/** A name for a file about the graph. */
export function fileName(ending: string): string {
  const name = store.graphName.value.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^-+|-+$/g, '');
  return `${name === '' ? 'graph' : name}${ending}`;
}

/** Gives a file to the browser's downloads. */
export function saveFile(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
