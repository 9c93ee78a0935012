import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/log.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import { type Clock, DAY_MS, secondsToUtcMidnight, type Timer } from "../../platform/time/clock.ts";
import { startStallTolerantTimer } from "../../platform/time/stall-tolerant-timer.ts";
import type { Actor } from "../identity/actor.ts";
import { type UnitReservation, unreportedUnits } from "./lease.ts";
import { createLeaseFetcher, type LeaseFetcher } from "./lease-fetcher.ts";
import { createLeaseSettler, type LeaseSettler } from "./lease-settler.ts";
import type { QuotaLedger } from "./quota-ledger.ts";
import { quotaExceeded, TeamQuota, type UnitWaiter } from "./team-quota.ts";

export type { UnitReservation } from "./lease.ts";

/** Whether a unit is there: at once, once it is fetched, or hardly at all. */
export type UnitAvailability = "ready" | "fetching" | "doubtful";

/**
 * The daily quota of a team, exact over all processes, without I/O for most requests. A process leases units from the
 * Postgres ledger ahead of need and gives them out from memory. Redis is not involved.
 *
 * Invariants: settled + leased never exceeds the limit (one statement under the day's row lock), and the units that a
 * process takes of a lease never exceed the ledger's charge for it. So the limit holds through kill -9 (the flushed spends
 * and one tranche are charged, the rest returns), and through a stopped process that wakes up late. It needs no trust in
 * our clocks: days and expiries are the database's.
 *
 * A lease grows with the team's rate, and shrinks near the limit to the waiting requests. It gives units out for
 * LIMITS.quota.leaseUseMs, and is given back when no unit of it was taken for LIMITS.quota.idleReturnMs. Without Postgres
 * units may be taken until a lease ends or its tranche is spent; then the answer is 503, not 429.
 */
export interface Quota {
  /**
   * One unit of the team's present UTC day: at once when one is leased, else a promise.
   * @throws AppError `quota_exceeded`; `unavailable` without the ledger, and after LIMITS.quota.waitMs; `overloaded` when too
   * many wait.
   */
  reserve(actor: Actor): UnitReservation | Promise<UnitReservation>;
  /**
   * Requests units if none is leased, so that a later `reserve` waits less. Takes nothing.
   * @returns `doubtful` when the team was refused lately, or its ledger fails: no work may start before the unit is there
   * @throws AppError `overloaded` when too many teams are served
   */
  prepare(actor: Actor): UnitAvailability;
  /** Remaining units of the day as far as this process knows, and whole seconds to its end. No I/O. */
  snapshot(actor: Actor): { remaining: number; resetS: number };
  /**
   * The team's present UTC day (`YYYY-MM-DD`), its used units, those in flight included, and the units that jobs hold. It
   * is the ledger's count, with all spends of this process, and those that other processes have reported, as they do every
   * LIMITS.quota.flushEveryMs.
   */
  view(teamId: string): Promise<{ day: string; used: number; held: number }>;
  start(): void;
  /** Returns every lease; units in flight count as used. Nothing can be reserved any more. Never rejects. */
  drain(): Promise<void>;
}

export interface QuotaDeps {
  ledger: QuotaLedger;
  clock: Clock;
  log: Logger;
  metrics: Metrics;
}

function unavailable(cause?: unknown): AppError {
  return new AppError("unavailable", "The quota cannot be checked now.", { retryAfterS: 1, cause });
}

class LeasingQuota implements Quota {
  readonly #deps: QuotaDeps;
  readonly #teams = new Map<string, TeamQuota>();
  readonly #settling: LeaseSettler;
  readonly #fetching: LeaseFetcher;
  #timer: Timer | undefined;
  #draining = false;

