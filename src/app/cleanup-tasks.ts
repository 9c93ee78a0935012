import { LIMITS } from "../config/limits/limits.ts";
import type { PeriodicTask } from "../platform/periodic/periodic-tasks.ts";

export interface CleanupDeps {
  ledger: { reap(): Promise<number> };
  changes: { prune(): Promise<void> };
  idempotencyKeys: { prune(): Promise<number> };
}

/** Removes outdated data of other parts: leases of dead processes, old notes of the change feed, expired idempotency keys. */
export function cleanupPeriodicTasks({ ledger, changes, idempotencyKeys }: CleanupDeps): PeriodicTask[] {
  /** Repeats until no lease is due, or the rest may wait for the next interval. */
  async function reapAll(isStopping: () => boolean): Promise<void> {
    for (let round = 0; round < LIMITS.relay.reapRounds && !isStopping(); round++) {
      if ((await ledger.reap()) < LIMITS.quota.leasesReapedPerRound) return;
    }
  }
  async function pruneKeys(isStopping: () => boolean): Promise<void> {
    const { pruneRounds, prunedPerRound } = LIMITS.idempotency;
    for (let round = 0; round < pruneRounds && !isStopping(); round++)
      if ((await idempotencyKeys.prune()) < prunedPerRound) return;
  }
  return [
    { name: "reap quota leases", everyMs: LIMITS.relay.everyMs, run: reapAll },
    { name: "prune auth changes", everyMs: LIMITS.relay.pruneEveryMs, run: () => changes.prune() },
    { name: "prune idempotency keys", everyMs: LIMITS.relay.pruneEveryMs, run: pruneKeys },
  ];
}
