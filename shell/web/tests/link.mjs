// Opens a login link the way a person would, then once more in another browser, and prints what was seen as
// one line of JSON: node link.mjs LINK [SCREENSHOT.png]

import { census, launch, open, pixels } from './page/browser.mjs';

const [address, shot] = process.argv.slice(2);
const { origin } = new URL(address);
const browser = await launch();
try {
  const { page, context, complaints } = await open(browser, origin, '', { address });
  await page.evaluate(() => window.__viewer.settle());
  if (shot) await page.screenshot({ path: shot });
  const counts = await page.evaluate(() => window.__viewer.counts);
  const { lit } = census(await pixels(page));
  const kept = ({ name, httpOnly, sameSite }) => ({ name, httpOnly, sameSite });
  const cookies = (await context.cookies()).map(kept);
  const script = await page.evaluate(() => document.cookie);
  const referrer = await page.evaluate(() => document.referrer);
  const other = await browser.newContext();
  const second = await other.newPage();
  const again = await second.goto(address);
  console.log(
    JSON.stringify({
      ...counts,
      lit,
      url: page.url(),
      cookies,
      script,
      referrer,
      errors: complaints,
      again: { status: again.status(), text: await second.innerText('main') },
    }),
  );
} finally {
  await browser.close();
}
