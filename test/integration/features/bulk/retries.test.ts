import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { findJob } from "../../../../src/features/bulk/jobs/job-sql.ts";
import { createEmitter, type Emitter } from "../../../../src/features/bulk/schedule/emit.ts";
import {
  deferredRows,
  type RetryQueue,
  type TakenRetries,
  takeReadyRetries,
} from "../../../../src/features/bulk/schedule/job-retries.ts";
import { createJobStreams } from "../../../../src/features/bulk/schedule/job-stream.ts";
import {
  type ChunkTask,
  type Deferral,
  finishRows,
  type RetryTask,
  startAssembly,
  startTask,
} from "../../../../src/features/bulk/schedule/job-tasks.ts";
import { newId } from "../../../../src/platform/ids.ts";
import { inlineJob, queueChunks } from "../../../support/bulk-tasks.ts";
import { testRedisUrl } from "../../../support/embedded.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";
import { newTeam, openRedis, useDatabase } from "../../../support/store.ts";
import { until } from "../../../support/until.ts";

/** Rows that wait, until they are emitted into the streams of their egresses. */
const { retryWindow, mixedWindow, egressGoneMs, reconcileEveryMs } = LIMITS.bulk;
const OURS = "egress/1 {x}";
let clock: FakeClock;
let emitter: Emitter;

const { sql, closing } = await useDatabase();
const url = await testRedisUrl();
const redis = (await openRedis(closing, url)).commands;
const streams = createJobStreams(redis);
beforeEach(async () => {
  await sql`delete from jobs`;
  await redis.flushdb();
  clock = createFakeClock();
  emitter = createEmitter({ sql, streams, clock });
});

/** A worker of an egress says that it is there. */
async function greet(egress: string, consumer = "worker"): Promise<void> {
  await streams.retries(egress).heartbeat(consumer);
}

const counts = { valid: 0, invalid: 0, risky: 0, unknown: 0, charged: 0 };

const busy = (site: string, rest: Partial<Deferral> = {}): Deferral => ({
  rowSet: Buffer.from([1]),
  rowCount: 1,
  site,
  egress: OURS,
  reason: "busy",
  dueInMs: 0,
  deferredMs: 0,
  attempts: 0,
  ...rest,
});

/** A job of one chunk, which is done, and all of whose rows wait as in `deferrals`. */
async function waitingJob(deferrals: readonly Deferral[], ofTeam?: string): Promise<string> {
  const teamId = ofTeam ?? (await newTeam(sql, "enterprise")).teamId;
  const id = newId("job");
  const chunk = { firstRow: 0, rows: 8, firstByte: 7, bytes: 80, repeatsByte: 3, repeatsBytes: 5 };
  await queueChunks(sql, inlineJob(teamId, id), [chunk], { rows: 8, duplicates: 0, malformed: 0 });
  await sql`update jobs set status = 'processing' where id = ${id}`;
  const task = (await startTask(sql, { jobId: id, number: 0 })) as ChunkTask;
  await sql.begin((tx) => finishRows(tx, task, { shardKey: null, counts, providers: [], deferrals }));
  await startAssembly(sql, id);
  return id;
}

async function finish(jobId: string, number: number, deferrals: readonly Deferral[] = []): Promise<boolean> {
  const task = (await startTask(sql, { jobId, number })) as RetryTask | null;
  if (task === null) return false;
  return (await sql.begin((tx) => finishRows(tx, task, { shardKey: "s", counts, providers: [], deferrals })))
    .counted;
}

/** Pointers in the order of an egress's stream. */
async function inStream(egress: string): Promise<{ jobId: string; number: number }[]> {
  const key = egress === "" ? "rcpt:{bulk}:retry" : `rcpt:{bulk}:retry:${encodeURIComponent(egress)}`;
  const entries = (await redis.xrange(key, "-", "+")) as [string, string[]][];
  return entries.map(([, fields]) => ({ jobId: fields[1] ?? "", number: Number(fields[3]) }));
}

const times = (count: number, deferral: Deferral) => Array.from({ length: count }, () => deferral);

