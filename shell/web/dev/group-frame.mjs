// Groups of the mock's graphs for the view from afar: their communities, and within each four parts by angle.

const NO_GROUP = 0xffff;

/** The frame of `groups.bin`; `header` makes those of the mock. */
export function groupFrame(graph, header) {
  const { n, group, goal } = graph;
  const sums = new Map();
  for (let i = 0; i < n; i += 1) {
    const sum = sums.get(group[i]) ?? [0, 0, 0];
    sums.set(group[i], [sum[0] + goal[2 * i], sum[1] + goal[2 * i + 1], sum[2] + 1]);
  }
  const coarse = new Uint16Array(n);
  const fine = new Uint16Array(n);
  for (let i = 0; i < n; i += 1) {
    const [x, y, count] = sums.get(group[i]);
    coarse[i] = count > 1 ? group[i] : NO_GROUP;
    const part = (goal[2 * i] > x / count ? 1 : 0) + (goal[2 * i + 1] > y / count ? 2 : 0);
    fine[i] = count > 8 ? 4 * group[i] + part : NO_GROUP;
  }
  const prefix = Buffer.alloc(16);
  prefix.writeUInt32LE(2, 0);
  const raw = (level) => Buffer.from(level.buffer, level.byteOffset, level.byteLength);
  return Buffer.concat([header(21, { count: n }), prefix, raw(coarse), raw(fine)]);
}
