import type { JSX } from 'preact';
import { columnKey } from '../document/api.ts';
import * as facets from '../facets/facets.ts';
import type { CategoryHistogram, Scalar } from '../net/messages.ts';

/** As many values as are looked over without a search. */
const FEW = 8;

const number = (value: number): string => value.toLocaleString('en');

function Row(props: {
  word: string;
  value: Scalar;
  total: number;
  passing: number;
  most: number;
  histogram: CategoryHistogram;
}): JSX.Element {
  const { word, value, total, passing, most, histogram } = props;
  const brush = facets.brushOf(histogram);
  const values = brush && 'values' in brush ? brush.values : [];
  const on = values.includes(value);
  const width = (count: number): string => `${count === 0 ? 0 : Math.max(1, (100 * count) / most)}%`;
  return (
    <li class={values.length > 0 && !on ? 'out' : ''}>
      <button
        type="button"
        aria-pressed={on}
        title={`${word}: ${number(passing)} of ${number(total)}`}
        onClick={() => facets.toggleValue(histogram, value)}
      >
        <i class="total" style={{ width: width(total) }} />
        <i class="passing" style={{ width: width(passing) }} />
        <span class={value === null ? 'word quiet' : 'word'}>{word}</span>
        <span class="count">{number(passing)}</span>
      </button>
    </li>
  );
}

/** The values of a column with their counts; a click on one keeps it, and further clicks more of them. */
export function CategoryList({ histogram }: { histogram: CategoryHistogram }): JSX.Element {
  const key = columnKey(histogram);
  const text = facets.searches.value.get(key) ?? '';
  const most = Math.max(1, ...histogram.values.map(({ total }) => total));
  const { others, nulls } = histogram;
  return (
    <>
      {(histogram.distinct > FEW || text !== '') && (
        <input
          class="field search-values"
          type="search"
          aria-label={`Search values of ${histogram.name}`}
          placeholder={`Search ${number(histogram.distinct)} values…`}
          value={text}
          onInput={(event) => facets.searchIn(key, event.currentTarget.value)}
        />
      )}
      <ul class="categories">
        {histogram.values.map(({ value, total, passing }) => (
          <Row key={String(value)} word={String(value)} {...{ value, total, passing, most, histogram }} />
        ))}
        {nulls.total > 0 && (
          <Row word="without a value" value={null} {...nulls} most={most} histogram={histogram} />
        )}
      </ul>
      {histogram.values.length === 0 && <p class="quiet">No such value</p>}
      {others.total > 0 && (
        <p class="quiet">{`Others: ${number(others.passing)} of ${number(others.total)}`}</p>
      )}
    </>
  );
}
