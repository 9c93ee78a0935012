import { LIMITS } from "../../config/limits/limits.ts";
import type { Logger } from "../../platform/log.ts";
import type { Clock } from "../../platform/time/clock.ts";
import { Lease } from "./lease.ts";
import type { LeaseReport, QuotaLedger } from "./quota-ledger.ts";
import type { TeamQuota } from "./team-quota.ts";

/** Reports to the ledger: spends of leases, and leases that are no longer needed. */
export interface LeaseSettler {
  /** Reports the spends of all leases, in one statement. Concurrent calls share one. */
  flush(): Promise<void>;
  /** Retires expired leases, flushes, and releases retired leases. */
  settle(): Promise<void>;
  /** Retires and releases everything. Never rejects. */
  returnAll(): Promise<void>;
  /** A lease that may or may not have been granted: to be released. */
  orphan(id: string, sentAtMs: number): Lease;
  /** Forgets teams without leases. */
  forgetIdle(): void;
  /** Logs a failure in the background; the work is repeated at the next tick. */
  report(error: unknown): void;
}

export interface SettlingDeps {
  ledger: QuotaLedger;
  clock: Clock;
  log: Logger;
  teams: Map<string, TeamQuota>;
}

class LedgerSettling implements LeaseSettler {
  readonly #deps: SettlingDeps;
  #flushing: Promise<void> | undefined;
  #settlingNow: Promise<void> | undefined;

  constructor(deps: SettlingDeps) {
    this.#deps = deps;
  }

  flush(): Promise<void> {
    this.#flushing ??= this.#flushAll().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  settle(): Promise<void> {
    this.#settlingNow ??= this.#settleOnce().finally(() => {
      this.#settlingNow = undefined;
    });
    return this.#settlingNow;
  }

  report(error: unknown): void {
    this.#deps.log.warn({ err: error }, "cannot tell the quota ledger what was spent");
  }

  async returnAll(): Promise<void> {
    // Leases in use by either of them are busy, and would be skipped.
    await Promise.allSettled([this.#settlingNow, this.#flushing]);
    for (const team of this.#deps.teams.values()) team.retire(this.#deps.clock.monotonic(), true);
    await this.#releaseRetired(true).catch((error: unknown) => this.report(error));
    this.#dropLost();
  }

  orphan(id: string, sentAtMs: number): Lease {
    const lease = new Lease(id, { granted: 0, tranche: 0, day: "", msToMidnight: 0 }, sentAtMs);
    lease.retired = true;
    return lease;
  }

  forgetIdle(): void {
    for (const [id, team] of this.#deps.teams) {
      const isAwaited = team.waiters.length > 0 || team.isServing || team.unanswered > 0;
      if (team.leases.length > 0 || isAwaited) continue;
      this.#deps.teams.delete(id);
    }
  }

  *#leasesWhere(wanted: (lease: Lease) => boolean): Generator<Lease> {
    for (const team of this.#deps.teams.values())
      for (const lease of team.leases) if (wanted(lease)) yield lease;
  }

  async #flushAll(): Promise<void> {
    const nowMs = this.#deps.clock.monotonic();
    const sent: [Lease, LeaseReport][] = [];
    for (const lease of this.#leasesWhere((held) => held.isDirty(nowMs))) sent.push([lease, lease.report()]);
    if (sent.length === 0) return;
    try {
      const kept = await this.#deps.ledger.flush(sent.map(([, report]) => report));
      for (const [lease, report] of sent) {
        if (kept.has(lease.id)) lease.onFlushed(report, this.#deps.clock.monotonic());
        else lease.lost = true;
      }
    } finally {
      for (const [lease] of sent) lease.busy = false;
    }
  }

  /** The ledger knows of it. */
  #released(lease: Lease, told: LeaseReport): void {
    lease.busy = false;
    if (told.inFlight === 0) lease.lost = true;
    else lease.onShrunk(told, this.#deps.clock.monotonic());
  }

  async #release(lease: Lease, abandonInFlight: boolean): Promise<void> {
    const report = lease.report();
    const told = abandonInFlight ? { ...report, inFlight: 0 } : report;
    try {
      await this.#deps.ledger.release(told);
      this.#released(lease, told);
    } finally {
      lease.busy = false;
    }
  }

  /**
   * LIMITS.quota.releasesAtOnce at a time, each followed by the next as soon as it has ended: one that waits for the lock of
   * its day delays no other.
   */
  async #releaseRetired(abandonInFlight: boolean): Promise<void> {
    const due = [...this.#leasesWhere((lease) => lease.wantsRelease || abandonInFlight)].values();
    const failures: unknown[] = [];
    const releaseSome = async () => {
      for (const lease of due) {
        // A flush reports it at the moment.
        if (lease.busy) continue;
        // A failure must not prevent the release of the others: a process that ends has no next attempt.
        await this.#release(lease, abandonInFlight).catch((reason: unknown) => failures.push(reason));
      }
    };
    await Promise.all(Array.from({ length: LIMITS.quota.releasesAtOnce }, releaseSome));
    if (failures.length > 0) throw failures[0];
  }

  #dropLost(): void {
    const nowMs = this.#deps.clock.monotonic();
    for (const team of this.#deps.teams.values()) {
      const gone = team.leases.some((lease) => lease.lost || lease.isForgotten(nowMs));
      if (gone) team.leases = team.leases.filter((lease) => !lease.lost && !lease.isForgotten(nowMs));
    }
  }

  async #settleOnce(): Promise<void> {
    const nowMs = this.#deps.clock.monotonic();
    for (const team of this.#deps.teams.values()) team.retire(nowMs, false);
    try {
      await this.flush();
      await this.#releaseRetired(false);
    } finally {
      this.#dropLost();
    }
  }
}

export function createLeaseSettler(deps: SettlingDeps): LeaseSettler {
  return new LedgerSettling(deps);
}
