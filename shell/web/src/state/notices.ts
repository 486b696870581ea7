// Notices about what was asked for and is not done: by the dataset, and by the address of the page.

import { blockedSite } from './picture-sites.ts';
import * as store from './store.ts';

/** Sites of pictures that are listed; there are three pictures in a page. */
const SITES_MAX = 3;

/** Takes over what `hello` says of the address, or `graph` of the dataset. */
export function showNotices(subject: 'address' | 'dataset', list: store.Notice[]): void {
  store.notices.value = { ...store.notices.value, [subject]: list };
}

/** Says which sites this page may not ask for pictures: each once, and no more than a few. */
export function watchPictures(target: EventTarget): void {
  target.addEventListener('securitypolicyviolation', (event) => {
    const { effectiveDirective, blockedURI } = event as SecurityPolicyViolationEvent;
    const site = blockedSite(effectiveDirective, blockedURI);
    if (site === null) return;
    const text =
      `A picture of ${site} is not shown: pages of this server load none from there, so that the site ` +
      'does not learn who looks. Its operator may name the site with --picture-host.';
    const { page } = store.notices.value;
    if (page.length >= SITES_MAX || page.some((notice) => notice.text === text)) return;
    store.notices.value = { ...store.notices.value, page: [...page, { slug: 'picture-blocked', text }] };
  });
}
