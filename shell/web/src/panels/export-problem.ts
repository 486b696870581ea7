import { ApiError } from '../net/api.ts';
import { PIXELS_MAX, SIDE_MAX, SCALES, isAsShown, type Wish } from '../state/picture-address.ts';
import * as store from '../state/store.ts';
import type { Size } from '../scene/camera.ts';

/** Sentences of the picture dialog: about sizes, an empty picture, and where there is none. */

/** What can be had without the server. */
const HERE = 'A PNG without title, legend and transparent background is drawn by this page itself.';

/** The factors of the stage's size that a picture may have; the page draws more pixels than the server. */
export function scalesOf(wish: Wish, { w, h }: Size): number[] {
  const fits = (scale: number): boolean =>
    Math.max(w, h) * scale <= SIDE_MAX && (isAsShown(wish) || w * h * scale * scale <= PIXELS_MAX);
  return SCALES.filter((scale) => scale === 1 || fits(scale));
}

/** Why the picture would be empty, and what to do; empty where it would not be. */
export function emptiness(): string {
  const all = store.nodeCount.value;
  if (all === 0) return 'This graph has no nodes: the picture is empty.';
  if (store.shown.value?.nodes !== 0) return '';
  const nodes = all === 1 ? 'its only node' : `all ${all.toLocaleString('en')} nodes`;
  return `Filters hide ${nodes}: the picture is empty. Turn a filter off, or undo the last one.`;
}

/** A sentence about a format, and what to do. */
function told(kind: string, what: string, remedy: string): string {
  return `Format ${kind}: ${what}. ${remedy}${store.still.value ? '' : ` ${HERE}`}`;
}

/** What failed, of what, and what to do about it. */
export function problemOf(error: unknown, { format }: Wish): string {
  const kind = format.toUpperCase();
  // What `fetch` throws where no answer came.
  if (error instanceof TypeError) {
    const gone = `the server ${location.host} draws it, and cannot be reached`;
    return told(kind, gone, 'Check the connection, then press Save again.');
  }
  if (error instanceof ApiError) {
    const { status, message } = error;
    const said = message.replace(/[.\s]+$/, '');
    if (status === 401 || status === 403) {
      const refused = `the server draws it, and refused (${status}): ${said}`;
      return told(kind, refused, 'Sign in again, then press Save.');
    }
    if (status === 404 || status === 410) {
      const gone = `the server draws it, and has no session ${store.params.session} any more: ${said}`;
      return told(kind, gone, 'Reload the page.');
    }
    const later = 'Press Save again in a moment.';
    if (status === 408 || status === 429) return told(kind, said, later);
    if (status >= 500) return told(kind, `the server did not draw it: ${said}`, later);
    // It names the field, its value and what to do.
    return message;
  }
  return error instanceof Error ? error.message : `The ${kind} could not be saved: ${String(error)}`;
}
