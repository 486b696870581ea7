// The outlines of a flag of the package circle-flags, which has filled paths, circles, ellipses and
// rectangles behind a mask that shows a disc of them.

/** How far the control points of a quarter of a circle are from its ends, as a share of its radius. */
const QUARTER = 0.552285;

const round = (x) => Math.round(x * 100) / 100;

/** One closed part of an outline: where it begins, then lines and curves by what leads to their ends. */
class Part {
  constructor(x, y) {
    this.steps = [[x, y]];
  }

  get written() {
    return this.steps.map((step) => step.map(round));
  }
}

function ellipse(x, y, rx, ry) {
  const part = new Part(x + rx, y);
  const k = QUARTER;
  const quarters = [
    [1, k, k, 1, 0, 1],
    [-k, 1, -1, k, -1, 0],
    [-1, -k, -k, -1, 0, -1],
    [k, -1, 1, -k, 1, 0],
  ];
  part.steps.push(...quarters.map((q) => q.map((u, c) => (c % 2 === 0 ? x + rx * u : y + ry * u))));
  return [part];
}

function rounded(x, y, w, h, r) {
  const k = r - QUARTER * r;
  const [right, bottom] = [x + w, y + h];
  const part = new Part(x + r, y);
  part.steps.push([right - r, y], [right - k, y, right, y + k, right, y + r]);
  part.steps.push([right, bottom - r], [right, bottom - k, right - k, bottom, right - r, bottom]);
  part.steps.push([x + r, bottom], [x + k, bottom, x, bottom - k, x, bottom - r]);
  part.steps.push([x, y + r], [x, y + k, x + k, y, x + r, y]);
  return [part];
}

/** An arc of an ellipse as curves of at most a quarter each (SVG 2, B.2.4); a line where it has no radius. */
function arc([x0, y0], [x1, y1], radii, degrees, large, sweep) {
  let [rx, ry] = radii.map(Math.abs);
  if (rx === 0 || ry === 0 || (x0 === x1 && y0 === y1)) return [[x1, y1]];
  const turn = (degrees * Math.PI) / 180;
  const [sin, cos] = [Math.sin(turn), Math.cos(turn)];
  const [hx, hy] = [(x0 - x1) / 2, (y0 - y1) / 2];
  const [px, py] = [cos * hx + sin * hy, cos * hy - sin * hx];
  const off = (px / rx) ** 2 + (py / ry) ** 2;
  if (off > 1) [rx, ry] = [rx * Math.sqrt(off), ry * Math.sqrt(off)];
  const below = (rx * py) ** 2 + (ry * px) ** 2;
  const root = Math.sqrt(Math.max(0, ((rx * ry) ** 2 - below) / below)) * (large === sweep ? -1 : 1);
  const [cx, cy] = [(root * rx * py) / ry, (-root * ry * px) / rx];
  const angle = (s) => Math.atan2((s * py - cy) / ry, (s * px - cx) / rx);
  const first = angle(1);
  let by = angle(-1) - first;
  if (sweep && by < 0) by += 2 * Math.PI;
  else if (!sweep && by > 0) by -= 2 * Math.PI;
  const place = (u, v) => {
    const [x, y] = [cx + rx * u, cy + ry * v];
    return [(x0 + x1) / 2 + cos * x - sin * y, (y0 + y1) / 2 + sin * x + cos * y];
  };
  const count = Math.max(1, Math.ceil(Math.abs(by) / (Math.PI / 2) - 1e-3));
  const each = by / count;
  const k = (4 / 3) * Math.tan(each / 4);
  return Array.from({ length: count }, (_, n) => {
    const [a, b] = [first + each * n, first + each * (n + 1)];
    const [c0, s0, c1, s1] = [Math.cos(a), Math.sin(a), Math.cos(b), Math.sin(b)];
    const end = n + 1 === count ? [x1, y1] : place(c1, s1);
    return [...place(c0 - k * s0, s0 + k * c0), ...place(c1 + k * s1, s1 - k * c1), ...end];
  });
}

/** How many numbers a command of path data takes. */
const TAKES = { m: 2, l: 2, h: 1, v: 1, c: 6, s: 4, q: 4, t: 2, a: 7, z: 0 };
const NUMBER = /^[\s,]*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)/i;

