import type { Clock } from "../core/clock.ts";
import type { Part } from "../core/lifecycle.ts";
import { MIGRATION_LIMITS } from "../core/limits-migrations.ts";
import type { Logger } from "../core/log.ts";
import { appliedMigrations } from "./migrate.ts";
import { MigrationError } from "./migration-turn.ts";
import type { Migration } from "./migrations/index.ts";
import { type Database, isOutage } from "./postgres.ts";

/**
 * Holds a process back until the schema is the one this version needs: it is alive and not ready meanwhile, says what it
 * waits for, and those of the version before go on serving. A newer schema is as good: the version before it must be able to
 * start again while it is replaced (docs/upgrades.md). A Postgres that cannot be reached meanwhile is waited for as well: that
 * says nothing about the schema.
 *
 * @param migrations absent: this version's
 */
export function createSchemaWait(deps: {
  sql: Database;
  clock: Clock;
  log: Logger;
  migrations?: readonly Migration[];
}): Part {
  const { sql, clock, log, migrations } = deps;
  let stopping = false;
  let wake = () => {};

  function pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = clock.after(MIGRATION_LIMITS.waitPollMs, resolve);
      wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  /** What is missing, e.g. `13 (tags)`. @throws MigrationError when a step was applied in another form */
  async function pending(): Promise<readonly string[]> {
    const state = await appliedMigrations(sql, migrations);
    if (state === null) return ["all"];
    const [changed] = state.changed;
    if (changed !== undefined)
      throw new MigrationError(`migration ${changed} was applied in another form than this version has`);
    return state.pending;
  }

  /** What it waits for: what is missing, or why that cannot be seen. null: nothing. @throws what is no outage */
  async function reason(): Promise<{ missing: readonly string[] } | { err: unknown } | null> {
    try {
      const missing = await pending();
      return missing.length === 0 ? null : { missing };
    } catch (error) {
      if (!isOutage(error)) throw error;
      return { err: error };
    }
  }

  return {
    name: "schema",
    async start() {
      let saidMs = Number.NEGATIVE_INFINITY;
      for (;;) {
        const why = await reason();
        if (why === null || stopping) return;
        const nowMs = clock.monotonic();
        if (nowMs - saidMs >= MIGRATION_LIMITS.waitLogMs) {
          saidMs = nowMs;
          log.warn(
            why,
            "missing" in why
              ? "the schema is older than this version: waiting for `main migrate`"
              : "Postgres cannot be asked for its schema: waiting for it",
          );
        }
        await pause();
      }
    },
    drain() {
      stopping = true;
      wake();
    },
  };
}
