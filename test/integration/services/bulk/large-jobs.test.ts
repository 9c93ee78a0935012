import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { newId } from "../../../../src/core/ids.ts";
import { takeReadyRetries } from "../../../../src/store/job-retries.ts";
import { endJob, findJob, jobsOf, listJobs } from "../../../../src/store/jobs.ts";
import type { Database, Transaction } from "../../../../src/store/postgres.ts";
import { inlineJob, queueChunks } from "../../../support/bulk-tasks.ts";
import { createClosing, newTeam, openDatabase } from "../../../support/store.ts";

/** What statements read of jobs that have many tasks: so much, however many there are. */
const closing = createClosing();
const TASKS = 5_000;
let sql: Database;

before(async () => {
  ({ sql } = await openDatabase(closing));
});
after(closing.close);
beforeEach(async () => void (await sql`delete from jobs`));

/** A job under way of so many chunks, all done, each of which left a retry that waits for long, and one that is done. */
async function largeJob(chunks: number): Promise<{ id: string; teamId: string }> {
  const { teamId } = await newTeam(sql, "enterprise");
  const id = newId("job");
  const ranges = Array.from({ length: chunks }, (_, i) => ({
    firstRow: i,
    rows: 1,
    firstByte: i,
    bytes: 1,
    repeatsByte: 0,
    repeatsBytes: 0,
  }));
  await queueChunks(sql, inlineJob(teamId, id), ranges, { rows: chunks, duplicates: 0, malformed: 0 });
  await sql`update jobs set status = 'processing' where id = ${id}`;
  await sql`update job_tasks set state = 'done' where job_id = ${id}`;
  for (const state of ["ready", "done"])
    await sql`
      insert into job_tasks (job_id, number, kind, chunk, row_count, row_set, site, egress, reason, deferred_at, due_at, state,
        shard_key)
      select job_id, number + (select max(number) + 1 from job_tasks where job_id = ${id}), 'retry', number, 1, '\\x01',
        'slow.example', 'egress', 'busy', now(), now() + interval '1 hour', ${state}, case ${state} when 'done' then 's' end
      from job_tasks where job_id = ${id} and kind = 'chunk'`;
  await sql`analyze job_tasks`;
  return { id, teamId };
}

/** Rows of tasks that `read` has looked at, whatever it found. */
async function rowsRead(read: (tx: Transaction) => Promise<unknown>): Promise<number> {
  return sql.begin(async (tx) => {
    const count = async () => {
      const [row] = await tx<[{ rows: number }]>`
        select coalesce(seq_tup_read + idx_tup_fetch, 0)::int as rows from pg_stat_xact_user_tables where relname = 'job_tasks'`;
      return row.rows;
    };
    const before = await count();
    await read(tx);
    return (await count()) - before;
  });
}

describe("retries that wait", () => {
  it("are not read before they are due", async () => {
    await largeJob(TASKS);
    const bounds = { window: 4, mixedWindow: 16, total: 64, lines: 500 };
    const read = await rowsRead(async (tx) => {
      assert.equal((await takeReadyRetries(tx, "egress", bounds, null)).tasks.length, 0);
    });
    assert.ok(read < 50, `${read} rows were read`);
  });
});

describe("a job with many tasks", () => {
  it("is looked at without them", async () => {
    const { id, teamId } = await largeJob(TASKS);
    await sql`update jobs set deferred = ${TASKS} where id = ${id}`;
    const [last] =
      await sql`select max(due_at) as due from job_tasks where job_id = ${id} and state <> 'done'`;
    const read = await rowsRead(async (tx) => {
      assert.deepEqual((await findJob(tx, teamId, id))?.deferred_until, last?.due);
      assert.equal((await listJobs(tx, teamId, { limit: 10, after: null })).length, 1);
      assert.equal((await jobsOf(tx, [id])).length, 1);
    });
    assert.ok(read < 50, `${read} rows were read`);
  });

  it("ends without a look at those that are done", async () => {
    const { id } = await largeJob(TASKS);
    await sql`delete from job_tasks where job_id = ${id} and state <> 'done'`;
    await sql`analyze job_tasks`;
    const read = await rowsRead(async (tx) => {
      await endJob(tx, id, { status: "completed", resultsKey: "k" });
    });
    assert.ok(read < 50, `${read} rows were read`);
  });
});

describe("statements", () => {
  it("are not compiled: that would take longer than any of ours does", async () => {
    const [row] = await sql`select current_setting('jit') as jit`;
    assert.equal(row?.jit, "off");
  });
});
