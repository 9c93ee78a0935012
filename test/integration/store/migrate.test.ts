import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createLog } from "../../../src/core/log.ts";
import { MigrationError, migrate } from "../../../src/store/migrate.ts";
import { MIGRATIONS } from "../../../src/store/migrations/index.ts";
import { createPostgres, type Database, pingPostgres } from "../../../src/store/postgres.ts";
import { createTestDatabase } from "../../support/embedded.ts";
import { createClosing } from "../../support/store.ts";

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
