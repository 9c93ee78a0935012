import type { Clock, Timer } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";

/** The right of one look-up to be under way, until `leave`. */
export interface Place {
  /** Before it asks again after silence: it goes over to the slow. @returns false when there is no room: it must end. */
  retry(): boolean;
  /** Once. */
  leave(): void;
}

interface Waiter {
  untilMs: number;
  resolve(place: Place | null): void;
}

const FRESH_MAX = LIMITS.dns.socketsPerThread * LIMITS.dns.inFlightPerSocket;

function oldest<T>(ages: Iterable<T>): T | undefined {
  for (const first of ages) return first;
  return undefined;
}

/**
 * Who may ask aside. Nobody waits and nobody asks again: a look-up has a place at once or never, and keeps it until it
 * is answered or its time is over.
 */
export class AsideAdmission {
  #busy = 0;

  /** @returns null when there is no place. */
  enter(): Place | null {
    if (this.#busy >= LIMITS.dns.aside) return null;
    this.#busy++;
    return { retry: () => false, leave: () => void this.#busy-- };
  }
}

/**
 * Who may ask now. A look-up starts among the *fresh*, which are few: their answers are still to come, and too many at
 * once overrun the sockets. What is silent for `LIMITS.dns.freshMs` while others wait, and what asks again, is among
 * the *slow*, which are many: silence costs a timer, no more. So a thousand dead names hold up nobody for longer than
 * it takes to ask them once. Whoever got no place for `waitMs` is turned away.
 */
export class Admission {
  readonly #clock: Clock;
  /** Oldest first, each with the time of its admission. */
  readonly #fresh = new Map<Place, number>();
  readonly #slow = new Set<Place>();
  /** Oldest first. */
  readonly #waiting = new Set<Waiter>();
  #alarm: { dueMs: number; timer: Timer } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @returns null, soon or after `LIMITS.dns.waitMs`, when there is no place. */
  enter(): Promise<Place | null> {
    const nowMs = this.#clock.monotonic();
    if (this.#fresh.size < FRESH_MAX) return Promise.resolve(this.#admit(nowMs));
    if (this.#waiting.size >= LIMITS.dns.waiting) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#waiting.add({ untilMs: nowMs + LIMITS.dns.waitMs, resolve });
      this.#advance();
    });
  }

  /** Turns away all who wait. */
  close(): void {
    for (const { resolve } of this.#waiting) resolve(null);
    this.#waiting.clear();
    this.#alarm?.timer.cancel();
  }

  #admit(nowMs: number): Place {
    const place: Place = {
      retry: () => this.#slow.has(place) || this.#slowDown(place),
      leave: () => {
        if (!this.#fresh.delete(place)) this.#slow.delete(place);
        this.#advance();
      },
    };
    this.#fresh.set(place, nowMs);
    return place;
  }

  #slowDown(place: Place): boolean {
    if (this.#slow.size >= LIMITS.dns.slow) return false;
    this.#fresh.delete(place);
    this.#slow.add(place);
    this.#advance();
    return true;
  }

  /** Gives places to those who wait, as far as there are any, and turns away those who waited too long. */
  #advance(): void {
    if (this.#waiting.size === 0) return;
    const nowMs = this.#clock.monotonic();
    for (const waiter of this.#waiting) {
      if (!this.#hasRoom(nowMs)) break;
      this.#waiting.delete(waiter);
      waiter.resolve(this.#admit(nowMs));
    }
    for (const waiter of this.#waiting) {
      if (waiter.untilMs > nowMs) break;
      this.#waiting.delete(waiter);
      waiter.resolve(null);
    }
    this.#setAlarm(nowMs);
  }

  /** Whether one more may be fresh; the oldest gives way when it was silent for long enough. */
  #hasRoom(nowMs: number): boolean {
    if (this.#fresh.size < FRESH_MAX) return true;
    const first = oldest(this.#fresh);
    if (!first || nowMs < first[1] + LIMITS.dns.freshMs || this.#slow.size >= LIMITS.dns.slow) return false;
    this.#fresh.delete(first[0]);
    this.#slow.add(first[0]);
    return true;
  }

  /** For the next moment at which `#advance` can do something that no look-up's end tells it of. */
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
    const ring = () => {
      this.#alarm = null;
      this.#advance();
    };
    this.#alarm = { dueMs, timer: this.#clock.after(dueMs - nowMs, ring) };
  }
}
