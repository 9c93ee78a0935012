import type { Clock } from "../../core/clock.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Logger } from "../../core/log.ts";
import type { LeaseReport, QuotaLedger } from "../../store/quota-ledger.ts";
import { Lease } from "./lease.ts";
import type { TeamQuota } from "./team.ts";

/** The way back to the ledger: what was spent of the leases, and what is no longer needed. */
export interface Settling {
  /** Tells the ledger what was taken of each lease, in one statement. Concurrent calls share one. */
  flush(): Promise<void>;
  /** Retires what is past its time, flushes, releases what is retired. */
  settle(): Promise<void>;
  /** Retires and releases everything. Never rejects. */
  returnAll(): Promise<void>;
  /** A lease that may or may not have been granted: to be released. */
  orphan(id: string, sentAtMs: number): Lease;
  /** Forgets teams of which nothing is held. */
  forgetIdle(): void;
  /** Logs a failure of what runs in the background; it is tried again at the next tick. */
  report(error: unknown): void;
}

/** @throws what the first of them that failed did, when all are through */
async function allOf(works: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(works)) if (result.status === "rejected") throw result.reason;
}

export function createSettling(deps: {
  ledger: QuotaLedger;
  clock: Clock;
  log: Logger;
  teams: Map<string, TeamQuota>;
}): Settling {
  const { ledger, clock, log, teams } = deps;
  let flushing: Promise<void> | undefined;
  let settlingNow: Promise<void> | undefined;

  function* leasesWhere(wanted: (lease: Lease) => boolean): Generator<Lease> {
    for (const team of teams.values()) for (const lease of team.leases) if (wanted(lease)) yield lease;
  }

  async function flushAll(): Promise<void> {
    const nowMs = clock.monotonic();
    const sent: [Lease, LeaseReport][] = [];
    for (const lease of leasesWhere((held) => held.isDirty(nowMs))) sent.push([lease, lease.report()]);
    if (sent.length === 0) return;
    try {
      const kept = await ledger.flush(sent.map(([, report]) => report));
      for (const [lease, report] of sent) {
        if (kept.has(lease.id)) lease.flushed(report, clock.monotonic());
        else lease.lost = true;
      }
    } finally {
      for (const [lease] of sent) lease.busy = false;
    }
  }

  /** The ledger knows of it. */
  function released(lease: Lease, told: LeaseReport): void {
    lease.busy = false;
    if (told.inFlight === 0) lease.lost = true;
    else lease.shrunk(told, clock.monotonic());
  }

  async function releaseOne(lease: Lease, told: LeaseReport): Promise<void> {
    try {
      await ledger.release(told);
      released(lease, told);
    } finally {
      lease.busy = false;
    }
  }

  /** Those it could. @returns the rest */
  async function releaseTogether(due: ReadonlyMap<Lease, LeaseReport>): Promise<[Lease, LeaseReport][]> {
    if (due.size < 2) return [...due];
    try {
      const free = await ledger.releaseTogether([...due.values()]);
      for (const [lease, told] of due) if (free.has(lease.id)) released(lease, told);
      return [...due].filter(([lease]) => !free.has(lease.id));
    } catch (error) {
      for (const lease of due.keys()) lease.busy = false;
      throw error;
    }
  }

  /**
   * Together: of 64 busy teams some 85 leases a second are spent, and a statement for each was a burst of Postgres' work every tick.
   * One by one where they cannot be, which keeps no other.
   */
  async function release(leases: readonly Lease[], abandonInFlight: boolean): Promise<void> {
    const due = new Map<Lease, LeaseReport>();
    for (const lease of leases) {
      const told = lease.report();
      if (abandonInFlight) told.inFlight = 0;
      due.set(lease, told);
    }
    const rest = await releaseTogether(due);
    await allOf(rest.map(([lease, told]) => releaseOne(lease, told)));
  }

  async function releaseRetired(abandonInFlight: boolean): Promise<void> {
    const due = [...leasesWhere((lease) => !lease.busy && (lease.wantsRelease || abandonInFlight))];
    let failure: { reason: unknown } | null = null;
    for (let i = 0; i < due.length; i += LIMITS.quota.releasesAtOnce) {
      const some = due.slice(i, i + LIMITS.quota.releasesAtOnce);
      // What keeps one of them does not keep those behind it: a process that goes has no next time.
      await release(some, abandonInFlight).catch((reason: unknown) => {
        failure ??= { reason };
      });
    }
    if (failure !== null) throw (failure as { reason: unknown }).reason;
  }

  function dropLost(): void {
    const nowMs = clock.monotonic();
    for (const team of teams.values()) {
      const gone = team.leases.some((lease) => lease.lost || lease.isForgotten(nowMs));
      if (gone) team.leases = team.leases.filter((lease) => !lease.lost && !lease.isForgotten(nowMs));
    }
  }

  function flush(): Promise<void> {
    flushing ??= flushAll().finally(() => {
      flushing = undefined;
    });
    return flushing;
  }

  async function settleOnce(): Promise<void> {
    const nowMs = clock.monotonic();
    for (const team of teams.values()) team.retire(nowMs, false);
    try {
      await flush();
      await releaseRetired(false);
    } finally {
      dropLost();
    }
  }

  function settle(): Promise<void> {
    settlingNow ??= settleOnce().finally(() => {
      settlingNow = undefined;
    });
    return settlingNow;
  }

  function report(error: unknown): void {
    log.warn({ err: error }, "cannot tell the quota ledger what was spent");
  }

  return {
    flush,
    settle,
    report,
    async returnAll() {
      // What either of them has in hand is busy, and would be passed over.
      await Promise.allSettled([settlingNow, flushing]);
      for (const team of teams.values()) team.retire(clock.monotonic(), true);
      await releaseRetired(true).catch(report);
      dropLost();
    },
    orphan(id, sentAtMs) {
      const lease = new Lease(id, { granted: 0, tranche: 0, day: "", msToMidnight: 0 }, sentAtMs);
      lease.retired = true;
      return lease;
    },
    forgetIdle() {
      for (const [id, team] of teams) {
        const isAwaited = team.waiters.length > 0 || team.serving || team.unanswered > 0;
        if (team.leases.length > 0 || isAwaited) continue;
        teams.delete(id);
        team.forgotten = true;
      }
    },
  };
}
