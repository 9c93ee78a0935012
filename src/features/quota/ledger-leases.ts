import { randomUUID } from "node:crypto";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { BoundedQuestions } from "../../platform/leasing/bounded-questions.ts";
import type { CounterSet } from "../../platform/leasing/counter-set.ts";
import type { LeaseStore, UnitWaiter } from "../../platform/leasing/leased-counter.ts";
import type { Logger } from "../../platform/log.ts";
import type { Metrics } from "../../platform/telemetry/metrics.ts";
import type { Clock, Timer } from "../../platform/time/clock.ts";
import { startStallTolerantTimer } from "../../platform/time/stall-tolerant-timer.ts";
import { Lease, type UnitReservation } from "./lease.ts";
import type { LeaseReport, QuotaLedger } from "./quota-ledger.ts";
import { quotaUnavailable, type TeamQuota } from "./team-quota.ts";

export interface LedgerLeasesDeps {
  ledger: QuotaLedger;
  clock: Clock;
  log: Logger;
  metrics: Pick<Metrics, "quotaLeases">;
  teams: CounterSet<TeamQuota>;
}

/** The teams' leases in the ledger: brings units from it, reports what was spent of them, and gives back the rest. */
export class LedgerLeases implements LeaseStore<TeamQuota, UnitReservation> {
  readonly clock: Clock;
  readonly sizes = {
    first: LIMITS.quota.leaseFirst,
    goneMs: LIMITS.quota.leaseGoneMs,
    lastedMs: LIMITS.quota.leaseLastedMs,
  };
  readonly waitersMax = LIMITS.quota.waitersPerTeam;
  readonly tooManyWait = new AppError("overloaded", "Too many requests of the team wait for quota.", {
    retryAfterS: 1,
  });
  isDraining = false;
  readonly #deps: LedgerLeasesDeps;
  readonly #questions: BoundedQuestions;
  readonly #leasesBy: Record<"granted" | "refused" | "failed", { inc(by?: number): void }>;
  #flushing: Promise<void> | undefined;
  #settling: Promise<void> | undefined;

