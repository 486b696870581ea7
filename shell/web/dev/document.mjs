// The shared document of a mock session: what pages change together, what they see of it, and its steps back.

import { deflateRawSync } from 'node:zlib';
import { Refusal, bits64, bitsOf, columnsOf, evaluate } from './columns.mjs';
import { bins } from './bins.mjs';
import { iconFrame } from './bound-graphs.mjs';
import { paint } from './paint.mjs';

const NAMES = ['ann', 'ben', 'cleo', 'dan'];

function readBody(request) {
  return new Promise((done) => {
    let text = '';
    request.on('data', (piece) => (text += piece));
    request.on('end', () => done(JSON.parse(text || '{}')));
  });
}

/** One page's part: its private overlay, and the steps that it can take back. */
class Part {
  constructor(name, steers) {
    Object.assign(this, { name, steers, own: new Map(), undo: [], redo: [] });
  }
}

export class SharedDocument {
  constructor(session, header) {
    this.session = session;
    this.header = header;
    this.revision = 1;
    this.shared = new Map();
    this.parts = new Map();
    this.made = [];
  }

  get columns() {
    this.known ??= columnsOf(this.session.graph);
    return this.known;
  }

  part(viewer) {
    if (!this.parts.has(viewer)) {
      const steers = !this.session.id.startsWith('watch') || this.parts.size === 0;
      this.parts.set(viewer, new Part(NAMES[this.parts.size % NAMES.length], steers));
    }
    return this.parts.get(viewer);
  }

  /** What a page sees: the shared document with its own overlay. */
  seen(part) {
    const all = new Map(this.shared);
    for (const [path, value] of part?.own ?? []) all.set(path, value);
    for (const [path, value] of all) if (value === null) all.delete(path);
    return all;
  }

  below(part, folder) {
    const entries = [...this.seen(part)].filter(([path]) => path.startsWith(`${folder}/`));
    return entries.map(([path, value]) => [path.slice(folder.length + 1), value]);
  }

  join(viewer) {
    const part = this.part(viewer);
    viewer.say({
      t: 'document',
      revision: this.revision,
      document: Object.fromEntries(this.shared),
      own: Object.fromEntries(part.own),
    });
    this.tellHistory(viewer);
    const hides = this.seen(part).get('prune_orphans');
    if (this.below(part, 'filters').length > 0 || hides) this.tellVisible(viewer);
    const painted = [...this.below(part, 'collections'), ...this.below(part, 'encodings')];
    if (painted.length > 0) this.tellPaint(viewer);
  }

  tellHistory(viewer) {
    const { undo, redo } = this.part(viewer);
    viewer.say({ t: 'history', undo: undo.at(-1)?.label ?? null, redo: redo.at(-1)?.label ?? null });
  }

  /** Which elements pass, leaving out the filter of one id. */
  visible(part, without = null) {
    const { graph } = this.session;
    const shown = { node: new Uint8Array(graph.n).fill(1), edge: new Uint8Array(graph.m).fill(1) };
    const counts = {};
    for (const [id, filter] of this.below(part, 'filters')) {
      if (!filter.on) continue;
      try {
        const { axis, marks } = evaluate(graph, this.columns, filter.rule);
        const count = marks.reduce((sum, mark) => sum + mark, 0);
        counts[id] = { nodes: axis === 'node' ? count : null, edges: axis === 'edge' ? count : null };
        if (id === without) continue;
        const drops = filter.kind === 'exclusion' ? 1 : 0;
        marks.forEach((mark, i) => {
          if (mark === drops) shown[axis][i] = 0;
        });
      } catch (error) {
        counts[id] = { problem: error.message };
      }
    }
    const touched = new Uint8Array(graph.n);
    for (let e = 0; e < graph.m; e += 1) {
      const [s, d] = [graph.edges[2 * e], graph.edges[2 * e + 1]];
      if (!shown.node[s] || !shown.node[d]) shown.edge[e] = 0;
      if (shown.edge[e]) touched[s] = touched[d] = 1;
    }
    if (this.seen(part).get('prune_orphans')) shown.node = shown.node.map((mark, i) => mark & touched[i]);
    return { shown, counts };
  }

