import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { insertJob, startJob } from "../../../../../src/features/bulk/jobs/job-sql.ts";
import { createEmitter } from "../../../../../src/features/bulk/schedule/emit.ts";
import { takeReadyTasks } from "../../../../../src/features/bulk/schedule/job-emission.ts";
import { createJobStreams } from "../../../../../src/features/bulk/schedule/job-stream.ts";
import {
  type ChunkTask,
  finishRows,
  finishTask,
  insertAnalysis,
  startAssembly,
  startTask,
  type TaskPointer,
} from "../../../../../src/features/bulk/schedule/job-tasks.ts";
import { newId } from "../../../../../src/platform/ids.ts";
import { inlineJob, queueChunks } from "../../../../support/bulk-tasks.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { newTeam, openRedis, useDatabase } from "../../../../support/store.ts";
import { until } from "../../../../support/until.ts";

/** Emission of tasks from Postgres into the stream. */
const { windowMin: window, shareWindows, shareWhole, emitJobs } = LIMITS.bulk;
const shareWindow = shareWindows * window;
const TASKS = "rcpt:{bulk}:tasks";
const WHOLE = "rcpt:{bulk}:whole";

const { sql, closing } = await useDatabase();
const redis = (await openRedis(closing)).commands;
const streams = createJobStreams(redis);
const emitter = createEmitter({ sql, streams, clock: createFakeClock() });
beforeEach(async () => {
  await sql`delete from jobs`;
  await redis.flushdb();
});

const teamOf = async () => (await newTeam(sql, "enterprise")).teamId;

async function job(chunks: number, ofTeam?: string, livemode = true): Promise<string> {
  const teamId = ofTeam ?? (await teamOf());
  const id = newId("job");
  const ranges = Array.from({ length: chunks }, (_, i) => ({
    firstRow: i,
    rows: 1,
    firstByte: i,
    bytes: 1,
    repeatsByte: 0,
    repeatsBytes: 0,
  }));
  await queueChunks(sql, { ...inlineJob(teamId, id), livemode }, ranges, {
    rows: chunks,
    duplicates: 0,
    malformed: 0,
  });
  return id;
}

/** A job that waits for its analysis. */
async function fileJob(teamId: string, livemode = true): Promise<string> {
  const id = newId("job");
  await sql.begin(async (tx) => {
    await insertJob(tx, { ...inlineJob(teamId, id), livemode }, "queued");
    await insertAnalysis(tx, id);
  });
  return id;
}

/** Job ids in the order of the stream. */
async function inStream(key = TASKS): Promise<string[]> {
  const entries = (await redis.xrange(key, "-", "+")) as [string, string[]][];
  return entries.map(([, fields]) => fields[1] ?? "");
}

