// Files that a page needs only where a dataset binds icons, flags or places on a map, made from packages
// into `dist/bound`: the icon font, all flags in one file, coast lines and borders, and their licences.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('..', import.meta.url));
const module = (...path) => join(web, 'node_modules', ...path);
const out = join(web, 'dist', 'bound');

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
`.split(/\s+/);

mkdirSync(out, { recursive: true });
copyFileSync(module('font-awesome', 'fonts', 'fontawesome-webfont.woff2'), join(out, 'icons.woff2'));

const flags = FLAGS.filter((code) => code !== '').map((code) => {
  const svg = readFileSync(module('circle-flags', 'flags', `${code}.svg`), 'utf8').trim();
  return [code, svg];
});
writeFileSync(join(out, 'flags.json'), JSON.stringify(Object.fromEntries(flags)));

// The server's pictures have the same coasts, from the same file (dev/map-lines.mjs makes it).
copyFileSync(join(web, '..', '..', 'engine', 'raster', 'world', 'lines.json'), join(out, 'map.json'));

const licences = [
  readFileSync(join(web, 'licences', 'font-awesome.txt'), 'utf8'),
  `The flags are those of circle-flags:\n\n${readFileSync(module('circle-flags', 'LICENSE.md'), 'utf8')}`,
  'Coast lines and borders: made with Natural Earth (https://www.naturalearthdata.com), public domain, from the ' +
    `package world-atlas:\n\n${readFileSync(module('world-atlas', 'LICENSE'), 'utf8')}`,
];
const rule = `\n\n${'='.repeat(78)}\n\n`;
writeFileSync(join(out, 'LICENCES.txt'), `${licences.map((text) => text.trim()).join(rule)}\n`);
