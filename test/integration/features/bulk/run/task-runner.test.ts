import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { findJob, type JobRow } from "../../../../../src/features/bulk/jobs/job-sql.ts";
import { MissingObject } from "../../../../../src/features/bulk/results/job-objects.ts";
import { createControl } from "../../../../../src/features/bulk/run/control.ts";
import type { RowVerifier } from "../../../../../src/features/bulk/run/row-verifier.ts";
import { ALL_VALID, allValid, createRunner, queueInline, rowsBy } from "../../../../support/bulk-tasks.ts";
import { createMemoryObjects } from "../../../../support/memory-objects.ts";
import { useDatabase } from "../../../../support/store.ts";
import { until } from "../../../../support/until.ts";

/** Tasks, on a real database, whose rows and objects behave as each test says. */
const { deliveries, interruptions, missingTries, aloneFrom, rowsPerChunk } = LIMITS.bulk;

const { sql } = await useDatabase();

async function jobOf({ id, teamId }: { id: string; teamId: string }): Promise<JobRow> {
  const job = await findJob(sql, teamId, id);
  assert.ok(job !== null);
  return job;
}

const addresses = (count: number) => Array.from({ length: count }, (_, i) => `a${i}@example.com`);

describe("a fault that does not pass", () => {
  it("in the rows of a chunk is tried again a few times, then the chunk is given up", async () => {
    const objects = createMemoryObjects();
    const job = await queueInline(sql, objects, ["a@example.com"]);
    let calls = 0;
    const rows: RowVerifier = {
      ...ALL_VALID,
      verify() {
        calls += 1;
        throw new TypeError("undefined is no result");
      },
    };
    const { run, buried, ends } = createRunner({ sql, objects, rows });
    assert.equal(await run(job.id, 0), true);
    assert.deepEqual([calls, buried], [deliveries, [0]]);
    const failures = new Array(deliveries).fill("chunk failed");
    assert.deepEqual(ends, [...failures, "chunk 1 + 0", "chunk dead"]);
    assert.equal(await run(job.id, 1), true);
    const { status, unknown, charged } = await jobOf(job);
    assert.deepEqual([status, unknown, charged], ["completed", 1, 0]);
  });

  it("in a shard fails the job, and keeps no worker", async () => {
    const objects = createMemoryObjects();
    const job = await queueInline(sql, objects, ["a@example.com"]);
    const { run } = createRunner({ sql, objects, rows: ALL_VALID });
    await run(job.id, 0);
    for (const [key] of objects.kept) if (key.includes("/shards/")) objects.kept.set(key, Buffer.from("<\n"));
    assert.equal(await run(job.id, 1), true);
    const { status, error_code, charged } = await jobOf(job);
    assert.deepEqual([status, error_code, charged], ["failed", "internal_error", 0]);
  });

  it("results that lack a row are not handed out as whole", async () => {
    const objects = createMemoryObjects();
    const job = await queueInline(sql, objects, addresses(2));
    const { run } = createRunner({ sql, objects, rows: ALL_VALID });
    await run(job.id, 0);
    for (const [key, shard] of objects.kept)
      if (key.includes("/shards/")) objects.kept.set(key, shard.subarray(0, shard.indexOf(10) + 1));
    await run(job.id, 1);
    assert.equal((await jobOf(job)).status, "failed");
    assert.ok(![...objects.kept.keys()].some((key) => key.includes("/results-")));
  });
});

/** Streams whose objects are found at the last attempt that is made. */
function foundAtLast({ streams: { readRange } }: ReturnType<typeof createMemoryObjects>) {
  let attempts = 0;
  return {
    async readRange(...asked: Parameters<typeof readRange>) {
      attempts += 1;
      if (attempts < missingTries) throw new MissingObject("not yet");
      return readRange(...asked);
    },
  };
}

