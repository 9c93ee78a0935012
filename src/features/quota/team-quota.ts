import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { LeasedCounter, type LeaseStore } from "../../platform/leasing/leased-counter.ts";
import { DAY_MS } from "../../platform/time/clock.ts";
import type { Actor } from "../identity/actor.ts";
import { type Lease, reserveUnit, type UnitReservation, unreportedUnits } from "./lease.ts";
import type { LeaseGrant, LeaseRequest } from "./quota-ledger.ts";

/** The refusal while the ledger cannot be asked. */
export function quotaUnavailable(cause?: unknown): AppError {
  return new AppError("unavailable", "The quota cannot be checked now.", { retryAfterS: 1, cause });
}

/** State at the time of a request to the ledger. */
interface LeaseRequestContext {
  /** Monotonic. */
  sentAtMs: number;
  /** Leases of the team that this process had. */
  held: readonly Lease[];
  limit: number;
}

/** One team's quota in this process: its leases, refusals, and what the ledger said last. */
export class TeamQuota extends LeasedCounter<UnitReservation> {
  /** Units taken here less units given back. */
  #net = 0;
  /** Committed units in the ledger's last answer, corrected for what it could not know then, and `#net` at that time. */
  #committedSeen = 0;
  #netSeen = 0;
  limit: number;
  /** End of the day of the last answer, monotonic, whole; null before one. */
  midnightMs: number | null = null;
  readonly id: string;
  /** When `limit` was read, monotonic. */
  limitAsOfMs: number;
  leases: Lease[] = [];
  /** Questions to the ledger under way, also those for whose answers no request waits any more: each may bring units. */
  unanswered = 0;
  /** Until then, monotonic, a request without a leased unit gets 429 and asks nothing: the ledger refused. */
  refusedUntilMs = Number.NEGATIVE_INFINITY;
  /** Until then it gets 503: the ledger failed a request that waited. */
  #unavailableUntilMs = Number.NEGATIVE_INFINITY;
  /** Until then nothing is asked ahead of need: that failed. A request that needs a unit asks all the same. */
  #notAheadUntilMs = Number.NEGATIVE_INFINITY;
  /** When the question was sent whose answer was believed last. */
  #answerSentAtMs = Number.NEGATIVE_INFINITY;
  readonly #gaveBack = (lease: Lease): void => {
    // A unit of an earlier day does not change the remaining units of this one.
    if (this.#isOfDay(lease)) this.#net -= 1;
  };

  constructor(
    store: LeaseStore<TeamQuota, UnitReservation>,
    actor: Pick<Actor, "teamId" | "limits" | "limitsAsOfMs">,
  ) {
    super(store);
    this.id = actor.teamId;
    this.limit = actor.limits.dailyQuota;
    this.limitAsOfMs = actor.limitsAsOfMs;
  }

  /**
   * The limit in force after a request of `actor`: the actor's, unless it was read before the present one. A request that
   * began before the limit was lowered does not bring the old one back.
   */
  limitFor(actor: Pick<Actor, "limits" | "limitsAsOfMs">): number {
    return actor.limitsAsOfMs < this.limitAsOfMs ? this.limit : actor.limits.dailyQuota;
  }

