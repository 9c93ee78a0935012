import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { listJobs } from "../../../src/features/bulk/jobs/job-sql.ts";
import { findUpload, listUploads } from "../../../src/features/uploads/upload-sql.ts";
import { listEvents } from "../../../src/features/webhooks/event-log.ts";
import { listDeliveries } from "../../../src/features/webhooks/webhook-deliveries.ts";
import { createPostgres, type Queryable, type Transaction } from "../../../src/stores/postgres/postgres.ts";
import { actorFor, useDatabase } from "../../support/store.ts";

/**
 * Rows that a page of a list reads, of a team that has many others: live ones while a test key asks, of another type, of
 * another status. All other teams' rows are of what is asked for, so by its statistics the planner expects to find that
 * among the first rows of any index.
 */
const OTHERS = 10_000;
const OTHER_TEAMS = 200;
const PAGE = 100;

const { sql: setUp, url, closing } = await useDatabase();
const sql = createPostgres({
  url,
  maxConnections: 1,
  applicationName: "rcpt-test",
  statementTimeoutMs: 60_000,
});
closing.after(() => sql.end({ timeout: 1 }));

await setUp`insert into teams (id, name, tier) select 't' || n, 'team', 'pro' from generate_series(1, ${1 + OTHER_TEAMS}) n`;
await setUp`
  insert into webhooks (id, team_id, url, description, secret) select 'w' || id, id, 'https://a.example/', '', '' from teams`;
/** The team has one row of what is asked for, older than the others. */
await setUp.unsafe(`
  insert into events (id, team_id, type, livemode, data)
    select 'evt_1_' || lpad(n::text, 6, '0'), 't1', case n when 0 then 'ping' else 'bulk.completed' end, n > 0, '{}'
    from generate_series(0, ${OTHERS}) n;
  insert into events (id, team_id, type, livemode, data)
    select 'evt_2_' || lpad(n::text, 6, '0'), 't' || (2 + n % ${OTHER_TEAMS}), 'ping', false, '{}'
    from generate_series(1, ${5 * OTHERS}) n;
  insert into webhook_deliveries (id, team_id, event_id, webhook_id, lane, status, next_attempt_at)
    select 'dlv_' || right(e.id, 8), e.team_id, e.id, 'w' || e.team_id, 'lane',
      case e.type when 'ping' then 'succeeded' else 'failed' end, null
    from events e;
  insert into uploads (id, team_id, filename, object_key, status, expires_at)
    select 'upl_1_' || lpad(n::text, 6, '0'), 't1', 'list.csv', 'key', 'stored', now() from generate_series(0, ${PAGE}) n;
  insert into jobs (id, team_id, livemode, status, source, source_key, options, daily_quota, bulk_bytes, probing, with_evidence,
      metadata, upload_id)
    select 'job_' || right(id, 8), team_id, livemode, 'queued', '{}', 'key', '{}', 1, 1, false, false, '{}',
      case when team_id = 't1' then 'upl_1_000000' end from events;
  analyze;`);

/** Rows of tables that the connection has read so far. */
async function rowsRead(tx: Transaction): Promise<number> {
  const [row] = await tx<[{ read: number }]>`
    select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::float8 as read from pg_stat_xact_user_tables`;
  return row.read;
}

const actor = actorFor("t1");
const testActor = { ...actor, livemode: false };
const of = { teamId: "t1", webhookId: "wt1" };

/** A question for what the team has one of, and for the page behind it. */
const LISTS: Record<string, (sql: Queryable, after: string | null) => Promise<{ id: string }[]>> = {
  "events of a type": async (tx, after) =>
    (await listEvents(tx, actor, { limit: PAGE, after, type: "ping" })).data,
  "events of test keys": async (tx, after) =>
    (await listEvents(tx, testActor, { limit: PAGE, after, type: null })).data,
  "events of test keys, of a type": async (tx, after) =>
    (await listEvents(tx, testActor, { limit: PAGE, after, type: "ping" })).data,
  "deliveries of a status": (tx, after) =>
    listDeliveries(tx, of, { limit: PAGE, after, status: "succeeded" }),
  "jobs of test keys": (tx, after) => listJobs(tx, "t1", { limit: PAGE, after, testOnly: true }),
};

/** Pages of all there is: from the end, a page reads no more than from the beginning. */
const WHOLE: typeof LISTS = {
  events: async (tx, after) => (await listEvents(tx, actor, { limit: PAGE, after, type: null })).data,
  deliveries: (tx, after) => listDeliveries(tx, of, { limit: PAGE, after, status: null }),
  jobs: (tx, after) => listJobs(tx, "t1", { limit: PAGE, after, testOnly: false }),
};

/** Rows that a page may read: of its own table, and of one other for each of them. */
const MOST = 3 * (PAGE + 1);

for (const mode of ["force_custom_plan", "force_generic_plan"])
  describe(`a page of a list, with ${mode}`, () => {
    const read = (ask: (tx: Transaction) => Promise<{ id: string }[]>) =>
      sql.begin(async (tx) => {
        await tx`select set_config('plan_cache_mode', ${mode}, true)`;
        const before = await rowsRead(tx);
        const found = await ask(tx);
        return { ids: found.map(({ id }) => id), rows: (await rowsRead(tx)) - before };
      });

    for (const [what, list] of Object.entries(LISTS))
      it(`of ${what} reads only these`, async () => {
        const first = await read((tx) => list(tx, null));
        assert.match(first.ids.join(), /^[a-z]+_1_000000$/);
        assert.ok(first.rows <= MOST, `${first.rows} rows were read`);
        const second = await read((tx) => list(tx, first.ids[0] ?? ""));
        assert.deepEqual(second.ids, []);
        assert.ok(second.rows <= MOST, `${second.rows} rows were read`);
      });

    for (const [what, list] of Object.entries(WHOLE))
      it(`of all ${what} reads no row before it`, async () => {
        const prefix = what === "events" ? "evt" : what === "jobs" ? "job" : "dlv";
        const last = await read((tx) => list(tx, `${prefix}_1_000050`));
        assert.equal(last.ids.length, 50);
        assert.ok(last.rows <= MOST, `${last.rows} rows were read`);
      });
  });

describe("an upload with many jobs", () => {
  const { jobsShown } = LIMITS.uploads;
  const read = <T>(ask: (tx: Transaction) => Promise<T>) =>
    sql.begin(async (tx) => {
      const before = await rowsRead(tx);
      return { found: await ask(tx), rows: (await rowsRead(tx)) - before };
    });

  it("is looked up without reading more of them than are shown", async () => {
    const { found, rows } = await read((tx) => findUpload(tx, "t1", "upl_1_000000"));
    assert.equal(found?.jobs, jobsShown);
    assert.ok(rows <= 3 * jobsShown, `${rows} rows were read`);
  });

  it("is listed so too", async () => {
    const page = { limit: PAGE, after: "upl_1_000001", testOnly: false, unusedOnly: false };
    const { found, rows } = await read((tx) => listUploads(tx, "t1", page));
    assert.deepEqual(
      found.map(({ id, jobs }) => [id, jobs]),
      [["upl_1_000000", jobsShown]],
    );
    assert.ok(rows <= 3 * jobsShown + PAGE, `${rows} rows were read`);
  });
});
