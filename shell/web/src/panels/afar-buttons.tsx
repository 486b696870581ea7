import type { JSX } from 'preact';
import { afar, bundled, discs, groupsShown, needsAfar, withAfar } from '../state/afar.ts';
import { inSpace } from '../state/space.ts';
import * as store from '../state/store.ts';
import { icon } from './icons.tsx';

const Groups = (): JSX.Element =>
  icon(<path d="M5.6 3a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6zM11.6 8.6a2 2 0 1 1 0 4 2 2 0 0 1 0-4zM8 8l2 1.4" />);

const Expand = (): JSX.Element =>
  icon(<path d="M8 2v3M8 11v3M2 8h3M11 8h3M6.4 8a1.6 1.6 0 1 0 3.2 0 1.6 1.6 0 1 0-3.2 0z" stroke-linecap="round" />);

const Bundled = (): JSX.Element =>
  icon(<path d="M2 3c4 0 4 5 6 5s2-5 6-5M2 13c4 0 4-5 6-5s2 5 6 5" stroke-linecap="round" />);
/** Edges from which bundling them says something. */
const BUNDLED_FROM = 200;

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
      title={inSpace.value ? `${title} (not in 3D)` : title}
      disabled={inSpace.value}
      onClick={press}
    >
      <Icon />
    </button>
  );
}

/** Switches of how a large graph is shown, where there is something to switch. */
export function AfarButtons(): JSX.Element | null {
  const on = groupsShown.value;
  const title = 'Show communities from afar';
  return (
    <>
      {on !== null && (
        <SwitchButton id="groups" {...{ on, title, Icon: Groups }} press={() => afar.layer?.show(!on)} />
      )}
      {store.edgeCount.value >= BUNDLED_FROM && (
        <SwitchButton
          id="bundle"
          on={bundled.value}
          title="Bundle edges between communities"
          Icon={Bundled}
          press={() => {
            needsAfar.value = true;
            withAfar((layer) => layer.bundle(!bundled.value));
          }}
        />
      )}
      {discs.value > 0 && (
        <button
          type="button"
          id="expand"
          class="button square"
          aria-label="Expand all discs"
          title="Expand all discs"
          onClick={() => void afar.layer?.expandAll()}
        >
          <Expand />
        </button>
      )}
    </>
  );
}
