import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createChangePublisher } from "../../../../src/features/auth/publish.ts";
import { deleteJob } from "../../../../src/features/bulk/jobs/job-clearing.ts";
import { endJob, findJob, jobsOf, listJobs } from "../../../../src/features/bulk/jobs/job-sql.ts";
import { createEmitter } from "../../../../src/features/bulk/schedule/emit.ts";
import { egressesWithEmitted, takeReadyRetries } from "../../../../src/features/bulk/schedule/job-retries.ts";
import type { JobStreams } from "../../../../src/features/bulk/schedule/job-stream.ts";
import { chunksOf } from "../../../../src/features/bulk/schedule/job-tasks.ts";
import { createTeam } from "../../../../src/features/teams/team.ts";
import { newId } from "../../../../src/platform/ids.ts";
import type { Transaction } from "../../../../src/stores/postgres/postgres.ts";
import { inlineJob, queueChunks } from "../../../support/bulk-tasks.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { newTeam, ownerOf, silentLog, useDatabase } from "../../../support/store.ts";

/** Statements about jobs with many tasks read a bounded number of rows, however many tasks there are. */
const TASKS = 5_000;

const { sql } = await useDatabase();
beforeEach(async () => void (await sql`delete from jobs`));

/**
 * A job in progress with this many chunks, all done. Each has left a retry that is not due for long, and one that is
 * done.
 */
async function largeJob(chunks: number) {
  const made = await newTeam(sql, "enterprise");
  const { teamId } = made;
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
  return { id, teamId, made };
}

/** Number of task rows that `read` has read, whatever it returned. */
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
    const bounds = { window: 4, mixedWindow: 16, total: 64, queues: 500 };
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
      assert.equal((await listJobs(tx, teamId, { limit: 10, after: null, testOnly: false })).length, 1);
      assert.equal((await jobsOf(tx, [id])).length, 1);
    });
    assert.ok(read < 50, `${read} rows were read`);
  });

  it("gives its last chunks without a look at what stands behind them", async () => {
    const { id } = await largeJob(TASKS);
    const read = await rowsRead(async (tx) => {
      assert.deepEqual(
        (await chunksOf(tx, id, TASKS - 11, 20)).map(({ number, patches }) => [number, patches]),
        Array.from({ length: 10 }, (_, i) => [TASKS - 10 + i, ["s"]]),
      );
    });
    assert.ok(read < 100, `${read} rows were read`);
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

/** The most rows that one statement has deleted from, or changed in, the tasks of jobs. */
async function watchStatements(): Promise<() => Promise<number>> {
  await sql.unsafe(`
    create table statements (rows integer not null);
    create function note_statement() returns trigger language plpgsql as $$ begin
      insert into statements select count(*) from gone;
      return null;
    end $$;
    create trigger noted_delete after delete on job_tasks referencing old table as gone
      for each statement execute function note_statement();
    create trigger noted_update after update on job_tasks referencing old table as gone
      for each statement execute function note_statement();`);
  return async () => (await sql<[{ most: number }]>`select max(rows) as most from statements`)[0].most;
}

describe("of a job with more tasks than a statement should touch", () => {
  const { tasksPerStatement } = LIMITS.bulk;
  const more = tasksPerStatement + 10;
  const left = async (id: string) =>
    (await sql`select from job_tasks where job_id = ${id} and state <> 'done'`).count;

  it("what is left to do goes in pieces, when it has ended and after, and then all of it", async (t) => {
    const { id } = await largeJob(more);
    // Chunks in line too, and some in workers' hands.
    await sql`update job_tasks set state = 'ready' where job_id = ${id} and kind = 'chunk'`;
    await sql`
      update job_tasks set state = 'emitted', emitted_at = now() where job_id = ${id} and kind = 'chunk' and number < 100`;
    const most = await watchStatements();
    t.after(() => sql.unsafe("drop function note_statement cascade; drop table statements"));
    await sql.begin((tx) => endJob(tx, id, { status: "cancelled" }));
    assert.equal(await left(id), 2 * (more - tasksPerStatement));
    const tasks = { outstanding: async () => null, countConsumers: async () => 0 };
    const streams = { tasks, retries: () => tasks } as unknown as JobStreams;
    await createEmitter({ sql, streams, clock: createFakeClock() }).reconcile(() => false);
    assert.equal(await left(id), 0);
    assert.equal(await most(), tasksPerStatement);
    // The chunks are there still: what copies an answered row may stand in any of them.
    assert.equal((await chunksOf(sql, id, -1, 2 * more)).length, more);
    const [row] = await sql`select tasks_left from jobs where id = ${id}`;
    assert.equal(row?.tasks_left, false);
  });

  it("all go in pieces before it", async (t) => {
    const { id } = await largeJob(more);
    const most = await watchStatements();
    t.after(() => sql.unsafe("drop function note_statement cascade; drop table statements"));
    await deleteJob(sql, id);
    assert.equal((await sql`select from jobs where id = ${id}`).count, 0);
    assert.equal(await most(), tasksPerStatement);
  });

  it("all go in pieces before its team, though it is under way", async (t) => {
    const { id, made } = await largeJob(more);
    const bus = { announce: async () => undefined };
    const publisher = createChangePublisher({ sql, bus, log: silentLog, invalidate: () => undefined });
    const most = await watchStatements();
    t.after(() => sql.unsafe("drop function note_statement cascade; drop table statements"));
    await createTeam({ sql, publisher }).remove(await ownerOf(sql, made));
    assert.equal((await sql`select from jobs where id = ${id}`).count, 0);
    assert.ok((await most()) <= LIMITS.team.deletionBatch, `${await most()} went at once`);
  });
});

describe("egresses in whose streams retries are", () => {
  it("are found without a look at all that are there", async () => {
    const { id } = await largeJob(TASKS);
    await sql`
      update job_tasks set state = 'emitted', emitted_at = now(), egress = 'egress-' || number % 3
      where job_id = ${id} and kind = 'retry' and state = 'ready'`;
    await sql`vacuum analyze job_tasks`;
    const read = await rowsRead(async (tx) => {
      assert.deepEqual(await egressesWithEmitted(tx), ["egress-0", "egress-1", "egress-2"]);
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