  constructor(deps: QuotaDeps) {
    this.#deps = deps;
    this.#settling = createLeaseSettler({
      ledger: deps.ledger,
      clock: deps.clock,
      log: deps.log,
      teams: this.#teams,
    });
    this.#fetching = createLeaseFetcher({ ...deps, settling: this.#settling });
  }

  reserve(actor: Actor): UnitReservation | Promise<UnitReservation> {
    if (this.#draining) throw unavailable();
    const team = this.#teamOf(actor);
    const nowMs = this.#deps.clock.monotonic();
    const reservation = team.take(nowMs);
    if (reservation) {
      this.#lookAhead(team, nowMs);
      return reservation;
    }
    if (nowMs < team.refusedUntilMs) throw quotaExceeded(team.limit, this.#msToMidnight(team));
    if (nowMs < team.failedUntilMs) throw unavailable();
    return this.#wait(team);
  }

  prepare(actor: Actor): UnitAvailability {
    if (this.#draining) return "doubtful";
    const team = this.#teamOf(actor);
    const nowMs = this.#deps.clock.monotonic();
    if (team.ready(nowMs) !== null) return "ready";
    // No work starts for a team that will be refused again.
    const wasRefused = nowMs < team.refusedUntilMs + LIMITS.quota.refusedLatelyMs;
    if (wasRefused || nowMs < team.notAheadUntilMs) return "doubtful";
    if (!team.isServing) void this.#serve(team);
    return "fetching";
  }

  snapshot(actor: Actor): { remaining: number; resetS: number } {
    const team = this.#teams.get(actor.teamId);
    const remaining =
      team?.remaining(this.#deps.clock.monotonic(), team.limitFor(actor)) ?? actor.limits.dailyQuota;
    return {
      remaining,
      resetS: team ? this.#secondsToMidnight(team) : secondsToUtcMidnight(this.#deps.clock.now()),
    };
  }

  async view(teamId: string): Promise<{ day: string; used: number; held: number }> {
    const team = this.#teams.get(teamId);
    const before = [...(team?.leases ?? [])];
    const { day, used, held, leases } = await this.#deps.ledger.usage(teamId);
    return { day, used: used + unreportedUnits(leases, [...before, ...(team?.leases ?? [])]), held };
  }

  start(): void {
    this.#timer = this.#deps.clock.after(LIMITS.quota.flushEveryMs, () => void this.#tick());
  }

  async drain(): Promise<void> {
    this.#draining = true;
    this.#timer?.cancel();
    for (const team of this.#teams.values()) team.rejectAll(() => unavailable());
    await this.#fetching.settled();
    await this.#settling.returnAll();
  }

  #teamOf(actor: Actor): TeamQuota {
    let team = this.#teams.get(actor.teamId);
    if (!team) {
      if (this.#teams.size >= LIMITS.quota.teams) this.#settling.forgetIdle();
      if (this.#teams.size >= LIMITS.quota.teams)
        throw new AppError("overloaded", "Too many teams are served by this process.", { retryAfterS: 1 });
      team = new TeamQuota(actor);
      this.#teams.set(actor.teamId, team);
    }
    this.#adoptLimit(team, actor);
    return team;
  }

  #adoptLimit(team: TeamQuota, actor: Actor): void {
    const limit = team.limitFor(actor);
    team.limitAsOfMs = Math.max(team.limitAsOfMs, actor.limitsAsOfMs);
    if (limit === team.limit) return;
    // A lease of a higher limit may exceed what the lower one leaves.
    if (limit < team.limit) team.retire(this.#deps.clock.monotonic(), true);
    team.limit = limit;
    team.refusedUntilMs = Number.NEGATIVE_INFINITY;
  }

  #handOut(team: TeamQuota): void {
    const nowMs = this.#deps.clock.monotonic();
    while (team.waiters.length > 0) {
      const reservation = team.take(nowMs);
      if (!reservation) return;
      team.waiters.shift()?.resolve(reservation);
    }
  }

  /** No request is refused while our own unused units are being given back: the ledger is asked again after that. */
  async #heedRefusal(team: TeamQuota): Promise<void> {
    if (!team.isReturning) return this.#refuseAll(team);
    team.refusedUntilMs = Number.NEGATIVE_INFINITY;
    await this.#fetching.bounded(this.#settling.settle());
  }

  /** Gets units for waiting and coming requests, one statement at a time for a team. */
  async #serve(team: TeamQuota): Promise<void> {
    team.isServing = true;
    try {
      do {
        if (team.isHeldUp(this.#deps.clock.monotonic())) await this.#fetching.bounded(this.#settling.flush());
        else await this.#fetching.fetch(team);
        this.#handOut(team);
        if (this.#deps.clock.monotonic() < team.refusedUntilMs) await this.#heedRefusal(team);
      } while (team.waiters.length > 0);
    } catch (error) {
      this.#deps.log.warn({ err: error, team: team.id }, "cannot lease quota");
      team.notAheadUntilMs = this.#deps.clock.monotonic() + LIMITS.quota.failureMs;
      // One statement that failed ahead of need, its connection lost perhaps, is no outage: later requests ask again.
      if (team.waiters.length > 0) team.failedUntilMs = team.notAheadUntilMs;
      team.rejectAll(() => unavailable(error));
    } finally {
      team.isServing = false;
    }
  }

  #msToMidnight(team: TeamQuota, nowMs = this.#deps.clock.monotonic()): number {
    return (team.midnightMs ?? 0) - nowMs;
  }

  /** By the ledger's clock as far as it is known, also when its last answer was about an earlier day. */
  #secondsToMidnight(team: TeamQuota, nowMs = this.#deps.clock.monotonic()): number {
    if (team.midnightMs === null) return secondsToUtcMidnight(this.#deps.clock.now());
    const untilMs = this.#msToMidnight(team, nowMs);
    if (untilMs > 0) return Math.ceil(untilMs / 1000);
    const daysPast = Math.floor(-untilMs / DAY_MS) + 1;
    return Math.ceil((untilMs + daysPast * DAY_MS) / 1000);
  }

  #refuseAll(team: TeamQuota): void {
    team.rejectAll(() => quotaExceeded(team.limit, this.#msToMidnight(team)));
  }

  /** Asks ahead, so that the next request need not wait. */
  #lookAhead(team: TeamQuota, nowMs: number): void {
    if (team.leaseToFlush()) this.#settling.flush().catch((error: unknown) => this.#settling.report(error));
    if (this.#draining || team.isServing || nowMs < team.notAheadUntilMs) return;
    if (team.wantsPrefetch(nowMs)) void this.#serve(team);
  }

  #wait(team: TeamQuota): Promise<UnitReservation> {
    if (team.waiters.length >= LIMITS.quota.waitersPerTeam)
      throw new AppError("overloaded", "Too many requests of the team wait for quota.", { retryAfterS: 1 });
    return new Promise((resolve, reject) => {
      const expiry = startStallTolerantTimer(this.#deps.clock, LIMITS.quota.waitMs, () => {
        team.forget(waiter);
        reject(unavailable());
      });
      const waiter: UnitWaiter = {
        resolve(reservation) {
          expiry.cancel();
          resolve(reservation);
        },
        reject(error) {
          expiry.cancel();
          reject(error);
        },
      };
      team.waiters.push(waiter);
      if (!team.isServing) void this.#serve(team);
    });
  }

  async #tick(): Promise<void> {
    this.#timer = this.#deps.clock.after(LIMITS.quota.flushEveryMs, () => void this.#tick());
    await this.#settling.settle().catch((error: unknown) => this.#settling.report(error));
  }
}

export function createQuota(deps: QuotaDeps): Quota {
  return new LeasingQuota(deps);
}
