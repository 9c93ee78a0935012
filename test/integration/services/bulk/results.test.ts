import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { after, before, describe, it } from "node:test";
import type { AppError } from "../../../../src/core/errors.ts";
import { LIMITS } from "../../../../src/core/limits.ts";
import { createResults, type ResultsDeps } from "../../../../src/services/bulk/results.ts";
import { findJob } from "../../../../src/store/jobs.ts";
import type { Database } from "../../../../src/store/postgres.ts";
import { createScratch } from "../../../../src/store/scratch.ts";
import { ALL_VALID, createRunner, queueInline } from "../../../support/bulk-tasks.ts";
import { createMemoryObjects } from "../../../support/memory-objects.ts";
import { createClosing, openDatabase } from "../../../support/store.ts";

/** Results of jobs as the API reads them. */
const closing = createClosing();
let sql: Database;

before(async () => {
  ({ sql } = await openDatabase(closing));
});
after(closing.close);

const ASK = { format: "csv", verdict: null, range: "", ifRange: "" } as const;

/** A job whose rows are answered, and not yet put together. */
async function setUp(parts: Partial<ResultsDeps> = {}) {
  const objects = createMemoryObjects();
  const { streams } = objects;
  const scratch = createScratch(tmpdir());
  const results = createResults({ sql, objects, streams, scratch, ...parts });
  const answeredJob = async () => {
    const { id, teamId } = await queueInline(sql, objects, ["a@example.com", "b@example.com"]);
    await createRunner({ sql, objects, rows: ALL_VALID }).run(id, 0);
    const job = await findJob(sql, teamId, id);
    assert.ok(job !== null);
    return job;
  };
  return { objects, results, job: await answeredJob(), answeredJob };
}

const refused = (code: string) => (error: AppError) => {
  assert.equal(error.code, code, String(error.stack));
  return true;
};

describe("downloads that are put together while they are read", () => {
  const { joinedDownloads, teamJoinedDownloads } = LIMITS.results;

  it("are so many of a team, and so many of a process, until they are released", async () => {
    const { results, job, answeredJob } = await setUp();
    const mine = await Promise.all(Array.from({ length: teamJoinedDownloads }, () => results.read(job, ASK)));
    await assert.rejects(results.read(job, ASK), refused("rate_limited"));
    const others = [];
    for (let taken = teamJoinedDownloads; taken < joinedDownloads; taken++)
      others.push(await results.read(await answeredJob(), ASK));
    const late = await answeredJob();
    await assert.rejects(results.read(late, ASK), refused("overloaded"));
    mine[0]?.release();
    mine[0]?.release();
    (await results.read(late, ASK)).release();
    for (const body of [...mine, ...others]) body.release();
    for (let again = 0; again < 2 * joinedDownloads; again++) (await results.read(job, ASK)).release();
  });

  it("leave those of completed jobs alone", async () => {
    const { results, job, objects } = await setUp();
    const bodies = await Promise.all(
      Array.from({ length: teamJoinedDownloads }, () => results.read(job, ASK)),
    );
    await createRunner({ sql, objects, rows: ALL_VALID }).run(job.id, 1);
    const completed = await findJob(sql, job.team_id, job.id);
    assert.equal(completed?.status, "completed");
    if (completed !== null) bodies.push(await results.read(completed, ASK));
    for (const body of bodies) body.release();
  });
});
