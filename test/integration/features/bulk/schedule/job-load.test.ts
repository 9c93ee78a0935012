import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { endJob, hideJob } from "../../../../../src/features/bulk/jobs/job-sql.ts";
import { readJobLoad } from "../../../../../src/features/bulk/schedule/job-load.ts";
import { newId } from "../../../../../src/platform/ids.ts";
import type { Transaction } from "../../../../../src/stores/postgres/postgres.ts";
import { inlineJob, queueChunks } from "../../../../support/bulk-tasks.ts";
import { newTeam, useDatabase } from "../../../../support/store.ts";

/** The metrics about jobs in progress. */

const { sql } = await useDatabase();
const { teamId } = await newTeam(sql, "enterprise");

async function jobOfChunks(count: number): Promise<string> {
  const id = newId("job");
  const bytes = { firstByte: 0, bytes: 80, repeatsByte: 0, repeatsBytes: 0 };
  const chunks = Array.from({ length: count }, (_, i) => ({ firstRow: i, rows: 1, ...bytes }));
  await queueChunks(sql, inlineJob(teamId, id), chunks, { rows: count, duplicates: 0, malformed: 0 });
  return id;
}

/** A task came into the stream so long ago. */
const emit = (jobId: string, number: number, agoS: number) => sql`
  update job_tasks set state = 'emitted', emitted_at = clock_timestamp() - ${agoS} * interval '1 s'
  where job_id = ${jobId} and number = ${number}`;

describe("jobs under way", () => {
  it("are reported by state, zeros included, with the oldest emitted chunk", async () => {
    const nothing = await readJobLoad(sql);
    assert.deepEqual(
      [...nothing.jobs],
      ["submitting", "queued", "analyzing", "processing", "deferred", "finalizing"].map((state) => [
        state,
        0,
      ]),
    );
    assert.equal(nothing.oldestChunkS, 0);
    const [old, hidden, ended] = [await jobOfChunks(3), await jobOfChunks(1), await jobOfChunks(1)];
    await emit(old, 0, 900);
    await emit(old, 1, 300);
    await emit(hidden, 0, 9_000);
    await emit(ended, 0, 9_000);
    await sql.begin((tx) => hideJob(tx, hidden));
    await sql.begin((tx) => endJob(tx, ended, { status: "cancelled" }));
    const some = await readJobLoad(sql);
    assert.deepEqual([some.jobs.get("queued"), some.jobs.get("processing")], [1, 0]);
    assert.ok(some.oldestChunkS >= 900 && some.oldestChunkS < 9_000, `${some.oldestChunkS} s`);
    await sql`update job_tasks set state = 'done', emitted_at = null where job_id = ${old} and number = 0`;
    const later = await readJobLoad(sql);
    assert.ok(later.oldestChunkS >= 300 && later.oldestChunkS < 900, `${later.oldestChunkS} s`);
  });

  it("are counted without reading what is done, or waits for its turn", async () => {
    const id = await jobOfChunks(20_000);
    await sql`update job_tasks set state = 'done' where job_id = ${id} and number < 10000`;
    await emit(id, 10_000, 60);
    await sql`analyze job_tasks, jobs`;
    const read = await sql.begin(async (tx) => {
      // Earlier reads of the connection may not have been reported yet, and count too.
      const before = await rowsRead(tx);
      const { oldestChunkS } = await readJobLoad(tx);
      assert.ok(oldestChunkS >= 60);
      return (await rowsRead(tx)) - before;
    });
    assert.ok(read > 0 && read < 100, `${read} rows of tasks were read`);
  });
});

/** Task rows that the connection has read recently, by scan or by index. */
async function rowsRead(tx: Transaction): Promise<number> {
  const [row] = await tx<[{ rows: string }]>`
    select seq_tup_read + coalesce(idx_tup_fetch, 0) as rows from pg_stat_xact_user_tables where relname = 'job_tasks'`;
  return Number(row.rows);
}
