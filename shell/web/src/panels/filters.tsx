import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { complain, why } from '../document/api.ts';
import { session } from '../document/current.ts';
import type { Entry } from '../document/document.ts';
import { addFilter, nameOf } from '../document/filters.ts';
import * as state from '../document/state.ts';
import { countWords, number, plural, ruleWords } from '../document/words.ts';
import type { Filter, Rule } from '../net/messages.ts';
import type { Change } from '../net/page-messages.ts';
import { selecting } from '../state/selecting.ts';
import * as store from '../state/store.ts';
import * as icons from './icons.tsx';
import { PencilIcon } from './instrument-icons.tsx';
import { Name, Switch } from './parts.tsx';

function change(label: string, { id, ...filter }: Entry<Filter>, to: Partial<Filter> | null): void {
  const value = to === null ? null : { ...filter, ...to };
  void session()?.change(label, [{ path: `filters/${id}`, value }]);
}

function Item({ filter }: { filter: Entry<Filter> }): JSX.Element {
  const renaming = useSignal(false);
  const words = nameOf(filter);
  const count = state.counts.value[filter.id];
  const problem = count && 'problem' in count;
  return (
    <li data-filter={filter.id} class={filter.on ? '' : 'off'}>
      <div class="line">
        {renaming.value ? (
          <Name
            value={filter.name}
            placeholder={ruleWords(filter.rule)}
            label={`Name of ${words}`}
            done={(name) => {
              renaming.value = false;
              if (name !== null && name !== filter.name) change(`Rename filter to ${name}`, filter, { name });
            }}
          />
        ) : (
          <span class={filter.name ? 'words' : 'words code'} title={ruleWords(filter.rule)}>
            {words}
          </span>
        )}
        <Switch
          on={filter.on}
          label={words}
          change={(on) => change(`Turn ${on ? 'on' : 'off'} ${words}`, filter, { on })}
        />
      </div>
      <div class="line under">
        <span class={problem ? 'refused' : 'quiet'}>
          {filter.on ? countWords(count, filter.kind) : 'off'}
        </span>
        <button
          type="button"
          class="bare"
          title="Rename"
          aria-label={`Rename ${words}`}
          onClick={() => {
            renaming.value = true;
          }}
        >
          <PencilIcon />
        </button>
        <button
          type="button"
          class="bare"
          title="Remove"
          aria-label={`Remove ${words}`}
          onClick={() => change(`Remove ${words}`, filter, null)}
        >
          <icons.Close />
        </button>
      </div>
    </li>
  );
}

function List({ kind, title }: { kind: Filter['kind']; title: string }): JSX.Element | null {
  const list = state.filters.value.filter((filter) => filter.kind === kind);
  if (list.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="entries">
        {list.map((filter) => (
          <Item key={filter.id} filter={filter} />
        ))}
      </ul>
    </>
  );
}

/** The field for an expression: it is tried first, and nothing changes unless the server takes it. */
function Expression(): JSX.Element {
  const text = useSignal('');
  const problem = useSignal('');
  const busy = useSignal(false);
  const add = async (kind: Filter['kind']): Promise<void> => {
    const now = session();
    const wanted = text.value.trim();
    if (!now || busy.value) return;
    if (wanted === '') {
      problem.value = 'Write what to look for, for example: degree > 3';
      return;
    }
    busy.value = true;
    problem.value = '';
    try {
      const { rule } = await now.api.find({ text: wanted });
      problem.value = (await addFilter(kind, rule)) ?? '';
      if (problem.value === '') text.value = '';
    } catch (error) {
      problem.value = why(error);
    }
    busy.value = false;
  };
  return (
    <form
      class="expression"
      onSubmit={(event) => {
        event.preventDefault();
        void add('filter');
      }}
    >
      <input
        id="filter-text"
        class={problem.value === '' ? 'field' : 'field wrong'}
        aria-label="Expression"
        aria-invalid={problem.value !== ''}
        aria-describedby="filter-problem"
        autocomplete="off"
        spellcheck={false}
        placeholder="degree > 3 and type = 'person'"
        title={GRAMMAR}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          problem.value = '';
        }}
      />
      <p id="filter-problem" class="refused" role="alert">
        {problem.value}
      </p>
      <div class="row">
        <button type="submit" class="button primary" disabled={busy.value}>
          Keep
        </button>
        <button type="button" class="button" disabled={busy.value} onClick={() => void add('exclusion')}>
          Hide
        </button>
      </div>
    </form>
  );
}

