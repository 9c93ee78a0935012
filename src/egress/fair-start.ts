import { LIMITS } from "../config/limits/limits.ts";
import type { Clock } from "../platform/time/clock.ts";

interface Start {
  /** How often each thread has asked. */
  asked: Map<object, number>;
  waiting: (() => void)[];
}

/**
 * Where no thread holds a slot of a site, threads that come to it together each get their share of its slots first.
 * Without that, the thread that was in front by one tick took them all: the others' rows waited until its rows were served,
 * and half of its connections had to be closed and opened once more by the others. What is asked for beyond a share waits
 * until `LIMITS.slots.fairStartMs` after the first request, in order.
 */
export class FairStart {
  readonly #clock: Clock;
  readonly #starts = new Map<string, Start>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param isNew no thread holds a slot of `site`
   * @param share so many requests of `thread` go on at once
   * @returns null: it may ask now
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
