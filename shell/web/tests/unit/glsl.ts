/**
 * Runs functions of shaders in tests: as much of GLSL as the page's shaders have, in 64 bits. Numbers are
 * numbers, vectors lists, structs objects, and samplers functions of an index.
 */

export type Value = number | boolean | Value[] | ((index: number) => Value) | { [name: string]: Value };
type Scope = Map<string, Value>;
type Vector = number[];

interface Made {
  params: string[];
  body: Node;
}

/** A piece of a program: what it is, and what it is made of. */
type Node = { op: string; text?: string; of: Node[] };

/** How a function ended. */
class Returned {
  constructor(readonly value: Value) {}
}

const NUMBER = /(\d+\.?\d*(?:e[-+]?\d+)?)u?/.source;
const SIGN = />>|<<|<=|>=|==|!=|&&|\|\||[-+*/]=|[-+*/%&|<>=!?:;,.(){}[\]]/.source;
const TOKEN = new RegExp(`\\s*(?:${NUMBER}|([A-Za-z_]\\w*)|(${SIGN}))`, 'y');
const TYPES = /^(float|int|uint|bool|[iub]?vec[234])$/;
/** Binary operators by how tightly they bind. */
const BINDS: Record<string, number> = {
  '||': 1, '&&': 2, '==': 4, '!=': 4, '<': 5, '>': 5, '<=': 5, '>=': 5, '&': 3, '>>': 6, '<<': 6,
  '+': 7, '-': 7, '*': 8, '/': 8, '%': 8,
};

function tokensOf(text: string): string[] {
  const bare = text.replace(/\/\*[^]*?\*\/|\/\/[^\n]*|^#.*$/gm, '').trimEnd();
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < bare.length) {
    const from = TOKEN.lastIndex;
    const found = TOKEN.exec(bare);
    if (!found) throw new Error(`no GLSL that is known here: ${bare.slice(from, from + 40)}`);
    tokens.push(found[1] ?? found[2] ?? found[3]);
  }
  return tokens;
}

/** A number for each pair, or for each number with all of the other's. */
function zip(a: Value, b: Value, by: (x: number, y: number) => number): Value {
  if (Array.isArray(a) && Array.isArray(b)) return a.map((x, k) => by(x as number, b[k] as number));
  if (Array.isArray(a)) return a.map((x) => by(x as number, b as number));
  if (Array.isArray(b)) return b.map((y) => by(a as number, y as number));
  return by(a as number, b as number);
}

const each = (by: (x: number) => number) => (a: Value): Value =>
  Array.isArray(a) ? a.map((x) => by(x as number)) : by(a as number);
const pair = (by: (x: number, y: number) => number) => (a: Value, b: Value): Value => zip(a, b, by);
const length = (a: Value): number => Math.hypot(...[a as Vector].flat());
const clamp = (x: Value, low: Value, high: Value): Value => zip(zip(x, low, Math.max), high, Math.min);
const minus = pair((x, y) => x - y);
const times = pair((x, y) => x * y);
const plus = pair((x, y) => x + y);

const BUILT_IN: Record<string, (...values: never[]) => Value> = {
  abs: each(Math.abs),
  sign: each(Math.sign),
  exp: each(Math.exp),
  log2: each(Math.log2),
  sin: each(Math.sin),
  cos: each(Math.cos),
  fract: each((x) => x - Math.floor(x)),
  pow: pair((x, y) => x ** y),
  min: pair(Math.min),
  max: pair(Math.max),
  clamp,
  length,
  distance: (a: Value, b: Value) => length(minus(a, b)),
  dot: (a: Vector, b: Vector) => a.reduce((sum, x, k) => sum + x * b[k], 0),
  normalize: (a: Value) => times(a, 1 / length(a)),
  mix: (a: Value, b: Value, t: Value) => plus(a, times(minus(b, a), t)),
  smoothstep: (from: number, to: number, x: number) => {
    const t = clamp((x - from) / (to - from), 0, 1) as number;
    return t * t * (3 - 2 * t);
  },
  texelFetch: (of: (index: number) => Value, [x, y]: Vector) => of(x + 4096 * y),
  texture: (of: (uv: never) => Value, uv: Vector) => of(uv as never),
};

/** Reads programs. */
class Reader {
  private at = 0;
  /** Names of whole numbers. */
  readonly whole = new Set(['gl_VertexID']);

  constructor(
    private readonly tokens: string[],
    private readonly structs: Map<string, string[]>,
  ) {}

  get next(): string | undefined {
    return this.tokens[this.at];
  }

