import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { MIGRATION_LIMITS } from "../../../../src/config/limits/migrations.ts";
import { createLog } from "../../../../src/platform/log.ts";
import { systemClock } from "../../../../src/platform/time/clock.ts";
import { appliedMigrations, migrate } from "../../../../src/stores/postgres/migrate.ts";
import { MigrationError } from "../../../../src/stores/postgres/migration-lock.ts";
import { MIGRATIONS } from "../../../../src/stores/postgres/migrations/index.ts";
import { createPostgres, type Database, isOutage } from "../../../../src/stores/postgres/postgres.ts";
import { createSchemaWait } from "../../../../src/stores/postgres/schema-wait.ts";
import { createTestDatabase } from "../../../support/embedded.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { createClosing } from "../../../support/store.ts";
import { createTcpGate, throughGate } from "../../../support/tcp-gate.ts";
import { until } from "../../../support/until.ts";

const log = createLog("silent");
const closing = createClosing();
after(closing.close);

async function emptyDatabase(): Promise<Database> {
  const database = await createTestDatabase();
  const sql = createPostgres({ url: database.url, maxConnections: 8, applicationName: "rcpt-test" });
  closing.after(async () => {
    await sql.end({ timeout: 1 });
    await database.drop();
  });
  return sql;
}

const STEP = { id: 1, name: "step", sql: "create table step (n integer); insert into step values (1);" };

describe("migrating", () => {
  it("brings an empty database up to date once, however many start at once", async () => {
    const sql = await emptyDatabase();
    await Promise.all(Array.from({ length: 5 }, () => migrate(sql, log)));
    await migrate(sql, log);
    const applied = await sql<{ id: number }[]>`select id from schema_migrations order by id`;
    assert.deepEqual(
      applied.map((row) => row.id),
      MIGRATIONS.map((migration) => migration.id),
    );
  });

  it("numbers its steps in order, without gaps", () => {
    assert.deepEqual(
      MIGRATIONS.map((migration) => migration.id),
      MIGRATIONS.map((_, i) => i + 1),
    );
  });

  it("stops when an applied step was changed", async () => {
    const sql = await emptyDatabase();
    await migrate(sql, log, [STEP]);
    await assert.rejects(migrate(sql, log, [{ ...STEP, sql: "select 1" }]), MigrationError);
  });

  it("leaves nothing of a step that fails, and goes on from there when it is mended", async () => {
    const sql = await emptyDatabase();
    const broken = { id: 2, name: "broken", sql: "create table half (n integer); select nonsense;" };
    await assert.rejects(migrate(sql, log, [STEP, broken]));
    await migrate(sql, log, [STEP, { ...broken, sql: "create table half (n integer);" }]);
    const [row] = await sql<[{ steps: number }]>`select count(*) as steps from step`;
    assert.equal(row.steps, 1);
  });

  it("says that it takes two connections, rather than wait for itself", async () => {
    const url = "postgres://127.0.0.1:1/none";
    const sql = createPostgres({ url, maxConnections: 1, applicationName: "rcpt-test" });
    await assert.rejects(migrate(sql, log, [STEP]), /migrating needs two connections/);
    await sql.end();
  });

  it("leaves a schema alone that is ahead of it", async () => {
    const sql = await emptyDatabase();
    await migrate(sql, log, [STEP, { id: 2, name: "next", sql: "create table next (n integer);" }]);
    await migrate(sql, log, [STEP]);
  });
});

const HASTY = { ...MIGRATION_LIMITS, lockTimeoutMs: 50, pauseMinMs: 10, pauseMaxMs: 20, turnPollMs: 10 };
const ALTERING = { id: 2, name: "altering", sql: "alter table step add column m integer" };

