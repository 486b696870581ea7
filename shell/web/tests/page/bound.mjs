// Icons, badges, axes and maps that a dataset binds, by pixels.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed, pixels, settle } from './browser.mjs';
import { isMock, withPage } from './context.mjs';

const STILL = 'play=0&test=1&menu=false&info=false&showLabels=false&edgeOpacity=0';
const ON_MOCK = { skip: !isMock };

/** Opens a graph of the mock server and looks at it; `zoom` notches closer to its middle. */
async function look(dataset, run, { extra = '', zoom = 0 } = {}) {
  await withPage(`dataset=${dataset}&${STILL}${extra}`, {}, async (page) => {
    await settle(page);
    for (let k = 0; k < zoom; k += 1) {
      await page.mouse.move(500, 320);
      await page.mouse.wheel(0, -200);
      await settle(page);
    }
    const nodes = await page.evaluate(() => {
      const v = window.__viewer;
      const all = Array.from({ length: v.counts.nodes }, (_, i) => i);
      return all.map((i) => ({ x: v.project(i)[0], y: v.project(i)[1], r: v.radius(i), color: v.color(i) }));
    });
    await run({ page, nodes, shot: await pixels(page) });
  });
}

/** Colours within a disc, up to a share of its radius. */
function within(shot, { x, y, r }, share = 0.85) {
  const found = [];
  for (let py = Math.ceil(y - r); py <= y + r; py += 1) {
    for (let px = Math.ceil(x - r); px <= x + r; px += 1) {
      if (Math.hypot(px + 0.5 - x, py + 0.5 - y) < share * r) found.push(shot.at(px, py));
    }
  }
  return found;
}

const near = (a, b, off = 40) => a.every((channel, k) => Math.abs(channel - b[k]) <= off);
const share = (colors, of) => colors.filter((c) => near(c, of)).length / colors.length;

test('glyphs, flags, texts and pictures are drawn on their discs', ON_MOCK, async () => {
  await look('path-7-icons', ({ nodes, shot }) => {
    const [user, bug, car, german, japanese, text, red] = nodes.map((node) => within(shot, node));
    // Ink that contrasts with the light blue of the discs.
    for (const [what, colors] of Object.entries({ user, bug, car, text })) {
      const ink = share(colors, [16, 19, 26]);
      assert.ok(ink > 0.06 && ink < 0.6, `${what} covers ${ink} of its disc`);
      assert.ok(share(colors, [109, 185, 252]) > 0.3, `${what} lies on its disc`);
    }
    assert.ok(share(red, [255, 0, 0]) > 0.95, 'a picture fills its disc');
    for (const band of [[51, 51, 51], [216, 0, 39], [255, 218, 68]]) {
      assert.ok(share(german, band) > 0.15, `the flag has a band ${band}`);
    }
    assert.ok(share(japanese, [216, 0, 39]) > 0.1 && share(japanese, [238, 238, 238]) > 0.3);
    // Glyphs are different pictures.
    assert.notDeepEqual(user.map(String), bug.map(String));
  });
});

test('discs that are too small have no icon, and get one when they are larger', ON_MOCK, async () => {
  const inside = async (dataset, zoom) => {
    let seen = null;
    await look(dataset, ({ nodes, shot }) => (seen = { nodes, shot }), { zoom });
    return seen;
  };
  const plain = await inside('community-2000-6000', 0);
  const icons = await inside('community-2000-6000-icons', 0);
  const differs = (node) => within(plain.shot, node).join() !== within(icons.shot, node).join();
  const small = icons.nodes.filter((n) => n.r < 4.5);
  const large = icons.nodes.filter((n) => n.r >= 4.5);
  assert.ok(small.length > 20 && large.length > 3, `${small.length} small, ${large.length} large`);
  assert.ok(large.some(differs));
  const aside = small.filter((n) => large.every((l) => Math.hypot(l.x - n.x, l.y - n.y) > l.r + n.r + 2));
  assert.equal(aside.filter(differs).length, 0);
});

test('a picture is clipped to its disc, or is a square', ON_MOCK, async () => {
  for (const [dataset, corner] of [['path-2-square', true], ['path-7-icons', false]]) {
    await look(dataset, ({ nodes, shot }) => {
      const { x, y, r } = nodes[dataset === 'path-2-square' ? 0 : 6];
      const at = shot.at(x - 0.85 * r, y - 0.85 * r);
      assert.equal(near(at, [255, 0, 0]), corner, `${dataset}: ${at}`);
    });
  }
});

test('a picture blends with the colour of its disc', ON_MOCK, async () => {
  await look('path-2-blended', ({ nodes, shot }) => {
    // Red times light blue.
    const middle = shot.at(nodes[0].x, nodes[0].y);
    assert.ok(near(middle, [109, 0, 0], 12), String(middle));
  });
});

