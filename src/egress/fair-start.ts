import { LIMITS } from "../config/limits/limits.ts";
import type { Clock } from "../platform/time/clock.ts";

interface Start {
  /** Number of requests of each thread. */
  asked: Map<object, number>;
  waiting: (() => void)[];
}

/**
 * Gives each thread its share first when several threads start with a site at which no thread holds a slot. Otherwise the
 * thread that was first by one tick took all slots. The rows of the others waited until its rows were served, and half of
 * its connections had to be closed and opened again by the others. Requests beyond a share wait, in order, until
 * `LIMITS.slots.fairStartMs` after the first request.
 */
export class FairStart {
  readonly #clock: Clock;
  readonly #starts = new Map<string, Start>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param isNew no thread holds a slot of `site`
   * @param share number of requests of `thread` that need not wait
   * @returns null: no wait
   */
  waitForShare(site: string, thread: object, isNew: boolean, share: number): Promise<void> | null {
    const start = this.#starts.get(site) ?? (isNew ? this.#begin(site) : null);
    if (start === null) return null;
    const asked = (start.asked.get(thread) ?? 0) + 1;
    start.asked.set(thread, asked);
    return asked <= share ? null : new Promise((resolve) => start.waiting.push(resolve));
  }

  #begin(site: string): Start {
    const start: Start = { asked: new Map(), waiting: [] };
    this.#starts.set(site, start);
    this.#clock.after(LIMITS.slots.fairStartMs, () => {
      this.#starts.delete(site);
      for (const goOn of start.waiting) goOn();
    });
    return start;
  }
}
