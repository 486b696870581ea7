/** The layouts that the picker offers: the name that the server knows, and the word that people read. */
export const LAYOUTS: readonly (readonly [name: string, word: string])[] = [
  ['fr', 'Fruchterman-Reingold'],
  ['kk', 'Kamada-Kawai'],
  ['drl', 'DrL'],
  ['lgl', 'Large graph'],
  ['graphopt', 'Graphopt'],
  ['dh', 'Davidson-Harel'],
  ['mds', 'MDS'],
  ['sugiyama', 'Layers'],
  ['rt', 'Tree'],
  ['rt_circular', 'Radial tree'],
  ['circle', 'Circle'],
  ['star', 'Star'],
  ['grid', 'Grid'],
  ['random', 'Random'],
  ['group_in_a_box_layout', 'Group in a box'],
];

/** The word for a layout, or its name where the picker has none. */
export function layoutName(name: string): string {
  return LAYOUTS.find(([known]) => known === name)?.[1] ?? name;
}