/** The commands of path data with their numbers (SVG 2, 9.3); the flags of arcs are single digits. */
function* commands(text) {
  let rest = text.trim();
  while (rest !== '') {
    let word = rest[0];
    const kind = word.toLowerCase();
    if (TAKES[kind] === undefined) throw new Error(`no command of path data: ${rest.slice(0, 20)}`);
    rest = rest.slice(1);
    do {
      const numbers = [];
      while (numbers.length < TAKES[kind]) {
        const isFlag = kind === 'a' && (numbers.length === 3 || numbers.length === 4);
        const found = (isFlag ? /^[\s,]*([01])/ : NUMBER).exec(rest);
        if (!found) throw new Error(`no number of path data: ${rest.slice(0, 20)}`);
        numbers.push(Number(found[1]));
        rest = rest.slice(found[0].length);
      }
      yield { word, numbers };
      // More numbers behind a move are lines.
      word = { m: 'l', M: 'L' }[word] ?? word;
      rest = rest.trimStart();
    } while (TAKES[kind] > 0 && NUMBER.test(rest));
  }
}

function path(text) {
  const parts = [];
  let [at, begin, part] = [[0, 0], [0, 0], null];
  // The last control point, for curves that go on smoothly, and which kind of curve it is of.
  let last = { kind: '', at };
  for (const { word, numbers } of commands(text)) {
    const kind = word.toLowerCase();
    const [x, y] = word === kind ? at : [0, 0];
    const points = numbers.map((number, c) => number + (c % 2 === 0 ? x : y));
    const smooth = (of) => (last.kind === of ? [2 * at[0] - last.at[0], 2 * at[1] - last.at[1]] : at);
    if (kind === 'z') {
      [at, part, last] = [begin, null, { kind: '', at }];
      continue;
    }
    let steps = [points];
    if (kind === 'm') {
      begin = points;
      parts.push((part = new Part(...points)));
      [at, last] = [points, { kind: '', at }];
      continue;
    }
    // What is drawn after a part was closed begins a new one where that began.
    if (!part) parts.push((part = new Part(...begin)));
    if (kind === 'h') steps = [[numbers[0] + x, at[1]]];
    else if (kind === 'v') steps = [[at[0], numbers[0] + y]];
    else if (kind === 's') steps = [[...smooth('c'), ...points]];
    else if (kind === 't') steps = [[...smooth('q'), ...points]];
    else if (kind === 'a') {
      const [rx, ry, turn, large, sweep, toX, toY] = numbers;
      steps = arc(at, [toX + x, toY + y], [rx, ry], turn, large, sweep);
    }
    part.steps.push(...steps);
    const end = steps[steps.length - 1];
    at = end.slice(-2);
    const curve = { 4: 'q', 6: 'c' }[end.length] ?? '';
    last = { kind: kind === 'a' ? '' : curve, at: end.slice(-4, -2) };
  }
  return parts;
}

function colorOf(fill) {
  const digits = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(fill ?? '')?.[1];
  if (!digits) throw new Error(`no colour: ${fill}`);
  return parseInt(digits.length === 3 ? [...digits].map((d) => d + d).join('') : digits, 16);
}

function outline(name, attributes) {
  const number = (of) => Number(attributes[of] ?? 0);
  const [x, y] = [number('cx'), number('cy')];
  if (name === 'path') return path(attributes.d);
  if (name === 'circle') return ellipse(x, y, number('r'), number('r'));
  if (name === 'ellipse') return ellipse(x, y, number('rx'), number('ry'));
  if (name !== 'rect') throw new Error(`no element that is known: ${name}`);
  const [w, h] = [number('width'), number('height')];
  const r = Math.min(Math.max(number('rx'), number('ry')), w / 2, h / 2);
  return rounded(number('x'), number('y'), w, h, r);
}

/**
 * The filled outlines of a flag in a square of 512, the lowest first: each its colour as a number and its
 * closed parts, of steps in absolute coordinates. The first step of a part is where it begins; of the others
 * two numbers are a line's end, four a quadratic curve's control point and end, six a cubic one's control
 * points and end.
 */
export function outlines(svg) {
  const [, seen] = svg.split('</mask>');
  return Array.from(seen.matchAll(/<([a-z]+) ([^>]*)>/g), ([, name, rest]) => {
    if (name === 'g') return [];
    const pairs = Array.from(rest.matchAll(/([a-z]+)="([^"]*)"/g), (found) => found.slice(1));
    const attributes = Object.fromEntries(pairs);
    return [[colorOf(attributes.fill), outline(name, attributes).map((part) => part.written)]];
  }).flat();
}
