import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createJobEndings } from "../../../../src/features/bulk/jobs/job-endings.ts";
import { findJob } from "../../../../src/features/bulk/jobs/job-sql.ts";
import type { RowVerifier } from "../../../../src/features/bulk/run/row-verifier.ts";
import { countedRows, shownRows } from "../../../support/bulk-counts.ts";
import { ALL_VALID, answered, createRunner, queueInline, rowsBy } from "../../../support/bulk-tasks.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { createMemoryObjects } from "../../../support/memory-objects.ts";
import { useDatabase } from "../../../support/store.ts";

/**
 * Rows that repeat others, in whatever chunk: counted when the first of them is answered, and the same in the results.
 */
const { rowsPerChunk } = LIMITS.bulk;

const { sql } = await useDatabase();

/** Three chunks: 10 addresses first stand in chunk 0, 5 in chunk 1; the rest, in all three, repeats them. */
function list(): string[] {
  const first = (i: number) => `a${i % 10}@example.com`;
  const emails = Array.from({ length: rowsPerChunk }, (_, i) => first(i));
  for (let i = 0; i < 2 * rowsPerChunk; i++) emails.push(i % 2 === 0 ? first(i) : `b${i % 5}@example.com`);
  return emails;
}

async function setUp(rows: RowVerifier = ALL_VALID, emails = list()) {
  const objects = createMemoryObjects();
  const job = await queueInline(sql, objects, emails);
  const { run } = createRunner({ sql, objects, rows });
  const counted = () => countedRows(sql, job.teamId, job.id);
  const shown = () => shownRows(sql, objects, job.id);
  const ended = () => findJob(sql, job.teamId, job.id);
  return { ...job, run, counted, shown, ended };
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
    it(`are counted when their first is, in the order ${order.join(", ")}`, async () => {
      const { id, run, counted, shown, ended } = await setUp();
      for (const number of order) {
        await run(id, number);
        assert.deepEqual(await counted(), await shown());
      }
      assert.deepEqual(await counted(), { valid: 3 * rowsPerChunk });
      await run(id, 3);
      const done = await ended();
      assert.deepEqual([done?.status, done?.valid, done?.charged], ["completed", 3 * rowsPerChunk, 15]);
    });

  it("are counted once when all chunks are done at once, by two workers each", async () => {
    const { id, run, counted } = await setUp();
    await Promise.all([0, 1, 2, 0, 1, 2].map((number) => run(id, number)));
    assert.deepEqual(await counted(), { valid: 3 * rowsPerChunk });
  });

  it("of answered rows are rows of a job that is cancelled, also where their chunk is not done", async () => {
    const { id, teamId, run, shown, ended } = await setUp();
    await run(id, 0);
    const endings = createJobEndings({
      clock: createFakeClock(),
      view: { publicUrl: null, retentionDays: 30 },
    });
    await sql.begin((tx) => endings.end(tx, teamId, id, { status: "cancelled" }));
    const done = await ended();
    assert.deepEqual(
      [done?.valid, await shown(), done?.charged],
      [2 * rowsPerChunk, { valid: 2 * rowsPerChunk }, 10],
    );
  });
});

/** Each time that an address is asked about it is deferred, until it is valid, or unknown by our fault. */
function moody(seed: number): RowVerifier {
  let state = seed;
  const chance = (of: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % of;
  };
  const reasons = ["busy", "greylisted", "sender_blocked"] as const;
  return rowsBy(async (emails) =>
    emails.map((email) => {
      const verified = answered(email, chance(5) === 0 ? "unknown" : "valid");
      if (chance(2) === 0) return { verified };
      const last = () => answered(email, "unknown");
      return {
        wait: {
          reason: reasons[chance(3)] ?? "busy",
          site: `${chance(3)}.example`,
          retryAfterMs: null,
          parked: false,
          last,
        },
      };
    }),
  );
}

describe("any mix of repeats and rows that wait", () => {
  for (const seed of [1, 2, 3, 4])
    it(`counts each row once, charges each first once, and shows what it counts (${seed})`, async () => {
      const size = 2 * rowsPerChunk + 7;
      const distinct = 60 * seed;
      const emails = Array.from({ length: size }, (_, i) => `a${(i * 7 + seed) % distinct}@example.com`);
      const { id, run, counted, shown, ended } = await setUp(moody(seed), emails);
      const open = () => sql<{ number: number }[]>`
        select number from job_tasks where job_id = ${id} and state <> 'done' and kind <> 'assembly' order by number`;
      for (let turn = 0; ; turn++) {
        assert.ok(turn < 500, "it never ends");
        const tasks = await open();
        const task = tasks[turn % Math.max(1, tasks.length)];
        if (task === undefined) break;
        // Two workers have it now and then.
        await Promise.all((turn % 3 === 0 ? [1, 2] : [1]).map(() => run(id, task.number)));
        assert.deepEqual(await counted(), await shown());
      }
      const [assembly] = await sql<[{ number: number }]>`
        select number from job_tasks where job_id = ${id} and kind = 'assembly'`;
      await run(id, assembly.number);
      const done = await ended();
      const [firsts] = await sql<[{ charged: number }]>`
        select sum(charged)::int as charged from job_tasks where job_id = ${id}`;
      assert.deepEqual([done?.status, (done?.valid ?? 0) + (done?.unknown ?? 0)], ["completed", size]);
      assert.equal(done?.charged, firsts.charged);
      assert.ok((done?.charged ?? 0) <= distinct && (done?.charged ?? 0) > distinct / 2);
    });
});
