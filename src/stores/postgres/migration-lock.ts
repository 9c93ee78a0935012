import type { MIGRATION_LIMITS } from "../../config/limits/migrations.ts";
import type { Logger } from "../../platform/log.ts";
import { type Clock, pause, type Timer } from "../../platform/time/clock.ts";
import type { Database, Transaction } from "./postgres.ts";

/** Advisory lock of migrating, in the one-key space. Earlier versions held it for a step at a time. */
const MIGRATION_LOCK_ID = 7_227_801;

/** The schema is not the one this version needs and cannot be migrated now; the operator has to look. */
export class MigrationError extends Error {
  override name = "MigrationError";
}

export interface MigrationLock {
  /** False: the lock's connection was lost, and another process may hold the lock. */
  isHeld(): boolean;
}

export type MigrationLockLimits = Pick<
  Record<keyof typeof MIGRATION_LIMITS, number>,
  "turnWaitMs" | "turnPollMs" | "turnBeatMs" | "turnSilenceMs" | "waitLogMs"
>;

export interface MigrationLockDeps {
  /** At least two connections: the lock uses one, the work another. */
  sql: Database;
  clock: Clock;
  log: Logger;
  limits: MigrationLockLimits;
}

/**
 * Does `work` under an advisory lock, which a separate, otherwise idle transaction holds during all pauses of the work.
 * Other processes poll instead of waiting for the lock, so that none of their statements times out.
 * @param isNeeded checked before each attempt: another process may have done the work
 * @throws MigrationError when another process has migrated for `turnWaitMs`
 */
export async function withMigrationLock(
  deps: MigrationLockDeps,
  isNeeded: () => Promise<boolean>,
  work: (turn: MigrationLock) => Promise<void>,
): Promise<void> {
  const { clock, log, limits } = deps;
  const startedMs = clock.monotonic();
  let loggedMs = Number.NEGATIVE_INFINITY;
  while ((await isNeeded()) && !(await tryWithMigrationLock(deps, work))) {
    const nowMs = clock.monotonic();
    if (nowMs - startedMs >= limits.turnWaitMs)
      throw new MigrationError(
        `another process has been migrating for ${Math.round((nowMs - startedMs) / 1000)} s: look for it in pg_stat_activity (its lock is of type advisory in pg_locks), then migrate again`,
      );
    if (nowMs - loggedMs >= limits.waitLogMs) {
      loggedMs = nowMs;
      log.info("waiting for another process that migrates");
    }
    await pause(clock, limits.turnPollMs);
  }
}

/** False: another process has the lock. */
async function tryWithMigrationLock(
  deps: MigrationLockDeps,
  work: (turn: MigrationLock) => Promise<void>,
): Promise<boolean> {
  let lost = false;
  const outcome = deps.sql.begin(async (tx) => {
    const [row] = await tx<{ mine: boolean }[]>`
      select pg_try_advisory_xact_lock(${MIGRATION_LOCK_ID}::bigint) as mine`;
    if (row?.mine !== true) return false;
    await tx`select set_config('idle_in_transaction_session_timeout', ${`${deps.limits.turnSilenceMs}ms`}, true)`;
    const stop = keepLockAlive(tx, deps);
    try {
      await work({ isHeld: () => !lost });
    } finally {
      stop();
    }
    return true;
  });
  outcome.catch(() => {
    lost = true;
  });
  return outcome;
}

/** Keeps the connection active, so that neither the server nor the client closes it. Returns how to stop. */
function keepLockAlive(tx: Transaction, { clock, limits }: MigrationLockDeps): () => void {
  let timer: Timer;
  let stopped = false;
  const schedule = () => {
    if (!stopped) timer = clock.after(limits.turnBeatMs, () => void ping());
  };
  const ping = async () => {
    try {
      await tx`select 1`;
    } catch {
      // The transaction fails by itself, with the reason.
      return;
    }
    schedule();
  };
  schedule();
  return () => {
    stopped = true;
    timer.cancel();
  };
}
