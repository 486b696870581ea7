import { effect } from '@preact/signals';
import { session } from '../document/current.ts';
import { freshId } from '../document/document.ts';
import type { DocumentSession } from '../document/session.ts';
import * as state from '../document/state.ts';
import * as store from '../state/store.ts';
import { selecting } from '../state/selecting.ts';
import type { Viewer } from '../state/viewer.ts';
import { answer, atom, expand, put, ref, resolve, valueAt } from './json-graph.ts';
import type { Envelope, Path, PathSet, Tree } from './json-graph.ts';
import { changeOf, SETTINGS } from './settings.ts';
import { Subscriptions } from './subscriptions.ts';

/** Lets the page that this one is shown in use it, once there is something to use. */
export function embed(viewer: Viewer): void {
  const document = session();
  if (document) new Embed(viewer, document, window.parent);
}

/** What an embedding page may do: read and write a tree of values, call functions, be told of changes. */

const WORKBOOK = 'workbook';
const VIEW = 'view';
const AT_WORKBOOK: Path = ['workbooksById', WORKBOOK];
const AT_VIEW: Path = [...AT_WORKBOOK, 'viewsById', VIEW];

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

class Embed {
  private readonly tree: Tree = {};
  private readonly subscriptions: Subscriptions;
  /** Steps are made one after another, in the order in which they were asked for. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly viewer: Viewer,
    private readonly document: DocumentSession,
    private readonly parent: Window,
  ) {
    put(this.tree, ['workbooks', 'open'], ref(...AT_WORKBOOK));
    put(this.tree, [...AT_WORKBOOK, 'id'], atom(store.params.session));
    put(this.tree, [...AT_WORKBOOK, 'views', 'current'], ref(...AT_VIEW));
    put(this.tree, [...AT_VIEW, 'id'], atom(store.params.session));
    this.subscriptions = new Subscriptions(viewer, (message) => {
      if (!store.framed.value) this.say(message);
    });
    addEventListener('message', (event) => {
      // Other frames of the embedding page, and pages that this one has opened, have no say here.
      if (event.source === parent) this.hear(event.data);
    });
    effect(() => put(this.tree, [...AT_VIEW, 'scene', 'simulating'], atom(store.playing.value)));
    effect(() => {
      // What the document says now is what is read.
      void state.changes.value;
      for (const [path, entry] of Object.entries(SETTINGS)) {
        const value = this.document.document.get(entry);
        if (value !== undefined) put(this.tree, [...AT_VIEW, ...path.split('.')], atom(value));
      }
    });
    this.announce();
  }

  private say(message: Record<string, unknown>): void {
    this.parent.postMessage(message, '*');
  }

  private announce(): void {
    // A site that may not use the page learns that it is there.
    const known = store.framed.value ? [] : [['workbooks', 'open', 'views', 'current', 'id']];
    const { jsonGraph } = answer(this.tree, known);
    this.say({ type: 'init', cache: jsonGraph, subscriptionAPIVersion: 1 });
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

  /** A path below the view, with dots between; null for one that leads elsewhere. */
  private inView(path: Path): string | null {
    const full = resolve(this.tree, path);
    const within = AT_VIEW.every((key, at) => String(full[at]) === String(key));
    return within ? full.slice(AT_VIEW.length).join('.') : null;
  }

  private async set({ paths, jsonGraph }: Envelope): Promise<Envelope> {
    const changes: { path: string; value: unknown }[] = [];
    const acts: (() => unknown)[] = [];
    for (const path of paths.flatMap(expand)) {
      const value = valueAt(jsonGraph, path);
      put(this.tree, resolve(this.tree, path), atom(value));
      const name = this.inView(path);
      if (name === null) continue;
      const change = changeOf(name, value);
      if (change) changes.push(change);
      else acts.push(() => this.act(name, value));
    }
    // Of several values for one entry the last counts.
    const latest = [...new Map(changes.map((change) => [change.path, change])).values()];
    if (latest.length > 0) await this.step(latest.map(({ path }) => path).join(', '), latest);
    for (const act of acts) act();
    return { paths, jsonGraph };
  }

