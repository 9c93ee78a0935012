import { LIMITS } from "../../config/limits/limits.ts";
import { CounterSet } from "../../platform/leasing/counter-set.ts";
import type { Logger } from "../../platform/log.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import { type Clock, DAY_MS, secondsToUtcMidnight, type Timer } from "../../platform/time/clock.ts";
import type { Actor } from "../identity/actor.ts";
import { type UnitReservation, unreportedUnits } from "./lease.ts";
import { LedgerLeases } from "./ledger-leases.ts";
import type { QuotaLedger } from "./quota-ledger.ts";
import { quotaUnavailable, TeamQuota } from "./team-quota.ts";

export type { UnitReservation } from "./lease.ts";

/** `ready`: a unit is leased. `fetching`: requested from the ledger. `doubtful`: the ledger refused or failed lately. */
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

class LeasingQuota implements Quota {
  readonly #clock: Clock;
  readonly #ledger: QuotaLedger;
  readonly #teams = new CounterSet<TeamQuota>(LIMITS.quota.teams);
  readonly #leases: LedgerLeases;
  #timer: Timer | undefined;

  constructor(deps: QuotaDeps) {
    this.#clock = deps.clock;
    this.#ledger = deps.ledger;
    this.#leases = new LedgerLeases({ ...deps, teams: this.#teams });
  }

  reserve(actor: Actor): UnitReservation | Promise<UnitReservation> {
    if (this.#leases.isDraining) throw quotaUnavailable();
    const team = this.#teamOf(actor);
    const reserved = team.take(this.#clock.monotonic());
    if (team.leaseToFlush()) this.#leases.flush().catch((error: unknown) => this.#leases.logFailure(error));
    return reserved;
  }

  prepare(actor: Actor): UnitAvailability {
    if (this.#leases.isDraining) return "doubtful";
    const team = this.#teamOf(actor);
    const nowMs = this.#clock.monotonic();
    if (team.hasReadyUnit(nowMs)) return "ready";
    // No work starts for a team that will be refused again.
    if (team.isDoubtful(nowMs)) return "doubtful";
    team.ask();
    return "fetching";
  }

  snapshot(actor: Actor): { remaining: number; resetS: number } {
    const team = this.#teams.get(actor.teamId);
    const remaining =
      team?.remaining(this.#clock.monotonic(), team.limitFor(actor)) ?? actor.limits.dailyQuota;
    return { remaining, resetS: this.#secondsToMidnight(team?.midnightMs ?? null) };
  }

  async view(teamId: string): Promise<{ day: string; used: number; held: number }> {
    const team = this.#teams.get(teamId);
    const before = [...(team?.leases ?? [])];
    const { day, used, held, leases } = await this.#ledger.usage(teamId);
    return { day, used: used + unreportedUnits(leases, [...before, ...(team?.leases ?? [])]), held };
  }

  start(): void {
    this.#timer = this.#clock.after(LIMITS.quota.flushEveryMs, () => {
      this.start();
      this.#leases.settle().catch((error: unknown) => this.#leases.logFailure(error));
    });
  }

  drain(): Promise<void> {
    this.#timer?.cancel();
    return this.#leases.drain();
  }

  #teamOf(actor: Actor): TeamQuota {
    const { teamId } = actor;
    const team = this.#teams.get(teamId) ?? this.#teams.add(teamId, new TeamQuota(this.#leases, actor));
    this.#adoptLimit(team, actor);
    return team;
  }

  #adoptLimit(team: TeamQuota, actor: Actor): void {
    const limit = team.limitFor(actor);
    team.limitAsOfMs = Math.max(team.limitAsOfMs, actor.limitsAsOfMs);
    if (limit === team.limit) return;
    // A lease of a higher limit may exceed what the lower one leaves.
    if (limit < team.limit) team.retire(this.#clock.monotonic(), true);
    team.limit = limit;
    team.forgetRefusal();
  }

  /**
   * By the ledger's clock as far as it is known, also when its last answer was about an earlier day.
   * @param midnightMs the end of that day, monotonic; null: the ledger has not answered
   */
  #secondsToMidnight(midnightMs: number | null): number {
    if (midnightMs === null) return secondsToUtcMidnight(this.#clock.now());
    const untilMs = midnightMs - this.#clock.monotonic();
    if (untilMs > 0) return Math.ceil(untilMs / 1000);
    const daysPast = Math.floor(-untilMs / DAY_MS) + 1;
    return Math.ceil((untilMs + daysPast * DAY_MS) / 1000);
  }
}

export function createQuota(deps: QuotaDeps): Quota {
  return new LeasingQuota(deps);
}
