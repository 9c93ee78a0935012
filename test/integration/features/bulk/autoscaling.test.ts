import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { composePipelineCounts } from "../../../../src/app/pipeline-counts.ts";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { endJob } from "../../../../src/features/bulk/jobs/job-sql.ts";
import { createEmitter, type Emitter } from "../../../../src/features/bulk/schedule/emit.ts";
import {
  createJobStreams,
  type JobStreams,
  type StreamEntry,
} from "../../../../src/features/bulk/schedule/job-stream.ts";
import { type ChunkTask, finishRows, startTask } from "../../../../src/features/bulk/schedule/job-tasks.ts";
import { newId } from "../../../../src/platform/ids.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import { desiredPods, type Figure, readExternalHpa, readKeda } from "../../../support/autoscaler.ts";
import { inlineJob, queueChunks } from "../../../support/bulk-tasks.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";
import { newTeam, openRedis, useDatabase } from "../../../support/store.ts";

/**
 * The metrics that the autoscalers of k8s/ read about jobs, and the number of workers that follow: with the real
 * emitter, streams and gauges, and the manifests' thresholds. Workers here take tasks up to their capacity, as lanes
 * do, and do nothing with them.
 */
const { tasksAtOnce, workersFreshMs } = LIMITS.bulk;
const GROUPS = ["rcpt:{bulk}:tasks", "rcpt:{bulk}:whole", "rcpt:{bulk}:retry"];
const keda = readKeda();
const hpa = readExternalHpa();
let streams: JobStreams;
let emitter: Emitter;
let clock: FakeClock;
let workers: { name: string; held: StreamEntry[] }[];

const { sql, closing } = await useDatabase();
const redis = (await openRedis(closing)).commands;
beforeEach(async () => {
  await sql`delete from jobs`;
  await redis.flushdb();
  streams = createJobStreams(redis);
  clock = createFakeClock();
  emitter = createEmitter({ sql, streams, clock });
  workers = [];
  await scaleTo(keda.bounds.min);
  await takeAll();
});

const teamOf = async () => (await newTeam(sql, "enterprise")).teamId;

async function job(teamId: string, chunks: number): Promise<string> {
  const id = newId("job");
  const ranges = Array.from({ length: chunks }, (_, i) => ({
    ...{ firstRow: i, rows: 1, firstByte: i, bytes: 1 },
    ...{ repeatsByte: 0, repeatsBytes: 0 },
  }));
  await queueChunks(sql, inlineJob(teamId, id), ranges, { rows: chunks, duplicates: 0, malformed: 0 });
  return id;
}

/** Workers come, or those go that have nothing in hand. */
async function scaleTo(count: number): Promise<void> {
  while (workers.length < count) workers.push({ name: newId("job"), held: [] });
  for (const worker of workers.splice(count)) {
    assert.equal(worker.held.length, 0, "only idle workers go here");
    await streams.tasks.removeConsumer(worker.name);
  }
  clock.advance(workersFreshMs);
}

/** A look of every worker at its streams, and the relay's emission between. */
async function takeAll(): Promise<void> {
  for (const { name } of workers)
    for (const stream of [streams.whole, streams.retries("")]) await stream.read(redis, name, 1, null);
  for (const { name } of workers) await streams.tasks.heartbeat(name);
  for (let taken = 1; taken > 0; ) {
    await emitter.emit();
    taken = 0;
    for (const worker of workers) {
      const room = tasksAtOnce - worker.held.length;
      const entries = room === 0 ? [] : await streams.tasks.read(redis, worker.name, room, null);
      worker.held.push(...entries);
      taken += entries.length;
    }
  }
  await emitter.emit();
}

/** All that is in hand is done. */
async function finishHeld(): Promise<void> {
  const counts = { valid: 1, invalid: 0, risky: 0, unknown: 0, charged: 0 };
  for (const worker of workers) {
    const entries = worker.held.splice(0);
    for (const { pointer } of entries) {
      const task = await startTask(sql, pointer);
      // Its job has ended.
      if (task === null) continue;
      await sql.begin((tx) =>
        finishRows(tx, task as ChunkTask, { shardKey: "s", counts, providers: [], deferrals: [] }),
      );
    }
    await streams.tasks.finish(entries.map(({ id }) => id));
  }
}

/** Ends the jobs, and lets workers read and finish the jobs' remaining entries in the streams. */
async function endJobs(ids: readonly string[]): Promise<void> {
  for (const id of ids) await sql.begin((tx) => endJob(tx, id, { status: "completed", resultsKey: "k" }));
  for (;;) {
    const whole = await streams.whole.read(redis, workers[0]?.name ?? "", 100, null);
    await streams.whole.finish(whole.map(({ id }) => id));
    await takeAll();
    if (whole.length === 0 && workers.every(({ held }) => held.length === 0)) return;
    await finishHeld();
  }
}

