/** A member of a `PassingSet`, one set at a time. */
export interface Passing {
  /** Owned by the set: its index there. */
  seat: number;
}

/**
 * A set of short-lived members to iterate over: an array in which the last member takes the slot of a removed one. Not a
 * Set, see `PassingMap`: a brief member would live until the heap is marked. Unordered.
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

  /** @returns false when it was not in the set */
  delete(item: T): boolean {
    const { seat } = item;
    if (this.#seated[seat] !== item) return false;
    const last = this.#seated.pop() as T;
    if (last === item) return true;
    last.seat = seat;
    this.#seated[seat] = last;
    return true;
  }

  /** The array itself: copy it to remove members while iterating. */
  get items(): readonly T[] {
    return this.#seated;
  }
}
