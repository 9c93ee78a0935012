import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { findJob } from "../../../../../src/features/bulk/jobs/job-sql.ts";
import { decodeShard, encodeShard } from "../../../../../src/features/bulk/results/shard.ts";
import { createControl } from "../../../../../src/features/bulk/run/control.ts";
import type { VerificationResult } from "../../../../../src/features/verify/answer/verification-result.ts";
import { createScratch, ScratchFull } from "../../../../../src/stores/scratch.ts";
import { ALL_VALID, createRunner, queueInline } from "../../../../support/bulk-tasks.ts";
import { createMemoryObjects } from "../../../../support/memory-objects.ts";
import { useDatabase } from "../../../../support/store.ts";

/** The last task of a job. */

const { sql } = await useDatabase();

const EMAILS = ["a@example.com", "b@example.com", "A@EXAMPLE.COM", "b@Example.com"];

/** Results of more than a block are copied. */
const MANY = Array.from({ length: 800 }, (_, i) => `someone.with.a.long.name.${i % 400}@example.com`);

/** A job whose one chunk is done: its assembly is task 1. */
async function setUp(streams: Parameters<typeof createRunner>[0]["streams"] = {}) {
  const objects = createMemoryObjects();
  const job = await queueInline(sql, objects, EMAILS);
  const { run } = createRunner({ sql, objects, rows: ALL_VALID, streams });
  await run(job.id, 0);
  const keys = (part: string) => [...objects.kept.keys()].filter((key) => key.includes(part));
  const ended = () => findJob(sql, job.teamId, job.id);
  return { ...job, objects, run, keys, ended };
}

describe("the assembly of a job", () => {
  it("writes all rows in both formats, and completes the job with them", async () => {
    const { id, objects, run, keys, ended } = await setUp();
    await run(id, 1);
    const job = await ended();
    assert.deepEqual([job?.status, job?.valid], ["completed", EMAILS.length]);
    assert.deepEqual(keys("results-").sort(), [`${job?.results_key}.csv`, `${job?.results_key}.jsonl`]);
    const csv = String(objects.kept.get(`${job?.results_key}.csv`)).split("\r\n");
    assert.equal(csv.length, EMAILS.length + 2);
    const lines = String(objects.kept.get(`${job?.results_key}.jsonl`))
      .split("\n")
      .slice(0, -1);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)).map(({ row, input, duplicate_of }) => [row, input, duplicate_of]),
      EMAILS.map((email, i) => [i + 1, email, i === 3 ? 2 : null]),
    );
  });

  it("completes no job with fewer rows than it has, and leaves nothing of what it wrote", async () => {
    const { id, objects, run, keys, ended } = await setUp();
    const [key = ""] = keys("/shards/");
    const shard = await decodeShard(objects.kept.get(key) ?? Buffer.alloc(0));
    const first = shard.get(0);
    const result = JSON.parse(String(first?.json)) as VerificationResult;
    const style = { delimiter: ",", escapeFormulas: false };
    objects.kept.set(key, await encodeShard([{ offset: 0, result }], style));
    await run(id, 1);
    const job = await ended();
    assert.deepEqual([job?.status, job?.error_code, job?.charged], ["failed", "internal_error", 0]);
    assert.deepEqual(keys("results-"), []);
  });

  it("is another worker's where a disk is full, or has no place for files, and completes the job there", async () => {
    for (const open of [
      createScratch("/proc/no/such/directory").open,
      () => {
        throw new ScratchFull("no space is left", true);
      },
    ]) {
      const { id, objects, run, ended } = await setUp();
      const full = createRunner({ sql, objects, rows: ALL_VALID, scratch: { open } });
      // Blocks are written when they are full: the results of a small job never are.
      const many = await queueInline(sql, objects, MANY);
      await full.run(many.id, 0);
      for (let taken = 0; taken <= LIMITS.bulk.deliveries; taken++)
        assert.equal(await full.run(many.id, 1), false);
      const job = await findJob(sql, many.teamId, many.id);
      assert.deepEqual([job?.status, job?.error_code], ["finalizing", null]);
      await run(many.id, 1);
      assert.equal((await findJob(sql, many.teamId, many.id))?.status, "completed");
      await full.run(id, 1);
      assert.equal((await ended())?.status, "completed");
    }
  });

  it("waits for a worker of the build that wrote its shards, however long that takes", async () => {
    const { id, objects, run, keys, ended } = await setUp();
    const [key = ""] = keys("/shards/");
    const ours = objects.kept.get(key) ?? Buffer.alloc(0);
    for (const newer of [Buffer.from([0xff, 3, 0, 0]), Buffer.from([0xfe, 1])]) {
      objects.kept.set(key, newer);
      for (let taken = 0; taken <= LIMITS.bulk.deliveries; taken++) assert.equal(await run(id, 1), false);
    }
    assert.deepEqual([(await ended())?.status, keys("results-")], ["finalizing", []]);
    objects.kept.set(key, ours);
    assert.equal(await run(id, 1), true);
    assert.equal((await ended())?.status, "completed");
  });

  it("is repeated by the worker that takes it over from one that stopped half-way", async () => {
    const control = createControl();
    const reading: typeof objects.streams.readRange = (ref, range) => {
      control.cancel();
      return objects.streams.readRange(ref, range);
    };
    const { id, objects, run, keys, ended } = await setUp();
    const stopping = createRunner({ sql, objects, rows: ALL_VALID, streams: { readRange: reading } });
    assert.equal(await stopping.run(id, 1, control), false);
    assert.equal((await ended())?.status, "finalizing");
    assert.deepEqual(keys("results-"), []);
    assert.equal(await run(id, 1), true);
    assert.equal((await ended())?.status, "completed");
    assert.equal(keys("results-").length, 2);
  });
});
