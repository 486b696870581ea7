/** Parts of messages that the server makes with a scene: the legend, and axes and a map under the edges. */

export interface AxisRow {
  /** One of these: the radius of a ring around the origin, or where a line crosses the other axis. */
  r?: number;
  x?: number;
  y?: number;
  label?: string;
  kind: 'plain' | 'internal' | 'external' | 'space';
  /** In pixels. */
  width?: number;
  /** Ends of a line that has some. */
  min?: number;
  max?: number;
}

/** `place = scale · (longitude, projected latitude) + (x, y)`. */
export interface MapPlace {
  scale: number;
  x: number;
  y: number;
}

/** The meaning of colours and sizes, by what they colour and size; `state/legend.ts` reads the rows. */
export interface LegendSides {
  node_size?: { title?: string } | null;
}

export interface Underlay {
  axes: AxisRow[];
  map: MapPlace | null;
  /** What was subtracted from the coordinates of the data; absent where that is nothing. */
  origin?: [number, number];
}
