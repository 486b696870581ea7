import type { Rgb } from './color.ts';

/** Look of the elements. */
export interface Look {
  pointSize: number;
  pointOpacity: number;
  strokeWidth: number;
  edgeOpacity: number;
  curvature: number;
  /** Arrow heads; null: where the edges show that their direction says something. */
  arrows: boolean | null;
  highlight: 'both' | 'incoming' | 'outgoing' | 'node' | 'none';
  hops: number;
}

/** What is behind them. */
export interface Backdrop {
  center: Rgb;
  edge: Rgb;
  clear: boolean;
  light: boolean;
}
