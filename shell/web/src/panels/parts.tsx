import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Something that is on or off. */
export function Switch(props: { on: boolean; label: string; change: (on: boolean) => void }): JSX.Element {
  return (
    <button
      type="button"
      role="switch"
      class={props.on ? 'switch on' : 'switch'}
      aria-checked={props.on}
      aria-label={props.label}
      title={props.on ? 'Turn off' : 'Turn on'}
      onClick={() => props.change(!props.on)}
    >
      <i />
    </button>
  );
}

/** A field for a name that takes the place of it: Enter or leaving it takes the name, Escape does not. */
export function Name(props: {
  value: string;
  placeholder: string;
  label: string;
  done: (name: string | null) => void;
}): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const given = useRef(false);
  useLayoutEffect(() => field.current?.select(), []);
  const end = (name: string | null): void => {
    if (given.current) return;
    given.current = true;
    props.done(name);
  };
  return (
    <input
      ref={field}
      class="field name"
      aria-label={props.label}
      placeholder={props.placeholder}
      defaultValue={props.value}
      onKeyDown={(event) => {
        if (event.key === 'Enter') end(event.currentTarget.value.trim());
        else if (event.key === 'Escape') end(null);
        else return;
        event.stopPropagation();
      }}
      onBlur={(event) => end(event.currentTarget.value.trim())}
    />
  );
}
