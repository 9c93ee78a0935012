import { LIMITS } from "../../config/limits/limits.ts";
import type { LeaseGrant, LeaseReport, ReportedSpend } from "./quota-ledger.ts";

/** Value of `#reported` while a report is under way or its answer was lost: differs from any count. */
const UNKNOWN = -1;

/** One unit of a team's daily quota, taken before the work. Ends once: the second call of either does nothing. */
export interface UnitReservation {
  /** The UTC day that the unit is charged to, `YYYY-MM-DD`. */
  readonly day: string;
  /** The work was answered: the unit stays spent. */
  commit(): void;
  /** The outcome is free of charge: the unit can be taken again. */
  giveBack(): void;
}

/**
 * Units of one day that this process has leased. An *active* lease gives units out; a *retired* one waits until those in
 * flight have ended, and is then settled.
 *
 * The ledger knows `taken` up to the last flush, and `floor` is the least that it may know. No unit beyond floor + tranche
 * is given out. So the ledger's charge for a lease that vanishes covers all units ever taken of it, whatever the clocks
 * did.
 */
export class Lease {
  taken = 0;
  /** The UTC day that its units belong to. */
  readonly day: string;
  retired = false;
  /** Settled in the ledger, by our release or after it expired: no unit of it can be taken or given back. */
  settled = false;
  /** Whole milliseconds. */
  lastTakenAtMs: number;
  granted: number;
  inFlight = 0;
  readonly id: string;
  /** A flush or release of it is under way. */
  busy = false;
  /** End of that day, monotonic. */
  readonly midnightMs: number;
  readonly #tranche: number;
  readonly #usableUntilMs: number;
  #floor = 0;
  #reported = 0;
  #reportedAtMs: number;
  #revision = 0;

  /** @param sentAtMs when the ledger was asked, monotonic: its own times began later. */
  constructor(id: string, grant: Omit<LeaseGrant, "committed" | "leases">, sentAtMs: number) {
    this.id = id;
    this.day = grant.day;
    this.granted = grant.granted;
    this.#tranche = grant.tranche;
    this.midnightMs = sentAtMs + grant.msToMidnight;
    this.#usableUntilMs = Math.min(sentAtMs + LIMITS.quota.leaseUseMs, this.midnightMs);
    this.lastTakenAtMs = Math.floor(sentAtMs);
    this.#reportedAtMs = sentAtMs;
  }

  /** Its request had no answer, and the ledger may have granted it: to be released. */
  static ofLostAnswer(id: string, sentAtMs: number): Lease {
    const lease = new Lease(id, { granted: 0, tranche: 0, day: "", msToMidnight: 0 }, sentAtMs);
    lease.retired = true;
    return lease;
  }

  get left(): number {
    return this.granted - this.taken;
  }

  /** Units taken that the ledger may not know of, at most. */
  get unreported(): number {
    return this.taken - this.#floor;
  }

  isActive(nowMs: number): boolean {
    return !this.retired && !this.settled && nowMs < this.#usableUntilMs;
  }

  /** Active, with units left, but a report has to reach the ledger before another is taken. */
  isHeldUp(nowMs: number): boolean {
    return this.isActive(nowMs) && this.left > 0 && this.unreported >= this.#tranche;
  }

  canTake(nowMs: number): boolean {
    return this.left > 0 && this.unreported < this.#tranche && this.isActive(nowMs);
  }

  /** Half of the units that may go unreported are used: time to flush, before a request has to wait for it. */
  get wantsFlush(): boolean {
    return this.unreported * 2 > this.#tranche;
  }

  take(nowMs: number): void {
    this.taken += 1;
    this.inFlight += 1;
    this.lastTakenAtMs = Math.floor(nowMs);
  }

  /** There is something to tell that its release will not. */
  isDirty(nowMs: number): boolean {
    if (this.busy || this.settled || (this.retired && this.inFlight === 0)) return false;
    return this.taken !== this.#reported || nowMs - this.#reportedAtMs >= LIMITS.quota.renewEveryMs;
  }

  /**
   * True when the ledger must have settled it: it was not reported for too long, because releases failed, as without
   * Postgres.
   */
  isExpiredInLedger(nowMs: number): boolean {
    return this.retired && this.inFlight === 0 && nowMs - this.#reportedAtMs > 2 * LIMITS.quota.leaseTtlMs;
  }

  /** Retired, and there is something to give back or settle. */
  get wantsRelease(): boolean {
    return this.retired && !this.settled && (this.inFlight === 0 || this.left > 0);
  }

  /** The report to send. From here on the ledger may know either the old or the new figure. */
  report(): LeaseReport {
    this.busy = true;
    this.#revision += 1;
    this.#floor = Math.min(this.#floor, this.taken);
    this.#reported = UNKNOWN;
    return { id: this.id, taken: this.taken, inFlight: this.inFlight, revision: this.#revision };
  }

  onFlushed(report: LeaseReport, nowMs: number): void {
    this.#floor = report.taken;
    this.#reported = report.taken;
    this.#reportedAtMs = nowMs;
  }

  onShrunk(report: LeaseReport, nowMs: number): void {
    this.onFlushed(report, nowMs);
    this.granted = report.taken;
  }
}

/**
 * Units taken that an answer of the ledger does not show, less those it shows that were given back since.
 * @param held leases of this process, those too that it held when the ledger was asked: one that the ledger still shows may
 *   have been settled and dropped since, but for the answer it was not.
 */
export function unreportedUnits(reported: readonly ReportedSpend[], held: readonly Lease[]): number {
  const byId = new Map(held.map((lease) => [lease.id, lease]));
  return reported.reduce((sum, { id, spent }) => sum + (byId.get(id)?.taken ?? spent) - spent, 0);
}

/** @param onGiveBack called once, with the lease, when the unit may be taken again by this process */
export function reserveUnit(lease: Lease, onGiveBack: (lease: Lease) => void): UnitReservation {
  return new LeasedUnit(lease, onGiveBack);
}

/** An object instead of four closures: each request that is not answered from memory has one. */
class LeasedUnit implements UnitReservation {
  readonly #lease: Lease;
  readonly #onGiveBack: (lease: Lease) => void;
  #open = true;

  constructor(lease: Lease, onGiveBack: (lease: Lease) => void) {
    this.#lease = lease;
    this.#onGiveBack = onGiveBack;
  }

  get day(): string {
    return this.#lease.day;
  }

  commit(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#lease.inFlight -= 1;
  }

  giveBack(): void {
    if (!this.#open) return;
    this.#open = false;
    const lease = this.#lease;
    lease.inFlight -= 1;
    // The ledger has charged all that a settled lease might have taken.
    if (lease.settled) return;
    lease.taken -= 1;
    this.#onGiveBack(lease);
  }
}
