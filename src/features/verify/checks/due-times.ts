interface Due<T> {
  item: T;
  dueMs: number;
}

/** Items in the order in which they are due. To add or to remove one of n moves up to n references, no more. */
export class DueTimes<T> {
  /** The latest first, so that the next is taken off the end. */
  readonly #due: Due<T>[] = [];

  get size(): number {
    return this.#due.length;
  }

  /** Time of the next due item; null: there is none. */
  get nextMs(): number | null {
    return this.#due.at(-1)?.dueMs ?? null;
  }

  add(item: T, dueMs: number): void {
    this.#due.splice(this.#after(dueMs), 0, { item, dueMs });
  }

  remove(item: T): void {
    const at = this.#due.findIndex((due) => due.item === item);
    if (at >= 0) this.#due.splice(at, 1);
  }

  /** The next if it is due by `nowMs`, and no longer here. */
  take(nowMs: number): T | null {
    const next = this.#due.at(-1);
    if (next === undefined || next.dueMs > nowMs) return null;
    this.#due.pop();
    return next.item;
  }

  clear(): void {
    this.#due.length = 0;
  }

  /** Index for an item that is due at `dueMs`, after earlier added ones with the same time. */
  #after(dueMs: number): number {
    let low = 0;
    let high = this.#due.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#due[middle]?.dueMs ?? 0) > dueMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
