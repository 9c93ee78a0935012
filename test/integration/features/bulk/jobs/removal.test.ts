import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { createJobEndings } from "../../../../../src/features/bulk/jobs/job-endings.ts";
import { findJob } from "../../../../../src/features/bulk/jobs/job-sql.ts";
import { createBulkRemoval } from "../../../../../src/features/bulk/jobs/removal.ts";
import {
  createJobObjects,
  jobPrefix,
  repeatsKey,
  sourceKey,
} from "../../../../../src/features/bulk/results/job-objects.ts";
import { systemClock } from "../../../../../src/platform/time/clock.ts";
import { createObjectStore } from "../../../../../src/stores/objects/objects.ts";
import { ALL_VALID, createRunner, queueInline } from "../../../../support/bulk-tasks.ts";
import { testObjects } from "../../../../support/embedded.ts";
import { testLog } from "../../../../support/log.ts";
import { createMemoryObjects, type MemoryObjects } from "../../../../support/memory-objects.ts";
import { useDatabase } from "../../../../support/store.ts";

/** Removal of the data that ended jobs leave behind. */

const { sql } = await useDatabase();

const hourAgo = (id: string) =>
  sql`update jobs set completed_at = completed_at - interval '2 hours' where id = ${id}`;

/** Removal from objects in memory, and how often it has listed them. */
function createSweep(objects: MemoryObjects, failing = "none") {
  let listings = 0;
  const removal = createBulkRemoval({
    sql,
    async deleteBelow(prefix, spared) {
      listings += 1;
      if (prefix.includes(failing)) throw new Error("the object cannot be deleted");
      for (const key of objects.kept.keys())
        if (key.startsWith(prefix) && (spared === undefined || !key.startsWith(spared)))
          objects.kept.delete(key);
      return true;
    },
    log: testLog,
    retentionDays: 30,
  });
  return { sweep: () => removal.sweep(() => false), listings: () => listings };
}

describe("what cannot be removed", () => {
  it("holds up nothing else", async () => {
    const objects = createMemoryObjects();
    const poison = await queueInline(sql, objects, ["a@example.com"]);
    const next = await queueInline(sql, objects, ["a@example.com"]);
    const spent = await queueInline(sql, objects, ["a@example.com"]);
    await sql`update jobs set removed_at = now() - interval '3 hours' where id = ${poison.id}`;
    await sql`update jobs set removed_at = now() - interval '2 hours' where id = ${next.id}`;
    await sql`
      update jobs set status = 'completed', completed_at = now() - interval '2 hours' where id = ${spent.id}`;
    const { sweep } = createSweep(objects, poison.id);
    await sweep();
    const keys = [...objects.kept.keys()];
    assert.ok(keys.some((key) => key.includes(poison.id)));
    assert.ok(!keys.some((key) => key.includes(next.id) || key.includes(spent.id)));
    const left = await sql`select from jobs where id in (${poison.id}, ${next.id})`;
    assert.equal(left.count, 1);
    await createSweep(objects).sweep();
    assert.equal((await sql`select from jobs where id = ${poison.id}`).count, 0);
  });
});

/** Removal on real object storage, and readers of a job's objects and of its unfinished multipart uploads. */
async function openSweep(t: TestContext) {
  const { bucket, endpoint, region, ...credentials } = await testObjects();
  const settings = { endpoint, publicEndpoint: endpoint, region, bucket, credentials };
  const store = createObjectStore(settings, systemClock);
  t.after(() => store.stop());
  const { client } = store;
  const objects = createJobObjects(store);
  const { deleteBelow } = store;
  const removal = createBulkRemoval({ sql, deleteBelow, log: testLog, retentionDays: 30 });
  return {
    objects,
    sweep: () => removal.sweep(() => false),
    /** As a process does that is killed before it has sent the rest. */
    async beginParts(Key: string): Promise<void> {
      const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }));
      await client.send(
        new UploadPartCommand({ Bucket: bucket, Key, UploadId, PartNumber: 1, Body: "part" }),
      );
    },
    async left({ id, teamId }: { id: string; teamId: string }) {
      const below = { Bucket: bucket, Prefix: jobPrefix(teamId, id) };
      const { Contents = [] } = await client.send(new ListObjectsV2Command(below));
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand(below));
      const names = (all: { Key?: string | undefined }[]) =>
        all.map(({ Key = "" }) => Key.slice(below.Prefix.length)).sort();
      return { objects: names(Contents), parts: names(Uploads) };
    },
  };
}

