import type { Clock } from "../core/clock.ts";
import type { Part } from "../core/lifecycle.ts";
import { MIGRATION_LIMITS } from "../core/limits-migrations.ts";
import type { Logger } from "../core/log.ts";
import { appliedMigrations } from "./migrate.ts";
import { MigrationError } from "./migration-turn.ts";
import type { Migration } from "./migrations/index.ts";
import { createOutageWait } from "./outage-wait.ts";
import type { Database } from "./postgres.ts";

/**
 * Holds a process back until the schema is the one this version needs: it is alive and not ready meanwhile, says what it
 * waits for, and those of the version before go on serving. A newer schema is as good: the version before it must be able to
 * start again while it is replaced (docs/upgrades.md). A Postgres that cannot be reached meanwhile is waited for as well, for
 * as long as `OutageWait` has patience each time: that says nothing about the schema.
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
  const outage = createOutageWait({ clock, log });
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

  return {
    name: "schema",
    async start() {
      let saidMs = Number.NEGATIVE_INFINITY;
      for (;;) {
        const missing = await outage.through(pending);
        if (missing === null || missing.length === 0 || stopping) return;
        const nowMs = clock.monotonic();
        if (nowMs - saidMs >= MIGRATION_LIMITS.waitLogMs) {
          saidMs = nowMs;
          log.warn({ missing }, "the schema is older than this version: waiting for `main migrate`");
        }
        await pause();
      }
    },
    drain() {
      stopping = true;
      outage.stop();
      wake();
    },
  };
}
