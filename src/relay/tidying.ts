import { LIMITS } from "../core/limits.ts";
import type { Chore } from "./relay.ts";

export interface TidyingDeps {
  ledger: { reap(): Promise<number> };
  changes: { prune(): Promise<void> };
  idempotencyKeys: { prune(): Promise<number> };
}

/**
 * What is left behind and nobody else clears away: leases of dead processes, old notes of the change feed, expired
 * idempotency keys.
 */
export function tidyingChores({ ledger, changes, idempotencyKeys }: TidyingDeps): Chore[] {
  /** Rounds until none is due, or the rest may wait for the next beat. */
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
