import type { JSX } from 'preact';
import { afar, groupsShown } from '../state/afar.ts';
import { icon } from './icons.tsx';

const Groups = (): JSX.Element =>
  icon(<path d="M5.6 3a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6zM11.6 8.6a2 2 0 1 1 0 4 2 2 0 0 1 0-4zM8 8l2 1.4" />);

interface Switch {
  id: string;
  on: boolean;
  title: string;
  Icon: () => JSX.Element;
  press: () => void;
}

function SwitchButton({ id, on, title, Icon, press }: Switch): JSX.Element {
  return (
    <button
      type="button"
      id={id}
      class={on ? 'button square primary' : 'button square'}
      aria-label={title}
      aria-pressed={on}
      title={title}
      onClick={press}
    >
      <Icon />
    </button>
  );
}

/** Switches of how a large graph is shown, where there is something to switch. */
export function AfarButtons(): JSX.Element | null {
  const on = groupsShown.value;
  if (on === null) return null;
  const title = 'Show communities from afar';
  return <SwitchButton id="groups" {...{ on, title, Icon: Groups }} press={() => afar.layer?.show(!on)} />;
}
