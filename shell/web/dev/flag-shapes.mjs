// All flags in one file, engine/raster/flags/flags.json, from which the server draws and which the page's
// build copies, of the package circle-flags. Only for another version of it.
// Usage: node dev/flag-shapes.mjs

import { readFileSync, writeFileSync } from 'node:fs';

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

const read = (code) => {
  const file = new URL(`../node_modules/circle-flags/flags/${code}.svg`, import.meta.url);
  return readFileSync(file, 'utf8');
};
const flags = FLAGS.filter((code) => code !== '').map((code) => [code, read(code).trim()]);
const file = new URL('../../../engine/raster/flags/flags.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(Object.fromEntries(flags))}\n`);