  /** A step of the document; thrown when it is refused. */
  private step(what: string, changes: { path: string; value: unknown }[]): Promise<void> {
    const made = this.last.then(async () => {
      const refusal = await this.document.do(`Set ${what}`.slice(0, 100), changes);
      if (refusal !== null) throw new Error(refusal);
    });
    this.last = made.catch(() => undefined);
    return made;
  }

  /** What is not the document's: panels, the camera, whether the layout runs. */
  private act(name: string, value: unknown): void {
    const on = value === true;
    if (name === 'scene.simulating') this.viewer.play(on);
    else if (name === 'filters.controls.0.selected' || name === 'exclusions.controls.0.selected') {
      if (on || name.startsWith('filters')) state.toggle('filters', on);
    } else if (name === 'histograms.controls.0.selected') state.toggle('histograms', on);
    else if (name === 'camera.zoom') this.zoom(Number(value));
    else if (name === 'camera.center.x' || name === 'camera.center.y') this.center();
  }

  private zoom(level: number): void {
    const { picture } = this.viewer;
    if (!(level > 0) || !Number.isFinite(level)) return;
    picture.camera.take();
    picture.camera.set({ ...picture.camera.view, scale: picture.fitScale * level });
    this.viewer.refresh();
  }

  private center(): void {
    const at = (axis: string): number => Number(valueAt(this.tree, [...AT_VIEW, 'camera', 'center', axis]));
    const [cx, cy] = [at('x'), at('y')];
    if (!Number.isFinite(cx) || !Number.isFinite(cy)) return;
    const { camera } = this.viewer.picture;
    camera.take();
    camera.set({ ...camera.view, cx, cy });
    this.viewer.refresh();
  }

  private async call(path: Path, args: unknown[]): Promise<Envelope> {
    const full = resolve(this.tree, path);
    const result = await this.run(full, args);
    // A client that does not take the answer reads it.
    put(this.tree, full, atom(result));
    const jsonGraph: Tree = {};
    put(jsonGraph, full, atom(result));
    return { paths: [full], jsonGraph };
  }

  private async run(path: Path, args: unknown[]): Promise<unknown> {
    const name = this.inView(path) ?? path.slice(AT_WORKBOOK.length).join('.');
    switch (name) {
      case 'filters.add':
      case 'exclusions.add':
        return this.addRule(name === 'filters.add' ? 'filter' : 'exclusion', String(args[0] ?? ''));
      case 'filters.reset':
      case 'exclusions.reset':
        return this.resetRules(name === 'filters.reset' ? 'filter' : 'exclusion');
      case 'selection.setExternal':
      case 'highlight.setExternal':
        return this.select(args[0] ?? args);
      case 'tick':
        this.tick();
        return true;
      case 'autocenter':
        this.viewer.fit();
        return args[0] ?? null;
      case 'save':
        // What is shared is written down with each step.
        return { saved: true, id: store.params.session };
      default:
        throw new Error(`There is no function ${name}.`);
    }
  }

  /** Lets the layout run for a while, as the client's `tickClustering` does by itself. */
  private tick(): void {
    this.viewer.play(true);
    setTimeout(() => this.viewer.play(false), TICK_MS);
  }

  private async addRule(kind: 'filter' | 'exclusion', expr: string): Promise<boolean> {
    const order = this.document.document.last();
    const value = { kind, name: '', on: true, order, rule: { expr } };
    await this.step(`${kind} ${expr}`, [{ path: `filters/${freshId('f')}`, value }]);
    return true;
  }

  private async resetRules(kind: 'filter' | 'exclusion'): Promise<boolean> {
    const all = this.document.document.filters().filter((filter) => filter.kind === kind);
    const changes = all.map(({ id }) => ({ path: `filters/${id}`, value: null }));
    if (changes.length > 0) await this.step(`no ${kind}s`, changes);
    return true;
  }

  /** Selects nodes by their places in the picture. */
  private async select(what: unknown): Promise<boolean> {
    const { point } = what as { point?: unknown };
    const list = Array.isArray(point) ? point : [];
    const marks = new Uint8Array(this.viewer.picture.data.numNodes);
    for (const node of list) if (Number(node) in marks) marks[Number(node)] = 1;
    const tools = await selecting(this.viewer);
    tools.join(marks, 'replace');
    return true;
  }
}