describe("a retry that ends", () => {
  const end = async (jobId: string, number: number, deferrals: readonly Deferral[] = []) => {
    const task = (await startTask(sql, { jobId, number })) as RetryTask;
    const waited = { ...counts, valid: task.rowSet.length };
    return sql.begin((tx) =>
      finishRows(tx, task, { shardKey: "s", counts: waited, providers: [], deferrals }),
    );
  };

  it("is spared to look what is left of its job while rows of another wait", async () => {
    const id = await waitingJob([busy("a"), busy("b")]);
    assert.deepEqual(await end(id, 1, [busy("a")]), { counted: true, isFollowed: true });
    assert.deepEqual(await end(id, 2), { counted: true, isFollowed: true });
    assert.deepEqual(await end(id, 3), { counted: true, isFollowed: false });
    assert.equal(await startAssembly(sql, id), true);
  });

  it("looks while the job is not marked as waiting", async () => {
    const id = await waitingJob([busy("a"), busy("b")]);
    await sql`update jobs set status = 'processing' where id = ${id}`;
    assert.deepEqual(await end(id, 1), { counted: true, isFollowed: false });
    assert.equal(await startAssembly(sql, id), false);
    const [row] = await sql`select status from jobs where id = ${id}`;
    assert.equal(row?.status, "deferred");
  });
});

describe("rows that wait", () => {
  it("have what their chunk has, and only their own rows", async () => {
    const id = await waitingJob([
      busy("slow.example", {
        rowSet: Buffer.from([0b101]),
        rowCount: 2,
        reason: "greylisted",
        attempts: 3,
        deferredMs: 60_000,
      }),
    ]);
    const task = (await startTask(sql, { jobId: id, number: 1 })) as RetryTask;
    const {
      kind,
      chunk,
      rows,
      firstByte,
      bytes,
      repeatsByte,
      repeatsBytes,
      rowSet,
      site,
      egress,
      reason,
      attempts,
    } = task;
    assert.deepEqual(
      [
        kind,
        chunk,
        rows,
        firstByte,
        bytes,
        repeatsByte,
        repeatsBytes,
        [...rowSet],
        site,
        egress,
        reason,
        attempts,
      ],
      ["retry", 0, 8, 7, 80, 3, 5, [0b101], "slow.example", OURS, "greylisted", 3],
    );
    assert.ok(task.deferredMs >= 60_000);
  });

  it("keep their job deferred until they are all answered, and its assembly comes last", async () => {
    const id = await waitingJob([busy("a.example"), busy("b.example")]);
    const status = async () => (await sql`select status from jobs where id = ${id}`)[0]?.status;
    const teamId =
      (await sql<{ team_id: string }[]>`select team_id from jobs where id = ${id}`)[0]?.team_id ?? "";
    assert.equal(await status(), "deferred");
    assert.equal((await findJob(sql, teamId, id))?.deferred, 2);
    await finish(id, 1, [busy("a.example")]);
    await finish(id, 2);
    assert.equal(await startAssembly(sql, id), false);
    await finish(id, 3);
    assert.equal(await startAssembly(sql, id), true);
    assert.equal(await status(), "finalizing");
    const [last] =
      await sql`select number, kind from job_tasks where job_id = ${id} order by number desc limit 1`;
    assert.deepEqual([last?.number, last?.kind], [4, "assembly"]);
    assert.equal((await findJob(sql, teamId, id))?.deferred, 0);
  });

  it("are counted by their reason, of jobs under way alone", async () => {
    const ended = await waitingJob([busy("a.example", { rowCount: 7 })]);
    const id = await waitingJob([
      busy("a.example", { rowCount: 3 }),
      busy("b.example", { rowCount: 2 }),
      busy("b.example", { rowCount: 5, reason: "greylisted" }),
    ]);
    await sql`update jobs set status = 'cancelled', completed_at = now() where id = ${ended}`;
    await finish(id, 2);
    assert.deepEqual(
      await deferredRows(sql),
      new Map([
        ["busy", 3],
        ["greylisted", 5],
      ]),
    );
  });

  it("are given to workers of their egress only, and to no others while it has none", async () => {
    await waitingJob([busy("a.example"), busy("a.example", { egress: "other" })]);
    assert.equal(await emitter.emit(), 0);
    await greet(OURS);
    clock.advance(LIMITS.bulk.workersFreshMs);
    assert.equal(await emitter.emit(), 1);
    assert.equal((await inStream(OURS)).length, 1);
    assert.deepEqual(await inStream("other"), []);
  });

  it("are emitted when they are due, not before", async () => {
    await greet(OURS);
    const id = await waitingJob([busy("a.example", { dueInMs: 3_600_000 }), busy("b.example")]);
    assert.equal(await emitter.emit(), 1);
    await sql`update job_tasks set due_at = now() where job_id = ${id} and number = 1`;
    assert.equal(await emitter.emit(), 1);
  });
});

