import type { Told } from '../net/messages.ts';
import { WATCHING } from './layout-words.ts';
import * as store from './store.ts';

const KEY = `graphlume.steer.${store.params.session}`;

/** Control of the session: the key of the page that made it stays in this tab and out of the address. */
export class PageControl {
  private key: string | null = remembered();
  private joins = false;

  /** The server says what this page may do. */
  told(hello: Told<'hello'>): void {
    store.steers.value = hello.steers !== false;
    store.framed.value = hello.framed;
    this.joins = !store.steers.value;
    if (!hello.key) return;
    this.key = hello.key;
    try {
      sessionStorage.setItem(KEY, hello.key);
    } catch {
      // Storage is closed to pages in some frames: the key lives as long as the page then.
    }
  }

  arrival(): [string, string][] {
    if (this.key) return [['steer', this.key]];
    return this.joins ? [['joins', '1']] : [];
  }
}

function remembered(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Whether this page controls the session; says why when it does not. */
export function maySteer(): boolean {
  if (!store.steers.value) store.notice.value = WATCHING;
  return store.steers.value;
}
