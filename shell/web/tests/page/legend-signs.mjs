// Rows of the legend with encodings of the legend and icons, by pixels.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed } from './browser.mjs';
import { isMock, withPage } from './context.mjs';
import { accessible, faults, graphOf, pixels, settle, until } from './document.mjs';

const ON_MOCK = { skip: !isMock };
const QUERY = 'dataset=tree-30-explained&play=0&test=1&showLabels=false';

/** Opens the graph whose legend says more than its picture. */
async function look(run, theme = 'dark') {
  await withPage(`${QUERY}&theme=${theme}`, { height: 780 }, async (page, { complaints }) => {
    await page.waitForSelector('.legend .sign');
    // The icon font, flags and pictures are on their way to the rows.
    await settle(page);
    await page.waitForSelector('.legend .mark img');
    await page.waitForSelector('.legend .glyph');
    await settle(page);
    await run(page);
    assert.deepEqual(faults(complaints), []);
  });
}

/** The key of a column. */
const keyOf = (page, title) =>
  page.locator('.legend .key', { has: page.locator(`.legend-title > span:text-is("${title}")`) });

/** What is drawn before a name, 28 pixels wide at most, as colours with their places from its middle. */
async function sign(page, title, row) {
  const place = keyOf(page, title).locator('li').nth(row).locator('.sign');
  const [own, all] = await Promise.all([place.boundingBox(), page.locator('.legend').boundingBox()]);
  const shot = await pixels(page, '.legend');
  const [left, top] = [own.x - all.x, own.y - all.y];
  const dots = [];
  for (let y = 0.5; y < own.height; y += 1) {
    for (let x = 0.5; x < own.width; x += 1) {
      const color = shot.at(Math.floor(left + x), Math.floor(top + y));
      dots.push({ x: x - own.width / 2, y: y - own.height / 2, color });
    }
  }
  return dots;
}

const near = (a, b, off = 36) => a.every((channel, k) => Math.abs(channel - b[k]) <= off);
const count = (dots, color, off) => dots.filter((dot) => near(dot.color, color, off)).length;
const PANEL = { dark: [17, 20, 27], light: [255, 255, 255] };

test('rows have the colour, the disc and the opacity that the legend binds', ON_MOCK, async () => {
  for (const theme of ['dark', 'light']) {
    await look(async (page) => {
      const [person, account] = [await sign(page, 'type', 0), await sign(page, 'type', 1)];
      // A disc of 16 pixels has 201 of them, less the glyph and the badge on it.
      const green = count(person, [0, 255, 0]);
      assert.ok(green > 70 && green < 201, `${green} pixels of the large disc`);
      const half = PANEL[theme].map((c, k) => (c + [255, 0, 255][k]) / 2);
      const faded = count(account, half, 30);
      assert.ok(faded > 10 && faded < 60, `${faded} pixels of a disc of 8 at half opacity`);
      assert.equal(count(account, [255, 0, 255], 30), 0, 'none is opaque');
      // The nodes have another colour, which the legend does not show.
      assert.equal(count(person, [109, 185, 252], 20) + count(person, [50, 124, 185], 20), 0);
    }, theme);
  }
});

test('rows have the line of the width that the legend binds', ON_MOCK, async () => {
  await look(async (page) => {
    const rows = [];
    for (const [at, color] of [[0, [255, 0, 0]], [1, [255, 255, 0]], [2, [0, 255, 255]]]) {
      const dots = await sign(page, 'kind', at);
      // Rows of pixels with any of the colour, each by its share of it.
      const high = new Map();
      for (const { y, color: c } of dots) {
        const share = color.findIndex((v) => v === 255);
        const other = color.findIndex((v) => v === 0);
        high.set(y, Math.max(high.get(y) ?? 0, (c[share] - c[other]) / 255));
      }
      rows.push([...high.values()].reduce((sum, share) => sum + Math.max(0, share), 0));
    }
    const [call, mail, visit] = rows;
    assert.ok(call > 3.4 && call < 4.6, `${call} for 4 pixels`);
    assert.ok(mail > 0.2 && mail <= 1.1, `${mail} for half a pixel`);
    assert.ok(visit > 1 && visit < 2.6, `${visit} for 2 pixels`);
  });
});

test('rows of icons have their glyph, flag, text and picture', ON_MOCK, async () => {
  for (const [theme, ink] of [['dark', [231, 235, 243]], ['light', [20, 24, 33]]]) {
    await look(async (page) => {
      const rows = [];
      for (const at of [0, 1, 2, 3]) rows.push(await sign(page, 'city', at));
      const [bug, german, text, red] = rows;
      const glyph = count(bug, ink, 60);
      assert.ok(glyph > 25 && glyph < 180, `${glyph} pixels of the glyph`);
      for (const band of [[51, 51, 51], [216, 0, 39], [255, 218, 68]]) {
        assert.ok(count(german, band, 30) > 25, `the flag has a band ${band}`);
      }
      assert.ok(count(text, ink, 90) > 20, 'letters');
      assert.ok(count(red, [255, 0, 0]) > 150, 'a picture');
      // A text that fits no disc stands there whole.
      const place = keyOf(page, 'city').locator('li').nth(2);
      const wide = await place.locator('b').evaluate((b) => b.scrollWidth <= b.parentElement.clientWidth);
      assert.ok(wide, 'the text is cut');
    }, theme);
  }
});