/** The metrics that a relay serves, counted now. */
async function relayMetrics(): Promise<string> {
  const metrics = createMetrics();
  for (const task of composePipelineCounts({ metrics, sql, streams })) await task.run(() => false);
  return metrics.registry.metrics();
}

async function figures(): Promise<{ all: Figure[]; lags: Figure[]; external: Figure[] }> {
  const metrics = await relayMetrics();
  const all = await keda.figures(redis, metrics);
  const lags = all.filter(({ name }) => name.startsWith("redis-streams"));
  return { all, lags, external: hpa.figures(metrics) };
}

type Choice = (seen: Awaited<ReturnType<typeof figures>>) => number;
const byAll: Choice = ({ all }) => desiredPods(all, keda.bounds);

/**
 * Runs rounds of an autoscaler, and adds workers, until the number is stable. Returns the number after each round. It
 * never removes workers: for that an autoscaler waits five minutes.
 */
async function grow(choose: Choice): Promise<number[]> {
  const history = [workers.length];
  for (let round = 0; round < 10; round++) {
    await takeAll();
    const wanted = choose(await figures());
    if (wanted <= workers.length) break;
    await scaleTo(wanted);
    history.push(wanted);
  }
  return history;
}

/** Five minutes later. */
async function shrink(): Promise<void> {
  await takeAll();
  await scaleTo(Math.min(workers.length, byAll(await figures())));
}

/** The huge job: so many chunks that each worker there may be has its share. */
const HUGE = 2_000;

describe("the autoscalers of bulk workers", () => {
  it("have the same bounds and thresholds with KEDA and without", async () => {
    await job(await teamOf(), 40);
    await takeAll();
    const { all, external } = await figures();
    assert.deepEqual(keda.bounds, hpa.bounds);
    const plain = (list: Figure[]) => list.map(({ value, threshold }) => ({ value, threshold }));
    assert.deepEqual(plain(external), plain(all));
    assert.deepEqual(plain(all), [
      { value: 8, threshold: 8 },
      { value: 0, threshold: 2 },
      { value: 0, threshold: LIMITS.bulk.retriesAtOnce },
      { value: 40, threshold: 64 },
    ]);
  });

  it("ask for streams that are there while a worker is", async () => {
    await takeAll();
    for (const key of GROUPS) {
      const [group] = (await redis.xinfo("GROUPS", key)) as unknown[][];
      assert.equal(group?.[1], "workers", key);
    }
  });

  it("see little of one huge job in its lag: by that alone it would be one worker's", async () => {
    await job(await teamOf(), HUGE);
    assert.deepEqual(await grow(({ lags }) => desiredPods(lags, keda.bounds)), [keda.bounds.min]);
    assert.deepEqual(
      (await figures()).lags.map(({ value }) => value),
      [LIMITS.bulk.windowMin - tasksAtOnce, 0, 0],
    );
  });

  it("go to the maximum for one huge job, by what is not done", async () => {
    const id = await job(await teamOf(), HUGE);
    const history = await grow(byAll);
    assert.equal(history.at(-1), keda.bounds.max);
    // Every one of them has all that it takes at once: the job's window feeds them.
    assert.deepEqual(
      workers.map(({ held }) => held.length),
      workers.map(() => tasksAtOnce),
    );
    await finishHeld();
    await takeAll();
    assert.equal(byAll(await figures()), keda.bounds.max);
    await endJobs([id]);
    await shrink();
    assert.equal(workers.length, keda.bounds.min);
  });

  it("go to the maximum for many small jobs at once, by their lag, and back when they are done", async () => {
    const ids: string[] = [];
    for (let team = 0; team < 8; team++) {
      const teamId = await teamOf();
      for (let i = 0; i < 25; i++) ids.push(await job(teamId, 1));
    }
    await takeAll();
    const { all, lags } = await figures();
    const rest = all.filter(({ name }) => !name.startsWith("redis-streams"));
    assert.deepEqual(
      rest.map(({ value }) => value),
      [ids.length],
    );
    assert.ok(desiredPods(rest, keda.bounds) < desiredPods(lags, keda.bounds));
    const history = await grow(byAll);
    assert.equal(history.at(-1), keda.bounds.max);
    // Chunks of all of them; their assemblies are the lanes' for whole lists, and not done here.
    for (let round = 0; round * tasksAtOnce * workers.length < ids.length; round++) {
      await finishHeld();
      await takeAll();
    }
    const [left] = await sql<[{ count: number }]>`
      select count(*)::int as count from job_tasks where kind = 'chunk' and state <> 'done'`;
    assert.equal(left.count, 0);
    await endJobs(ids);
    await shrink();
    assert.equal(workers.length, keda.bounds.min);
  });
});
