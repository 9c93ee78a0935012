import { MIGRATION_LIMITS } from "../../config/limits/migrations.ts";
import type { LifecyclePart } from "../../platform/lifecycle.ts";
import type { Logger } from "../../platform/log.ts";
import { type Clock, pause } from "../../platform/time/clock.ts";
import { appliedMigrations } from "./migrate.ts";
import { MigrationError } from "./migration-lock.ts";
import type { Migration } from "./migrations/index.ts";
import { createOutageWait } from "./outage-wait.ts";
import type { Database } from "./postgres.ts";

/**
 * Makes a process wait until the schema has the version it needs. While it waits it is alive and not ready, and logs the
 * reason; processes of the previous version go on serving. A newer schema is accepted: the previous version must be able to
 * restart while it is replaced (docs/upgrades.md). Each time Postgres is unreachable, it waits for as long as `OutageWait`
 * allows.
 * @param migrations absent: this version's
 */
export function createSchemaWait(deps: {
  sql: Database;
  clock: Clock;
  log: Logger;
  migrations?: readonly Migration[];
}): LifecyclePart {
  const { sql, clock, log, migrations } = deps;
  const outage = createOutageWait({ clock, log });
  const stop = new AbortController();

  /** Missing migrations, e.g. `13 (tags)`. @throws MigrationError when a step was applied in another form */
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
      let loggedMs = Number.NEGATIVE_INFINITY;
      for (;;) {
        const missing = await outage.retryThroughOutage(pending);
        if (missing === null || missing.length === 0 || stop.signal.aborted) return;
        const nowMs = clock.monotonic();
        if (nowMs - loggedMs >= MIGRATION_LIMITS.waitLogMs) {
          loggedMs = nowMs;
          log.warn({ missing }, "the schema is older than this version: waiting for `main migrate`");
        }
        await pause(clock, MIGRATION_LIMITS.waitPollMs, stop.signal);
      }
    },
    drain() {
      outage.stop();
      stop.abort();
    },
  };
}
