import { h } from 'preact';
import { SelectionPanel } from '../panels/selection.tsx';
import { SelectionTools } from '../selection/tools.ts';
import { selectionPanel } from '../state/store.ts';
import type { Viewer } from '../state/viewer.ts';

/** The tools of the selection with their panel, loaded when somebody first selects more than a node. */
export function start(viewer: Viewer): SelectionTools {
  const tools = new SelectionTools(viewer, viewer.page);
  selectionPanel.value = () => h(SelectionPanel, { tools });
  return tools;
}