describe("what killed processes began of a job's results", () => {
  it("goes a while after the job's end, parts included; the results that count stay", async (t) => {
    const { objects, sweep, beginParts, left } = await openSweep(t);
    const ended = await queueInline(sql, objects, ["a@example.com"]);
    const running = await queueInline(sql, objects, ["a@example.com"]);
    for (const { id, teamId } of [ended, running]) {
      const results = `${jobPrefix(teamId, id)}results-`;
      for (const name of ["a.jsonl", "a.csv", "ab.jsonl", "b.csv"])
        await objects.put(`${results}${name}`, "rows", "text/csv");
      // The beginning of the results that count was tried again: its answer had been lost.
      for (const name of ["a.jsonl", "c.jsonl"]) await beginParts(`${results}${name}`);
    }
    const all = await left(running);
    assert.deepEqual(all.parts, ["results-a.jsonl", "results-c.jsonl"]);
    const key = `${jobPrefix(ended.teamId, ended.id)}results-a`;
    await sql`
      update jobs set status = 'completed', completed_at = now(), results_key = ${key} where id = ${ended.id}`;
    await sweep();
    assert.deepEqual(await left(ended), all);
    await hourAgo(ended.id);
    await sweep();
    assert.deepEqual(await left(ended), { objects: ["results-a.csv", "results-a.jsonl"], parts: [] });
    assert.deepEqual(await left(running), all);
  });

  it("goes of cancelled and failed jobs alike, and of the cancelled ones nothing else", async (t) => {
    const { objects, sweep, beginParts, left } = await openSweep(t);
    const cancelled = await queueInline(sql, objects, ["a@example.com"]);
    const failed = await queueInline(sql, objects, ["a@example.com"]);
    for (const { id, teamId } of [cancelled, failed]) {
      await objects.put(`${jobPrefix(teamId, id)}results-a.csv`, "rows", "text/csv");
      await beginParts(`${jobPrefix(teamId, id)}results-a.jsonl`);
    }
    await sql`
      update jobs set status = 'cancelled', completed_at = now() - interval '2 hours' where id = ${cancelled.id}`;
    await sql`
      update jobs set status = 'failed', completed_at = now() - interval '2 hours', error_code = 'internal_error',
        error_detail = 'failed' where id = ${failed.id}`;
    await sweep();
    assert.deepEqual(await left(cancelled), { objects: ["repeats", "source"], parts: [] });
    assert.deepEqual(await left(failed), { objects: [], parts: [] });
  });

  it("is tried again when object storage fails, and not once it is gone", async () => {
    const objects = createMemoryObjects();
    const { id, teamId } = await queueInline(sql, objects, ["a@example.com"]);
    const stray = `${jobPrefix(teamId, id)}results-a.csv`;
    await objects.put(stray, "rows", "text/csv");
    await sql`
      update jobs set status = 'cancelled', completed_at = now() - interval '2 hours' where id = ${id}`;
    await createSweep(objects, id).sweep();
    assert.ok(objects.kept.has(stray));
    const { sweep, listings } = createSweep(objects);
    await sweep();
    assert.ok(!objects.kept.has(stray));
    await sweep();
    assert.equal(listings(), 1);
  });
});

describe("what a job's results were made from", () => {
  it("is removed when the job has ended and no download reads it any more; the results are kept", async () => {
    const objects = createMemoryObjects();
    const { sweep, listings } = createSweep(objects);
    const running = await queueInline(sql, objects, ["a@example.com"]);
    const done = await queueInline(sql, objects, ["a@example.com"]);
    const { run } = createRunner({ sql, objects, rows: ALL_VALID });
    await run(done.id, 0);
    await run(done.id, 1);
    const keys = () =>
      [...objects.kept.keys()].filter((key) => key.includes(done.id)).map((key) => key.split("/")[4]);
    assert.equal((await findJob(sql, done.teamId, done.id))?.status, "completed");
    const before = keys();
    assert.ok(before.includes("source") && before.includes("repeats") && before.includes("shards"));
    await sweep();
    assert.deepEqual(keys(), before);
    await hourAgo(done.id);
    await sweep();
    assert.equal(listings(), 4);
    assert.deepEqual(
      keys().map((key) => key?.replace(/-.*\./, ".")),
      ["results.csv", "results.jsonl"],
    );
    assert.ok(objects.kept.has(sourceKey(running.teamId, running.id)));
    await sweep();
    assert.equal(listings(), 4);
    const job = await findJob(sql, done.teamId, done.id);
    assert.ok(objects.kept.has(`${job?.results_key}.csv`));
    assert.ok(job?.results_key?.startsWith(jobPrefix(done.teamId, done.id)));
  });

  it("is kept for a cancelled job, until the whole job is removed", async () => {
    const objects = createMemoryObjects();
    const { sweep } = createSweep(objects);
    const { id, teamId } = await queueInline(sql, objects, ["a@example.com", "a@example.com"]);
    const endings = createJobEndings({ clock: systemClock, view: { publicUrl: null, retentionDays: 30 } });
    await sql.begin((tx) => endings.end(tx, teamId, id, { status: "cancelled" }));
    await hourAgo(id);
    await sweep();
    assert.ok(objects.kept.has(sourceKey(teamId, id)) && objects.kept.has(repeatsKey(teamId, id)));
    await sql`update jobs set completed_at = completed_at - interval '31 days' where id = ${id}`;
    await sweep();
    assert.equal(await findJob(sql, teamId, id), null);
    await sql`update jobs set removed_at = removed_at - interval '2 hours' where id = ${id}`;
    await sweep();
    assert.ok(![...objects.kept.keys()].some((key) => key.includes(id)));
    assert.equal((await sql`select from jobs where id = ${id}`).count, 0);
  });
});
