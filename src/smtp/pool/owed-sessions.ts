import { LIMITS } from "../../config/limits/limits.ts";

/** Number of sessions that an MX host must still close, once they are idle, for others that wait for a slot. */
export class OwedSessions {
  #count = 0;
  /** Sessions of `#count` that need no minimum age. */
  #soon = 0;

  get count(): number {
    return this.#count;
  }

  /** @returns false when all `sessions` of the host are owed already */
  add(isSoon: boolean, sessions: number): boolean {
    const isMore = this.#count < sessions;
    if (isMore) this.#count++;
    if (isSoon) this.#soon = Math.min(this.#soon + 1, this.#count);
    return isMore;
  }

  /** True when a session of age `ageMs` has served long enough to be closed. */
  isDueFrom(ageMs: number): boolean {
    return this.#soon > 0 || ageMs >= LIMITS.smtp.slotTenureMs;
  }

  /** One session was closed. It counts first for the waiter that cannot wait. */
  settle(): void {
    this.#count--;
    if (this.#soon > 0) this.#soon--;
  }

  /** The host has no more than `sessions` left to close. */
  limitTo(sessions: number): void {
    this.#count = Math.min(this.#count, sessions);
    this.#soon = Math.min(this.#soon, this.#count);
  }
}
