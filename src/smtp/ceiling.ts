import { LIMITS } from "../core/limits.ts";

/**
 * How much of something a server bears: learnt by going too far, unlearnt by trying a little more now and then. A try
 * that fails puts the next one off twice as long, up to `LIMITS.learnt.holdMaxMs`; one that succeeds makes the next
 * one larger, so that a limit which is gone is soon forgotten. Times are monotonic milliseconds.
 */
export class Ceiling {
  #most = Number.POSITIVE_INFINITY;
  #step = 1;
  #holdMs = 0;
  #tryAt = 0;
  /** A try was let go and has not come to its end. */
  #trying = false;
  /** It was given where to begin, and nothing has gone wrong since: the next try need not wait. */
  #eager = false;
  /** Where it began, while it is eager. */
  #begun = 0;

  /** What is known to go well; infinite while nothing has been learnt. */
  get most(): number {
    return this.#most;
  }

  get isKnown(): boolean {
    return this.#most !== Number.POSITIVE_INFINITY;
  }

  /** More than is known may be tried at once. */
  get isEager(): boolean {
    return this.#eager;
  }

  /**
   * Nothing has been learnt yet: `most` is where to begin.
   * @param firm it is a known limit: more is tried once in `LIMITS.learnt.holdMaxMs`; else at once: by one, and by all once that one
   *   came to twice as much, each time up to twice what has gone well
   */
  begin(most: number, firm: boolean, now: number): void {
    this.#most = most;
    this.#begun = most;
    this.#step = firm ? 1 : most;
    this.#eager = !firm;
    this.#holdMs = firm ? LIMITS.learnt.holdMaxMs : LIMITS.learnt.holdMs;
    this.#tryAt = firm ? now + LIMITS.learnt.holdMaxMs : now;
  }

  /** More than `most` (at least 1) went wrong. */
  lower(most: number, now: number): void {
    const { holdMs, holdMaxMs } = LIMITS.learnt;
    if (most < this.#most) {
      this.#most = Math.max(1, most);
      this.#holdMs = holdMs;
    } else if (this.#trying) this.#holdMs = Math.min(this.#holdMs * 2, holdMaxMs);
    this.#step = 1;
    this.#trying = false;
    this.#eager = false;
    this.#tryAt = now + this.#holdMs;
  }

  /** How much may be had. When a try is due, more than is known to go well, for this one caller. */
  take(now: number): number {
    if (this.#eager && this.#most >= 2 * this.#begun) return this.#most + this.#step;
    if (!this.isKnown || now < this.#tryAt) return this.#most;
    this.#tryAt = now + (this.#eager ? LIMITS.learnt.eagerMs : this.#holdMs);
    this.#trying = true;
    return this.#most + this.#step;
  }

  /** So much went well. */
  bore(count: number, now: number): void {
    if (count <= this.#most) return;
    this.#most = count;
    // An eager one tries twice as much as has gone well.
    this.#step = this.#eager ? count : this.#step * 2;
    this.#trying = false;
    this.#holdMs = LIMITS.learnt.holdMs;
    this.#tryAt = this.#eager ? now : now + LIMITS.learnt.stepMs;
  }

  forget(): void {
    this.#most = Number.POSITIVE_INFINITY;
    this.#step = 1;
    this.#trying = false;
    this.#eager = false;
  }
}