describe("the window of a site", () => {
  it("holds each site to its own, and is filled again as its retries end", async () => {
    await greet(OURS);
    const id = await waitingJob([
      ...times(retryWindow + 3, busy("slow.example")),
      ...times(2, busy("fast.example")),
      ...times(mixedWindow + 1, busy("")),
    ]);
    assert.equal(await emitter.emit(), retryWindow + 2 + mixedWindow);
    assert.equal(await emitter.emit(), 0);
    await finish(id, 1);
    await finish(id, 2, [busy("slow.example")]);
    assert.equal(await emitter.emit(), 2);
  });

  it("is filled while other tasks are not to be emitted", async () => {
    await greet(OURS);
    await waitingJob([busy("slow.example")]);
    const { tasks } = streams;
    const never = { ...tasks, countConsumers: () => new Promise<number>(() => undefined) };
    const stuck = createEmitter({ sql, streams: { ...streams, tasks: never }, clock });
    void stuck.emit();
    await until("its retry is emitted", async () => (await inStream(OURS)).length === 1);
    const failing = { ...tasks, countConsumers: () => Promise.reject(new Error("Redis is away")) };
    await waitingJob([busy("other.example")]);
    await assert.rejects(
      createEmitter({ sql, streams: { ...streams, tasks: failing }, clock }).emit(),
      /away/,
    );
    assert.equal((await inStream(OURS)).length, 2);
  });

  it("is shared by teams in turn: one with many rows there does not delay the next", async () => {
    await greet(OURS);
    const big = await waitingJob(times(10 * retryWindow, busy("slow.example")));
    await emitter.emit();
    const small = await waitingJob([busy("slow.example")]);
    assert.equal(await emitter.emit(), 0);
    await finish(big, 1);
    assert.equal(await emitter.emit(), 1);
    assert.equal((await inStream(OURS)).at(-1)?.jobId, small);
  });

  it("is shared by the jobs of a team in turn", async () => {
    await greet(OURS);
    const { teamId } = await newTeam(sql, "enterprise");
    const first = await waitingJob(times(10, busy("slow.example")), teamId);
    const second = await waitingJob(times(10, busy("slow.example")), teamId);
    await emitter.emit();
    const jobs = (await inStream(OURS)).map(({ jobId }) => jobId);
    assert.deepEqual(
      [first, second].map((id) => jobs.filter((jobId) => jobId === id).length),
      [retryWindow / 2, retryWindow / 2],
    );
  });

  it("is not taken by jobs that have ended", async () => {
    await greet(OURS);
    const ended = await waitingJob(times(retryWindow, busy("slow.example")));
    await emitter.emit();
    await sql`update jobs set status = 'cancelled', completed_at = now() where id = ${ended}`;
    await waitingJob(times(retryWindow, busy("slow.example")));
    assert.equal(await emitter.emit(), retryWindow);
  });

  it("is kept when many emit at once", async () => {
    await greet(OURS);
    await waitingJob(times(4 * retryWindow, busy("slow.example")));
    await Promise.all(Array.from({ length: 8 }, () => emitter.emit()));
    assert.equal((await inStream(OURS)).length, retryWindow);
  });

  it("is found by looks that go on where the last one ended", async () => {
    for (const site of ["a", "b", "c", "d", "e"]) await waitingJob([busy(`${site}.example`)]);
    const bounds = { window: 1, mixedWindow: 1, total: 100, queues: 2 };
    const sites: number[] = [];
    let after: RetryQueue | null = null;
    do {
      const { tasks, last }: TakenRetries = await sql.begin((tx) =>
        takeReadyRetries(tx, OURS, bounds, after),
      );
      sites.push(tasks.length);
      after = last;
    } while (after !== null);
    assert.deepEqual(sites, [2, 2, 1]);
  });

  it("of all sites together is bounded, and each site gets its first before any its second", async () => {
    const sites = Array.from({ length: 6 }, (_, i) => `${i}.example`);
    await waitingJob(sites.flatMap((site) => times(3, busy(site))));
    const bounds = { window: 4, mixedWindow: 4, total: 6, queues: 100 };
    const { tasks } = await sql.begin((tx) => takeReadyRetries(tx, OURS, bounds, null));
    const taken = await sql`select site from job_tasks where state = 'emitted' order by site`;
    assert.equal(tasks.length, 6);
    assert.deepEqual(
      taken.map(({ site }) => site),
      sites,
    );
    const none = await sql.begin((tx) => takeReadyRetries(tx, OURS, bounds, null));
    assert.equal(none.tasks.length, 0);
  });
});