  constructor(deps: LedgerLeasesDeps) {
    this.#deps = deps;
    this.clock = deps.clock;
    this.#questions = new BoundedQuestions({
      clock: deps.clock,
      timeoutMs: LIMITS.quota.ledgerTimeoutMs,
      late: () => new Error("the quota ledger is silent"),
    });
    this.#leasesBy = {
      granted: deps.metrics.quotaLeases.labels("granted"),
      refused: deps.metrics.quotaLeases.labels("refused"),
      failed: deps.metrics.quotaLeases.labels("failed"),
    };
  }

  /** Units for the team, or its refusal. */
  async lease(team: TeamQuota): Promise<void> {
    if (team.isHeldUp(this.clock.monotonic())) return this.#questions.bounded(this.flush());
    await this.#fetch(team);
    if (this.clock.monotonic() >= team.refusedUntilMs || !team.isReturning) return;
    // No request is refused while our own unused units are being given back: the ledger is asked again after that.
    team.forgetRefusal();
    await this.#questions.bounded(this.settle());
  }

  failed(team: TeamQuota, error: unknown, waiters: readonly UnitWaiter<UnitReservation>[]): void {
    for (const waiter of waiters) waiter.reject(quotaUnavailable(error));
    this.#deps.log.warn({ err: error, team: team.id }, "cannot lease quota");
    team.onFailure(waiters.length > 0, this.clock.monotonic());
  }

  startWaitTimer(giveUp: (error: AppError) => void): Timer {
    return startStallTolerantTimer(this.clock, LIMITS.quota.waitMs, () => giveUp(quotaUnavailable()));
  }

  /** Reports the spends of all leases, in one statement. Concurrent calls share one. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flushAll().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  /** Retires expired leases, flushes, and releases retired leases. */
  settle(): Promise<void> {
    this.#settling ??= this.#settleOnce().finally(() => {
      this.#settling = undefined;
    });
    return this.#settling;
  }

  /** Logs a failure in the background; the work is repeated at the next tick. */
  logFailure(error: unknown): void {
    this.#deps.log.warn({ err: error }, "cannot tell the quota ledger what was spent");
  }

  /** Returns every lease, those too that are still on their way here. Never rejects. */
  async drain(): Promise<void> {
    this.isDraining = true;
    for (const team of this.#deps.teams.all()) team.rejectWaiters(() => quotaUnavailable());
    await this.#questions.settled();
    // Leases in use by either of them are busy, and would be skipped.
    await Promise.allSettled([this.#settling, this.#flushing]);
    for (const team of this.#deps.teams.all()) team.retire(this.clock.monotonic(), true);
    await this.#releaseRetired(true).catch((error: unknown) => this.logFailure(error));
    this.#dropSettled();
  }

  /** Asks the ledger for one lease. */
  async #fetch(team: TeamQuota): Promise<void> {
    const id = randomUUID();
    const sentAtMs = this.clock.monotonic();
    const ask = team.nextRequest(sentAtMs);
    const held = [...team.leases];
    let isLate = false;
    const noted = this.#deps.ledger.lease(id, team.id, ask).then((grant) => {
      const lease = grant.granted > 0 ? new Lease(id, grant, sentAtMs) : null;
      // Too late for the waiting requests, or granted by a limit that is no longer in force: it is given back.
      if (lease && (isLate || this.isDraining || ask.limit > team.limit)) lease.retired = true;
      this.#leasesBy[lease ? "granted" : "refused"].inc();
      team.onAnswer(lease, grant, { sentAtMs, held, limit: ask.limit }, this.clock.monotonic());
    });
    const closed = () => {
      team.unanswered -= 1;
    };
    team.unanswered += 1;
    this.#questions.open(noted).then(closed, closed);
    try {
      await this.#questions.bounded(noted);
    } catch (error) {
      isLate = true;
      this.#leasesBy.failed.inc();
      // It may have been granted without our hearing of it.
      noted.catch(() => team.leases.push(Lease.ofLostAnswer(id, sentAtMs)));
      throw error;
    }
  }

  *#leasesWhere(wanted: (lease: Lease) => boolean): Generator<Lease> {
    for (const team of this.#deps.teams.all())
      for (const lease of team.leases) if (wanted(lease)) yield lease;
  }

  async #flushAll(): Promise<void> {
    const nowMs = this.clock.monotonic();
    const sent: [Lease, LeaseReport][] = [];
    for (const lease of this.#leasesWhere((held) => held.isDirty(nowMs))) sent.push([lease, lease.report()]);
    if (sent.length === 0) return;
    try {
      const kept = await this.#deps.ledger.flush(sent.map(([, report]) => report));
      for (const [lease, report] of sent) {
        if (kept.has(lease.id)) lease.onFlushed(report, this.clock.monotonic());
        else lease.settled = true;
      }
    } finally {
      for (const [lease] of sent) lease.busy = false;
    }
  }

  async #releaseOne(lease: Lease, abandonInFlight: boolean): Promise<void> {
    const report = lease.report();
    const reported = abandonInFlight ? { ...report, inFlight: 0 } : report;
    try {
      await this.#deps.ledger.release(reported);
      if (reported.inFlight === 0) lease.settled = true;
      else lease.onShrunk(reported, this.clock.monotonic());
    } finally {
      lease.busy = false;
    }
  }

  /**
   * LIMITS.quota.releasesAtOnce at a time, each followed by the next as soon as it has ended: one that waits for the lock of
   * its day delays no other.
   * @param abandonInFlight units in flight count as used
   * @throws the first failure, when all are done: a process that ends has no next attempt
   */
  async #releaseRetired(abandonInFlight: boolean): Promise<void> {
    const due = [...this.#leasesWhere((lease) => lease.wantsRelease || abandonInFlight)].values();
    const failures: unknown[] = [];
    const releaseSome = async () => {
      for (const lease of due) {
        // A flush reports it at the moment.
        if (lease.busy) continue;
        await this.#releaseOne(lease, abandonInFlight).catch((reason: unknown) => failures.push(reason));
      }
    };
    await Promise.all(Array.from({ length: LIMITS.quota.releasesAtOnce }, releaseSome));
    if (failures.length > 0) throw failures[0];
  }

  #dropSettled(): void {
    const nowMs = this.clock.monotonic();
    for (const team of this.#deps.teams.all()) {
      const gone = team.leases.some((lease) => lease.settled || lease.isExpiredInLedger(nowMs));
      if (gone)
        team.leases = team.leases.filter((lease) => !lease.settled && !lease.isExpiredInLedger(nowMs));
    }
  }

  async #settleOnce(): Promise<void> {
    const nowMs = this.clock.monotonic();
    for (const team of this.#deps.teams.all()) team.retire(nowMs, false);
    try {
      await this.flush();
      await this.#releaseRetired(false);
    } finally {
      this.#dropSettled();
    }
  }
}
