/** What is under the pointer, and what is emphasized with it: nobody needs it before the first picture. */

export { countsOn } from './counts.ts';
export { highlightOf, highlightOfMany } from './highlight.ts';
export { pickNode } from './pick.ts';