test('glyphs have the ink that contrasts with their disc, and badges lie at their place', ON_MOCK, async () => {
  await look(async (page) => {
    const person = await sign(page, 'type', 0);
    const disc = person.filter(({ x, y }) => Math.hypot(x, y) < 7 && y > 0);
    assert.ok(count(disc, [16, 19, 26]) > 8, 'the glyph is dark on green');
    // The badge is yellow, and lies at the top right: there, and nowhere else.
    const at = 0.92 * 8 * Math.SQRT1_2;
    const inside = person.filter(({ x, y }) => Math.hypot(x - at, y + at) < 4.5);
    const yellow = count(inside, [253, 209, 65], 30);
    assert.ok(yellow > 0.5 * inside.length, `${yellow} of ${inside.length} pixels of the badge`);
    const outside = person.filter(({ x, y }) => Math.hypot(x - at, y + at) > 6.5);
    assert.equal(count(outside, [253, 209, 65], 30), 0);
    // The icon of an edge stands beside its line, which shows its colour whole, and is not on a disc.
    const visit = await sign(page, 'kind', 2);
    const [line, icon] = [visit.filter(({ x }) => x < -1), visit.filter(({ x }) => x > 1)];
    assert.ok(count(line, [0, 255, 255]) >= 18, 'the line of an edge');
    assert.equal(count(icon, [0, 255, 255]), 0);
    assert.ok(count(icon, [231, 235, 243], 60) > 30, 'the glyph of an edge');
    assert.equal(count(line, [231, 235, 243], 60), 0);
  });
});

test('a ramp, rows of bins and lines of axes stand in one block', ON_MOCK, async () => {
  await look(async (page) => {
    const key = keyOf(page, 'degree');
    const { x, y, width, height } = await key.locator('.scale').boundingBox();
    const box = await page.locator('.legend').boundingBox();
    const shot = await pixels(page, '.legend');
    const at = (share) => shot.at(x - box.x + share * width, y - box.y + height / 2);
    assert.ok(near(at(0.03), [6, 3, 0], 16) && near(at(0.97), [248, 124, 0], 20), `${at(0.03)} ${at(0.97)}`);
    assert.ok(near(at(0.5), [128, 64, 0], 16), String(at(0.5)));
    const neutral = [154, 164, 181];
    const [large, small] = [await sign(page, 'degree', 0), await sign(page, 'degree', 1)];
    const [many, few] = [count(large, neutral), count(small, neutral)];
    // Discs of 16 and of 8 pixels.
    assert.ok(many > 160 && many < 230 && few > 35 && few < 65, `${many} and ${few}`);
    const lines = await keyOf(page, 'type').locator('.lines').allInnerTexts();
    assert.deepEqual(lines, ['inner ring', 'outer ring']);
  });
});

test('no column stands twice, and no icon by its bare name', ON_MOCK, async () => {
  await look(async (page) => {
    const titles = await page.locator('.legend-title > span:first-child').allInnerTexts();
    assert.deepEqual(titles, ['type', 'kind', 'city', 'degree']);
    assert.equal(await page.locator('.size-note').count(), 0);
    await accessible(page, '.legend');
  });
});

test('the legend does not change the picture', ON_MOCK, async () => {
  const shots = [];
  for (const dataset of ['tree-30', 'tree-30-explained']) {
    await withPage(`dataset=${dataset}&play=0&test=1&info=false`, {}, async (page) => {
      await settle(page);
      shots.push(await pixels(page));
    });
  }
  assert.equal(changed(...shots, 2), 0);
});

test('rows select by value, by the range of a bin, and edges by their ends', ON_MOCK, async () => {
  await look(async (page) => {
    const { degree } = await graphOf(page);
    const selected = () =>
      page.evaluate(() => Number(document.querySelector('#selection b')?.textContent.replace(/,/g, '') ?? 0));
    const row = (title, name) =>
      keyOf(page, title).locator('li > button:first-child', { hasText: name });
    const wanted = [
      ['type', 'account', 10],
      ['degree', '≥ 3', degree.filter((d) => d >= 3).length],
      ['degree', '< 3', degree.filter((d) => d < 3).length],
    ];
    for (const [title, name, many] of wanted) {
      await row(title, name).click();
      await until(async () => (await selected()) === many);
    }
    const { ends } = await graphOf(page);
    const visits = new Set(ends.filter((_, e) => e % 3 === 2).flat());
    await row('kind', 'visit').click();
    await until(async () => (await selected()) === visits.size);
  });
});
