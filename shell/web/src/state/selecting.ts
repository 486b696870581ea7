import { load, type SelectionPart } from './lazy.ts';
import * as store from './store.ts';

let tools: Promise<SelectionPart> | null = null;

/** The tools of the selection, which are loaded when somebody first selects more than a node. */
export function selecting(): Promise<SelectionPart> {
  return (tools ??= load.selection());
}

/** Another graph is shown, of which nothing is selected. */
export function forgetSelection(): void {
  if (tools) void tools.then((loaded) => loaded.forget());
}

/** Other nodes are hidden than before, which count as not selected. */
export function hiddenChanged(): void {
  if (tools) void tools.then((loaded) => loaded.hiddenChanged());
}

/** Lets go of what is selected, where anything is. */
export function clearSelection(): void {
  const any = store.selectedCount.value + store.selectedEdges.value > 0;
  if (tools && any) void tools.then((loaded) => loaded.do('clear'));
}
