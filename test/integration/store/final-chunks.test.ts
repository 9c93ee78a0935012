import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newId } from "../../../src/core/ids.ts";
import {
  type ChunkOfResults,
  type ChunkTask,
  chunksOf,
  finalChunksOf,
  finishRows,
  type RetryTask,
  startTask,
} from "../../../src/store/job-tasks.ts";
import { endJob, hideJob } from "../../../src/store/jobs.ts";
import type { Database } from "../../../src/store/postgres.ts";
import { inlineJob, queueChunks } from "../../support/bulk-tasks.ts";
import fc from "../../support/properties.ts";
import { createClosing, newTeam, openDatabase } from "../../support/store.ts";

/** Chunks whose rows' results can be put together while others are under way. */
const closing = createClosing();
let sql: Database;
let teamId: string;

before(async () => {
  ({ sql } = await openDatabase(closing));
  ({ teamId } = await newTeam(sql, "enterprise"));
});
after(closing.close);

const CHUNKS = 5;
const NONE = { valid: 0, invalid: 0, risky: 0, unknown: 0, charged: 0 };
const CANCELLED = { status: "cancelled" } as const;

async function jobOfChunks(): Promise<string> {
  const id = newId("job");
  const chunks = Array.from({ length: CHUNKS }, (_, i) => ({
    ...{ firstRow: i * 8, rows: 8, firstByte: i * 80, bytes: 80, repeatsByte: 0, repeatsBytes: 0 },
  }));
  const found = { rows: CHUNKS * 8, duplicates: 0, malformed: 0 };
  await queueChunks(sql, inlineJob(teamId, id), chunks, found);
  return id;
}

async function rowsTask(jobId: string, number: number): Promise<ChunkTask | RetryTask> {
  const task = await startTask(sql, { jobId, number });
  assert.ok(task?.kind === "chunk" || task?.kind === "retry");
  return task;
}

/** Ends a task; so many retries are left of it. */
async function finish(jobId: string, number: number, retries: number, isAnswered = true): Promise<void> {
  const task = await rowsTask(jobId, number);
  const deferrals = Array.from({ length: retries }, () => ({
    ...{ rowSet: Buffer.of(1), rowCount: 1, site: "", egress: "e", reason: "busy" },
    ...{ dueInMs: 0, deferredMs: 0, attempts: 1 },
  }));
  const shardKey = isAnswered ? `shard-${number}` : null;
  const { counted } = await sql.begin((tx) => finishRows(tx, task, { shardKey, counts: NONE, deferrals }));
  assert.ok(counted);
}

async function tasksLeft(jobId: string): Promise<number[]> {
  const rows = await sql<{ number: number }[]>`
    select number from job_tasks where job_id = ${jobId} and state <> 'done' order by number`;
  return rows.map(({ number }) => number);
}

describe("a final chunk", () => {
  it("is told once it is done and nothing of it waits, behind no other that is not", async () => {
    const id = await jobOfChunks();
    const numbers = async () => (await finalChunksOf(sql, id, -1, 10))?.map(({ number }) => number);
    assert.deepEqual(await numbers(), []);
    await finish(id, 1, 0);
    assert.deepEqual(await numbers(), []);
    await finish(id, 0, 2);
    assert.deepEqual(await numbers(), []);
    const [first = 0, second = 0] = (await tasksLeft(id)).filter((number) => number >= CHUNKS);
    await finish(id, first, 1);
    await finish(id, second, 0, false);
    assert.deepEqual(await numbers(), []);
    await finish(id, (await tasksLeft(id)).at(-1) ?? 0, 0);
    const final = await finalChunksOf(sql, id, -1, 10);
    assert.deepEqual(final, [...(await chunksOf(sql, id, -1, 2))]);
    assert.deepEqual(final?.[0]?.patches, [`shard-${first}`, `shard-${second + 1}`]);
    assert.deepEqual(
      (await finalChunksOf(sql, id, 0, 10))?.map(({ number }) => number),
      [1],
    );
  });

  it("never changes again, in whatever order tasks end and what is left of them", async () => {
    const steps = fc.array(fc.record({ pick: fc.nat(), retries: fc.nat(2), answered: fc.boolean() }), {
      minLength: CHUNKS,
      maxLength: 25,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (model) => {
        const id = await jobOfChunks();
        const told = new Map<number, ChunkOfResults>();
        const look = async () => {
          for (const chunk of (await finalChunksOf(sql, id, -1, CHUNKS)) ?? []) {
            assert.deepEqual(told.get(chunk.number) ?? chunk, chunk);
            told.set(chunk.number, chunk);
          }
        };
        for (const { pick, retries, answered } of model) {
          const left = await tasksLeft(id);
          if (left.length === 0) break;
          await finish(id, left[pick % left.length] ?? 0, retries, answered);
          await look();
        }
        for (let left = await tasksLeft(id); left.length > 0; left = await tasksLeft(id)) {
          for (const number of left) await finish(id, number, 0);
          await look();
        }
        assert.deepEqual([...told.values()], [...(await chunksOf(sql, id, -1, CHUNKS))]);
      }),
      { numRuns: 15 },
    );
  });

  it("is none before the transaction that leaves its retries is there", async () => {
    const id = await jobOfChunks();
    const task = await rowsTask(id, 0);
    await sql.begin(async (tx) => {
      await finishRows(tx, task, { shardKey: "shard", counts: NONE, deferrals: [] });
      assert.deepEqual(await finalChunksOf(sql, id, -1, 10), []);
    });
    assert.equal((await finalChunksOf(sql, id, -1, 10))?.length, 1);
  });

  it("is none of a job that was cancelled or removed, whose tasks are done without an answer", async () => {
    const cancelled = await jobOfChunks();
    await finish(cancelled, 0, 1);
    await sql.begin((tx) => endJob(tx, cancelled, CANCELLED));
    assert.deepEqual(await tasksLeft(cancelled), []);
    assert.equal(await finalChunksOf(sql, cancelled, -1, 10), null);
    const removed = await jobOfChunks();
    await sql.begin((tx) => hideJob(tx, removed));
    assert.equal(await finalChunksOf(sql, removed, -1, 10), null);
  });
});
