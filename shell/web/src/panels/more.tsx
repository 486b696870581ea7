/** What is loaded once the graph is on the screen: nobody needs it before. */

export { listenKeys } from '../input/keyboard.ts';
export { Cards, placeCards } from './card.tsx';
export { CollectionsPanel } from './collections.tsx';
export { KeysPanel } from './keys.tsx';
export { LegendPanel } from './legend.tsx';
export { NoticesPanel } from './notices.tsx';
export { Results } from './search-results.tsx';
