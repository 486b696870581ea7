/** Elements under the pointer and those emphasized with them; loaded after the first picture. */

export { countsOn } from './counts.ts';
export { highlightOf, highlightOfMany } from './highlight.ts';
export { pickNode } from './pick.ts';
