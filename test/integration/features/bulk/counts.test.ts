import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findJobProviders } from "../../../../src/features/bulk/jobs/job-providers.ts";
import {
  endJob,
  findJob,
  type JobCounts,
  type JobEnding,
} from "../../../../src/features/bulk/jobs/job-sql.ts";
import {
  type ChunkTask,
  finishRows,
  type RetryTask,
  startTask,
} from "../../../../src/features/bulk/schedule/job-tasks.ts";
import { newId } from "../../../../src/platform/ids.ts";
import { inlineJob, queueChunks } from "../../../support/bulk-tasks.ts";
import { newTeam, useDatabase } from "../../../support/store.ts";

/** The counts stored with a job equal the sum over its tasks. */
const CHUNKS = 6;

const { sql } = await useDatabase();

/** Whole numbers below `below`, the same ones for the same seed. */
function createNumbers(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

type Numbers = ReturnType<typeof createNumbers>;
type CountSums = JobCounts & { deferred: number };

const countsFrom = (next: Numbers): JobCounts => ({
  valid: 1 + next(4),
  invalid: 1 + next(4),
  risky: 1 + next(4),
  unknown: 1 + next(4),
  charged: 1 + next(4),
});

async function queued(): Promise<{ id: string; teamId: string }> {
  const { teamId } = await newTeam(sql, "enterprise");
  const id = newId("job");
  const chunks = Array.from({ length: CHUNKS }, (_, i) => ({
    firstRow: i * 8,
    rows: 8,
    firstByte: i,
    bytes: 1,
    repeatsByte: 0,
    repeatsBytes: 0,
  }));
  await queueChunks(sql, inlineJob(teamId, id), chunks, { rows: CHUNKS * 8, duplicates: 0, malformed: 0 });
  return { id, teamId };
}

/** Finishes a task as `next` has it: some of its rows wait, unless they have waited twice. */
async function finish(jobId: string, number: number, next: Numbers): Promise<boolean> {
  const task = (await startTask(sql, { jobId, number })) as ChunkTask | RetryTask | null;
  if (task === null) return false;
  const attempts = task.kind === "chunk" ? 0 : task.attempts;
  const deferrals = Array.from({ length: attempts < 2 ? next(3) : 0 }, (_, i) => ({
    rowSet: Buffer.from([1]),
    rowCount: 1 + next(3),
    site: `${i}.example`,
    egress: "egress",
    reason: "busy",
    dueInMs: 60_000 + next(60_000),
    deferredMs: 0,
    attempts: attempts + 1,
  }));
  const counts = countsFrom(next);
  const { charged: _, ...rows } = counts;
  const own = Object.fromEntries(Object.entries(rows).map(([verdict, count]) => [verdict, next(count + 1)]));
  const others = Object.fromEntries(
    Object.entries(rows).map(([verdict, count]) => [verdict, count - (own[verdict] ?? 0)]),
  );
  const providers = [
    { provider: ["google", "yahoo"][next(2)] ?? "", ...(own as typeof rows) },
    { provider: "", ...(others as typeof rows) },
  ];
  const outcome = { shardKey: "s", counts, providers, deferrals };
  return (await sql.begin((tx) => finishRows(tx, task, outcome))).counted;
}

async function sumsOf(jobId: string): Promise<CountSums> {
  const [sums] = await sql<[CountSums]>`
    select coalesce(sum(valid), 0)::int as valid, coalesce(sum(invalid), 0)::int as invalid,
      coalesce(sum(risky), 0)::int as risky, coalesce(sum(unknown), 0)::int as unknown,
      coalesce(sum(charged), 0)::int as charged,
      coalesce(sum(row_count) filter (where kind = 'retry' and state <> 'done'), 0)::int as deferred
    from job_tasks where job_id = ${jobId}`;
  return sums;
}

async function kept({ id, teamId }: { id: string; teamId: string }): Promise<CountSums> {
  const job = await findJob(sql, teamId, id);
  assert.ok(job !== null);
  const { valid, invalid, risky, unknown, charged, deferred } = job;
  return { valid, invalid, risky, unknown, charged, deferred };
}

/** The verdicts of all providers of a job together. */
async function sumsOfProviders(jobId: string): Promise<Omit<JobCounts, "charged">> {
  const { data } = await findJobProviders(sql, jobId, 10);
  const sum = { valid: 0, invalid: 0, risky: 0, unknown: 0 };
  for (const { rows, verdicts } of data) {
    let all = 0;
    for (const verdict of ["valid", "invalid", "risky", "unknown"] as const) {
      sum[verdict] += verdicts[verdict];
      all += verdicts[verdict];
    }
    assert.equal(rows, all);
  }
  return sum;
}

const openTasks = async (jobId: string) =>
  (
    await sql<{ number: number }[]>`
      select number from job_tasks where job_id = ${jobId} and state <> 'done' order by number`
  ).map(({ number }) => number);

describe("the counts of a job", () => {
  it("are the sums over its tasks, whatever their outcomes, even if one is finished twice", async () => {
    for (let seed = 1; seed <= 5; seed++) {
      const next = createNumbers(seed);
      const job = await queued();
      for (let open = await openTasks(job.id); open.length > 0; open = await openTasks(job.id)) {
        const numbers = [open[next(open.length)] ?? 0, open[next(open.length)] ?? 0];
        await Promise.all([...numbers, ...numbers].map((number) => finish(job.id, number, next)));
        const sums = await sumsOf(job.id);
        assert.deepEqual(await kept(job), sums, `seed ${seed}`);
        const { deferred: _deferred, charged: _charged, ...verdicts } = sums;
        assert.deepEqual(await sumsOfProviders(job.id), verdicts, `seed ${seed}`);
      }
      assert.ok((await findJobProviders(sql, job.id, 10)).data.some(({ provider }) => provider === null));
      const { deferred, ...sums } = await kept(job);
      assert.equal(deferred, 0);
      assert.ok(sums.valid > 0 && sums.charged > 0);
    }
  });

  it("are kept at its end, except for the charge of a failed job; no row waits any more", async () => {
    const next = createNumbers(9);
    const failed = { status: "failed", code: "internal_error", detail: "x" } as const;
    const endings: JobEnding[] = [{ status: "cancelled" }, { status: "completed", resultsKey: "k" }, failed];
    for (const ending of endings) {
      const job = await queued();
      for (let number = 0; number < CHUNKS - 1; number++) await finish(job.id, number, next);
      const before = await sumsOf(job.id);
      assert.ok(before.deferred > 0 && before.charged > 0);
      const ended = await sql.begin((tx) => endJob(tx, job.id, ending));
      const charged = ending.status === "failed" ? 0 : before.charged;
      assert.deepEqual(await kept(job), { ...before, charged, deferred: 0 });
      assert.deepEqual([ended.deferred, ended.deferred_until, ended.charged], [0, null, charged]);
    }
  });
});
