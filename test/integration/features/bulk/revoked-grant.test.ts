import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { findJob } from "../../../../src/features/bulk/jobs/job-sql.ts";
import { sourceKey } from "../../../../src/features/bulk/results/job-objects.ts";
import { ALL_VALID, createMemoryObjects, createRunner, queueInline } from "../../../support/bulk-tasks.ts";
import { useDatabase } from "../../../support/store.ts";

/** A list in a bucket of the team's, to which the operator revokes access while its job is in progress. */

const { sql } = await useDatabase();

/** A job of one chunk, task 0, whose assembly is task 1. */
async function setUp() {
  const objects = createMemoryObjects();
  const { id, teamId } = await queueInline(sql, objects, ["a@example.com", "b@example.com"]);
  objects.kept.set("in/list.csv", objects.kept.get(sourceKey(teamId, id)) ?? Buffer.alloc(0));
  objects.kept.delete(sourceKey(teamId, id));
  const etag = (await objects.streams.head({ bucket: "theirs", key: "in/list.csv" }))?.etag ?? "";
  await sql`
    update jobs set rows_bucket = 'theirs', rows_key = 'in/list.csv', rows_etag = ${etag}, day = current_date
    where id = ${id}`;
  await sql`insert into s3_grants (team_id, bucket, prefix) values (${teamId}, 'theirs', 'in/')`;
  const runner = createRunner({ sql, objects, rows: ALL_VALID });
  const revoke = async () => {
    await sql`delete from s3_grants where team_id = ${teamId}`;
    await runner.clock.advanceAsync(LIMITS.bulk.grantsFreshMs);
  };
  const outcome = async () => {
    const job = await findJob(sql, teamId, id);
    return [job?.status, job?.error_code];
  };
  return { id, run: runner.run, revoke, outcome };
}

describe("a grant that is revoked", () => {
  it("stops workers from reading the rows of a chunk: the job fails", async () => {
    const { id, run, revoke, outcome } = await setUp();
    await revoke();
    assert.equal(await run(id, 0), true);
    assert.deepEqual(await outcome(), ["failed", "s3_not_granted"]);
  });

  it("nor put its results together", async () => {
    const { id, run, revoke, outcome } = await setUp();
    await run(id, 0);
    await revoke();
    assert.equal(await run(id, 1), true);
    assert.deepEqual(await outcome(), ["failed", "s3_not_granted"]);
  });

  it("while one that holds lets the job complete", async () => {
    const { id, run, outcome } = await setUp();
    await run(id, 0);
    await run(id, 1);
    assert.deepEqual(await outcome(), ["completed", null]);
  });
});