const GRAMMAR = `Compare columns: degree > 3, type = 'a'; in ('a', 'b'), between 1 and 5, like 'a%', is null;
join by and, or, not. edge: in front asks for edges. Cypher (MATCH …) and GFQL are taken, too.`;

/** A number and the button that makes a filter of it. */
function Quick(props: { id: string; word: string; start: number; add: (n: number) => void }): JSX.Element {
  const value = useSignal(props.start);
  return (
    <form
      class="quick"
      onSubmit={(event) => {
        event.preventDefault();
        props.add(value.value);
      }}
    >
      <label for={props.id}>{props.word}</label>
      <input
        id={props.id}
        class="field"
        type="number"
        min={0}
        step={1}
        required
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.valueAsNumber;
        }}
      />
      <button type="submit" class="button" aria-label={`Add ${props.word}`}>
        Add
      </button>
    </form>
  );
}

async function add(rule: Rule, name: string, label: string): Promise<void> {
  const refusal = await addFilter('filter', rule, name, label);
  if (refusal !== null) store.notice.value = refusal;
}

/** Filters by what is selected: its component, or what is around it. */
async function aroundSelection(what: 'component' | number): Promise<void> {
  const tools = await selecting();
  const chosen = tools.chosen();
  if (chosen.count === 0) {
    store.notice.value = 'Select a node first: click on it, or drag with Shift.';
    return;
  }
  if (what === 'component') {
    const { bits64, count } = await tools.componentOf();
    await add({ nodes: bits64 }, `component of ${plural(count, 'node')}`, `Keep a component`);
    return;
  }
  const name = `${plural(what, 'step')} around ${plural(chosen.count, 'node')}`;
  await add({ ego: { nodes: await chosen.bits64(), hops: what } }, name, `Keep ${name}`);
}

function pruneOrphans(on: boolean): void {
  const changes: Change[] = [{ path: 'prune_orphans', value: on ? true : null }];
  void session()?.change(on ? 'Hide nodes without edges' : 'Show nodes without edges', changes);
}

export function FiltersPanel(): JSX.Element {
  useEffect(() => {
    // Which columns hold dates, for the words of brushes.
    session()?.api.columns().catch(complain);
  }, []);
  const shown = store.shown.value;
  return (
    <>
      <p class="sum quiet" id="filter-sum">
        {shown === null || shown.nodes === store.nodeCount.value
          ? `All ${plural(store.nodeCount.value, 'node')} are visible`
          : `${number(shown.nodes)} of ${plural(store.nodeCount.value, 'node')} are visible`}
      </p>
      <Expression />
      <List kind="filter" title="Kept" />
      <List kind="exclusion" title="Hidden" />
      <h3>By structure</h3>
      <Quick
        id="quick-degree"
        word="Degree at least"
        start={2}
        add={(n) => void add({ expr: `point:degree >= ${n}` }, '', `Filter degree at least ${n}`)}
      />
      <Quick
        id="quick-core"
        word="Core number at least"
        start={2}
        add={(n) => void add({ expr: `point:core >= ${n}` }, '', `Filter ${n}-core`)}
      />
      <Quick
        id="quick-ego"
        word="Steps around selection"
        start={1}
        add={(n) => void aroundSelection(n)}
      />
      <div class="line">
        <span>Nodes without visible edges</span>
        <Switch
          on={!state.orphansPruned.value}
          label="Nodes without visible edges"
          change={(on) => pruneOrphans(!on)}
        />
      </div>
      <button
        type="button"
        class="button"
        id="quick-component"
        onClick={() => void aroundSelection('component')}
      >
        Keep the selection's component
      </button>
    </>
  );
}
