import { AppError } from "../errors.ts";

/** The counters that this process knows, by key. Idle ones are forgotten when there is no room for another. */
export class CounterSet<Counter extends { readonly isIdle: boolean; isForgotten: boolean }> {
  readonly #counters = new Map<string, Counter>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** undefined: nothing was taken from it here. */
  get(key: string): Counter | undefined {
    return this.#counters.get(key);
  }

  /** @throws AppError `overloaded` when too many counters are in use */
  add(key: string, counter: Counter): Counter {
    if (this.#counters.size >= this.#max) this.#forgetIdle();
    if (this.#counters.size >= this.#max)
      throw new AppError("overloaded", "Too many teams are served by this process.", { retryAfterS: 1 });
    this.#counters.set(key, counter);
    return counter;
  }

  all(): Iterable<Counter> {
    return this.#counters.values();
  }

  #forgetIdle(): void {
    for (const [key, counter] of this.#counters) {
      if (!counter.isIdle) continue;
      this.#counters.delete(key);
      counter.isForgotten = true;
    }
  }
}
