import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { columnKey } from '../document/api.ts';
import { session } from '../document/current.ts';
import { nameOf } from '../document/filters.ts';
import * as state from '../document/state.ts';
import * as acts from '../selection/acts.ts';
import { selectedParts } from '../selection/selection.ts';
import * as act from '../state/actions.ts';
import * as store from '../state/store.ts';

const BUTTONS: readonly (readonly [what: act.Selecting, word: string, title: string])[] = [
  ['grow', 'Grow', 'Add the neighbours (g)'],
  ['component', 'Component', 'Add all that is connected'],
  ['path', 'Path', 'Add a shortest path between two selected nodes'],
  ['sameColor', 'Same colour', 'Add the nodes of the same colours'],
  ['invert', 'Invert', 'Select the others (i)'],
  ['fit', 'Zoom to', 'Show all that is selected'],
  ['clear', 'Clear', 'Select nothing (Esc)'],
];

/** A choice that does something at once, and then offers it again; without anything to choose it waits. */
function Menu(props: {
  id: string;
  word: string;
  title: string;
  groups: { title: string; items: { key: string; word: string; act: () => unknown }[] }[];
}): JSX.Element {
  const { id, word, title } = props;
  const groups = props.groups.filter(({ items }) => items.length > 0);
  const all = groups.flatMap(({ items }) => items);
  return (
    <select
      id={id}
      class="button select"
      title={title}
      aria-label={title}
      disabled={groups.length === 0}
      value=""
      onChange={(event) => {
        const key = event.currentTarget.value;
        event.currentTarget.value = '';
        all.find((item) => item.key === key)?.act();
      }}
    >
      <option value="">{word}</option>
      {groups.map((group) => (
        <optgroup key={group.title} label={group.title}>
          {group.items.map((item) => (
            <option key={item.key} value={item.key}>
              {item.word}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}

const ALGEBRA = [
  ['union', 'Add'],
  ['intersection', 'Keep what is also in'],
  ['difference', 'Take away'],
] as const;

/** Sets that the selection can be joined with. */
function sets(tools: acts.Tools, how: acts.Algebra): { key: string; word: string; act: () => unknown }[] {
  const known = [...state.collections.value, ...state.filters.value];
  return known.map(({ id, name, rule }) => ({
    key: `${how} ${id}`,
    word: nameOf({ name, rule }),
    act: () => acts.combine(tools, how, rule),
  }));
}

function DocumentActs({ tools }: { tools: acts.Tools }): JSX.Element {
  useEffect(() => {
    // For the menu of columns; without them there is none.
    session()?.api.columns().catch(() => undefined);
  }, []);
  const button = (word: string, title: string, does: () => unknown): JSX.Element => (
    <button type="button" class="button" title={title} onClick={() => does()}>
      {word}
    </button>
  );
  return (
    <div class="row">
      {button('Keep only', 'Hide everything else', () => acts.filterBySelection(tools, 'filter'))}
      {button('Hide', 'Hide what is selected', () => acts.filterBySelection(tools, 'exclusion'))}
      {button('Collapse', 'Show one disc in place of it', () => acts.collapseSelection(tools))}
      {button('Collect', 'Make a collection of it', () => acts.collect(tools))}
      {button('Pin', 'Keep the nodes where they are', () => acts.pin(tools, true))}
      {button('Unpin', 'Let the layout move the nodes', () => acts.pin(tools, false))}
      <Menu
        id="same-value"
        word="Same value…"
        title="Add the nodes with the same value"
        groups={[
          {
            title: 'of the column',
            items: acts.columnsOnCards().map((column) => ({
              key: columnKey(column),
              word: column.name,
              act: () => acts.sameValue(tools, column),
            })),
          },
        ]}
      />
      <Menu
        id="combine"
        word="Combine…"
        title="Join the selection with a collection or a filter"
        groups={ALGEBRA.map(([how, title]) => ({ title, items: sets(tools, how) }))}
      />
      <Menu
        id="export-selection"
        word="Export…"
        title="Save the selection as a file"
        groups={(['nodes', 'edges'] as const).map((table) => ({
          title: table === 'nodes' ? 'Nodes' : 'Edges among them',
          items: (['csv', 'json'] as const).map((format) => ({
            key: `${table} ${format}`,
            word: format.toUpperCase(),
            act: () => acts.exportSelection(tools, table, format),
          })),
        }))}
      />
      {button('New dataset', 'Open it as a dataset of its own', () => acts.newDataset(tools))}
    </div>
  );
}

/** How much is selected, and what can be done with it. */
export function SelectionPanel({ tools }: { tools: acts.Tools }): JSX.Element | null {
  const count = store.selectedCount.value;
  const edges = store.selectedEdges.value;
  if (count + edges === 0) return null;
  return (
    <section class="selection panel" id="selection" data-over aria-label="Selection">
      <div>
        {selectedParts(count, edges).map(({ number, word }, index) => (
          <>
            {index > 0 && 'and '}
            <b>{number}</b> {word}{' '}
          </>
        ))}
        selected
      </div>
      <div class="row">
        {BUTTONS.map(([what, word, title]) => (
          <button
            key={what}
            class="button"
            type="button"
            title={title}
            disabled={(what === 'path' && count !== 2) || (count === 0 && what !== 'clear')}
            onClick={() => act.select(what)}
          >
            {word}
          </button>
        ))}
      </div>
      {count > 0 && store.instruments.value && <DocumentActs tools={tools} />}
    </section>
  );
}
