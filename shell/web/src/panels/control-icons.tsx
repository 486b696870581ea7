import type { JSX } from 'preact';
import { icon } from './icons.tsx';

/** Icons of buttons and panels that come once the graph is on the screen. */

export const Fit = (): JSX.Element =>
  icon(<path d="M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10" stroke-linecap="round" />);
export const Rectangle = (): JSX.Element =>
  icon(<path d="M2.5 3.5h11v9h-11z" stroke-dasharray="2.4 1.8" />);
export const Lasso = (): JSX.Element =>
  icon(
    <path
      d="M8 2.5c3.3 0 5.7 1.6 5.7 3.7S11.3 9.9 8 9.9 2.3 8.3 2.3 6.2 4.7 2.5 8 2.5zM5.2 9.5c-.6 1.6-.2 3 1.6 4"
      stroke-linecap="round"
    />,
  );
export const Camera = (): JSX.Element =>
  icon(<path d="M8 2.5v7.2M5 7l3 3 3-3M2.8 12.8h10.4" stroke-linecap="round" stroke-linejoin="round" />);
export const Search = (): JSX.Element =>
  icon(
    <path
      d="M7 2.6a4.4 4.4 0 1 1 0 8.8 4.4 4.4 0 0 1 0-8.8zM10.3 10.3l3.2 3.2"
      stroke-linecap="round"
    />,
  );
export const Plus = (): JSX.Element => icon(<path d="M8 3v10M3 8h10" stroke-linecap="round" />);
export const Minus = (): JSX.Element => icon(<path d="M3 8h10" stroke-linecap="round" />);
export const Aim = (): JSX.Element =>
  icon(
    <path
      d="M8 4.2a3.8 3.8 0 1 1 0 7.6 3.8 3.8 0 0 1 0-7.6zM8 1.5v3M8 11.5v3M1.5 8h3M11.5 8h3"
      stroke-linecap="round"
    />,
  );
export const Chevron = (): JSX.Element =>
  icon(<path d="M4 6l4 4 4-4" stroke-linecap="round" stroke-linejoin="round" />);
