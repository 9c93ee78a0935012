/** Who can be in a `PassingSet`, one at a time. */
export interface Passing {
  /** The set's own: where in it he is. */
  seat: number;
}

/**
 * A set of what comes and goes all the time, and is walked over: an array in which the last one takes the seat of who leaves.
 * Why no Set: see `PassingMap`; what stood in one for a moment would live until the heap is marked. In no order.
 */
export class PassingSet<T extends Passing> {
  readonly #seated: T[] = [];

  get size(): number {
    return this.#seated.length;
  }

  /** @param item in no set */
  add(item: T): void {
    item.seat = this.#seated.push(item) - 1;
  }

  /** @returns false when it was not there */
  delete(item: T): boolean {
    const { seat } = item;
    if (this.#seated[seat] !== item) return false;
    const last = this.#seated.pop() as T;
    if (last === item) return true;
    last.seat = seat;
    this.#seated[seat] = last;
    return true;
  }

  /** The array itself: who walks over it and lets some go needs a copy. */
  get items(): readonly T[] {
    return this.#seated;
  }
}
