import { effect } from '@preact/signals';
import { session } from '../document/current.ts';
import { freshId } from '../document/document.ts';
import { lookProblem } from '../document/look.ts';
import type { DocumentSession } from '../document/session.ts';
import * as state from '../document/state.ts';
import type { Change } from '../net/page-messages.ts';
import * as store from '../state/store.ts';
import type { LiveViewer } from '../state/live-viewer.ts';
import * as acts from './acts.ts';
import { LEFT_PANELS, MEANINGS, SETTINGS, UNKNOWN_PANEL } from './calls.ts';
import type { Act, FunctionPath } from './calls.ts';
import { Encodings } from './encodings.ts';
import { answer, atom, expand, put, resolve, valueAt } from './json-graph.ts';
import type { Envelope, Path, PathSet, Tree } from './json-graph.ts';
import { Subscriptions } from './subscriptions.ts';

/** Lets the page that this one is shown in use it, once there is something to use. */
export function embed(viewer: LiveViewer): void {
  const document = session();
  if (document) new Embed(viewer, document, window.parent);
}

/** What an embedding page may do: read and write a tree of values, call functions, be told of changes. */

/**
 * Where the one view lies, without references on the way. With each selection that it is told of, the client
 * puts a tree of its own in place of what it knows, which has these keys and no references; and its view,
 * which found values once, looks for them where they were then. So each is there from the start, and stays.
 */
const AT_WORKBOOK: Path = ['workbooks', 'open'];
const AT_VIEW: Path = [...AT_WORKBOOK, 'views', 'current'];

const NOT_NAMED =
  'Somebody is signed in here, and this page is not one of those that may use a graph then: ' +
  'the operator of the server names their sites with --frame-ancestors.';

/** How long a tick lets the layout run. */
const TICK_MS = 1_000;

interface Operation {
  id: string;
  method: 'get' | 'set' | 'call';
  pathSets?: PathSet[];
  jsonGraphEnvelope?: Envelope;
  callPath?: Path;
  callArgs?: unknown[];
}

/** The name that a caller knows a path by. */
function settingOf(path: string): string {
  return Object.entries(SETTINGS).find(([, [known]]) => known === path)?.[0] ?? path;
}

/** Throws what of a call there is not, before any of it is done. */
function check(values: acts.Values): void {
  for (const [path, value] of values) {
    const meaning = MEANINGS.get(path);
    if (!meaning) {
      const names = Object.keys(SETTINGS).join(', ');
      throw new Error(`There is no setting ${path}; updateSetting takes ${names}.`);
    }
    if ('absent' in meaning && value === true) throw new Error(meaning.absent);
    const look = 'entry' in meaning && /^look\/(.*)/.exec(meaning.entry)?.[1];
    const problem = look ? lookProblem(look, value) : null;
    if (problem) throw new Error(`${settingOf(path)} is ${acts.shown(value)}; it takes ${problem}.`);
  }
  const opens = typeof values.get('panels.left') === 'object' && values.get('panels.left') !== null;
  if (opens && !LEFT_PANELS.some((path) => values.get(path) === true)) throw new Error(UNKNOWN_PANEL);
}

class Embed {
  private readonly tree: Tree = {};
  private readonly subscriptions: Subscriptions;
  private readonly encodings = new Encodings();
  /** Steps are made one after another, in the order in which they were asked for. */
  private last: Promise<unknown> = Promise.resolve();
  /** The functions of the page. */
  private readonly functions: Record<FunctionPath, (args: unknown[]) => unknown> = {
    'filters.add': ([expr]) => this.addRule('filter', expr),
    'filters.reset': () => this.resetRules('filter'),
    'exclusions.add': ([expr]) => this.addRule('exclusion', expr),
    'exclusions.reset': () => this.resetRules('exclusion'),
    'selection.setExternal': ([what]) => acts.select(this.viewer, what),
    'highlight.setExternal': ([what]) => acts.highlight(this.viewer, what),
    autocenter: ([percentile]) => {
      acts.autocenter(this.viewer, percentile);
      return percentile ?? null;
    },
    tick: () => this.tick(),
    save: () => this.save(),
  };

  constructor(
    private readonly viewer: LiveViewer,
    private readonly document: DocumentSession,
    private readonly parent: Window,
  ) {
    for (const at of [AT_WORKBOOK, AT_VIEW]) put(this.tree, [...at, 'id'], atom(store.params.session));
    for (const path of [...MEANINGS.keys(), ...Object.keys(this.functions)]) this.keep(path, null);
    this.subscriptions = new Subscriptions(viewer, (message) => {
      if (!store.framed.value) this.say(message);
    });
    addEventListener('message', (event) => {
      // Other frames of the embedding page, and pages that this one has opened, have no say here.
      if (event.source === parent) this.hear(event.data);
    });
    effect(() => this.keep('scene.simulating', store.playing.value));
    effect(() => {
      // What the document says now is what is read.
      void state.changes.value;
      for (const [path, meaning] of MEANINGS) {
        if ('entry' in meaning) this.keep(path, this.document.document.get(meaning.entry) ?? null);
      }
    });
    this.announce();
  }

  /** What is read at a path of the view or, of the function that saves, of the workbook. */
  private keep(path: string, value: unknown): void {
    const at = path === 'save' ? AT_WORKBOOK : AT_VIEW;
    put(this.tree, [...at, ...path.split('.')], atom(value));
  }

  private say(message: Record<string, unknown>): void {
    this.parent.postMessage(message, '*');
  }

