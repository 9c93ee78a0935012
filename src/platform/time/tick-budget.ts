import { setImmediate as nextTick } from "node:timers/promises";
import type { Clock } from "./clock.ts";

/** The time that long work may take of each tick of the event loop, where its steps differ in duration. */
export class TickBudget {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #budgetMs: number;
  #endMs: number;

  constructor(clock: Pick<Clock, "monotonic">, budgetMs: number) {
    this.#clock = clock;
    this.#budgetMs = budgetMs;
    this.#endMs = clock.monotonic() + budgetMs;
  }

  /** The time since `renew`, waits included, has reached the budget. */
  get isSpent(): boolean {
    return this.#clock.monotonic() >= this.#endMs;
  }

  /** Lets other work run. Resolves in a later tick, with the whole budget. */
  async renew(): Promise<void> {
    await nextTick();
    this.#endMs = this.#clock.monotonic() + this.#budgetMs;
  }
}
