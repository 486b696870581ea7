// The outlines of all flags in one file, engine/raster/flags/flags.json, from which the server draws, made of
// the package circle-flags. The page takes the package's own files (dev/bound-files.mjs). Only for another
// version of it.
// Usage: node dev/flag-shapes.mjs

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { outlines } from './flag-paths.mjs';

/** The flags that the server may name: engine/scene/src/icons/flags.rs, whose test compares the lists. */
const FLAGS = `
  ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs bt bv bw
  by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg eh er es et eu
  fi fj fk fm fo fr ga gb gb-eng gb-nir gb-sct gb-wls gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy
  hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li
  lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng
  ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh
  si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug um un us
  uy uz va vc ve vg vi vn vu wf ws xk ye yt za zm zw
`.trim().split(/\s+/);

/** All flags as the package has them, by their codes. */
export function drawings() {
  const read = (code) => {
    const file = new URL(`../node_modules/circle-flags/flags/${code}.svg`, import.meta.url);
    return readFileSync(file, 'utf8').trim();
  };
  return Object.fromEntries(FLAGS.map((code) => [code, read(code)]));
}

/** What the server's file has to be: a line each. */
export function shapes(flags = drawings()) {
  const lines = Object.entries(flags).map(([code, svg]) => `"${code}":${JSON.stringify(outlines(svg))}`);
  return `{${lines.join(',\n')}}\n`;
}

/** The server's file. */
export const FILE = new URL('../../../engine/raster/flags/flags.json', import.meta.url);

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(FILE, shapes());
