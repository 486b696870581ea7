// Difference of the server's picture from the page's: opens the pages of a gallery without names and
// panels, takes their canvas, asks the server for the same picture, and prints a table of what differs.
// Usage: node dev/picture-difference.mjs <gallery.json of gallery.py> <account> <password> [folder]
//
// A pixel differs when a channel does by more than 24 of 255: about the least step that is seen between two
// areas side by side on a dark background, and far above what rounding makes of one formula (eight bits a
// channel, half a step of noise on the page's background, positions of 16 bits on its stream).
// The page is told that its device is no software one, which would have it draw many edges coarsely: that
// is what its readers have, and what the server draws.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch, open, settle, stopped } from '../tests/page/browser.mjs';
import { decodePng } from '../tests/png.mjs';
import { addressOf, galleryOf } from './gallery-list.mjs';

const [WIDTH, HEIGHT] = [1440, 900];
const FAR = 24;
/** Percent of the pixels that may differ. */
const BAR = 2;
const BARE = 'info=false&showLabels=false&showPointsOfInterest=false&test=true';
/** As in the page's panels, whose pixels are no part of the picture. */
const HIDE = 'body * { visibility: hidden } canvas { visibility: visible !important }';

const [list, account, password, folder] = process.argv.slice(2);
const { graphs: gallery, base, headers } = await galleryOf(list, account, password);

/** Share of the pixels, in percent, that differ, and the greatest difference. */
function difference(a, b) {
  let [differ, most] = [0, 0];
  for (let k = 0; k < a.data.length; k += 4) {
    const far = Math.max(...[0, 1, 2].map((c) => Math.abs(a.data[k + c] - b.data[k + c])));
    most = Math.max(most, far);
    if (far > FAR) differ += 1;
  }
  return { share: (400 * differ) / a.data.length, most };
}

async function compare(browser, { name, address, session, theme, filtered, collapsed, view: kind }) {
  const url = addressOf({ address, session });
  const themed = theme ? { theme } : {};
  // A background of the address is the page's own: the server is told of it.
  const backed = theme || !url.searchParams.has('bg') ? {} : { background: url.searchParams.get('bg') };
  if (theme) url.searchParams.delete('bg');
  // Communities in place of nodes only where these are compared; the button of bundling is in the menu.
  const asFar = kind === 'groups' ? {} : { superGraph: 'false' };
  const asMenu = kind === 'bundled' ? {} : { menu: 'false' };
  const query = `${url.searchParams}&${BARE}&${new URLSearchParams({ ...themed, ...asFar, ...asMenu })}`;
  const { page, context } = await open(browser, base, query, {
    width: WIDTH,
    height: HEIGHT,
    before: async (blank) => {
      await blank.setExtraHTTPHeaders(headers);
      await blank.addInitScript(() => {
        const { getExtension } = WebGL2RenderingContext.prototype;
        WebGL2RenderingContext.prototype.getExtension = function (extension) {
          return extension === 'WEBGL_debug_renderer_info' ? null : getExtension.call(this, extension);
        };
      });
    },
  });
  await stopped(page);
  // What a filter leaves is told some time after the graph.
  if (filtered) await page.waitForFunction(() => window.__viewer.doc.shown !== null);
  if (collapsed) await page.waitForFunction((n) => window.__viewer.groups.length === n, collapsed);
  if (kind === 'bundled') {
    await page.click('#bundle');
    await page.waitForSelector('#bundle[aria-pressed="true"]');
  }
  await page.addStyleTag({ content: HIDE });
  await settle(page);
  const { view, size, fitScale, software } = await page.evaluate(() => window.__viewer.doc);
  if (software) throw new Error('the page draws as on a software device');
  // A menu leaves the picture less room.
  const clip = await page.locator('#picture').boundingBox();
  const file = await page.screenshot({ clip });
  const shown = decodePng(file);
  const half = [size.w / 2 / view.scale, size.h / 2 / view.scale];
  const asked = new URLSearchParams({
    width: size.w,
    height: size.h,
    ...themed,
    ...backed,
    ...asFar,
    bundle: kind === 'bundled',
    names: false,
    left: view.cx - half[0],
    right: view.cx + half[0],
    top: view.cy + half[1],
    bottom: view.cy - half[1],
    zoom: view.scale / fitScale,
    wait: 0,
  });
  const answer = await fetch(`${base}/viz/${session}/picture.png?${asked}`, { headers });
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${await answer.text()}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  const drawn = decodePng(bytes);
  if (folder) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}-${kind}-page.png`), file);
    writeFileSync(join(folder, `${name}-${kind}-server.png`), bytes);
  }
  const { nodes, edges } = await page.evaluate(() => window.__viewer.counts);
  await context.close();
  const title = kind === 'nodes' ? name : `${name}, ${kind}`;
  return { name: title, nodes, edges, theme, kb: bytes.length / 1024, ...difference(shown, drawn) };
}

const browser = await launch();
try {
  console.log('| graph | nodes | edges | theme | pixels that differ, % | greatest difference | PNG of the server, KB |');
  console.log('|---|---:|---:|---|---:|---:|---:|');
  const views = gallery.flatMap((graph) => (graph.views ?? ['nodes']).map((view) => ({ ...graph, view })));
  for (const graph of views) {
    const { name, nodes, edges, theme, share, most, kb } = await compare(browser, graph);
    const cells = [name, nodes, edges, theme ?? 'its own', share.toFixed(3), most, kb.toFixed(0)];
    console.log(`| ${cells.join(' | ')} |`);
    if (share > BAR) process.exitCode = 1;
  }
} finally {
  await browser.close();
}
