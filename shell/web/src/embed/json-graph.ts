/** The tree of values that embedding scripts read and write by paths: JSON Graph, as clients use it. */

export type Key = string | number | boolean | null;
/** One step of a path: a key, several, or a range. */
type KeySet = Key | Key[] | { from?: number; to?: number; length?: number };
export type Path = Key[];
export type PathSet = KeySet[];
export type Atom = { $type: string; value?: unknown };
export type Tree = { [key: string]: Tree | Atom };

export interface Envelope {
  paths: PathSet[];
  jsonGraph: Tree;
}

/** Paths of one set at most: a range is the caller's to choose. */
const PATHS_MAX = 10_000;

function keysOf(step: KeySet): Key[] {
  if (Array.isArray(step)) return step.flatMap(keysOf);
  if (step === null || typeof step !== 'object') return [step];
  const from = step.from ?? 0;
  const to = step.to ?? from + (step.length ?? 1) - 1;
  return Array.from({ length: Math.max(0, Math.min(PATHS_MAX, to - from + 1)) }, (_, i) => from + i);
}

/** The single paths of a set. */
export function expand(set: PathSet): Path[] {
  let paths: Path[] = [[]];
  for (const step of set) {
    paths = paths.flatMap((path) => keysOf(step).map((key) => [...path, key])).slice(0, PATHS_MAX);
  }
  return paths;
}

function isAtom(node: Tree | Atom | undefined): node is Atom {
  return node !== undefined && typeof (node as Atom).$type === 'string';
}

export function atom(value: unknown): Atom {
  return value === undefined ? { $type: 'atom' } : { $type: 'atom', value };
}

/** Keys that would reach into the language itself are none of the tree's. */
function keyOf(key: Key): string {
  return Object.hasOwn(Object.prototype, String(key)) || key === '__proto__' ? `$${key}` : String(key);
}

function child(node: Tree, key: Key): Tree | Atom | undefined {
  const name = keyOf(key);
  return Object.hasOwn(node, name) ? node[name] : undefined;
}

/** Where a path leads without references: those on the way are followed. */
export function resolve(tree: Tree, path: Path): Path {
  let out: Path = [];
  let node: Tree | Atom | undefined = tree;
  path.forEach((key, k) => {
    out = [...out, key];
    node = isAtom(node) || node === undefined ? undefined : child(node, key);
    for (let hops = 0; k < path.length - 1 && isAtom(node) && node.$type === 'ref' && hops < 8; hops += 1) {
      out = [...(node.value as Path)];
      node = lookUp(tree, out);
    }
  });
  return out;
}

function lookUp(tree: Tree, path: Path): Tree | Atom | undefined {
  let node: Tree | Atom | undefined = tree;
  for (const key of path) node = isAtom(node) || node === undefined ? undefined : child(node, key);
  return node;
}

/** What an envelope holds at a path, with its own references followed. */
export function valueAt(tree: Tree, path: Path): unknown {
  const node = lookUp(tree, resolve(tree, path));
  // A value may stand for itself.
  return isAtom(node) && node.$type !== 'ref' ? node.value : node;
}

export function put(tree: Tree, path: Path, value: Atom): void {
  let node = tree;
  path.slice(0, -1).forEach((key) => {
    const next = child(node, key);
    node = next === undefined || isAtom(next) ? (node[keyOf(key)] = {} as Tree) : next;
  });
  node[keyOf(path[path.length - 1])] = value;
}

/** The part of a tree that these paths reach, references included; what is not there is an empty atom. */
export function answer(tree: Tree, sets: PathSet[]): Envelope {
  const out: Tree = {};
  for (const path of sets.flatMap(expand)) {
    // Each reference on the way belongs to the answer.
    path.forEach((_, depth) => {
      const head = resolve(tree, path.slice(0, depth + 1));
      const node = lookUp(tree, head);
      if (isAtom(node)) put(out, head, node);
      else if (node === undefined && depth === path.length - 1) put(out, head, atom(undefined));
    });
  }
  return { paths: sets, jsonGraph: out };
}
