import type { JSX } from 'preact';

/** Line icons of one weight, 16 units square. */
export function icon(path: JSX.Element, filled = false): JSX.Element {
  const paint = filled ? { fill: 'currentColor' } : { fill: 'none', stroke: 'currentColor' };
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" stroke-width="1.5" {...paint}>
      {path}
    </svg>
  );
}

export const Play = (): JSX.Element =>
  icon(<path d="M4.5 2.8v10.4a.6.6 0 0 0 .9.5l8-5.2a.6.6 0 0 0 0-1l-8-5.2a.6.6 0 0 0-.9.5z" />, true);
export const Pause = (): JSX.Element => icon(<path d="M4 3h2.6v10H4zM9.4 3H12v10H9.4z" />, true);
export const Sun = (): JSX.Element =>
  icon(
    <path
      d="M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6zM8 1.3v1.5M8 13.2v1.5M1.3 8h1.5M13.2 8h1.5M3.3 3.3l1 1M11.7 11.7l1 1M12.7 3.3l-1 1M4.3 11.7l-1 1"
      stroke-linecap="round"
    />,
  );
export const Moon = (): JSX.Element =>
  icon(<path d="M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z" stroke-linejoin="round" />);
export const Close = (): JSX.Element => icon(<path d="M4 4l8 8M12 4l-8 8" stroke-linecap="round" />);
export const Open = (): JSX.Element =>
  icon(
    <path
      d="M9.5 2.5h4v4M13.2 2.8 7.5 8.5M11.5 9.5v4h-9v-9h4"
      stroke-linecap="round"
      stroke-linejoin="round"
    />,
  );

/** The product's mark. */
export const Mark = (): JSX.Element => (
  <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
    <path
      d="M6.5 16.5 12 6.5M12 6.5l6.5 5M6.5 16.5l12-5M6.5 16.5l8.5 3"
      stroke="var(--accent)"
      stroke-opacity=".6"
      stroke-width="1.4"
    />
    <circle cx="6.5" cy="16.5" r="3.6" fill="#2df1c4" />
    <circle cx="12" cy="6.5" r="3.1" fill="#6db9fc" />
    <circle cx="18.5" cy="11.5" r="2.5" fill="#fdd141" />
    <circle cx="15" cy="19.5" r="1.9" fill="#e490bb" />
  </svg>
);
