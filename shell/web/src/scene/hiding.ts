type Marks = Uint8Array | null;

/** Elements that are not drawn, by the reason; 1 for each. */
export class Hiding {
  /** Those that filters hide. */
  masks: { node: Marks; edge: Marks } = { node: null, edge: null };
  /** Those that something else stands for. */
  covered: { node: Marks; edge: Marks } = { node: null, edge: null };

  /** All of an axis, with other ones that filters hide. */
  with(axis: 'node' | 'edge', marks: Marks): Marks {
    this.masks[axis] = marks;
    const covered = this.covered[axis];
    return marks && covered ? marks.map((mark, i) => mark | covered[i]) : (marks ?? covered);
  }

  clear(): void {
    this.masks = { node: null, edge: null };
    this.covered = { node: null, edge: null };
  }
}
