import { LIMITS } from "../config/limits/limits.ts";
import type { Timer } from "../platform/time/clock.ts";
import type { SlotStatement } from "./slot-leases.ts";

/** One request for a slot that was not granted at once. */
export interface SlotWaiter {
  /** Ends the wait; null for one that does not wait: it is answered with the next word from the store. */
  timer: Timer | null;
  /** The holders here were asked to make room for it. */
  hasAskedHolders: boolean;
  resolve(granted: boolean): void;
}

/** The slots of one site in this process, and the requests for them. Times are monotonic milliseconds. */
export class SiteSlots {
  readonly name: string;
  /** Cap of all processes together. */
  max = 1;
  /** Cap of this process, as learnt from the site. */
  share = 1;
  /** Connections. */
  used = 0;
  /** Used slots that go to another process when their connection ends. */
  owed = 0;
  /** Waiting requests, in order of arrival. */
  readonly queue = new Set<SlotWaiter>();
  /** True while a statement is being sent. */
  isReporting = false;
  /** True while this process is queued for it at the store. */
  isQueuedAtStore = false;
  reportedAt = Number.NEGATIVE_INFINITY;
  announcedAt = Number.NEGATIVE_INFINITY;
  /** Until then requests that would not wait are refused without asking the store. */
  refusedUntil = Number.NEGATIVE_INFINITY;
  #idle = 0;
  /** Idle slots that were not used since the period began. */
  #spare = 0;
  #periodBegan = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** Most that this process may hold. */
  get limit(): number {
    return Math.min(this.max, this.share);
  }

  /** Leased and not used. */
  get idle(): number {
    return this.#idle;
  }

  get held(): number {
    return this.used + this.#idle;
  }

  /** A request in the queue is willing to wait. */
  get hasWaiter(): boolean {
    for (const applicant of this.queue) if (applicant.timer !== null) return true;
    return false;
  }

  /** A request in the queue has been made to wait: new ones go behind it. */
  get hasQueue(): boolean {
    for (const applicant of this.queue) if (applicant.hasAskedHolders) return true;
    return false;
  }

  /** Uses an idle slot. */
  take(): boolean {
    if (this.#idle === 0 || this.used >= this.limit) return false;
    this.#idle--;
    this.#spare = Math.min(this.#spare, this.#idle);
    this.used++;
    return true;
  }

  addIdle(count: number, now: number): void {
    if (this.#idle === 0) {
      this.#spare = 0;
      this.#periodBegan = now;
    }
    this.#idle += count;
  }

  /** Lets go of up to `count` idle ones. @returns how many */
  dropIdle(count: number): number {
    const dropped = Math.max(0, Math.min(this.#idle, count));
    this.#idle -= dropped;
    this.#spare = Math.min(this.#spare, this.#idle);
    return dropped;
  }

  /** Gives up slots that were idle for a whole period: connections one after another over one slot keep only that one. */
  dropSpare(now: number): number {
    if (this.#idle === 0 || now - this.#periodBegan < LIMITS.slots.idleMs) return 0;
    const dropped = this.dropIdle(this.#spare);
    this.#spare = this.#idle;
    this.#periodBegan = now;
    return dropped;
  }

  /** A report to the store is due: for waiting requests, or before the lease runs out. */
  isReportDue(now: number): boolean {
    const since = now - this.reportedAt;
    if (this.hasWaiter && this.held < this.limit && since >= LIMITS.slots.askEveryMs) return true;
    return this.held > 0 && since >= LIMITS.slots.renewEveryMs;
  }

  statement(now: number, mayAsk: boolean): SlotStatement {
    const { name, held, max, limit } = this;
    const want = mayAsk ? Math.max(0, Math.min(this.queue.size, limit - held)) : 0;
    const waiting = want > 0 && this.hasWaiter;
    const announce = waiting && now - this.announcedAt >= LIMITS.slots.announceEveryMs;
    return { site: name, held, want, max, waiting, announce };
  }
}
