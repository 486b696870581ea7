// Follows a login link on a page of another site, as mail on the web is, then once more in another browser,
// and prints what was seen as one line of JSON: node link.mjs LINK [SCREENSHOT.png]

import { census, launch, open, pixels } from './page/browser.mjs';

const MAIL = 'http://mail.example/';

const [address, shot] = process.argv.slice(2);
const { origin } = new URL(address);
const browser = await launch();
try {
  const { page, context, complaints } = await open(browser, origin, '', {
    address: 'about:blank',
    wait: false,
  });
  const contentType = 'text/html';
  await page.route(MAIL, (route) => route.fulfill({ contentType, body: `<a href="${address}">a graph</a>` }));
  await page.goto(MAIL);
  await page.click('a');
  await page.waitForFunction(() => window.__viewer?.ready === true);
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
      errors: complaints.filter((text) => !text.includes(new URL(MAIL).origin)),
      again: { status: again.status(), text: await second.innerText('main') },
    }),
  );
} finally {
  await browser.close();
}
