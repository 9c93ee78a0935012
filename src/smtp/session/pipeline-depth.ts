import { LearnedLimit } from "./learned-limit.ts";

/** The writes that broke a session at a site, over all its hosts. */
export class LearnedDepthLimit {
  readonly limit = new LearnedLimit();
  /** Transactions of the last broken write, while their number may or may not be the cause. */
  #suspect = Number.POSITIVE_INFINITY;

  /** A write broke without another explanation: the second time, its number of transactions is the cause. */
  recordBreak(written: number, now: number): void {
    if (written < 2) return;
    const { isKnown, safeMax: most } = this.limit;
    if (isKnown && written > most) this.limit.lower(most, now);
    else if (this.#suspect === Number.POSITIVE_INFINITY) this.#suspect = written;
    else {
      this.limit.lower(Math.min(this.#suspect, written) - 1, now);
      this.#suspect = Number.POSITIVE_INFINITY;
    }
  }

  /** The number of transactions was not the cause. */
  clearSuspect(): void {
    this.#suspect = Number.POSITIVE_INFINITY;
  }
}

/**
 * Transactions in one write of a host's sessions: 1 at first and after each failure. It grows by one each time at least
 * half as many succeeded, up to the depth at which the site's servers have failed.
 */
export class PipelineDepth {
  #current = 1;
  /** The server needed a smaller depth, and the depth has not returned to its maximum. */
  #isReduced = false;
  readonly #learned: LearnedDepthLimit;

  constructor(lesson: LearnedDepthLimit) {
    this.#learned = lesson;
  }

  get current(): number {
    return Math.min(this.#current, this.#learned.limit.safeMax);
  }

  /** Transactions that one write of a session takes: the policy's maximum until the server shows otherwise. */
  expected(max: number): number {
    return this.#isReduced ? this.current : Math.min(max, this.#learned.limit.safeMax);
  }

  /** The depth for this write. When a trial is due, one write tries more than has worked so far. */
  take(now: number): number {
    const { safeMax: most } = this.#learned.limit;
    if (this.#current < most) return this.#current;
    return this.#learned.limit.take(now);
  }

  /** A write of `written` transactions was answered. */
  recordSuccess(written: number, max: number, now: number): void {
    const { limit: ceiling } = this.#learned;
    if (written > ceiling.safeMax) ceiling.recordSuccess(written, now);
    if (ceiling.isKnown && ceiling.safeMax >= max) ceiling.forget();
    // Sessions that finish writes together raise the depth together, but not far beyond what has worked.
    if (written * 2 >= this.current) this.#current = Math.min(this.current + 1, max, ceiling.safeMax);
    if (this.#current >= Math.min(max, ceiling.safeMax)) this.#isReduced = false;
  }

  /** @param isExplained a session limit was hit, whatever the write held */
  recordBreak(written: number, isExplained: boolean, now: number): void {
    this.#current = 1;
    this.#isReduced = true;
    if (isExplained) this.#learned.clearSuspect();
    else this.#learned.recordBreak(written, now);
  }
}