  takeLeased(nowMs: number): UnitReservation | null {
    for (const lease of this.leases) {
      if (!lease.canTake(nowMs)) continue;
      lease.take(nowMs);
      this.#net += 1;
      return reserveUnit(lease, this.#gaveBack);
    }
    return null;
  }

  /** A unit could be taken now. */
  hasReadyUnit(nowMs: number): boolean {
    return this.leases.some((lease) => lease.canTake(nowMs));
  }

  leaseToFlush(): Lease | undefined {
    for (const lease of this.leases) if (!lease.busy && !lease.retired && lease.wantsFlush) return lease;
    return undefined;
  }

  /** True while unused units of retired leases are being given back: the ledger does not know yet that they are left. */
  get isReturning(): boolean {
    return this.leases.some((lease) => lease.retired && !lease.settled && lease.left > 0);
  }

  isHeldUp(nowMs: number): boolean {
    return this.leases.some((lease) => lease.isHeldUp(nowMs));
  }

  /** Half of the last units are used. Not near the limit, where leases are tiny. */
  wantsMore(nowMs: number): boolean {
    if (nowMs < this.refusedUntilMs || nowMs < this.#notAheadUntilMs) return false;
    let left = 0;
    let granted = 0;
    for (const lease of this.leases) {
      if (!lease.isActive(nowMs)) continue;
      left += lease.left;
      granted = Math.max(granted, lease.granted);
    }
    return granted > LIMITS.quota.leaseFirst && left * 2 < granted;
  }

  refusal(nowMs: number): AppError | null {
    if (nowMs < this.refusedUntilMs) return this.#quotaExceeded(nowMs);
    return nowMs < this.#unavailableUntilMs ? quotaUnavailable() : null;
  }

  /** There may be units after all, and the ledger is asked again. */
  forgetRefusal(): void {
    this.refusedUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** @param hasWaiters a request waited for the answer: one that failed ahead of need, its connection lost perhaps, is no outage */
  onFailure(hasWaiters: boolean, nowMs: number): void {
    this.#notAheadUntilMs = nowMs + LIMITS.quota.failureMs;
    if (hasWaiters) this.#unavailableUntilMs = this.#notAheadUntilMs;
  }

  /** The ledger refused or failed a short time ago: whether there is a unit is open. */
  isDoubtful(nowMs: number): boolean {
    return nowMs < this.refusedUntilMs + LIMITS.quota.refusedLatelyMs || nowMs < this.#notAheadUntilMs;
  }

  #quotaExceeded(nowMs: number): AppError {
    return new AppError("quota_exceeded", `The daily quota of ${this.limit} verifications is used up.`, {
      retryAfterS: Math.max(1, Math.ceil(((this.midnightMs ?? 0) - nowMs) / 1000)),
    });
  }

  get isIdle(): boolean {
    return this.leases.length === 0 && this.unanswered === 0 && !this.isAwaited;
  }

  /**
   * Enough units for all waiting requests. Units ahead of need are a share of what is left, lest they lie idle here while
   * another process has none. Units that are waited for are not: near the limit it would take a statement for each.
   */
  nextRequest(nowMs: number): LeaseRequest {
    const want = this.nextSize(nowMs, LIMITS.quota.leaseMax);
    return {
      limit: this.limit,
      want: Math.min(Math.max(want, this.waiting), LIMITS.quota.leaseMax),
      share: want > this.waiting ? LIMITS.quota.leaseShare : 1,
    };
  }

  /** @param asked when, what was held then, and by which limit: a refusal says nothing about a higher one. */
  onAnswer(lease: Lease | null, grant: LeaseGrant, asked: LeaseRequestContext, nowMs: number): void {
    const { sentAtMs, held, limit } = asked;
    // Of two concurrent requests, the later one has the newer state.
    const isNews = sentAtMs >= this.#answerSentAtMs;
    if (isNews) {
      this.#answerSentAtMs = sentAtMs;
      this.midnightMs = Math.floor(sentAtMs + grant.msToMidnight);
      this.#committedSeen = grant.committed + unreportedUnits(grant.leases, [...held, ...this.leases]);
      this.#netSeen = this.#net;
    }
    if (lease) {
      this.leases.push(lease);
      this.size = Math.min(this.size, Math.max(lease.granted * 2, LIMITS.quota.leaseFirst));
    } else if (isNews && limit >= this.limit) {
      this.refusedUntilMs = Math.min(nowMs + LIMITS.quota.refusalMs, this.midnightMs ?? nowMs);
    }
  }

  /** Stops giving out units of expired leases, or of all, so that they are returned. */
  retire(nowMs: number, all: boolean): void {
    for (const lease of this.leases) {
      // Units in flight may be given back, and are then the first to be taken again.
      const spent = lease.left === 0 && lease.inFlight === 0;
      const idle = nowMs - lease.lastTakenAtMs >= LIMITS.quota.idleReturnMs;
      if (all || spent || idle || !lease.isActive(nowMs)) lease.retired = true;
    }
  }

  /**
   * Units left of the day as far as this process can tell: exact when no other one serves the team. While the ledger
   * refuses, only this process's leased units: the rest is leased by other processes, and a team must not be shown units
   * that it cannot have. All units of a day for which the ledger has not answered yet.
   * @param limit the one in force
   */
  remaining(nowMs: number, limit = this.limit): number {
    if (this.midnightMs === null || nowMs >= this.midnightMs) return limit;
    const left = this.#left(limit);
    return nowMs < this.refusedUntilMs ? Math.min(left, this.#leased(nowMs)) : left;
  }

  #left(limit: number): number {
    return Math.max(0, limit - this.#committedSeen - (this.#net - this.#netSeen));
  }

  /** The lease is of the day that the ledger last answered for. Midnights of one day differ by what answers took. */
  #isOfDay(lease: Lease): boolean {
    return this.midnightMs !== null && Math.abs(lease.midnightMs - this.midnightMs) < DAY_MS / 2;
  }

  #leased(nowMs: number): number {
    return this.leases.reduce((sum, lease) => sum + (lease.isActive(nowMs) ? lease.left : 0), 0);
  }
}