async function states(jobId: string): Promise<Record<string, number>> {
  const rows = await sql<{ state: string; count: number }[]>`
    select state, count(*)::int as count from job_tasks where job_id = ${jobId} group by state order by state`;
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

const none = { valid: 0, invalid: 0, risky: 0, unknown: 0, charged: 0 };
async function finish(jobId: string, number: number): Promise<boolean> {
  const task = await startTask(sql, { jobId, number });
  if (task === null) return false;
  const outcome = { shardKey: "s", counts: { ...none, valid: 1 }, providers: [], deferrals: [] };
  return (await sql.begin((tx) => finishRows(tx, task as ChunkTask, outcome))).counted;
}

describe("emission", () => {
  it("keeps a window of each job in the stream, so that a small one overtakes a big one", async () => {
    const big = await job(window * 3);
    await emitter.emit();
    const small = await job(1);
    await emitter.emit();
    const order = await inStream();
    assert.deepEqual(order, [...Array.from({ length: window }, () => big), small]);
    await finish(big, 0);
    await finish(big, 1);
    assert.equal(await emitter.emit(), 2);
    assert.deepEqual(await states(big), { done: 2, emitted: window, ready: window * 2 - 2 });
  });

  it("keeps analyses and assemblies apart from chunks, and few of a team's at a time", async () => {
    const [one, other] = [await teamOf(), await teamOf()];
    const files: string[] = [];
    for (let i = 0; i < 8; i++) files.push(await fileJob(one));
    const list = await job(1, one);
    const theirs = await fileJob(other);
    assert.equal(await emitter.emit(), shareWhole + 2);
    assert.deepEqual((await inStream(WHOLE)).sort(), [...files.slice(0, shareWhole), theirs].sort());
    assert.deepEqual(await inStream(), [list]);
    // Its assembly waits for a place among them, as the analyses do.
    await finish(list, 0);
    assert.equal(await startAssembly(sql, list), true);
    assert.equal(await emitter.emit(), 0);
    for (const jobId of files.slice(0, shareWhole))
      await sql.begin((tx) => finishTask(tx, { jobId, number: -1 }));
    assert.equal(await emitter.emit(), shareWhole);
    assert.deepEqual(await inStream(), [list]);
    assert.equal((await inStream(WHOLE)).length, 2 * shareWhole + 1);
  });

  it("has places for a team's live lists apart from those of its test keys, which cost nothing", async () => {
    const team = await teamOf();
    for (let i = 0; i <= shareWhole; i++) await fileJob(team, false);
    for (let i = 0; i <= shareWindows; i++) await job(window, team, false);
    assert.equal(await emitter.emit(), shareWindow);
    const [file, list] = [await fileJob(team), await job(1, team)];
    assert.equal(await emitter.emit(), 2);
    assert.deepEqual([(await inStream(WHOLE)).at(-1), (await inStream()).at(-1)], [file, list]);
  });

  it("by many at once neither emits a task twice nor beyond the window", async () => {
    const big = await job(window * 4);
    await Promise.all(Array.from({ length: 8 }, () => emitter.emit()));
    const numbers = (await redis.xrange(TASKS, "-", "+")).map(([, fields]) => fields[3]);
    assert.equal(new Set(numbers).size, numbers.length);
    assert.equal(numbers.length, window);
    assert.equal((await states(big)).emitted, window);
  });

  it("by many at once, while tasks end, keeps to the windows of jobs and teams at any moment", async () => {
    const team = await teamOf();
    const jobs = await Promise.all(Array.from({ length: 3 }, () => job(6 * window, team)));
    const bounds = { window, shareWindow: 2 * window, shareWhole, jobs: emitJobs };
    let rounds = 0;
    async function emitAndFinish(): Promise<void> {
      for (let round = 0; round < 15; round++) {
        const emitted = await sql.begin(async (tx) => {
          await takeReadyTasks(tx, bounds);
          return tx<{ emitted: number }[]>`
            select count(*)::int as emitted from job_tasks where state = 'emitted' group by job_id`;
        });
        const each = emitted.map((row) => row.emitted);
        assert.ok(Math.max(0, ...each) <= window, `${each} are emitted`);
        assert.ok(each.reduce((sum, count) => sum + count, 0) <= 2 * window, `${each} are emitted`);
        await sql`
          update job_tasks set state = 'done', emitted_at = null where (job_id, number) in (
            select job_id, number from job_tasks where state = 'emitted' order by number limit 5 for update skip locked)`;
        rounds += 1;
      }
    }
    await Promise.all(Array.from({ length: 6 }, emitAndFinish));
    assert.equal(rounds, 90);
    for (const id of jobs) assert.ok(((await states(id)).done ?? 0) > 0);
  });

  it("skips no job whose row is locked by an ending task", async () => {
    const id = await job(1);
    await sql.begin(async (tx) => {
      await tx`select from jobs where id = ${id} for no key update`;
      assert.equal(await emitter.emit(), 1);
    });
  });

  it("passes over jobs whose windows are full, however many are older", async () => {
    const full = await Promise.all(Array.from({ length: emitJobs + 1 }, () => job(window + 1)));
    await emitter.emit();
    await emitter.emit();
    assert.equal(await emitter.emit(), 0);
    const late = await job(1);
    assert.equal(await emitter.emit(), 1);
    assert.equal((await inStream()).at(-1), late);
    for (const id of full) assert.deepEqual(await states(id), { emitted: window, ready: 1 });
  });

  it("keeps a window of each team, shared by its jobs in turn, and serves the team with the fewest tasks first", async () => {
    const team = await teamOf();
    const many = await Promise.all(Array.from({ length: 40 }, () => job(window, team)));
    const other = await job(2);
    assert.equal(await emitter.emit(), shareWindow + 2);
    const emitted = await Promise.all(many.map(async (id) => (await states(id)).emitted ?? 0));
    assert.deepEqual(new Set(emitted), new Set([1, 2]));
    assert.ok((await inStream()).lastIndexOf(other) < 4);
    const latest = await job(1, team);
    assert.equal(await emitter.emit(), 0);
    await finish(many[0] ?? "", 0);
    assert.equal(await emitter.emit(), 1);
    assert.equal((await inStream()).at(-1), latest);
  });

  it("leaves tasks ready while Redis is away", async () => {
    const id = await job(3);
    const tasks = { ...streams.tasks, add: () => Promise.reject(new Error("Redis is away")) };
    const gone = createEmitter({ sql, streams: { ...streams, tasks }, clock: createFakeClock() });
    await assert.rejects(gone.emit(), /away/);
    assert.deepEqual(await states(id), { ready: 3 });
    assert.equal(await emitter.emit(), 3);
  });

  it("holds no lock while Redis is slow: others emit what is ready meanwhile, and no window is exceeded", async () => {
    const slowOnes = await job(2);
    let reached = (): void => undefined;
    let goOn = (): void => undefined;
    const isThere = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const tasks = {
      ...streams.tasks,
      async add(pointers: readonly TaskPointer[]) {
        reached();
        await gate;
        await streams.tasks.add(pointers);
      },
    };
    const slow = createEmitter({ sql, streams: { ...streams, tasks }, clock: createFakeClock() });
    const emitting = slow.emitTasks();
    await isThere;
    const [locks] = await sql<[{ held: number }]>`
      select count(*)::int as held from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`;
    assert.equal(locks.held, 0);
    const others = await job(3);
    assert.equal(await emitter.emitTasks(), 3);
    await emitter.reconcile(() => false);
    assert.deepEqual([await states(slowOnes), await states(others)], [{ emitted: 2 }, { emitted: 3 }]);
    goOn();
    assert.equal(await emitting, 2);
    await emitter.reconcile(() => false);
    assert.deepEqual(await states(slowOnes), { emitted: 2 });
  });

  it("emits again tasks marked by a process that was killed before it wrote to Redis", async () => {
    const id = await job(3);
    await sql.begin((tx) => takeReadyTasks(tx, { window: 16, shareWindow: 64, shareWhole: 2, jobs: 100 }));
    assert.deepEqual(await states(id), { emitted: 3 });
    assert.equal(await emitter.emit(), 0);
    await emitter.reconcile(() => false);
    await emitter.reconcile(() => false);
    assert.equal(await emitter.emit(), 3);
    assert.equal((await inStream(TASKS)).length, 3);
  });
});

describe("reconciliation", () => {
  it("makes ready again what the stream has lost, and nothing else", async () => {
    const id = await job(4);
    await emitter.emit();
    const entries = await redis.xrange(TASKS, "-", "+");
    await redis.xdel(TASKS, entries[1]?.[0] ?? "", entries[2]?.[0] ?? "");
    await finish(id, 1);
    await emitter.reconcile(() => false);
    assert.deepEqual(await states(id), { done: 1, emitted: 3 }, "it may be on its way");
    await emitter.reconcile(() => false);
    assert.deepEqual(await states(id), { done: 1, emitted: 2, ready: 1 });
    await redis.flushdb();
    await emitter.reconcile(() => false);
    await emitter.reconcile(() => false);
    assert.deepEqual(await states(id), { done: 1, ready: 3 });
    assert.equal(await emitter.emit(), 3);
  });

  it("looks for each task in its own stream", async () => {
    const team = await teamOf();
    const [file, list] = [await fileJob(team), await job(1, team)];
    await emitter.emit();
    await emitter.reconcile(() => false);
    assert.deepEqual([await states(file), await states(list)], [{ emitted: 1 }, { emitted: 1 }]);
    await redis.del(WHOLE);
    await emitter.reconcile(() => false);
    await emitter.reconcile(() => false);
    assert.deepEqual([await states(file), await states(list)], [{ ready: 1 }, { emitted: 1 }]);
    assert.equal(await emitter.emit(), 1);
    assert.deepEqual(await inStream(WHOLE), [file]);
  });

  it("does nothing while the stream cannot be read", async () => {
    const id = await job(2);
    await emitter.emit();
    const tasks = { ...streams.tasks, outstanding: () => Promise.reject(new Error("Redis is away")) };
    const blind = createEmitter({ sql, streams: { ...streams, tasks }, clock: createFakeClock() });
    await assert.rejects(
      blind.reconcile(() => false),
      /away/,
    );
    assert.deepEqual(await states(id), { emitted: 2 });
  });

  it("begins an assembly that no worker has begun, once", async () => {
    const id = await job(2);
    await emitter.emit();
    await finish(id, 0);
    await emitter.reconcile(() => false);
    assert.deepEqual(await states(id), { done: 1, emitted: 1 });
    await finish(id, 1);
    await Promise.all(Array.from({ length: 4 }, () => emitter.reconcile(() => false)));
    const tasks = await sql`select kind from job_tasks where job_id = ${id} and kind = 'assembly'`;
    const [row] = await sql`select status from jobs where id = ${id}`;
    assert.deepEqual([tasks.length, row?.status], [1, "finalizing"]);
  });
});

describe("a chunk", () => {
  it("is finished once, by the first worker, and not after its job has ended", async () => {
    const id = await job(2);
    const finished = await Promise.all(Array.from({ length: 5 }, () => finish(id, 0)));
    assert.equal(finished.filter((isFirst) => isFirst).length, 1);
    await sql`update jobs set status = 'cancelled', completed_at = now() where id = ${id}`;
    assert.equal(await finish(id, 1), false);
  });

  it("is begun only below so many deliveries where that is asked, and counts none from there on", async () => {
    const pointer = { jobId: await job(1), number: 0 };
    assert.equal((await startTask(sql, pointer, 2))?.deliveries, 1);
    assert.equal((await startTask(sql, pointer, 2))?.deliveries, 2);
    assert.equal(await startTask(sql, pointer, 2), null);
    assert.equal((await startTask(sql, pointer))?.deliveries, 3);
  });

  it("is not the last one where another was never started, which alone spares it the look-up", async () => {
    const id = await job(3);
    const begun = async (number: number) => (await startTask(sql, { jobId: id, number })) as ChunkTask;
    const end = (task: ChunkTask) =>
      finishRows(sql, task, { shardKey: "s", counts: { ...none, valid: 1 }, providers: [], deferrals: [] });
    const [first, second] = [await begun(0), await begun(1)];
    assert.deepEqual(await end(first), { counted: true, isFollowed: true });
    assert.deepEqual(await end(first), { counted: false, isFollowed: false });
    const third = await begun(2);
    // Still `ready`, as for a task whose entry a stream lost; but a worker has started it.
    assert.deepEqual(await end(second), { counted: true, isFollowed: false });
    assert.equal(await startAssembly(sql, id), false);
    assert.deepEqual(await end(third), { counted: true, isFollowed: false });
    assert.equal(await startAssembly(sql, id), true);
  });

  it("looks what is left when all others ended while it waited for the job's row", async () => {
    for (const deferred of [0, 1]) {
      const id = await job(3);
      const begun = async (number: number) => (await startTask(sql, { jobId: id, number })) as ChunkTask;
      const outcome = { shardKey: "s", counts: { ...none, valid: 1 }, providers: [], deferrals: [] };
      await startJob(sql, id);
      await finishRows(sql, await begun(0), outcome);
      const second = await begun(1);
      const ended = await sql.begin(async (tx) => {
        await tx`select from jobs where id = ${id} for no key update`;
        const [own] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
        const waiting = finishRows(sql, second, outcome);
        await until("it waits for the row", async () => {
          const held = await sql`
            select from pg_stat_activity where ${own?.pid ?? 0}::integer = any(pg_blocking_pids(pid))`;
          return held.length === 1;
        });
        // A worker has not started this one.
        const last = await begun(2);
        const wait = { rowSet: Buffer.of(1), rowCount: 1, site: "", egress: "e", reason: "busy" };
        const due = { dueInMs: 0, deferredMs: 0, attempts: 1 };
        if (deferred === 0) await finishRows(tx, last, outcome);
        else await finishRows(tx, last, { ...outcome, counts: none, deferrals: [{ ...wait, ...due }] });
        return { waiting };
      });
      assert.deepEqual(await ended.waiting, { counted: true, isFollowed: false });
      assert.equal(await startAssembly(sql, id), deferred === 0);
      const [row] = await sql`select status from jobs where id = ${id}`;
      assert.equal(row?.status, deferred === 0 ? "finalizing" : "deferred");
    }
  });

  it("is spared to look while many are left, though rows wait; of few it is not sure whether they are copies", async () => {
    const wait = { rowSet: Buffer.of(1), rowCount: 1, site: "", egress: "e", reason: "busy" };
    const deferral = { ...wait, dueInMs: 0, deferredMs: 0, attempts: 1 };
    for (const [chunks, isFollowed] of [
      [67, true],
      [66, false],
    ] as const) {
      const id = await job(chunks);
      const begun = async (number: number) => (await startTask(sql, { jobId: id, number })) as ChunkTask;
      const [first, second] = [await begun(0), await begun(1)];
      const waiting = { shardKey: null, counts: none, providers: [], deferrals: [deferral] };
      assert.deepEqual(await sql.begin((tx) => finishRows(tx, first, waiting)), {
        counted: true,
        isFollowed: true,
      });
      const answered = { shardKey: "s", counts: { ...none, valid: 1 }, providers: [], deferrals: [] };
      assert.equal((await finishRows(sql, second, answered)).isFollowed, isFollowed);
    }
  });
});
