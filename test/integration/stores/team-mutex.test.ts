import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPostgres } from "../../../src/stores/postgres/postgres.ts";
import { useDatabase } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/** Transactions of one team wait for each other outside of Postgres: a pool of three, and a row that another client locks. */
const { sql: direct, url, closing } = await useDatabase();
const sql = createPostgres({ url, maxConnections: 3, applicationName: "rcpt-mutex" });
closing.after(() => sql.end({ timeout: 1 }));
await direct`create table locked (team text primary key)`;
await direct`insert into locked values ('a'), ('b')`;

/** Connections of the pool that wait for a row. */
async function waiting(): Promise<number> {
  const [row] = await direct<[{ count: number }]>`
    select count(*)::int as count from pg_stat_activity
    where application_name = 'rcpt-mutex' and wait_event_type = 'Lock'`;
  return row.count;
}

const lock = (team: string) =>
  sql.begin((tx) => tx`select from locked where team = ${team} for no key update`, team);

describe("transactions that lock one team's row", () => {
  it("wait on one connection; other teams and statements have the rest", async () => {
    let letGo: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const holder = direct.begin(async (tx) => {
      await tx`select from locked where team = 'a' for no key update`;
      await released;
    });
    await until("the row is locked", async () => {
      const free = await direct`select from locked where team = 'a' for no key update skip locked`;
      return free.length === 0;
    });
    const burst = Array.from({ length: 20 }, () => lock("a"));
    await until("the first waits for the row", async () => (await waiting()) === 1);
    // These are behind the burst in the pool's queue: they are served at once because it holds one connection.
    await Promise.all([lock("b"), lock("b"), sql`select 1`]);
    assert.equal(await waiting(), 1);
    letGo();
    await Promise.all([holder, ...burst]);
  });

  it("go on behind one that fails", async () => {
    const failing = sql.begin(async () => {
      throw new Error("no");
    }, "a");
    const next = lock("a");
    await assert.rejects(failing, /no/);
    await next;
  });
});