test('a dashed border goes around the disc with gaps', ON_MOCK, async () => {
  await look('path-2-bordered', ({ nodes, shot }) => {
    const { x, y, r } = nodes[0];
    const around = Array.from({ length: 180 }, (_, k) => {
      const angle = (k / 90) * Math.PI;
      return shot.at(x - 0.5 + (r - 2) * Math.cos(angle), y - 0.5 + (r - 2) * Math.sin(angle));
    });
    const dashes = around.filter(([red, green, blue]) => red > 170 && blue > 170 && green < 130).length / 180;
    assert.ok(dashes > 0.25 && dashes < 0.8, `${dashes} of the rim is dashed`);
  });
});

test('pictures that cannot be had are named in notices', ON_MOCK, async () => {
  const query = `dataset=path-2-missing&${STILL.replace('&info=false', '')}`;
  await withPage(query, {}, async (page, { complaints }) => {
    await settle(page);
    await page.waitForSelector('#notices');
    await page.click('#notices .panel-title');
    const text = await page.textContent('#notices');
    assert.match(text, /pictures\.example/);
    assert.match(text, /none\.png is not shown/);
    // The browser tells of both; nothing else is wrong.
    const other = complaints.filter((line) => !/pictures\.example|404/.test(line));
    assert.deepEqual(other, []);
  });
});

test('badges lie on the nine places of a disc', ON_MOCK, async () => {
  await look('path-9-badges', ({ nodes, shot }) => {
    const h = Math.SQRT1_2;
    const sides = [[0, -1], [h, -h], [1, 0], [h, h], [0, 1], [-h, h], [-1, 0], [-h, -h], [0, 0]];
    const colors = [[44, 160, 44], null, [253, 209, 65], [214, 39, 40]];
    sides.forEach(([sx, sy], at) => {
      const { x, y, r } = nodes[at];
      const badge = { x: x + 0.92 * sx * r, y: y + 0.92 * sy * r, r: 0.46 * r };
      if (at === 8) assert.ok(share(within(shot, nodes[at]), [0, 255, 0]) > 0.9, 'the cover');
      else if (colors[at % 4]) {
        const found = share(within(shot, badge), colors[at % 4]);
        assert.ok(found > 0.4, `badge ${at + 1} has ${found} of its background`);
      } else {
        const found = within(shot, badge);
        assert.ok(share(found, [0, 82, 180]) > 0.08 && share(found, [216, 0, 39]) > 0.08, `flag ${at + 1}`);
      }
    });
  });
});

test('badges are no larger than their dimensions say, at their place', ON_MOCK, async () => {
  await look('path-9-limited', ({ nodes, shot }) => {
    // A green badge at the top, and a lighter green cover.
    for (const [at, [sx, sy], color] of [[0, [0, -1], [44, 160, 44]], [8, [0, 0], [0, 255, 0]]]) {
      const { x, y, r } = nodes[at];
      assert.ok(0.46 * r > 4.6, `a badge would be larger on a disc of ${r}`);
      const middle = { x: x + 0.92 * sx * r, y: y + 0.92 * sy * r };
      const inside = within(shot, { ...middle, r: 3 }, 0.8);
      assert.ok(share(inside, color) > 0.3, `badge ${at + 1}: ${share(inside, color)}`);
      const around = Array.from({ length: 60 }, (_, k) => {
        const angle = (k / 30) * Math.PI;
        return shot.at(middle.x - 0.5 + 4.4 * Math.cos(angle), middle.y - 0.5 + 4.4 * Math.sin(angle));
      });
      assert.equal(share(around, color), 0, `badge ${at + 1} is wider than 6 pixels`);
    }
  });
});

test('edges have icons and badges at their middle', ON_MOCK, async () => {
  await look('two-1-lined', ({ nodes: [a, b], shot }) => {
    const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, r: 8 };
    const colors = within(shot, middle);
    assert.ok(share(colors, [255, 0, 0]) > 0.3, 'the plate');
    assert.ok(share(colors, [255, 255, 255]) > 0.05, 'the glyph');
    const off = (8 + 4) * Math.SQRT1_2;
    const badge = within(shot, { x: middle.x + off, y: middle.y - off, r: 4 });
    assert.ok(share(badge, [255, 218, 68]) > 0.1, 'the flag beside it');
  });
});

/** How much brighter a place is than the background near it. */
function lift(shot, x, y) {
  const light = (px, py) => Math.max(...shot.at(px, py));
  let most = 0;
  for (let dx = -2; dx <= 2; dx += 1) {
    for (let dy = -2; dy <= 2; dy += 1) most = Math.max(most, light(x + dx, y + dy));
  }
  return most - Math.min(light(x - 9, y - 9), light(x + 9, y + 9));
}

