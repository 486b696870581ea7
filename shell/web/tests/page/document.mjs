import assert from 'node:assert/strict';
import { changed, pixels, settle, until } from './browser.mjs';

// Steps that the tests of the shared document's panels repeat.

/** The numbers that the bar counts: nodes, all nodes, edges, all edges; a single one twice. */
export async function counted(page) {
  const text = (await page.innerText('#counts')).replace(/,/g, '');
  return text.split('·').flatMap((part) => {
    const numbers = part.match(/\d+/g).map(Number);
    return numbers.length === 1 ? [numbers[0], numbers[0]] : numbers;
  });
}

/** Waits until the bar counts so many visible nodes and the picture shows it. */
export async function visible(page, nodes) {
  await until(async () => (await counted(page))[0] === nodes);
  await settle(page);
}

/** Nodes of the picture with what the tests compare: degrees by the page's edges, and who is shown where. */
export function graphOf(page) {
  return page.evaluate(() => {
    const v = window.__viewer;
    const degree = Array(v.counts.nodes).fill(0);
    const ends = Array.from({ length: v.counts.edges }, (_, e) => v.edge(e));
    for (const [s, d] of ends) {
      degree[s] += 1;
      degree[d] += 1;
    }
    const at = degree.map((_, i) => v.project(i));
    return { degree, ends, at, radius: degree.map((_, i) => v.radius(i)) };
  });
}

/** Writes an expression and presses Keep or Hide. */
export async function filter(page, text, word = 'Keep') {
  if ((await page.locator('#panel-filters').count()) === 0) await page.click('#open-filters');
  await page.fill('#filter-text', text);
  await page.click(`.expression button:has-text("${word}")`);
}

/** Whether two shots show the same picture, give or take single pixels. */
export function same(a, b) {
  return changed(a, b, 24) < 0.0005 * a.w * a.h;
}

const INTERACTIVE = 'button, input, select, a[href], [tabindex="0"]';

/**
 * Rules of accessibility (WCAG 2.2 AA) on a part of the page: what can be used has a name and is large
 * enough, ids are unique and those referred to exist, and text stands out from what is behind it.
 */
export async function accessible(page, selector) {
  const faults = await page.evaluate(
    ([where, interactive]) => {
      const found = [];
      const root = document.querySelector(where);
      if (!root) return [`${where} is not there`];
      const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
      for (const id of new Set(ids)) {
        if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`two elements are #${id}`);
      }
      const told = (element) => {
        const by = element.getAttribute('aria-labelledby') ?? '';
        const labels = [...(element.labels ?? [])].map((label) => label.textContent).join('');
        const other = by && document.getElementById(by)?.textContent;
        return (element.getAttribute('aria-label') || other || labels || element.textContent).trim();
      };
      const shown = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
      for (const element of root.querySelectorAll(interactive)) {
        if (!shown(element)) continue;
        const { width, height } = element.getBoundingClientRect();
        if (!told(element)) found.push(`no name: ${element.outerHTML.slice(0, 90)}`);
        if (Math.min(width, height) < 18) found.push(`${told(element)} is ${width} × ${height}`);
      }
      const leading = ['aria-controls', 'aria-describedby', 'aria-labelledby', 'aria-activedescendant'];
      for (const name of leading) {
        for (const element of root.querySelectorAll(`[${name}]`)) {
          const id = element.getAttribute(name);
          const closed = element.getAttribute('aria-expanded') === 'false';
          if (!closed && !document.getElementById(id)) found.push(`${name} leads to no #${id}`);
        }
      }
      const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const color = (text, over) => {
        canvas.fillStyle = over;
        canvas.fillRect(0, 0, 1, 1);
        canvas.fillStyle = text;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
      };
      const behind = (element) => {
        const layers = [];
        for (let at = element; at; at = at.parentElement) layers.push(getComputedStyle(at).backgroundColor);
        return layers.reverse().reduce((under, layer) => `rgb(${color(layer, under).join(' ')})`, '#808080');
      };
      const light = (c) => {
        const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        const [r, g, b] = c.map((x) => linear(x / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      for (const element of root.querySelectorAll('*')) {
        const text = (node) => node.nodeType === 3 && node.textContent.trim() !== '';
        if (![...element.childNodes].some(text) || !shown(element)) continue;
        // The legend's signs are pictures, some of which are letters.
        if (element.closest(':disabled') || element.closest('svg, .sign[aria-hidden="true"]')) continue;
        const back = behind(element);
        const [a, b] = [color(getComputedStyle(element).color, back), color(back, back)].map(light);
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(2)}: "${element.textContent.slice(0, 40)}"`);
      }
      return found;
    },
    [selector, INTERACTIVE],
  );
  assert.deepEqual(faults, [], selector);
}

/** What a page complained about, without the answers 4xx that a test asked for. */
export function faults(complaints) {
  return complaints.filter((text) => !/status of 4\d\d/.test(text));
}

/** Taps with a finger. */
export async function tap(page, selector) {
  const { x, y, width, height } = await page.locator(selector).boundingBox();
  await swipe(page, [[x + width / 2, y + height / 2]]);
}

/** The finger of each page: letting go of it would cut off the click that follows a tap. */
const fingers = new WeakMap();

/** Moves a finger along points of the page. */
export async function swipe(page, points) {
  if (!fingers.has(page)) {
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Emulation.setTouchEmulationEnabled', { enabled: true });
    fingers.set(page, cdp);
  }
  const finger = fingers.get(page);
  const send = (type, touchPoints) => finger.send('Input.dispatchTouchEvent', { type, touchPoints });
  const place = ([x, y]) => [{ x, y }];
  await send('touchStart', place(points[0]));
  for (const point of points.slice(1)) await send('touchMove', place(point));
  await send('touchEnd', []);
}

export { pixels, settle, until };
