import type { LayoutFacts } from './layout-words.ts';

/** The words of the button that runs and pauses the layout. */
export function playWords(facts: LayoutFacts, refused: string): { label: string; title: string } {
  const label = facts.playing ? 'Layout' : facts.iterations > 0 ? 'Resume layout' : 'Run layout';
  if (refused !== '') return { label, title: refused };
  const does = facts.playing ? 'Pause the layout (space)' : 'Run the layout (space)';
  return { label, title: [does, facts.playing ? '' : facts.end].filter(Boolean).join('. ') };
}