describe("a migration of a table that is in use", () => {
  /** Another session reads the table, in a transaction that ends with `work`. */
  async function whileRead(sql: Database, work: () => Promise<void>): Promise<void> {
    await sql.begin(async (tx) => {
      await tx`select n from step`;
      await work();
    });
  }

  it("waits a moment and gives up, so that no query waits behind it for long; then it is tried again", async () => {
    const sql = await emptyDatabase();
    await migrate(sql, log, [STEP]);
    let migrating = Promise.resolve();
    await whileRead(sql, async () => {
      migrating = migrate(sql, log, [STEP, ALTERING], { limits: HASTY });
      await until("the migration waits for the table", () => waitsForTable(sql));
      // A later query waits behind the migration, for no longer than that itself waits.
      await sql`select n from step`;
      assert.deepEqual((await appliedMigrations(sql, [STEP, ALTERING]))?.pending, ["2 (altering)"]);
    });
    await migrating;
    assert.deepEqual((await appliedMigrations(sql, [STEP, ALTERING]))?.pending, []);
  });

  it("is given up when patience is at its end, with nothing of it done", async () => {
    const sql = await emptyDatabase();
    await migrate(sql, log, [STEP]);
    const clock = createFakeClock();
    const limits = { ...HASTY, pauseMinMs: 40, pauseMaxMs: 60, patienceMs: 125 };
    const pausing = () => until("it pauses", () => clock.pending === 2);
    await whileRead(sql, async () => {
      const giving = migrate(sql, log, [STEP, ALTERING], { clock, limits, random: () => 0.5 });
      const refused = assert.rejects(giving, (error: Error) => {
        assert.ok(error instanceof MigrationError);
        assert.match(error.message, /^migration 2 \(altering\) could not lock a table in 3 attempts/);
        return true;
      });
      // At 0, 50 and 100 ms; a fourth attempt would be at 150.
      for (let paused = 0; paused < 2; paused++) {
        await pausing();
        await clock.advanceAsync(50);
      }
      await refused;
    });
    assert.deepEqual((await appliedMigrations(sql, [STEP, ALTERING]))?.pending, ["2 (altering)"]);
  });

  async function waitsForTable(sql: Database): Promise<boolean> {
    const [row] = await sql<[{ waiting: number }]>`
      select count(*) as waiting from pg_locks where locktype = 'relation' and not granted
        and database = (select oid from pg_database where datname = current_database())`;
    return row.waiting > 0;
  }
});

describe("a second migrator", () => {
  /** Has the turn, as another process would. */
  const whileMigrated = (sql: Database, work: () => Promise<void>) =>
    sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(7227801::bigint)`;
      await work();
    });

  it("waits for longer than a statement may take, and finds nothing left to do", async () => {
    const sql = await emptyDatabase();
    await migrate(sql, log, [STEP]);
    const clock = createFakeClock();
    let second = Promise.resolve();
    await whileMigrated(sql, async () => {
      second = migrate(sql, log, [STEP, ALTERING], { clock });
      for (let waitedMs = 0; waitedMs < 400_000; waitedMs += 50_000) {
        await until("it waits", () => clock.pending === 1);
        await clock.advanceAsync(50_000);
      }
      // No statement of it stands in line, to be ended by the server.
      await until("it waits again", () => clock.pending === 1);
      const [row] = await sql<[{ waiting: number }]>`
        select count(*)::int as waiting from pg_locks where not granted
          and database = (select oid from pg_database where datname = current_database())`;
      assert.equal(row.waiting, 0);
    });
    await until("it waits no more", async () => {
      await clock.advanceAsync(MIGRATION_LIMITS.turnPollMs);
      return (await appliedMigrations(sql, [STEP, ALTERING]))?.pending.length === 0;
    });
    await second;
  });

  it("gives up with a message that says where to look for the other process", async () => {
    const sql = await emptyDatabase();
    await migrate(sql, log, [STEP]);
    const clock = createFakeClock();
    await whileMigrated(sql, async () => {
      const refused = assert.rejects(migrate(sql, log, [STEP, ALTERING], { clock }), (error: Error) => {
        assert.ok(error instanceof MigrationError);
        assert.match(error.message, /^another process has been migrating for 600 s: look for it in/);
        return true;
      });
      await until("it waits", () => clock.pending === 1);
      await clock.advanceAsync(MIGRATION_LIMITS.turnWaitMs);
      await refused;
    });
  });

  it("stops at once when it has lost the lock: it runs no further step", async () => {
    const sql = await emptyDatabase();
    const clock = createFakeClock();
    await migrate(sql, log, [STEP]);
    await sql.begin(async (tx) => {
      await tx`select n from step`;
      const migrating = migrate(sql, log, [STEP, ALTERING], { clock, limits: HASTY });
      const refused = assert.rejects(migrating, isOutage);
      await until("it pauses", () => clock.pending === 2);
      await sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`;
      await refused;
    });
    await clock.advanceAsync(MIGRATION_LIMITS.pauseMaxMs);
    assert.deepEqual((await appliedMigrations(sql, [STEP, ALTERING]))?.pending, ["2 (altering)"]);
  });
});

