/** What is loaded once the graph is on the screen: nobody needs it before. */

export { watchAfar } from '../afar/watch.ts';
export { listenKeys } from '../input/keyboard.ts';
export { PointerInput } from '../input/pointer.ts';
export { flight } from '../scene/flight.ts';
export { isDirected } from '../scene/direction.ts';
export * as pointing from '../scene/pointing.ts';
export { RareEdges } from '../scene/rare-edges.ts';
export { Dragging } from '../state/dragging.ts';
export { Names } from '../scene/names.ts';
export { Cards, placeCards } from './card.tsx';
export { Tools, TinyTools, ZoomButtons } from './controls.tsx';
export { KeysPanel } from './keys.tsx';
export { LegendPanel } from './legend.tsx';
export { NoticesPanel } from './notices.tsx';
export { SearchBox } from './search-box.tsx';
