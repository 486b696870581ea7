/** Shelves of a texture for pictures of one height; the one unused for longest gives way. */

export interface Spot {
  x: number;
  y: number;
  w: number;
}

interface Shelf {
  y: number;
  /** Pixels that are taken from the left. */
  taken: number;
  keys: string[];
  /** Turn in which something of it was last asked for. */
  used: number;
}

/**
 * Spots of a texture, each known by a key. A turn is one look at all that is drawn: what was asked for within
 * it keeps its spot until the next.
 */
export class Shelves {
  private readonly shelves: Shelf[] = [];
  private readonly spots = new Map<string, { spot: Spot; shelf: Shelf }>();
  private turn = 0;

  constructor(
    readonly width: number,
    readonly rowHeight: number,
    /** Shelves at most. */
    private readonly most: number,
  ) {}

  nextTurn(): void {
    this.turn += 1;
  }

  /** Pixels from the top that hold shelves. */
  get height(): number {
    return this.shelves.length * this.rowHeight;
  }

  /** The spot of a key that has one. */
  find(key: string): Spot | null {
    const found = this.spots.get(key);
    if (!found) return null;
    found.shelf.used = this.turn;
    return found.spot;
  }

  /** Makes a spot for a new key; null when what this turn asked for leaves no room. */
  add(key: string, w: number): Spot | null {
    if (w > this.width) return null;
    const shelf = this.shelfFor(w);
    if (!shelf) return null;
    const spot = { x: shelf.taken, y: shelf.y, w };
    shelf.taken += w;
    shelf.used = this.turn;
    shelf.keys.push(key);
    this.spots.set(key, { spot, shelf });
    return spot;
  }

  private shelfFor(w: number): Shelf | null {
    const open = this.shelves.find((shelf) => shelf.taken + w <= this.width);
    if (open) return open;
    if (this.shelves.length < this.most) {
      const shelf = { y: this.height, taken: 0, keys: [], used: this.turn };
      this.shelves.push(shelf);
      return shelf;
    }
    const oldest = this.shelves.reduce((a, b) => (b.used < a.used ? b : a));
    if (oldest.used === this.turn) return null;
    for (const key of oldest.keys) this.spots.delete(key);
    oldest.keys = [];
    oldest.taken = 0;
    return oldest;
  }
}
