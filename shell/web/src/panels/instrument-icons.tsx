import type { JSX } from 'preact';
import { icon } from './icons.tsx';

const line = (d: string) => (): JSX.Element =>
  icon(<path d={d} stroke-linecap="round" stroke-linejoin="round" />);

export const UndoIcon = line('M5.5 3 2.5 6l3 3M2.8 6h6.4a3.6 3.6 0 0 1 0 7.2H6');
export const RedoIcon = line('M10.5 3l3 3-3 3M13.2 6H6.8a3.6 3.6 0 0 0 0 7.2H10');
export const FilterIcon = line('M2.2 3h11.6L9.4 8.4v4.8L6.6 11.6V8.4z');
export const HistogramIcon = line('M2.5 13.5h11M4 11V8M6.7 11V3.5M9.3 11V5.5M12 11V9');
export const SetsIcon = line(
  'M6 3.4a4.6 4.6 0 1 1 0 9.2 4.6 4.6 0 0 1 0-9.2zM10 3.4a4.6 4.6 0 1 1 0 9.2 4.6 4.6 0 0 1 0-9.2z',
);
export const PencilIcon = line('M3 13l.6-2.8 7-7 2.2 2.2-7 7zM9 4.8 11.2 7');
export const SizeIcon = line('M5 8.6a2 2 0 1 1 0 4 2 2 0 0 1 0-4zM10.4 2.6a3.6 3.6 0 1 1 0 7.2 3.6 3.6 0 0 1 0-7.2z');
export const OpacityIcon = line('M8 2.5a5.5 5.5 0 1 1 0 11zM8 2.5a5.5 5.5 0 0 0 0 11M8 5.5h3.8M8 8h5M8 10.5h3.8');
export const IconIcon = line('M8 2.2l1.8 3.7 4 .6-2.9 2.8.7 4L8 11.4l-3.6 1.9.7-4L2.2 6.5l4-.6z');
export const ColorIcon = (): JSX.Element =>
  icon(<path d="M8 1.8c2.5 3 4 5 4 7.2a4 4 0 0 1-8 0c0-2.2 1.5-4.2 4-7.2z" />, true);
export const DownIcon = line('M4 6l4 4 4-4');
export const GripIcon = line('M6 4h.01M10 4h.01M6 8h.01M10 8h.01M6 12h.01M10 12h.01');
export const UpIcon = line('M4 10l4-4 4 4');
