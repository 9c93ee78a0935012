import { type Clock, sleep, type Timer } from "../core/clock.ts";
import type { MIGRATION_LIMITS } from "../core/limits-migrations.ts";
import type { Logger } from "../core/log.ts";
import type { Database, Transaction } from "./postgres.ts";

/** Advisory lock of migrating, in the one-key space. Versions before held it for a step at a time. */
const TURN_LOCK = 7_227_801;

/** The schema is not what this version was written for, or cannot be made so now; a person has to look. */
export class MigrationError extends Error {
  override name = "MigrationError";
}

export interface Turn {
  /** False: the connection that held the turn was lost, and another may have it. */
  isMine(): boolean;
}

export type TurnLimits = Pick<
  Record<keyof typeof MIGRATION_LIMITS, number>,
  "turnWaitMs" | "turnPollMs" | "turnBeatMs" | "turnSilenceMs" | "waitLogMs"
>;

export interface TurnDeps {
  /** Of two connections at least: the turn has one, the work another. */
  sql: Database;
  clock: Clock;
  log: Logger;
  limits: TurnLimits;
}

/**
 * Does `work` while nobody else does: a transaction that does nothing else holds an advisory lock meanwhile, over all pauses
 * of the work. Others ask again and again instead of standing in line: no statement of theirs runs out of time, and no
 * connection is held.
 *
 * @param isNeeded asked before each try: another may have done it meanwhile
 * @throws MigrationError when another has been at it for `turnWaitMs`
 */
export async function inTurn(
  deps: TurnDeps,
  isNeeded: () => Promise<boolean>,
  work: (turn: Turn) => Promise<void>,
): Promise<void> {
  const { clock, log, limits } = deps;
  const begunMs = clock.monotonic();
  let saidMs = Number.NEGATIVE_INFINITY;
  while ((await isNeeded()) && !(await tryInTurn(deps, work))) {
    const nowMs = clock.monotonic();
    if (nowMs - begunMs >= limits.turnWaitMs)
      throw new MigrationError(
        `another process has been migrating for ${Math.round((nowMs - begunMs) / 1000)} s: look for it in pg_stat_activity (its lock is of type advisory in pg_locks), then migrate again`,
      );
    if (nowMs - saidMs >= limits.waitLogMs) {
      saidMs = nowMs;
      log.info("another process migrates: waiting for it");
    }
    await sleep(clock, limits.turnPollMs);
  }
}

/** False: another has the turn. */
async function tryInTurn(deps: TurnDeps, work: (turn: Turn) => Promise<void>): Promise<boolean> {
  let lost = false;
  const outcome = deps.sql.begin(async (tx) => {
    const [row] = await tx<{ mine: boolean }[]>`
      select pg_try_advisory_xact_lock(${TURN_LOCK}::bigint) as mine`;
    if (row?.mine !== true) return false;
    await tx`select set_config('idle_in_transaction_session_timeout', ${`${deps.limits.turnSilenceMs}ms`}, true)`;
    const stop = beat(tx, deps);
    try {
      await work({ isMine: () => !lost });
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

/** Is heard of, so that neither the server nor the client takes the connection for dead. Returns how to stop. */
function beat(tx: Transaction, { clock, limits }: TurnDeps): () => void {
  let timer: Timer;
  let stopped = false;
  const later = () => {
    if (!stopped) timer = clock.after(limits.turnBeatMs, () => void speak());
  };
  const speak = async () => {
    try {
      await tx`select 1`;
    } catch {
      // The transaction ends by itself, and is told why.
      return;
    }
    later();
  };
  later();
  return () => {
    stopped = true;
    timer.cancel();
  };
}
