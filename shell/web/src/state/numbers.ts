// Numbers as panels and cards write them: short, and never 0 for what is not.

/** Digits that count of a number below 1. */
const DIGITS = 6;

/** A number of a card. Whole ones stay as they are; of others, as much as can be told apart. */
export function cardNumber(value: number): string {
  if (Number.isInteger(value) || !Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size < 1e-6) return Number(value.toPrecision(DIGITS)).toExponential();
  return size < 1
    ? value.toLocaleString('en', { maximumSignificantDigits: DIGITS })
    : value.toLocaleString('en', { maximumFractionDigits: 4 });
}

/** A number of a scale. */
export function scaleNumber(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(1).replace('e+', 'e');
  return size < 1
    ? value.toLocaleString('en', { maximumSignificantDigits: 2 })
    : value.toLocaleString('en', { maximumFractionDigits: size >= 100 ? 0 : 2 });
}

/** How much there is, in words; a number that the server does not know yet is left out. */
export function countWords(counts: { node_count: number | null; edge_count: number | null }): string {
  const { node_count: nodes, edge_count: edges } = counts;
  const words = (count: number | null, one: string, many: string): string[] =>
    typeof count === 'number' ? [`${count.toLocaleString('en')} ${count === 1 ? one : many}`] : [];
  return [...words(nodes, 'node', 'nodes'), ...words(edges, 'edge', 'edges')].join(' · ');
}

/** Numbers with commas, and the first and the last of several in a row with a hyphen. */
export function ranges(numbers: Iterable<number>): string {
  const found: [number, number][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join();
}
