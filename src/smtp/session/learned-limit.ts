import { LIMITS } from "../../config/limits/limits.ts";

/**
 * A server's limit on something: learned by exceeding it, relaxed by trying a little more now and then. A failed trial
 * doubles the wait before the next one, up to `LIMITS.learned.holdMaxMs`. A successful trial enlarges the next one, so that
 * a lifted limit is soon forgotten. Times are monotonic milliseconds.
 */
export class LearnedLimit {
  #safeMax = Number.POSITIVE_INFINITY;
  #step = 1;
  #holdMs = 0;
  #nextTryAt = 0;
  /** A trial was granted and has not ended. */
  #trying = false;
  /** A starting limit was set and nothing has failed since: the next trial need not wait. */
  #isEager = false;
  /** The starting limit, while eager. */
  #start = 0;

  /** The amount known to work; infinite while nothing is learned. */
  get safeMax(): number {
    return this.#safeMax;
  }

  get isKnown(): boolean {
    return this.#safeMax !== Number.POSITIVE_INFINITY;
  }

  /** More than the known amount may be tried at once. */
  get isEager(): boolean {
    return this.#isEager;
  }

  /**
   * Sets the starting limit while nothing is learned.
   * @param firm a documented limit: more is tried once in `LIMITS.learned.holdMaxMs`. Otherwise more is tried at once, each
   *   time up to twice the amount that worked: by one session, then by all once that one has reached twice the start
   */
  startAt(safeMax: number, firm: boolean, now: number): void {
    this.#safeMax = safeMax;
    this.#start = safeMax;
    this.#step = firm ? 1 : safeMax;
    this.#isEager = !firm;
    this.#holdMs = firm ? LIMITS.learned.holdMaxMs : LIMITS.learned.holdMs;
    this.#nextTryAt = firm ? now + LIMITS.learned.holdMaxMs : now;
  }

  /** More than `safeMax` (at least 1) failed. */
  lower(safeMax: number, now: number): void {
    const { holdMs, holdMaxMs } = LIMITS.learned;
    if (safeMax < this.#safeMax) {
      this.#safeMax = Math.max(1, safeMax);
      this.#holdMs = holdMs;
    } else if (this.#trying) this.#holdMs = Math.min(this.#holdMs * 2, holdMaxMs);
    this.#step = 1;
    this.#trying = false;
    this.#isEager = false;
    this.#nextTryAt = now + this.#holdMs;
  }

  /** The amount to use now. When a trial is due, this one caller gets more than the known amount. */
  take(now: number): number {
    if (this.#isEager && this.#safeMax >= 2 * this.#start) return this.#safeMax + this.#step;
    if (!this.isKnown || now < this.#nextTryAt) return this.#safeMax;
    this.#nextTryAt = now + (this.#isEager ? LIMITS.learned.eagerMs : this.#holdMs);
    this.#trying = true;
    return this.#safeMax + this.#step;
  }

  /** `count` worked. */
  recordSuccess(count: number, now: number): void {
    if (count <= this.#safeMax) return;
    this.#safeMax = count;
    // An eager limit tries twice the amount that worked.
    this.#step = this.#isEager ? count : this.#step * 2;
    this.#trying = false;
    this.#holdMs = LIMITS.learned.holdMs;
    this.#nextTryAt = this.#isEager ? now : now + LIMITS.learned.stepMs;
  }

  forget(): void {
    this.#safeMax = Number.POSITIVE_INFINITY;
    this.#step = 1;
    this.#trying = false;
    this.#isEager = false;
  }
}