/** Places on a ring that no node covers. */
function onRing(nodes, center, scale, r) {
  return Array.from({ length: 360 }, (_, k) => (k / 180) * Math.PI)
    .map((angle) => [scale * r * Math.cos(angle), scale * r * Math.sin(angle)])
    .map(([dx, dy]) => ({ x: center.x + dx, y: center.y - dy }))
    .filter(({ x, y }) => nodes.every((n) => Math.hypot(n.x - x, n.y - y) > n.r + 14));
}

test('rings of axes lie around the origin, whole or dashed, with their labels', ON_MOCK, async () => {
  await look('tree-60-rings', async ({ page, nodes, shot }) => {
    const { cx, cy, scale } = await page.evaluate(() => window.__viewer.doc.view);
    const center = { x: 500 - cx * scale, y: 320 + cy * scale };
    const lit = (r) => {
      const places = onRing(nodes, center, scale, r);
      return places.filter(({ x, y }) => lift(shot, x, y) > 12).length / places.length;
    };
    assert.ok(lit(24) > 0.97, `${lit(24)} of the outer ring is drawn`);
    const dashed = lit(16);
    assert.ok(dashed > 0.5, `${dashed} of the dashed ring is near a dash`);
    assert.ok(lit(20) < 0.1, `${lit(20)} of no ring`);
    // The label of the outer ring stands near its top, outside.
    const top = center.y - 24 * scale;
    const bright = [];
    for (let y = top - 24; y < top - 2; y += 1) {
      for (let x = center.x - 40; x < center.x + 40; x += 1) {
        if (Math.min(...shot.at(x, y)) > 110) bright.push(x);
      }
    }
    assert.ok(bright.length > 15, `${bright.length} pixels of its label`);
  });
});

test('straight axes cross the view, or end where they are told to', ON_MOCK, async () => {
  await look('path-9-lines', async ({ page, shot }) => {
    const { cx, cy, scale } = await page.evaluate(() => window.__viewer.doc.view);
    const at = (x, y) => [500 + (x - cx) * scale, 320 - (y - cy) * scale];
    const [, upper] = at(0, 10);
    assert.ok([150, 850, 995].every((x) => lift(shot, x, upper) > 12), 'the upper line');
    const [left, lower] = at(-20, -10);
    const [right] = at(20, -10);
    assert.ok(lift(shot, (left + right) / 2, lower) > 2, 'a band');
    assert.ok(lift(shot, left - 24, lower) < 2 && lift(shot, right + 24, lower) < 2, 'beyond its ends');
  });
});

test('a map lies under nodes with degrees, dark and light, until the layout moves them', ON_MOCK, async () => {
  for (const extra of ['', '&bg=%23ffffff']) {
    const shots = [];
    for (const dataset of ['path-9', 'path-9-map']) {
      await look(dataset, ({ shot }) => shots.push(shot), { extra });
    }
    const clear = changed(...shots, 24);
    assert.ok(clear > 1500 && clear < 40_000, `${clear} pixels of coast${extra}`);
    assert.ok(changed(...shots, 130) < 40, 'which do not shout');
  }
  for (const theme of ['dark', 'light']) {
    const query = `dataset=path-9-map&${STILL.replace('&menu=false', '')}&theme=${theme}`;
    await withPage(query, {}, async (page) => {
      await settle(page);
      const before = await pixels(page);
      await page.click('#play');
      await page.waitForFunction(() => window.__viewer.doc.iterations > 0 && !window.__viewer.doc.playing);
      await settle(page);
      const after = await pixels(page);
      assert.ok(changed(before, after, 24) > 1500, 'the map is gone');
      // And the background is not.
      for (const [x, y] of [[4, 4], [4, after.h - 4], [after.w - 60, 200]]) {
        const off = Math.max(...after.at(x, y).map((c, k) => Math.abs(c - before.at(x, y)[k])));
        assert.ok(off < 12, `${theme}: ${after.at(x, y)} in place of ${before.at(x, y)}`);
      }
    });
  }
});

test('all of it comes back after a lost context', ON_MOCK, async () => {
  for (const dataset of ['path-7-icons', 'tree-60-rings', 'path-9-map']) {
    await look(dataset, async ({ page, shot }) => {
      await page.evaluate(async () => {
        const canvas = document.querySelector('#picture');
        const lose = canvas.getContext('webgl2').getExtension('WEBGL_lose_context');
        const back = new Promise((done) => canvas.addEventListener('webglcontextrestored', done));
        lose.loseContext();
        await new Promise((done) => setTimeout(done, 0));
        lose.restoreContext();
        await back;
      });
      await settle(page);
      assert.equal(changed(shot, await pixels(page), 2), 0, dataset);
    });
  }
});
