import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createBulkRemoval } from "../../../../src/services/bulk/removal.ts";
import { jobPrefix, sourceKey } from "../../../../src/store/job-objects.ts";
import { findJob } from "../../../../src/store/jobs.ts";
import type { Database } from "../../../../src/store/postgres.ts";
import { ALL_VALID, createMemoryObjects, createRunner, queueInline } from "../../../support/bulk-tasks.ts";
import { createClosing, openDatabase } from "../../../support/store.ts";

/** What jobs that have ended leave behind. */
const closing = createClosing();
let sql: Database;

before(async () => {
  ({ sql } = await openDatabase(closing));
});
after(closing.close);

describe("the source of a job", () => {
  it("goes when the job has ended and no worker can read it any more; the results stay", async () => {
    const objects = createMemoryObjects();
    let listings = 0;
    const removal = createBulkRemoval({
      sql,
      async deleteBelow(prefix) {
        listings += 1;
        for (const key of objects.kept.keys()) if (key.startsWith(prefix)) objects.kept.delete(key);
        return true;
      },
      retentionDays: 30,
    });
    const sweep = () => removal.sweep(() => false);
    const running = await queueInline(sql, objects, ["a@example.com"]);
    const done = await queueInline(sql, objects, ["a@example.com"]);
    const { run } = createRunner({ sql, objects, rows: ALL_VALID });
    await run(done.id, 0);
    await run(done.id, 1);
    const keys = () => [...objects.kept.keys()].filter((key) => key.includes(done.id)).length;
    assert.equal(keys(), 4);
    await sweep();
    assert.equal(keys(), 4);
    // As if the rest were over.
    await sql`update jobs set completed_at = now() - interval '1 hour' where id = ${done.id}`;
    await sweep();
    assert.deepEqual([listings, keys()], [1, 3]);
    assert.ok(!objects.kept.has(sourceKey(done.teamId, done.id)));
    assert.ok(objects.kept.has(sourceKey(running.teamId, running.id)));
    await sweep();
    assert.equal(listings, 1);
    const job = await findJob(sql, done.teamId, done.id);
    assert.ok(objects.kept.has(`${job?.results_key}.csv`));
    assert.ok(job?.results_key?.startsWith(jobPrefix(done.teamId, done.id)));
  });
});
