import { LIMITS } from "../config/limits/limits.ts";
import type { Clock, Timer } from "../platform/time/clock.ts";

/** Permission of one look-up to be in progress, until `release`. */
export interface LookUpPermit {
  /**
   * Called before a query is repeated after silence: it counts as slow from now on.
   * @returns false when there is no room, and the query must end
   */
  retry(): boolean;
  /** Called once. */
  release(): void;
}

interface Waiter {
  untilMs: number;
  resolve(permit: LookUpPermit | null): void;
}

const MAX_FRESH = LIMITS.dns.socketsPerThread * LIMITS.dns.inFlightPerSocket;

function oldest<T>(ages: Iterable<T>): T | undefined {
  for (const first of ages) return first;
  return undefined;
}

/**
 * Admission of best-effort look-ups. They neither wait nor ask again: a look-up gets a slot at once or never, and keeps it
 * until it is answered or its time is over.
 */
export class BestEffortAdmission {
  #busy = 0;

  /** @returns null when no slot is free. */
  acquire(): LookUpPermit | null {
    if (this.#busy >= LIMITS.dns.bestEffortInFlight) return null;
    this.#busy++;
    return { retry: () => false, release: () => void this.#busy-- };
  }
}

/**
 * Admission of look-ups. A look-up starts among the *fresh*, which are few: their answers are still to come, and too many
 * at once overrun the sockets. A look-up that is silent for `LIMITS.dns.freshMs` while others wait, or asks again, is among
 * the *slow*, which are many: silence costs only a timer. So a thousand dead names delay others no longer than it takes to
 * ask them once. A look-up without a slot after `waitMs` is refused.
 */
export class DnsAdmission {
  readonly #clock: Clock;
  /** Oldest first, each with the time of its admission. */
  readonly #fresh = new Map<LookUpPermit, number>();
  readonly #slow = new Set<LookUpPermit>();
  /** Oldest first. */
  readonly #waiting = new Set<Waiter>();
  #alarm: { dueMs: number; timer: Timer } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @returns null, soon or after `LIMITS.dns.waitMs`, when no slot is free. */
  acquire(): Promise<LookUpPermit | null> {
    const nowMs = this.#clock.monotonic();
    if (this.#fresh.size < MAX_FRESH) return Promise.resolve(this.#grant(nowMs));
    if (this.#waiting.size >= LIMITS.dns.waiting) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#waiting.add({ untilMs: nowMs + LIMITS.dns.waitMs, resolve });
      this.#advance();
    });
  }

  /** Refuses all waiters. */
  close(): void {
    for (const { resolve } of this.#waiting) resolve(null);
    this.#waiting.clear();
    this.#alarm?.timer.cancel();
  }

  #grant(nowMs: number): LookUpPermit {
    const permit: LookUpPermit = {
      retry: () => this.#slow.has(permit) || this.#slowDown(permit),
      release: () => {
        if (!this.#fresh.delete(permit)) this.#slow.delete(permit);
        this.#advance();
      },
    };
    this.#fresh.set(permit, nowMs);
    return permit;
  }

  #slowDown(permit: LookUpPermit): boolean {
    if (this.#slow.size >= LIMITS.dns.slow) return false;
    this.#fresh.delete(permit);
    this.#slow.add(permit);
    this.#advance();
    return true;
  }

  /** Gives free slots to waiters, and refuses those that waited too long. */
  #advance(): void {
    if (this.#waiting.size === 0) return;
    const nowMs = this.#clock.monotonic();
    for (const waiter of this.#waiting) {
      if (!this.#hasRoom(nowMs)) break;
      this.#waiting.delete(waiter);
      waiter.resolve(this.#grant(nowMs));
    }
    for (const waiter of this.#waiting) {
      if (waiter.untilMs > nowMs) break;
      this.#waiting.delete(waiter);
      waiter.resolve(null);
    }
    this.#setAlarm(nowMs);
  }

  /** True when one more look-up may be fresh. The oldest becomes slow when it was silent for long enough. */
  #hasRoom(nowMs: number): boolean {
    if (this.#fresh.size < MAX_FRESH) return true;
    const first = oldest(this.#fresh);
    if (!first || nowMs < first[1] + LIMITS.dns.freshMs || this.#slow.size >= LIMITS.dns.slow) return false;
    this.#fresh.delete(first[0]);
    this.#slow.add(first[0]);
    return true;
  }

  /** Sets the timer for the next time `#advance` can act without a look-up's end. */
  #setAlarm(nowMs: number): void {
    const waiter = oldest(this.#waiting);
    const first = oldest(this.#fresh);
    if (!waiter || !first) {
      this.#alarm?.timer.cancel();
      this.#alarm = null;
      return;
    }
    const givesWayMs = this.#slow.size < LIMITS.dns.slow ? first[1] + LIMITS.dns.freshMs : Infinity;
    const dueMs = Math.min(waiter.untilMs, givesWayMs);
    if (this.#alarm && this.#alarm.dueMs <= dueMs) return;
    this.#alarm?.timer.cancel();
    const onAlarm = () => {
      this.#alarm = null;
      this.#advance();
    };
    this.#alarm = { dueMs, timer: this.#clock.after(dueMs - nowMs, onAlarm) };
  }
}
