import { watchAfar } from '../afar/watch.ts';
import { listenKeys } from '../input/keyboard.ts';
import { PointerInput } from '../input/pointer.ts';
import { Cards, placeCards } from '../panels/card.tsx';
import { Tools, TinyTools, ZoomButtons } from '../panels/controls.tsx';
import { KeysPanel } from '../panels/keys.tsx';
import { LegendPanel } from '../panels/legend.tsx';
import { NodeCountPanel } from '../panels/node-count.tsx';
import { NoticesPanel } from '../panels/notices.tsx';
import { SearchBox } from '../panels/search-box.tsx';
import { isDirected } from '../scene/direction.ts';
import { flight } from '../scene/flight.ts';
import { Names } from '../scene/names.ts';
import * as pointing from '../scene/pointing.ts';
import { RareEdges } from '../scene/rare-edges.ts';
import type { Space } from '../space/space.ts';
import { Dragging } from '../state/dragging.ts';
import { addLoaders } from '../state/lazy.ts';
import * as store from '../state/store.ts';
import type { LiveViewer } from '../state/live-viewer.ts';

/** Parts that are loaded once the graph is on the screen: nobody needs them before. */

/** The panels of the page, at each place in the order in which they stand there. */
const panels: Record<store.PanelPlace, readonly store.Part[]> = {
  search: [SearchBox],
  tools: [Tools],
  left: [LegendPanel, NoticesPanel, NodeCountPanel],
  corner: [ZoomButtons, TinyTools],
  over: [Cards, KeysPanel],
};

/** Says how the parts are loaded that only these panels ask for. */
function loadMore(viewer: LiveViewer): void {
  let space: Space | null = null;
  addLoaders({
    afar: () => import('../afar/afar.ts').then((all) => new all.Afar(viewer)),
    // Two clicks in a row mean the same one.
    space: () => import('../space/space.ts').then((all) => (space ??= new all.Space(viewer))),
  });
}

export function start(viewer: LiveViewer, stage: HTMLElement, surface: HTMLElement): void {
  const { picture } = viewer;
  loadMore(viewer);
  viewer.onDraw = () => placeCards(stage, picture);
  listenKeys(viewer);
  viewer.drag = new Dragging(picture, viewer.link, viewer.pins);
  new PointerInput(surface, viewer);
  picture.camera.flight = flight;
  picture.pointing = pointing;
  watchAfar(() => viewer.relabel());
  picture.findDirection = isDirected;
  picture.rare = new RareEdges();
  picture.change();
  viewer.nameInView(Names);
  store.panels.value = panels;
}
