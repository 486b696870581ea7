import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { session } from '../document/current.ts';
import { between, type Entry } from '../document/document.ts';
import { addCollection, nameOf } from '../document/filters.ts';
import * as state from '../document/state.ts';
import { number, plural } from '../document/words.ts';
import type { Collection } from '../net/messages.ts';
import { selecting } from '../state/selecting.ts';
import * as store from '../state/store.ts';
import { fill } from './collection-key.ts';
import * as icons from './icons.tsx';
import { DownIcon, GripIcon, PencilIcon, UpIcon } from './instrument-icons.tsx';
import { Name, Switch } from './parts.tsx';

type Listed = Entry<Collection>;

function change(label: string, { id, ...entry }: Listed, to: Partial<Collection> | null): void {
  const value = to === null ? null : { ...entry, ...to };
  void session()?.change(label, [{ path: `collections/${id}`, value }]);
}

/** Puts a collection at another place of the list; the first is painted on top. */
function place(collection: Listed, index: number): void {
  const others = state.collections.value.filter(({ id }) => id !== collection.id);
  const order = between(others[index - 1]?.order, others[index]?.order);
  if (state.collections.value[index]?.id === collection.id) return;
  change(`Move ${nameOf(collection)}`, collection, { order });
}

async function select(collection: Listed): Promise<void> {
  await (await selecting()).select(collection.rule);
}

function Tool(props: {
  title: string;
  label: string;
  off?: boolean;
  act: () => void;
  children: JSX.Element;
}): JSX.Element {
  return (
    <button
      type="button"
      class="bare"
      title={props.title}
      aria-label={props.label}
      disabled={props.off}
      onClick={props.act}
    >
      {props.children}
    </button>
  );
}

/** The place of the list that is under the pointer. */
function placeUnder(event: PointerEvent): number {
  const rows = [...document.querySelectorAll('#panel-collections .entries > li')];
  const tops = rows.map((row) => row.getBoundingClientRect());
  const under = tops.findIndex(({ bottom }) => event.clientY < bottom);
  return under < 0 ? rows.length - 1 : under;
}

/** What is held while a collection is dragged to another place. */
function Grip({ collection, over }: { collection: Listed; over: { value: number | null } }): JSX.Element {
  return (
    <span
      class="grip"
      aria-hidden="true"
      title="Drag to another place"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        event.preventDefault();
        over.value = placeUnder(event);
      }}
      onPointerMove={(event) => {
        if (over.value !== null) over.value = placeUnder(event);
      }}
      onPointerUp={() => {
        if (over.value !== null) place(collection, over.value);
        over.value = null;
      }}
      onPointerCancel={() => {
        over.value = null;
      }}
    >
      <GripIcon />
    </span>
  );
}

function Swatch({ collection, name }: { collection: Listed; name: string }): JSX.Element {
  const color = collection.node_color ?? collection.edge_color ?? '#888888';
  const listed = store.collections.value.entries.find(({ id }) => id === collection.id);
  const shown = collection.palette && listed ? fill(listed.swatches) : color;
  return (
    <label class="swatch" style={{ background: shown }} title={`Colour of ${name}`}>
      <input
        type="color"
        aria-label={`Colour of ${name}`}
        value={/^#[0-9a-f]{6}$/i.test(color) ? color : '#888888'}
        onChange={(event) => {
          const node_color = event.currentTarget.value;
          const edge_color = collection.edge_color === null ? null : node_color;
          change(`Colour ${name}`, collection, { node_color, edge_color, palette: null });
        }}
      />
    </label>
  );
}

function Item(props: {
  collection: Listed;
  index: number;
  count: number;
  over: { value: number | null };
}): JSX.Element {
  const { collection, index, count, over } = props;
  const renaming = useSignal(false);
  const name = nameOf(collection);
  const matches = store.collections.value.entries.find(({ id }) => id === collection.id)?.count ?? null;
  const held = !collection.on ? 'off' : matches === null ? 'select' : plural(matches, 'element');
  return (
    <li
      data-entry={collection.id}
      class={[collection.on ? '' : 'off', over.value === index ? 'over' : ''].join(' ')}
    >
      <div class="line">
        <span class="swatched">
          <Grip collection={collection} over={over} />
          <Swatch collection={collection} name={name} />
          {renaming.value ? (
            <Name
              value={collection.name}
              placeholder={name}
              label={`Name of ${name}`}
              done={(to) => {
                renaming.value = false;
                if (to === null || to === collection.name) return;
                change(`Rename collection to ${to}`, collection, { name: to });
              }}
            />
          ) : (
            <span class="words" title={collection.description || name}>
              {name}
            </span>
          )}
        </span>
        <Switch
          on={collection.on}
          label={name}
          change={(on) => change(`Turn ${on ? 'on' : 'off'} ${name}`, collection, { on })}
        />
      </div>
      <div class="line under">
        <button
          type="button"
          class="plain quiet"
          aria-label={`${held}: select ${name}`}
          title="Select these nodes"
          onClick={() => void select(collection)}
        >
          {held}
        </button>
        <Tool
          title="Further up"
          label={`Move ${name} up`}
          off={index === 0}
          act={() => place(collection, index - 1)}
        >
          <UpIcon />
        </Tool>
        <Tool
          title="Further down"
          label={`Move ${name} down`}
          off={index === count - 1}
          act={() => place(collection, index + 1)}
        >
          <DownIcon />
        </Tool>
        <Tool
          title="Rename"
          label={`Rename ${name}`}
          act={() => {
            renaming.value = true;
          }}
        >
          <PencilIcon />
        </Tool>
        <Tool title="Delete" label={`Delete ${name}`} act={() => change(`Remove ${name}`, collection, null)}>
          <icons.Close />
        </Tool>
      </div>
    </li>
  );
}

async function told(refusal: Promise<string | null>): Promise<void> {
  const why = await refusal;
  if (why !== null) store.notice.value = why;
}

async function fromSelection(): Promise<void> {
  const { count, bits64 } = (await selecting()).chosen();
  if (count === 0) store.notice.value = 'Select nodes first: click on one, or drag with Shift.';
  else await told(addCollection({ nodes: await bits64() }, plural(count, 'node')));
}

/** Makes collections of the selection or of what a filter keeps, and lists them, the topmost first. */
export function CollectionsEditor(): JSX.Element {
  const list = state.collections.value;
  const over = useSignal<number | null>(null);
  const count = store.selectedCount.value;
  const selected = count === 0 ? 'From selection' : `From ${number(count)} selected`;
  return (
    <>
      <div class="row">
        <button type="button" class="button primary" id="collect" onClick={() => void fromSelection()}>
          {selected}
        </button>
        {state.filters.value.length > 0 && (
          <select
            class="button select"
            id="collect-filter"
            aria-label="From a filter"
            title="Make a collection of what a filter keeps"
            value=""
            onChange={(event) => {
              const filter = state.filters.value.find(({ id }) => id === event.currentTarget.value);
              event.currentTarget.value = '';
              if (filter) void told(addCollection(filter.rule, nameOf(filter)));
            }}
          >
            <option value="">From filter…</option>
            {state.filters.value.map((filter) => (
              <option key={filter.id} value={filter.id}>
                {nameOf(filter)}
              </option>
            ))}
          </select>
        )}
      </div>
      {list.length === 0 ? (
        <p class="quiet empty">A collection gives some nodes a name and a colour, for all who look on.</p>
      ) : (
        <ul class="entries" id="collections-list">
          {list.map((entry, index) => (
            <Item key={entry.id} collection={entry} index={index} count={list.length} over={over} />
          ))}
        </ul>
      )}
    </>
  );
}
