// Words of the bar for the state of the layout.

import type { LinkState } from '../net/session.ts';

export interface LayoutFacts {
  /** The server's word. */
  state: string;
  playing: boolean;
  iterations: number;
  /** How the layout ended without coming to rest; empty otherwise. */
  end: string;
  /** The nodes stand where the dataset has them. */
  given: boolean;
  /** The layout that was named last and placed the nodes; empty when none was. */
  placedBy: string;
}

/** The server calls every layout settled that has nothing left to do, also one that never began. */
function neverRan({ state, playing, iterations, placedBy }: LayoutFacts): boolean {
  return !playing && state === 'settled' && iterations === 0 && placedBy === '';
}

const AS_GIVEN = "The positions are the dataset's own.";

/** Whether nobody has moved the nodes, or what moved them was taken back. */
function standsAsGiven({ state, playing, given, placedBy }: LayoutFacts): boolean {
  return given && !playing && (state === 'settled' || state === 'stopped') && placedBy === '';
}

/** The word beside the dot, and what there is to say about it; null when the connection is all there is. */
export function layoutWord(facts: LayoutFacts): { word: string; title: string } | null {
  if (standsAsGiven(facts)) {
    return { word: 'as given', title: AS_GIVEN };
  }
  if (neverRan(facts)) {
    return { word: 'no layout run', title: 'No layout was run: the nodes stand where they began' };
  }
  const ended = !facts.playing && (facts.state === 'settled' || facts.state === 'stopped');
  return ended ? { word: facts.state, title: facts.end } : null;
}

/** What a screen reader hears when the layout begins or ends. */
export function layoutNews(facts: LayoutFacts): string {
  if (facts.playing) return 'The layout is running.';
  if (standsAsGiven(facts)) return AS_GIVEN;
  if (neverRan(facts)) return 'No layout was run.';
  if (facts.state === 'settled') return 'The layout has settled.';
  return facts.state === 'stopped' ? facts.end : 'The layout is paused.';
}

export const WATCHING =
  'Whoever opened this visualization runs its layout and moves its nodes. Open the graph in a tab of your own, ' +
  'without session= in its address, to do so yourself.';
const NO_SOCKET =
  'The layout cannot be run or paused from here: a proxy lets no websocket through, which carries the commands.';

/** Why the layout cannot be run from this page; empty when it can. */
export function whyNoPlay(steers: boolean, link: LinkState): string {
  if (!steers) return WATCHING;
  return link === 'polling' ? NO_SOCKET : '';
}