describe("a process whose schema is another", () => {
  it("waits for one that is older, and goes on when it was migrated", async () => {
    const sql = await emptyDatabase();
    const part = createSchemaWait({ sql, clock: systemClock, log, migrations: [STEP, ALTERING] });
    let started = false;
    const starting = Promise.resolve(part.start?.()).then(() => {
      started = true;
    });
    await migrate(sql, log, [STEP]);
    assert.equal(started, false);
    await migrate(sql, log, [STEP, ALTERING]);
    await starting;
    assert.equal(started, true);
  });

  it("ends its wait when it is aborted", async () => {
    const sql = await emptyDatabase();
    const part = createSchemaWait({ sql, clock: systemClock, log, migrations: [STEP] });
    const starting = part.start?.();
    await part.drain?.();
    await starting;
  });

  it("waits for a Postgres that goes away meanwhile: that says nothing about the schema", async () => {
    const database = await createTestDatabase();
    const gate = await createTcpGate(database.url);
    const url = throughGate(database.url, gate);
    const own = createPostgres({ url, maxConnections: 1, applicationName: "rcpt-test" });
    const direct = createPostgres({ url: database.url, maxConnections: 2, applicationName: "rcpt-test" });
    closing.after(async () => {
      await Promise.all([own, direct].map((sql) => sql.end({ timeout: 1 })));
      await gate.close();
      await database.drop();
    });
    const logged: string[] = [];
    const warn = (_event: unknown, message: string) => void logged.push(message);
    const clock = createFakeClock();
    const listening = Object.assign(Object.create(log), { warn }) as typeof log;
    const part = createSchemaWait({ sql: own, clock, log: listening, migrations: [STEP] });
    const starting = part.start?.();
    await until("it waits for the schema", () => logged.length === 1);
    gate.shut();
    await until("it waits for Postgres", async () => {
      await clock.advanceAsync(MIGRATION_LIMITS.waitPollMs);
      return logged.some((message) => message.startsWith("Postgres is unavailable"));
    });
    gate.open();
    await migrate(direct, log, [STEP]);
    let started = false;
    void Promise.resolve(starting).then(() => {
      started = true;
    });
    await until("it goes on", async () => {
      await clock.advanceAsync(Math.max(MIGRATION_LIMITS.waitPollMs, LIMITS.postgres.startPollMs));
      return started;
    });
  });

  it("starts with one that is newer: the version before it must, while it is being replaced", async () => {
    const sql = await emptyDatabase();
    await migrate(sql, log, [STEP, ALTERING]);
    await createSchemaWait({ sql, clock: systemClock, log, migrations: [STEP] }).start?.();
  });

  it("refuses one whose steps were applied in another form", async () => {
    const sql = await emptyDatabase();
    await migrate(sql, log, [STEP]);
    const changed = { ...STEP, sql: "select 1" };
    const part = createSchemaWait({ sql, clock: systemClock, log, migrations: [changed] });
    await assert.rejects(async () => part.start?.(), /migration 1 \(step\) was applied in another form/);
  });
});
