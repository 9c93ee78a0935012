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

  /** What is known to go well; infinite while nothing has been learnt. */
  get most(): number {
    return this.#most;
  }

  get isKnown(): boolean {
    return this.#most !== Number.POSITIVE_INFINITY;
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
    this.#tryAt = now + this.#holdMs;
  }

  /** How much may be had. When a try is due, a little more than is known to go well, for this one caller. */
  take(now: number): number {
    if (!this.isKnown || now < this.#tryAt) return this.#most;
    this.#tryAt = now + this.#holdMs;
    this.#trying = true;
    return this.#most + this.#step;
  }

  /** So much went well. */
  bore(count: number, now: number): void {
    if (count <= this.#most) return;
    this.#most = count;
    this.#step *= 2;
    this.#trying = false;
    this.#holdMs = LIMITS.learnt.holdMs;
    this.#tryAt = now + LIMITS.learnt.stepMs;
  }

  forget(): void {
    this.#most = Number.POSITIVE_INFINITY;
    this.#step = 1;
    this.#trying = false;
  }
}
