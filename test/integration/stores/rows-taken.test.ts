import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { subselectsOf } from "../../../scripts/layers/subselects.ts";
import { createPostgres, type Transaction } from "../../../src/stores/postgres/postgres.ts";
import { LOCKS_BY_KEY, PENDING, TAKINGS, type Taking } from "../../support/rows-to-take.ts";
import { takersOfRows } from "../../support/statements.ts";
import { useDatabase } from "../../support/store.ts";

/**
 * Statements that take up to N of PENDING rows, with generic plans, as a server makes them once it has run a statement
 * a few times: there `… where id in (select … limit 1000 for update)` took all rows.
 */
const { sql: setUp, url, closing } = await useDatabase();
const [{ name }] = await setUp<[{ name: string }]>`select current_database() as name`;
await setUp.unsafe(`alter database ${name} set plan_cache_mode = 'force_generic_plan'`);
await setUp`insert into teams (id, name, tier) values ('t1', 'team', 'pro')`;
await setUp`insert into users (id, email) values ('u1', 'owner@example.com')`;
await setUp`insert into memberships (team_id, user_id, role) values ('t1', 'u1', 'owner')`;
const options = { maxConnections: 2, applicationName: "rcpt-test", statementTimeoutMs: 60_000 };
const sql = createPostgres({ url, ...options });
closing.after(() => sql.end({ timeout: 1 }));

/** Rows of a table that may be read: all of them a few times, where it is taken in pieces or by several statements. */
const READS_MAX = 10 * PENDING;

/** Without these the planner makes loops, as where it takes a table of 20,000 rows for one of a few. */
const JOINS_BUT_LOOPS = ["hashjoin", "mergejoin", "material", "memoize"] as const;

interface Touched {
  changed: number;
  read: number;
}

/** Rows of each table that the transaction has touched so far. */
async function touchedBy(tx: Transaction): Promise<Map<string, Touched>> {
  const rows = await tx<(Touched & { name: string })[]>`
    select relname as name, (n_tup_upd + n_tup_del)::int as changed,
      (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::float8 as read
    from pg_stat_xact_user_tables`;
  return new Map(rows.map(({ name, ...touched }) => [name, touched]));
}

class Enough extends Error {}

/** Runs it, checks which rows it touched, and rolls back. */
async function take(tx: Transaction, { run, takes, returns }: Taking): Promise<void> {
  await tx.unsafe("savepoint untaken");
  await tx.unsafe("discard plans");
  const before = await touchedBy(tx);
  const result = await run(tx);
  const after = await touchedBy(tx);
  const changes: Record<string, number> = {};
  const reads: Record<string, number> = {};
  for (const [name, touched] of after) {
    const { changed, read: readBefore } = before.get(name) ?? { changed: 0, read: 0 };
    if (name in takes) changes[name] = touched.changed - changed;
    reads[name] = touched.read - readBefore;
  }
  await tx.unsafe("rollback to savepoint untaken");
  assert.deepEqual(changes, takes);
  if (returns !== undefined) assert.equal((result as unknown[]).length, returns);
  const most = Math.max(...Object.values(reads));
  assert.ok(most < READS_MAX, `rows were read again and again: ${JSON.stringify(reads)}`);
}

/** Does `work` beside PENDING rows that are gone after it; the planner saw their tables last when these were empty. */
async function beside(fill: string, work: (tx: Transaction) => Promise<void>): Promise<void> {
  const trial = sql.begin(async (tx) => {
    await tx.unsafe("analyze");
    await tx.unsafe(fill);
    await work(tx);
    throw new Enough();
  });
  await assert.rejects(trial, (error) => {
    if (!(error instanceof Enough)) throw error;
    return true;
  });
}

it("plans are generic", async () => {
  const [row] = await sql<[{ mode: string }]>`select current_setting('plan_cache_mode') as mode`;
  assert.equal(row.mode, "force_generic_plan");
});

describe(`no more is taken than is to be, of ${PENDING}`, () => {
  for (const taking of TAKINGS)
    it(`${taking.place}: as they came, once they are known, and by loops`, () =>
      beside(taking.fill, async (tx) => {
        await take(tx, taking);
        await tx.unsafe("analyze");
        await take(tx, taking);
        for (const kind of JOINS_BUT_LOOPS) await tx.unsafe(`set local enable_${kind} = off`);
        await take(tx, taking);
      }));
});

it("these are all that there are", () => {
  const tried = TAKINGS.map(({ place }) => place).filter((place) => !place.startsWith("database "));
  assert.deepEqual([...tried, ...LOCKS_BY_KEY].sort(), takersOfRows());
});

it("no function of the database locks rows in a subselect that may run again", async () => {
  const functions = await sql<{ name: string; body: string }[]>`
    select proname as name, prosrc as body from pg_proc where pronamespace = 'public'::regnamespace`;
  assert.ok(functions.length > 10);
  const found = functions.flatMap(({ name, body }) =>
    // PostgreSQL never inlines a CTE that locks rows, even without `materialized`.
    subselectsOf(body)
      .filter(({ locks, holder }) => locks && !["materialized", "cte", "statement"].includes(holder))
      .map(({ holder }) => `${name}: ${holder}`),
  );
  assert.deepEqual(found, []);
});