  take(): string {
    return this.tokens[this.at++];
  }

  is(token: string): boolean {
    if (this.next !== token) return false;
    this.at += 1;
    return true;
  }

  need(token: string): void {
    if (this.is(token)) return;
    throw new Error(`${token} expected, not ${this.tokens.slice(this.at, this.at + 8).join(' ')}`);
  }

  /** A list up to its end. */
  list<T>(end: string, one: () => T): T[] {
    const found: T[] = [];
    while (!this.is(end)) {
      found.push(one());
      if (!this.is(',') && this.next !== end) this.need(end);
    }
    return found;
  }

  isType(): boolean {
    const word = this.next ?? '';
    const isDeclared = /^[A-Za-z_]/.test(this.tokens[this.at + 1] ?? '');
    return (TYPES.test(word) || this.structs.has(word)) && isDeclared;
  }

  statement(): Node {
    if (this.is('{')) {
      const of: Node[] = [];
      while (!this.is('}')) of.push(this.statement());
      return { op: 'block', of };
    }
    if (this.is('if')) {
      this.need('(');
      const of = [this.expression()];
      this.need(')');
      of.push(this.statement());
      if (this.is('else')) of.push(this.statement());
      return { op: 'if', of };
    }
    if (this.is('return') || this.is('discard')) {
      const of = this.next === ';' ? [] : [this.expression()];
      this.need(';');
      return { op: 'return', of };
    }
    const found = this.isType() ? this.declared() : this.expression();
    this.need(';');
    return found;
  }

  /** The name behind a type. */
  parameter(type = this.take()): string {
    const name = this.take();
    if (/^u?int$/.test(type)) this.whole.add(name);
    return name;
  }

  /** A type with its variables. */
  declared(): Node {
    const type = this.take();
    const of: Node[] = [];
    do {
      const text = this.parameter(type);
      of.push({ op: 'declare', text, of: this.is('=') ? [this.expression()] : [] });
    } while (this.is(','));
    return { op: 'block', of };
  }

  expression(): Node {
    const to = this.choice();
    return this.is('=') ? { op: 'assign', of: [to, this.expression()] } : to;
  }

  private choice(): Node {
    const on = this.binary(0);
    if (!this.is('?')) return on;
    const yes = this.expression();
    this.need(':');
    return { op: 'choose', of: [on, yes, this.expression()] };
  }

  private binary(least: number): Node {
    let left = this.unary();
    for (let bind = BINDS[this.next ?? ''] ?? 0; bind > least; bind = BINDS[this.next ?? ''] ?? 0) {
      const op = this.take();
      const of = [left, this.binary(bind)];
      left = { op: op === '/' && of.every((one) => this.isWhole(one)) ? 'divide' : op, of };
    }
    return left;
  }

  private isWhole({ op, text = '', of }: Node): boolean {
    if (op === 'number') return !text.includes('.');
    return op === 'name' ? this.whole.has(text) : op in BINDS && of.every((one) => this.isWhole(one));
  }

  private unary(): Node {
    if (this.is('-')) return { op: 'negate', of: [this.unary()] };
    if (this.is('!')) return { op: '!', of: [this.unary()] };
    let found = this.single();
    while (this.is('.')) found = { op: 'part', text: this.take(), of: [found] };
    return found;
  }

  private single(): Node {
    if (this.is('(')) {
      const found = this.expression();
      this.need(')');
      return found;
    }
    const text = this.take();
    if (/^\d/.test(text)) return { op: 'number', text, of: [] };
    if (this.is('(')) return { op: 'call', text, of: this.list(')', () => this.expression()) };
    return { op: 'name', text, of: [] };
  }
}

/** Components of a vector by their letters. */
const places = (letters: string): number[] => [...letters].map((c) => 'xyzwrgba'.indexOf(c) % 4);

/** A shader, whose functions can be called. */
export class Shader {
  private readonly functions = new Map<string, Made>();
  private readonly structs = new Map<string, string[]>();
  private readonly constants: Scope = new Map();

  constructor(text: string) {
    const reader = new Reader(tokensOf(text), this.structs);
    while (reader.next !== undefined) this.top(reader);
  }

  private top(reader: Reader): void {
    const word = reader.take();
    if (word === 'struct') {
      const name = reader.take();
      reader.need('{');
      const fields: string[] = [];
      while (!reader.is('}')) {
        reader.take();
        fields.push(reader.take());
        reader.need(';');
      }
      this.structs.set(name, fields);
      reader.need(';');
    } else if (/^(precision|uniform|in|out|flat)$/.test(word)) {
      while (reader.take() !== ';');
    } else if (word === 'const') {
      const [{ text = '', of }] = reader.declared().of;
      this.constants.set(text, this.value(of[0], this.constants));
      reader.need(';');
    } else {
      const name = reader.take();
      reader.need('(');
      const params = reader.list(')', () => reader.parameter());
      this.functions.set(name, { params, body: reader.statement() });
    }
  }