  private announce(): void {
    // A site that may not use the page learns that it is there, and nothing else.
    this.say({ type: 'init', cache: store.framed.value ? {} : this.tree, subscriptionAPIVersion: 1 });
  }

  private hear(data: unknown): void {
    if (typeof data !== 'object' || data === null) return;
    const message = data as Record<string, unknown>;
    if (message.type === 'ready') this.announce();
    else if (message.type === 'graphistry-subscribe') this.subscriptions.add(message);
    else if (message.type === 'graphistry-unsubscribe') this.subscriptions.remove(String(message.path));
    else if (message.type === 'falcor-operation') void this.operate(message as unknown as Operation);
  }

  private async operate(operation: Operation): Promise<void> {
    const type = `falcor-operation-${operation.id}`;
    try {
      this.say({ type, kind: 'C', value: await this.perform(operation) });
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this.say({ type, kind: 'E', error: { $type: 'error', value: { message: text } } });
    }
  }

  private perform(operation: Operation): Promise<Envelope> {
    if (store.framed.value) return Promise.reject(new Error(NOT_NAMED));
    const { method, pathSets, jsonGraphEnvelope, callPath, callArgs } = operation;
    if (method === 'get' && pathSets) return Promise.resolve(answer(this.tree, pathSets));
    if (method === 'set' && jsonGraphEnvelope) return this.set(jsonGraphEnvelope);
    if (method === 'call' && callPath) return this.call(callPath, callArgs ?? []);
    return Promise.reject(new Error(`There is no operation ${String(method)} with these fields.`));
  }

  /** A path below the view, or the whole of one that leads elsewhere, with dots between. */
  private inView(path: Path): string {
    const full = resolve(this.tree, path);
    const within = AT_VIEW.every((key, depth) => String(full[depth]) === String(key));
    return (within ? full.slice(AT_VIEW.length) : full).join('.');
  }

  private async set({ paths, jsonGraph }: Envelope): Promise<Envelope> {
    const values = new Map<string, unknown>();
    for (const path of paths.flatMap(expand)) values.set(this.inView(path), valueAt(jsonGraph, path));
    check(values);
    const changes: Change[] = [];
    const done: (() => void)[] = [];
    for (const [path, value] of values) {
      const meaning = MEANINGS.get(path);
      if (!meaning) continue;
      if ('entry' in meaning) changes.push({ path: meaning.entry, value: value ?? null });
      else if ('encoding' in meaning) {
        const { change, kept } = this.encodings.change(meaning.encoding, value, meaning.isDefault === true);
        if (change) changes.push(change);
        done.push(kept);
      } else if ('act' in meaning) done.push(() => this.act(meaning.act, path, values));
    }
    if (changes.length > 0) await this.step(changes.map(({ path }) => path).join(', '), changes);
    for (const act of done) act();
    for (const [path, value] of values) this.keep(path, value);
    return { paths, jsonGraph };
  }

  /** A step of the document; thrown when it is refused. */
  private step(what: string, changes: Change[]): Promise<void> {
    const made = this.last.then(async () => {
      const refusal = await this.document.do(`Set ${what}`.slice(0, 100), changes);
      if (refusal !== null) throw new Error(refusal);
    });
    this.last = made.catch(() => undefined);
    return made;
  }

  /** What is not the document's: panels, the camera, whether the layout runs. */
  private act(act: Act, path: string, values: acts.Values): void {
    if (act === 'play') acts.play(this.viewer, values.get(path) === true);
    else if (act === 'zoom') acts.zoom(this.viewer, values.get(path));
    else if (act === 'center') acts.center(this.viewer, values);
    else acts.togglePanel(act, values);
  }

  private async call(path: Path, args: unknown[]): Promise<Envelope> {
    const full = resolve(this.tree, path);
    const at = this.inView(path);
    const name = at === [...AT_WORKBOOK, 'save'].join('.') ? 'save' : at;
    if (!Object.hasOwn(this.functions, name)) {
      throw new Error(`There is no function ${name}; there are ${Object.keys(this.functions).join(', ')}.`);
    }
    const result = await this.functions[name as FunctionPath](args);
    // A client that does not take the answer reads it.
    this.keep(name, result);
    const jsonGraph: Tree = {};
    put(jsonGraph, full, atom(result));
    return { paths: [full], jsonGraph };
  }

  /** Lets the layout run for a while, as the client's `tickClustering` does by itself. */
  private tick(): true {
    acts.play(this.viewer, true);
    setTimeout(() => this.viewer.play(false), TICK_MS);
    return true;
  }

  /** What is shared is written down with each step, so that nothing is left to save. */
  private save(): { saved: true; id: string } {
    if (this.document.document.hasOwn) {
      throw new Error(
        'saveWorkbook: what this page has changed is seen here only, and is not saved. Open the graph ' +
          'without session= in its address for a picture of your own.',
      );
    }
    return { saved: true, id: store.params.session };
  }

  private async addRule(kind: 'filter' | 'exclusion', given: unknown): Promise<true> {
    const expr = String(given ?? '');
    const order = this.document.document.last();
    const value = { kind, name: '', on: true, order, rule: { expr } };
    await this.step(`${kind} ${expr}`, [{ path: `filters/${freshId('f')}`, value }]);
    return true;
  }

  private async resetRules(kind: 'filter' | 'exclusion'): Promise<true> {
    const all = this.document.document.filters().filter((filter) => filter.kind === kind);
    const changes = all.map(({ id }) => ({ path: `filters/${id}`, value: null }));
    if (changes.length > 0) await this.step(`no ${kind}s`, changes);
    return true;
  }
}
