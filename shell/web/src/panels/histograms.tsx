import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { columnKey } from '../document/api.ts';
import * as state from '../document/state.ts';
import * as facets from '../facets/facets.ts';
import type { Column, Histogram } from '../net/messages.ts';
import { CategoryList } from './category-list.tsx';
import { Minus, Plus } from './control-icons.tsx';
import * as icons from './icons.tsx';
import { ColorIcon, IconIcon, OpacityIcon, SizeIcon } from './instrument-icons.tsx';
import { NumberChart } from './number-chart.tsx';

function Tool(props: { on: boolean; title: string; act: () => void; children: JSX.Element }): JSX.Element {
  const { on, title, act, children } = props;
  return (
    <button
      type="button"
      class={on ? 'bare on' : 'bare'}
      aria-pressed={on}
      aria-label={title}
      title={title}
      onClick={act}
    >
      {children}
    </button>
  );
}

function Card({ histogram }: { histogram: Histogram }): JSX.Element {
  const { name, axis, kind } = histogram;
  const key = columnKey(histogram);
  const isNumber = kind === 'number';
  const continuous = isNumber || kind === 'date';
  const whose = axis === 'edge' ? 'edges' : 'nodes';
  return (
    <li class="histogram" data-column={key}>
      <div class="line">
        <b class="words" title={`${name} of the ${whose}`}>
          {name}
          {axis === 'edge' && <span class="quiet"> · edges</span>}
        </b>
        {isNumber && (
          <Tool
            on={facets.logs.value.has(key)}
            title={`Log scale of ${name}`}
            act={() => facets.toggleLog(key)}
          >
            <span class="log">log</span>
          </Tool>
        )}
        <Tool
          on={facets.encodes(histogram, 'color')}
          title={`Colour ${whose} by ${name}`}
          act={() => facets.encode(histogram, 'color', continuous)}
        >
          <ColorIcon />
        </Tool>
        {isNumber && axis === 'node' && (
          <Tool
            on={facets.encodes(histogram, 'size')}
            title={`Size nodes by ${name}`}
            act={() => facets.encode(histogram, 'size', true)}
          >
            <SizeIcon />
          </Tool>
        )}
        {isNumber && (
          <Tool
            on={facets.encodes(histogram, 'opacity')}
            title={`Opacity of ${whose} by ${name}`}
            act={() => facets.encode(histogram, 'opacity', true)}
          >
            <OpacityIcon />
          </Tool>
        )}
        {!isNumber && axis === 'node' && (
          <Tool
            on={facets.encodes(histogram, 'icon')}
            title={`Icons of ${whose} by ${name}`}
            act={() => facets.encode(histogram, 'icon', false)}
          >
            <IconIcon />
          </Tool>
        )}
        <button
          type="button"
          class="bare"
          aria-label={`Remove ${name}`}
          title="Remove"
          onClick={() => facets.toggleColumn(key)}
        >
          <icons.Close />
        </button>
      </div>
      {'edges' in histogram ? <NumberChart histogram={histogram} /> : <CategoryList histogram={histogram} />}
    </li>
  );
}

function Choice({ column }: { column: Column }): JSX.Element {
  const key = columnKey(column);
  const on = facets.shown.value?.includes(key) ?? false;
  return (
    <li>
      <button type="button" aria-pressed={on} onClick={() => facets.toggleColumn(key)}>
        <span class="word">{column.name}</span>
        <span class="quiet">{column.axis === 'edge' ? `edges, ${column.kind}` : column.kind}</span>
        {on ? <Minus /> : <Plus />}
      </button>
    </li>
  );
}

/** Finds columns by name, and adds or removes them. */
function Picker({ columns }: { columns: readonly Column[] }): JSX.Element {
  const text = useSignal('');
  const wanted = text.value.trim().toLowerCase();
  const found = wanted === '' ? [] : columns.filter(({ name }) => name.toLowerCase().includes(wanted));
  return (
    <div class="picker">
      <input
        id="column-search"
        class="field"
        type="search"
        autocomplete="off"
        spellcheck={false}
        aria-label="Search columns"
        placeholder={`Search ${columns.length} columns…`}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') text.value = '';
          else if (event.key === 'Enter' && found[0]) facets.toggleColumn(columnKey(found[0]));
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      {wanted !== '' && (
        <ul class="found">
          {found.slice(0, 40).map((column) => (
            <Choice key={columnKey(column)} column={column} />
          ))}
          {found.length === 0 && <li class="quiet">No such column</li>}
        </ul>
      )}
    </div>
  );
}

/** Histograms of columns, cross-filtered: the bright part of a bar passes all filters but its own. */
export function HistogramPanel(): JSX.Element {
  useEffect(() => {
    void facets.begin();
    return facets.follow();
  }, []);
  const keys = facets.shown.value;
  const known = facets.histograms.value;
  return (
    <>
      {state.columns.value && <Picker columns={state.columns.value} />}
      {facets.failure.value !== '' && (
        <p class="refused" role="alert">
          {facets.failure.value}
        </p>
      )}
      {keys?.length === 0 && <p class="quiet">Search for a column to see how it is spread.</p>}
      <ul class="histograms">
        {keys?.map((key) => {
          const histogram = known.get(key);
          return histogram ? <Card key={key} histogram={histogram} /> : null;
        })}
      </ul>
    </>
  );
}
