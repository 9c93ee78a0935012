import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPostgres, pingPostgres } from "../../../../src/stores/postgres/postgres.ts";
import { createTestDatabase } from "../../../support/embedded.ts";

describe("the Postgres client", () => {
  it("ends a statement that takes too long", async (t) => {
    const database = await createTestDatabase();
    const sql = createPostgres({
      url: database.url,
      maxConnections: 1,
      applicationName: "rcpt-test",
      // Far above what the statements below take, also on a loaded machine.
      statementTimeoutMs: 10_000,
    });
    t.after(async () => {
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
