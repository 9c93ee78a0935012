import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { systemClock } from "../../../src/core/clock.ts";
import { createLog } from "../../../src/core/log.ts";
import { appliedMigrations, MigrationError, migrate } from "../../../src/store/migrate.ts";
import { MIGRATIONS } from "../../../src/store/migrations/index.ts";
import { createPostgres, type Database, pingPostgres } from "../../../src/store/postgres.ts";
import { createSchemaWait } from "../../../src/store/schema-wait.ts";
import { createTestDatabase } from "../../support/embedded.ts";
import { createClosing } from "../../support/store.ts";
import { until } from "../../support/until.ts";

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

  it("leaves a schema alone that is ahead of it", async () => {
    const sql = await emptyDatabase();
    await migrate(sql, log, [STEP, { id: 2, name: "next", sql: "create table next (n integer);" }]);
    await migrate(sql, log, [STEP]);
  });
});

const IMPATIENT = { lockTimeoutMs: 50, retryMs: 10, attempts: 3 };
const ALTERING = { id: 2, name: "altering", sql: "alter table step add column m integer" };

describe("a migration of a table that is in use", () => {
  /** Somebody reads the table, in a transaction that ends with `work`. */
  async function whileRead(sql: Database, work: () => Promise<void>): Promise<void> {
    await sql.begin(async (tx) => {
      await tx`select n from step`;
      await work();
    });
  }

  it("waits a moment and steps back, so that nobody stands behind it for long; then it is tried again", async () => {
    const sql = await emptyDatabase();
    await migrate(sql, log, [STEP]);
    let migrating = Promise.resolve();
    await whileRead(sql, async () => {
      migrating = migrate(sql, log, [STEP, ALTERING], { ...IMPATIENT, attempts: 1_000 });
      await until("the migration waits for the table", () => waitsForTable(sql));
      // Whoever comes later waits behind it, for no longer than it does.
      await sql`select n from step`;
      assert.deepEqual((await appliedMigrations(sql, [STEP, ALTERING]))?.pending, ["2 (altering)"]);
    });
    await migrating;
    assert.deepEqual((await appliedMigrations(sql, [STEP, ALTERING]))?.pending, []);
  });

  it("is given up after so many attempts, with nothing of it done", async () => {
    const sql = await emptyDatabase();
    await migrate(sql, log, [STEP]);
    await whileRead(sql, async () => {
      await assert.rejects(
        migrate(sql, log, [STEP, ALTERING], IMPATIENT),
        /migration 2 \(altering\) could not lock a table in 3 attempts/,
      );
    });
    assert.deepEqual((await appliedMigrations(sql, [STEP, ALTERING]))?.pending, ["2 (altering)"]);
  });

  it("waits for another's migrations for longer than for a table", async () => {
    const sql = await emptyDatabase();
    await migrate(sql, log, [STEP]);
    let second = Promise.resolve();
    await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(7227801::bigint)`;
      second = migrate(sql, log, [STEP, ALTERING], { ...IMPATIENT, attempts: 1 });
      await until("the second migrator stands in line", async () => {
        const [row] = await sql<[{ waiting: number }]>`
          select count(*) as waiting from pg_locks where locktype = 'advisory' and not granted
            and database = (select oid from pg_database where datname = current_database())`;
        return row.waiting === 1;
      });
      await tx`select pg_sleep(${(2 * IMPATIENT.lockTimeoutMs) / 1000})`;
    });
    await second;
    assert.deepEqual((await appliedMigrations(sql, [STEP, ALTERING]))?.pending, []);
  });

  async function waitsForTable(sql: Database): Promise<boolean> {
    const [row] = await sql<[{ waiting: number }]>`
      select count(*) as waiting from pg_locks where locktype = 'relation' and not granted
        and database = (select oid from pg_database where datname = current_database())`;
    return row.waiting > 0;
  }
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

  it("ends its wait when it is told to stop", async () => {
    const sql = await emptyDatabase();
    const part = createSchemaWait({ sql, clock: systemClock, log, migrations: [STEP] });
    const starting = part.start?.();
    await part.drain?.();
    await starting;
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

describe("the Postgres client", () => {
  it("ends a statement that takes too long", async () => {
    const database = await createTestDatabase();
    const sql = createPostgres({
      url: database.url,
      maxConnections: 1,
      applicationName: "rcpt-test",
      // Far above what the statements below take, also on a loaded machine.
      statementTimeoutMs: 2_000,
    });
    closing.after(async () => {
      await sql.end({ timeout: 1 });
      await database.drop();
    });
    await assert.rejects(sql`select pg_sleep(300)`, { code: "57014" });
    await pingPostgres(sql);
    const [row] = await sql<[{ name: string; big: number }]>`
      select current_setting('application_name') as name, 9007199254740991::bigint as big`;
    assert.deepEqual({ ...row }, { name: "rcpt-test", big: Number.MAX_SAFE_INTEGER });
  });
});
