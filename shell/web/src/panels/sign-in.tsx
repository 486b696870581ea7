import type { JSX } from 'preact';
import * as act from '../state/actions.ts';
import * as store from '../state/store.ts';
import * as icons from './icons.tsx';

/** In a frame of another site the form has to have a window of its own. */
const target = window.top === window ? '_self' : '_blank';

/** What stands where a graph would be that is not there, or not for this person: the two look alike. */
export function NotHere({ text }: { text: string }): JSX.Element {
  return (
    <div class="center" id="missing" role="status">
      <icons.Mark />
      <h2>There is no such graph, or you have to sign in</h2>
      <p>{text}</p>
      <a class="button primary big" id="signin" href={act.signInAddress()} target={target} rel="opener">
        {store.user.value ? 'Sign in as somebody else' : 'Sign in'}
      </a>
    </div>
  );
}

/** Who is signed in, and the way to change that. */
export function Account(): JSX.Element | null {
  const user = store.user.value;
  if (user === null) return null;
  return (
    <a
      class="button account"
      id="account"
      href={act.signInAddress()}
      target={target}
      rel="opener"
      title={user === '' ? 'Sign in' : `Signed in as ${user}`}
    >
      <span class="text">{user === '' ? 'Sign in' : user}</span>
    </a>
  );
}
