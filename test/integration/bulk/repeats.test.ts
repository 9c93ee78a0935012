import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { LIMITS } from "../../../src/core/limits.ts";
import { createEndings } from "../../../src/services/bulk/ending.ts";
import { readResults } from "../../../src/services/bulk/results.ts";
import { findJob } from "../../../src/store/jobs.ts";
import type { Database } from "../../../src/store/postgres.ts";
import { ALL_VALID, createMemoryObjects, createRunner, queueInline } from "../../support/bulk-tasks.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createClosing, openDatabase } from "../../support/store.ts";

/** Rows that repeat rows of other chunks: counted as the results have them, whichever chunk is done first. */
const { rowsPerChunk } = LIMITS.bulk;
const closing = createClosing();
let sql: Database;

before(async () => {
  ({ sql } = await openDatabase(closing));
});
after(closing.close);

/** Three chunks: 10 addresses first stand in chunk 0, 5 in chunk 1; the rest, in all three, repeats them. */
function list(): string[] {
  const first = (i: number) => `a${i % 10}@example.com`;
  const emails = Array.from({ length: rowsPerChunk }, (_, i) => first(i));
  for (let i = 0; i < 2 * rowsPerChunk; i++) emails.push(i % 2 === 0 ? first(i) : `b${i % 5}@example.com`);
  return emails;
}

async function setUp() {
  const objects = createMemoryObjects();
  const job = await queueInline(sql, objects, list());
  const { run } = createRunner({ sql, objects, rows: ALL_VALID });
  const counted = async () => (await findJob(sql, job.teamId, job.id))?.valid;
  const shown = async () => {
    let rows = 0;
    for await (const part of readResults(sql, objects, job.id)) rows += part.length;
    return rows;
  };
  return { ...job, run, counted, shown };
}

describe("repeats across chunks", () => {
  for (const order of [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ])
    it(`are counted when both are done, in the order ${order.join(", ")}`, async () => {
      const { id, teamId, run, counted, shown } = await setUp();
      for (const number of order) {
        await run(id, number);
        assert.equal(await counted(), await shown());
      }
      assert.equal(await counted(), 3 * rowsPerChunk);
      await run(id, 3);
      const done = await findJob(sql, teamId, id);
      assert.deepEqual([done?.status, done?.valid, done?.charged], ["completed", 3 * rowsPerChunk, 15]);
      assert.equal((await sql`select from job_repeats where job_id = ${id}`).length, 0);
    });

  it("are counted once when all chunks are done at once, by two workers each", async () => {
    const { id, run, counted } = await setUp();
    await Promise.all([0, 1, 2, 0, 1, 2].map((number) => run(id, number)));
    assert.equal(await counted(), 3 * rowsPerChunk);
  });

  it("are no rows of a job that is cancelled before their chunk is done", async () => {
    const { id, teamId, run, shown } = await setUp();
    await run(id, 0);
    const endings = createEndings({
      clock: createFakeClock(),
      view: { publicUrl: null, retentionDays: 30 },
    });
    await sql.begin((tx) => endings.end(tx, teamId, id, { status: "cancelled" }));
    const ended = await findJob(sql, teamId, id);
    assert.deepEqual([ended?.valid, await shown(), ended?.charged], [rowsPerChunk, rowsPerChunk, 10]);
  });
});