  tellVisible(viewer) {
    const { shown, counts } = this.visible(this.part(viewer));
    const sum = (marks) => marks.reduce((total, mark) => total + mark, 0);
    viewer.say({
      t: 'counts',
      revision: this.revision,
      nodes: sum(shown.node),
      edges: sum(shown.edge),
      filters: counts,
    });
    for (const [at, axis] of ['node', 'edge'].entries()) {
      const prefix = Buffer.alloc(16);
      prefix.writeUInt8(at, 0);
      const body = Buffer.concat([prefix, Buffer.from(bitsOf(shown[axis]))]);
      // One packed and one not: both are legal.
      const head = this.header(16, { flags: at, seq: this.revision, count: shown[axis].length });
      viewer.socket.send(Buffer.concat([head, at === 1 ? deflateRawSync(body) : body]));
    }
  }

  tellPaint(viewer) {
    const seen = this.seen(this.part(viewer));
    const { color, chosen, size, icons, legend, collections } = paint(this.session.graph, this.columns, seen);
    for (const [kind, ...data] of [[17, color, chosen], [18, size]]) {
      const head = this.header(kind, { count: this.session.graph.n });
      const prefix = Buffer.alloc(16);
      if (data[1]?.length > 0) prefix.writeUInt8(2, 1);
      viewer.socket.send(Buffer.concat([head, prefix, ...data.map((part) => Buffer.from(part))]));
    }
    if (icons) viewer.socket.send(iconFrame((kind, more) => this.header(kind, more), icons));
    viewer.say({ t: 'legend', legend: legend ?? {}, underlay: { axes: [], map: null } });
    viewer.say({ t: 'collections', ...collections });
  }

  check(changes) {
    for (const { path, value } of changes) {
      const rule = /^(filters|collapsed)\//.test(path) ? value?.rule : null;
      if (!rule) continue;
      try {
        evaluate(this.session.graph, this.columns, rule);
      } catch (error) {
        throw Object.assign(error, { path });
      }
    }
    const isSet = (path) => path.startsWith('collections/');
    const added = changes.filter(({ path, value }) => isSet(path) && value && !this.shared.has(path));
    const many = [...this.shared.keys()].filter(isSet).length + added.length;
    if (added.length > 0 && many > 10) {
      const message = 'A picture has at most 10 collections; delete one first.';
      throw Object.assign(new Refusal(message, 'too-many'), { path: added[0].path });
    }
  }

  /** Applies changes for a page; answers those that would take them back. */
  apply(viewer, label, changes, id) {
    const part = this.part(viewer);
    const own = !part.steers;
    const map = own ? part.own : this.shared;
    const before = changes.map(({ path }) => ({ path, value: map.get(path) ?? null }));
    for (const { path, value } of changes) {
      if (value === null && !own) map.delete(path);
      else map.set(path, value);
    }
    if (own) for (const [path, value] of map) if (value === null && !this.shared.has(path)) map.delete(path);
    this.revision += 1;
    const { revision } = this;
    const touches = (folder) => changes.some(({ path }) => path.startsWith(folder));
    if (touches('pins/')) this.movePins(before, changes);
    for (const other of own ? [viewer] : this.session.viewers) {
      const by = { name: part.name, kind: part.name === 'cleo' ? 'agent' : 'person', you: other === viewer };
      other.say({ t: 'changed', revision, own, by, label, changes });
    }
    viewer.say({ t: 'done', id, revision, own });
    for (const other of own ? [viewer] : this.session.viewers) {
      if (touches('filters/') || touches('prune_orphans')) this.tellVisible(other);
      if (touches('collections/') || touches('encodings/')) this.tellPaint(other);
    }
    return before;
  }

  movePins(before, changes) {
    for (const { path } of before) this.session.pins.delete(Number(path.slice(5)));
    for (const { path, value } of changes) if (value) this.session.pins.set(Number(path.slice(5)), value);
    this.session.publish();
  }

