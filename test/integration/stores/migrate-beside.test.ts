import assert from "node:assert/strict";
import { after, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { MIGRATION_LIMITS } from "../../../src/config/limits/migrations.ts";
import { hashSecret } from "../../../src/features/identity/api-key.ts";
import { createCredentials } from "../../../src/features/identity/credentials.ts";
import { createLog } from "../../../src/platform/log.ts";
import { appliedMigrations, migrate } from "../../../src/stores/postgres/migrate.ts";
import { MIGRATIONS } from "../../../src/stores/postgres/migrations/index.ts";
import { createPostgres, type Database } from "../../../src/stores/postgres/postgres.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createClosing, newTeam, openDatabase } from "../../support/store.ts";
import { until } from "../../support/until.ts";

const closing = createClosing();
after(closing.close);

it("all attempts at a lock while a look-up of a credential is under way take less than half of its time", () => {
  const { lockTimeoutMs, pauseMinMs } = MIGRATION_LIMITS;
  const { lookupTimeoutMs } = LIMITS.keys;
  const attempts = 1 + Math.ceil(lookupTimeoutMs / (lockTimeoutMs + pauseMinMs));
  assert.ok(attempts * lockTimeoutMs < lookupTimeoutMs / 2, `${attempts} attempts`);
});

/** Migration step that records the session's lock timeout once it has its lock. */
const STEP = {
  id: MIGRATIONS.length + 1,
  name: "beside",
  sql: "alter table api_keys add column beside text; create table waited as select current_setting('lock_timeout') as ms",
};
const ALL = [...MIGRATIONS, STEP];
const ATTEMPTS = 3;

/** Starts a migration on its own clock; `attempts` counts how often it found the table in use. */
function startMigrator(sql: Database) {
  const clock = createFakeClock();
  const seen = { attempts: 0, done: false };
  const warn = () => {
    seen.attempts += 1;
  };
  const log = Object.assign(Object.create(createLog("silent")), { warn }) as ReturnType<typeof createLog>;
  const migrating = migrate(sql, log, ALL, { clock }).then(() => {
    seen.done = true;
  });
  return { clock, seen, migrating };
}

it("credentials are looked up while migrators want their table, which a long query reads", async () => {
  const { sql, url } = await openDatabase(closing);
  const { liveKey } = await newTeam(sql);
  const hash = Buffer.from(hashSecret(liveKey), "hex");
  const own = createPostgres({ url, maxConnections: 3, applicationName: "rcpt-test" });
  closing.after(() => own.end({ timeout: 1 }));
  const credentials = createCredentials(own);
  const lookUp = async () => assert.ok(await credentials.find(hash));
  /** Whether a session waits for a lock on a table. */
  const isLine = async () => {
    const [row] = await sql<[{ waiting: number }]>`
      select count(*)::int as waiting from pg_locks where locktype = 'relation' and not granted
        and database = (select oid from pg_database where datname = current_database())`;
    return row.waiting > 0;
  };
  const migrators: ReturnType<typeof startMigrator>[] = [];
  await sql.begin(async (tx) => {
    await tx`select 1 from api_keys limit 1`;
    const first = startMigrator(sql);
    migrators.push(first);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      // Look-ups start while the migrator waits for its lock and while it pauses. All are answered before its next attempt.
      const asked: Promise<void>[] = [];
      await until("it steps back", async () => {
        asked.push(lookUp());
        if (migrators.length === 1 && (await isLine())) migrators.push(startMigrator(sql));
        return first.seen.attempts === attempt && first.clock.pending === 2;
      });
      await Promise.all(asked);
      await first.clock.advanceAsync(MIGRATION_LIMITS.pauseMaxMs);
    }
    if (migrators.length === 1) migrators.push(startMigrator(sql));
    // The second migrator waits for the first to finish, not for the table.
    await until("the other waits", () => migrators[1]?.clock.pending === 1);
    assert.equal(migrators[1]?.seen.attempts, 0);
    await lookUp();
  });
  await until("both are done", async () => {
    for (const { clock } of migrators) await clock.advanceAsync(MIGRATION_LIMITS.turnPollMs);
    return migrators.every(({ seen }) => seen.done);
  });
  assert.deepEqual((await appliedMigrations(sql, ALL))?.pending, []);
  const [waited] = await sql<[{ ms: string }]>`select ms from waited`;
  assert.equal(waited.ms, `${MIGRATION_LIMITS.lockTimeoutMs}ms`);
});