describe("retries that are lost", () => {
  it("with their stream are emitted again", async () => {
    await greet(OURS);
    const id = await waitingJob(times(3, busy("slow.example")));
    assert.equal(await emitter.emit(), 3);
    await finish(id, 2);
    await redis.flushdb();
    await emitter.reconcile(() => false);
    await emitter.reconcile(() => false);
    await greet(OURS);
    clock.advance(LIMITS.bulk.workersFreshMs);
    assert.equal(await emitter.emit(), 2);
    assert.deepEqual((await inStream(OURS)).map(({ number }) => number).sort(), [1, 3]);
  });

  it("with their egress are anybody's after a while, those in its stream too", async () => {
    await greet(OURS);
    await greet("");
    await waitingJob(times(retryWindow + 2, busy("slow.example")));
    assert.equal(await emitter.emit(), retryWindow);
    // Its workers are dead, and nothing announces it.
    await redis.del(`rcpt:{bulk}:alive:retry:${encodeURIComponent(OURS)}`);
    await emitter.reconcile(() => false);
    clock.advance(egressGoneMs - 1);
    await emitter.reconcile(() => false);
    clock.advance(reconcileEveryMs);
    const left = await sql`select from job_tasks where egress = ${OURS}`;
    assert.equal(left.length, retryWindow + 2);
    await emitter.reconcile(() => false);
    assert.equal((await sql`select from job_tasks where egress = ${OURS}`).length, 0);
    await emitter.reconcile(() => false);
    assert.equal(await redis.exists(`rcpt:{bulk}:retry:${encodeURIComponent(OURS)}`), 0);
    assert.equal(await emitter.emit(), retryWindow);
    assert.equal((await inStream("")).length, retryWindow);
  });

  it("with their egress are its own when it comes back in time", async () => {
    await waitingJob([busy("slow.example")]);
    await emitter.reconcile(() => false);
    clock.advance(egressGoneMs - 1);
    await greet(OURS);
    await emitter.reconcile(() => false);
    clock.advance(egressGoneMs - 1);
    await emitter.reconcile(() => false);
    assert.equal(await emitter.emit(), 1);
    assert.equal((await inStream(OURS)).length, 1);
  });
});

describe("an emission that a worker asks for", () => {
  it("rests the longer the more workers there are to ask, and never longer than the relay does", async () => {
    const { emitRestMs, emitEveryMs, workersFreshMs } = LIMITS.bulk;
    await waitingJob(times(3, busy("a")));
    assert.equal(emitter.retryRestMs(), emitRestMs);
    for (const [workers, restMs] of [
      [1, emitRestMs],
      [4, 4 * emitRestMs],
      [40, emitEveryMs],
    ] as const) {
      for (let at = 0; at < workers; at++) await greet(OURS, `worker ${at}`);
      await clock.advanceAsync(workersFreshMs);
      await emitter.emitRetries();
      await sql`update job_tasks set state = 'ready', emitted_at = null where state = 'emitted'`;
      assert.equal(emitter.retryRestMs(), restMs);
    }
  });
});