  hear(viewer, message) {
    const part = this.part(viewer);
    try {
      if (message.t === 'do') {
        this.check(message.changes);
        const before = this.apply(viewer, message.label, message.changes, message.id);
        const last = part.undo.at(-1);
        if (message.join && last?.join === message.join) Object.assign(last, { changes: message.changes });
        else part.undo.push({ label: message.label, join: message.join, before, changes: message.changes });
        part.redo = [];
      } else {
        const [from, to] = message.t === 'undo' ? [part.undo, part.redo] : [part.redo, part.undo];
        const step = from.pop();
        if (!step) throw new Refusal(`There is nothing to ${message.t}.`, 'nothing');
        const word = message.t === 'undo' ? 'Undo' : 'Redo';
        const changes = message.t === 'undo' ? step.before : step.changes;
        this.apply(viewer, `${word} ${step.label}`, changes, message.id);
        to.push({ ...step, join: undefined });
      }
      this.tellHistory(viewer);
    } catch (error) {
      const { slug = 'fault', message: words, path } = error;
      viewer.say({ t: 'refused', id: message.id, slug, message: words, path });
    }
  }

  /** The routes beside the socket; answers whether there is such a one. */
  async route(head, request, query, answer) {
    const { graph } = this.session;
    const part = [...this.parts].find(([viewer]) => viewer.id === query.get('viewer'))?.[1];
    try {
      if (head === 'columns') {
        answer(200, { columns: this.columns.map(({ values, ...column }) => column) });
      } else if (head === 'bins') {
        const histograms = bins(this, part, query);
        answer(200, { revision: this.revision, histograms });
      } else if (head === 'find') {
        const found = this.find(await readBody(request));
        answer(200, found);
      } else if (head === 'export') {
        const { marks } = evaluate(graph, this.columns, { nodes: (await readBody(request)).nodes });
        answer(200, this.rows(marks, query.get('table'), query.get('format')));
      } else {
        const { nodes, name } = await readBody(request);
        const { marks } = evaluate(graph, this.columns, { nodes });
        const count = marks.reduce((sum, mark) => sum + mark, 0);
        answer(200, { dataset_id: `path-${count}`, url: `/graph/graph.html?dataset=path-${count}`, name });
      }
    } catch (error) {
      answer(error.status ?? 500, { error: error.slug ?? 'fault', message: error.message });
    }
  }

  find({ rule, text }) {
    let wanted = rule;
    let as = 'expr';
    if (text !== undefined) {
      if (text.trim().startsWith('[')) [as, wanted] = ['gfql', { gfql: JSON.parse(text) }];
      else if (/^match\b/i.test(text)) [as, wanted] = ['cypher', { query: text }];
      else wanted = { expr: text };
    }
    const { graph } = this.session;
    const { axis, marks } = evaluate(graph, this.columns, wanted);
    const count = marks.reduce((sum, mark) => sum + mark, 0);
    const nodes = axis === 'node' ? marks : new Uint8Array(graph.n);
    if (axis === 'edge') {
      marks.forEach((mark, e) => {
        if (mark) nodes[graph.edges[2 * e]] = nodes[graph.edges[2 * e + 1]] = 1;
      });
    }
    const node_count = nodes.reduce((total, mark) => total + mark, 0);
    const edge_count = axis === 'edge' ? count : 0;
    return { as, nodes: bits64(nodes), node_count, edge_count, rule: wanted };
  }

  rows(marks, table, format) {
    const { graph, xy } = this.session;
    const nodes = [...marks.keys()].filter((i) => marks[i]);
    const rows =
      table === 'nodes'
        ? nodes.map((i) => ({ id: i, degree: graph.degree[i], x: xy[2 * i], y: xy[2 * i + 1] }))
        : [...Array(graph.m).keys()]
            .map((e) => ({ src: graph.edges[2 * e], dst: graph.edges[2 * e + 1] }))
            .filter(({ src, dst }) => marks[src] && marks[dst]);
    if (format === 'json') return rows;
    const names = Object.keys(rows[0] ?? {});
    return [names.join(','), ...rows.map((row) => names.map((name) => row[name]).join(','))].join('\n');
  }
}