  /** What a function answers, with the uniforms and inputs of the shader. */
  call(name: string, values: Value[], globals: Record<string, Value>): Value {
    return this.run(name, values, new Map([...this.constants, ...Object.entries(globals)]))[0];
  }

  /** The variables after `main`, those of its own included. */
  main(globals: Record<string, Value>): Record<string, Value> {
    const all: Scope = new Map([...this.constants, ...Object.entries(globals)]);
    return Object.fromEntries(this.run('main', [], all)[1]);
  }

  private run(name: string, values: Value[], globals: Scope): [Value, Scope] {
    const { params, body } = this.functions.get(name) as Made;
    const own = params.map((param, k): [string, Value] => [param, values[k]]);
    const scope: Scope = new Map([...globals, ...own]);
    scope.set('', globals as never);
    const ended = this.do(body, scope);
    return [ended instanceof Returned ? ended.value : [], scope];
  }

  private do(node: Node, scope: Scope): Returned | null {
    const { op, of } = node;
    if (op === 'block') {
      for (const one of of) {
        const ended = this.do(one, scope);
        if (ended) return ended;
      }
    } else if (op === 'if') {
      const then = this.value(of[0], scope) ? of[1] : of[2];
      return then ? this.do(then, scope) : null;
    } else if (op === 'return') return new Returned(of[0] ? this.value(of[0], scope) : []);
    else if (op === 'declare') scope.set(node.text as string, of[0] ? this.value(of[0], scope) : {});
    else this.value(node, scope);
    return null;
  }

  private value({ op, text = '', of }: Node, scope: Scope): Value {
    const get = (k: number): Value => this.value(of[k], scope);
    if (op === 'number') return Number(text);
    if (op === 'name') {
      const found = text === 'true' || text === 'false' ? text === 'true' : scope.get(text);
      if (found === undefined) throw new Error(`no value of ${text}`);
      return found;
    }
    if (op === 'call') return this.called(text, of.map((_, k) => get(k)), scope);
    if (op === 'part') {
      const whole = get(0);
      if (!Array.isArray(whole)) return (whole as Record<string, Value>)[text];
      const found = places(text).map((k) => whole[k]);
      return found.length === 1 ? found[0] : found;
    }
    if (op === 'assign') {
      const value = get(1);
      const [to] = of;
      if (to.op === 'part') {
        (this.value(to.of[0], scope) as Record<string, Value>)[to.text as string] = value;
      } else scope.set(to.text as string, value);
      return value;
    }
    if (op === 'choose') return get(0) ? get(1) : get(2);
    if (op === '&&') return Boolean(get(0)) && Boolean(get(1));
    if (op === '||') return Boolean(get(0)) || Boolean(get(1));
    if (op === '!') return !get(0);
    if (op === 'negate') return times(get(0), -1);
    return this.reckoned(op, get(0), get(1));
  }

  private reckoned(op: string, a: Value, b: Value): Value {
    const [x, y] = [a as number, b as number];
    switch (op) {
      case '+': return plus(a, b);
      case '-': return minus(a, b);
      case '*': return times(a, b);
      case '/': return zip(a, b, (p, q) => p / q);
      case 'divide': return Math.trunc(x / y);
      case '%': return x % y;
      case '&': return x & y;
      case '>>': return x >>> y;
      case '==': return x === y;
      case '<': return x < y;
      case '>': return x > y;
      case '<=': return x <= y;
      case '>=': return x >= y;
      default: throw new Error(`no operator ${op}`);
    }
  }

  private called(name: string, values: Value[], scope: Scope): Value {
    if (this.functions.has(name)) return this.run(name, values, scope.get('') as never)[0];
    const size = /vec([234])$/.exec(name);
    if (size) {
      const all = (values as Value[]).flat().map(Number);
      return all.length === 1 ? Array.from({ length: Number(size[1]) }, () => all[0]) : all;
    }
    if (name === 'float' || name === 'uint') return Number(values[0]);
    if (name === 'int') return Math.trunc(Number(values[0]));
    const known = BUILT_IN[name];
    if (!known) throw new Error(`no function ${name}`);
    return known(...(values as never[]));
  }
}