describe("an object that is missing", () => {
  it("is looked for again, and found", async () => {
    const objects = createMemoryObjects();
    const streams = foundAtLast(objects);
    const job = await queueInline(sql, objects, ["a@example.com"]);
    const { run } = createRunner({ sql, objects, rows: ALL_VALID, streams });
    await run(job.id, 0);
    await run(job.id, 1);
    assert.equal((await jobOf(job)).status, "completed");
  });

  it("is looked for again also by a task that was begun often", async () => {
    const objects = createMemoryObjects();
    const streams = foundAtLast(objects);
    const job = await queueInline(sql, objects, ["a@example.com"]);
    await sql`update job_tasks set deliveries = ${missingTries + 1} where job_id = ${job.id}`;
    const { run } = createRunner({ sql, objects, rows: ALL_VALID, streams });
    await run(job.id, 0);
    await run(job.id, 1);
    assert.equal((await jobOf(job)).status, "completed");
  });

  it("of ours fails the job for nothing, whatever was answered", async () => {
    const objects = createMemoryObjects();
    const job = await queueInline(sql, objects, addresses(2));
    const { run } = createRunner({ sql, objects, rows: ALL_VALID });
    await run(job.id, 0);
    for (const key of objects.kept.keys()) if (key.includes("/shards/")) objects.kept.delete(key);
    await run(job.id, 1);
    const { status, error_code, charged } = await jobOf(job);
    assert.deepEqual([status, error_code, charged], ["failed", "objects_missing", 0]);
  });

  it("fails the job when it stays away", async () => {
    const objects = createMemoryObjects();
    const job = await queueInline(sql, objects, ["a@example.com"]);
    objects.kept.clear();
    const { run } = createRunner({ sql, objects, rows: ALL_VALID });
    await run(job.id, 0);
    assert.equal((await jobOf(job)).error_code, "objects_missing");
  });
});

describe("a dependency that is away", () => {
  it("is waited for without counting, by one worker after the other", async () => {
    const objects = createMemoryObjects();
    const away = Object.assign(new Error("away"), { code: "ECONNREFUSED" });
    let tries = 0;
    const streams = {
      async readRange() {
        tries += 1;
        throw away;
      },
    };
    const job = await queueInline(sql, objects, ["a@example.com"]);
    const { run } = createRunner({ sql, objects, rows: ALL_VALID, streams });
    for (let taken = 1; taken <= deliveries; taken++) {
      assert.equal(await run(job.id, 0), false);
      assert.equal(tries, taken * interruptions);
    }
    const [task] = await sql`select deliveries from job_tasks where job_id = ${job.id}`;
    assert.equal(task?.deliveries, 0);
  });

  it("is waited for no longer when the task is cancelled", async () => {
    const objects = createMemoryObjects();
    const control = createControl();
    const streams = {
      async readRange() {
        control.cancel();
        throw Object.assign(new Error("away"), { code: "ECONNREFUSED" });
      },
    };
    const job = await queueInline(sql, objects, ["a@example.com"]);
    const { run } = createRunner({ sql, objects, rows: ALL_VALID, streams });
    assert.equal(await run(job.id, 0, control), false);
    const [task] = await sql`select state, deliveries from job_tasks where job_id = ${job.id}`;
    assert.deepEqual([task?.state, task?.deliveries], ["ready", 0]);
  });
});

describe("a task that may have ended its process before", () => {
  it("runs alone when it is started again: no other task's deliveries increase", async () => {
    const objects = createMemoryObjects();
    const job = await queueInline(sql, objects, addresses(3 * rowsPerChunk));
    await sql`
      update job_tasks set deliveries = ${aloneFrom - 1} where job_id = ${job.id} and number = 1`;
    const atWork = new Set<string>();
    const seen: string[][] = [];
    const releases: (() => void)[] = [];
    const rows = rowsBy(async (emails, ...rest) => {
      const first = emails[0] ?? "";
      atWork.add(first);
      seen.push([...atWork]);
      await new Promise<void>((resolve) => releases.push(resolve));
      atWork.delete(first);
      return allValid(emails, ...rest);
    });
    const { run } = createRunner({ sql, objects, rows });
    const begun = () =>
      sql`select number from job_tasks where job_id = ${job.id} and deliveries > 0 order by number`;
    const first = run(job.id, 0);
    await until("the first is at work", () => seen.length === 1);
    const suspect = run(job.id, 1);
    const last = run(job.id, 2);
    await until("all that may begin have", async () => releases.length >= 1);
    for (let done = 0; done < 3; done++) {
      await until("one is at work", () => atWork.size > 0 && releases.length > done);
      releases[done]?.();
    }
    await Promise.all([first, suspect, last]);
    const lonely = seen.find((together) => together.includes(`a${rowsPerChunk}@example.com`));
    assert.deepEqual(lonely, [`a${rowsPerChunk}@example.com`]);
    assert.ok(
      seen.every((together) => together.length === 1 || !together.includes(`a${rowsPerChunk}@example.com`)),
    );
    assert.equal((await begun()).length, 3);
  });
});
