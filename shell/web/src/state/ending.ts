import type { Told } from '../net/messages.ts';
import { CLOSE } from '../net/session.ts';
import { PageControl } from './page-control.ts';
import * as store from './store.ts';

/** A login that cannot be renewed leads to the form. */
const RENEWALS_MAX = 1;

/** The end of the link to the server, and the account that the page belongs to while it stands. */
export class Ending {
  /** Links that were opened again because a login had ended, since the last one that stood. */
  private renewals = 0;

  readonly control = new PageControl();

  constructor(private readonly open: () => void) {}

  /** The link stands. */
  stands(hello: Told<'hello'>): void {
    this.renewals = 0;
    this.control.told(hello);
    store.user.value = hello.user;
  }

  ended(code: number, reason: string): void {
    // The server says why in a message before it closes; the card repeats it, so no banner is needed.
    store.detail.value = reason || (store.notice.value ?? '');
    store.notice.value = null;
    document.body.dataset.connected = 'false';
    if (code === CLOSE.AUTH && this.renewals < RENEWALS_MAX) {
      // The browser's session may outlive the login that this link was opened with.
      this.renewals += 1;
      this.open();
      return;
    }
    store.phase.value = code === CLOSE.ENDED ? 'ended' : 'missing';
    // Whoever signs in in another window comes back to the graph.
    if (code !== CLOSE.ENDED) addEventListener('focus', () => this.comeBack(), { once: true });
  }

  private comeBack(): void {
    if (store.phase.value !== 'missing' || store.params.dataset === '') return;
    store.phase.value = 'connecting';
    this.open();
  }
}
