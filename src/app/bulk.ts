import { randomUUID } from "node:crypto";
import { type Config, ConfigError } from "../config/config.ts";
import { LIMITS } from "../config/limits/limits.ts";
import { createJobEndings } from "../features/bulk/jobs/job-endings.ts";
import { createJobFollowers } from "../features/bulk/jobs/job-events.ts";
import { jobsOf } from "../features/bulk/jobs/job-sql.ts";
import { renderJob, type ViewSettings } from "../features/bulk/jobs/job-view.ts";
import { type BulkJobs, createBulkJobs } from "../features/bulk/jobs/jobs.ts";
import { createBulkRemoval } from "../features/bulk/jobs/removal.ts";
import { createJobObjects } from "../features/bulk/results/job-objects.ts";
import { createResults } from "../features/bulk/results/results.ts";
import { createParkedRows } from "../features/bulk/run/parked-rows.ts";
import { createRowVerifier } from "../features/bulk/run/row-verifier.ts";
import { type BulkTaskRunner, createBulkTaskRunner } from "../features/bulk/run/task-runner.ts";
import { createWorkQueue, type WorkQueue, type WorkQueueDeps } from "../features/bulk/run/work-queue.ts";
import { createWorker } from "../features/bulk/run/worker.ts";
import { type BulkPeriodicTaskDeps, bulkPeriodicTasks } from "../features/bulk/schedule/bulk-tasks.ts";
import { createEmitter, type Emitter } from "../features/bulk/schedule/emit.ts";
import { createJobStreams } from "../features/bulk/schedule/job-stream.ts";
import { createGrantCheck } from "../features/bulk/submit/grant-check.ts";
import { createSubmitBulk, type SubmitDeps } from "../features/bulk/submit/submit.ts";
import { readPromoted } from "../features/overrides/promoted-disposable-sql.ts";
import {
  createPromotedDisposables,
  type PromotedDisposables,
} from "../features/overrides/promoted-disposables.ts";
import { createUploadSources } from "../features/uploads/upload-sources.ts";
import { createTestKeys } from "../features/verify/answer/test-keys.ts";
import { createRowFiller } from "../features/verify/batch/fill-rows.ts";
import type { LifecyclePart } from "../platform/lifecycle.ts";
import type { Logger } from "../platform/log.ts";
import type { PeriodicTask } from "../platform/periodic/periodic-tasks.ts";
import type { Metrics, WorkQueueLoad } from "../platform/telemetry/metrics.ts";
import type { Tracer } from "../platform/telemetry/tracing.ts";
import { type Clock, systemClock, type Timer } from "../platform/time/clock.ts";
import { createObjectStreams } from "../stores/objects/object-streams.ts";
import type { ObjectStore } from "../stores/objects/objects.ts";
import { withOutageWait } from "../stores/postgres/outage-wait.ts";
import type { Database } from "../stores/postgres/postgres.ts";
import { createBlockingRedis } from "../stores/redis.ts";
import { createScratch } from "../stores/scratch.ts";
import { checkParts } from "./checks/check-parts.ts";
import type { StartedThreads } from "./checks/check-threads.ts";
import { composeChecks } from "./checks/checks.ts";
import { composeExaminers } from "./checks/examiner.ts";
import type { SelfCheckService } from "./checks/self-check.ts";
import { createJobSpanRecorder } from "./job-spans.ts";
import { composePipelineCounts } from "./pipeline-counts.ts";
import type { RequestWork } from "./request-work.ts";
import type { Stores } from "./stores.ts";
import { composeTaskMetrics, countReturnedTasks, watchWorkQueues } from "./task-metrics.ts";

interface Deps {
  config: Config;
  log: Logger;
  metrics: Metrics;
  stores: Stores;
  /** null: nothing is traced. */
  tracer: Tracer | null;
}

const clock: Clock = systemClock;

function viewSettingsOf({ http, retentionDays }: Config): ViewSettings {
  return { publicUrl: http.publicUrl, retentionDays };
}

/** The object storage that submissions read lists from and write them to. */
function storageOf(sql: Database, store: ObjectStore): NonNullable<SubmitDeps["storage"]> {
  const streams = createObjectStreams(store, clock);
  return {
    objects: createJobObjects(store),
    streams,
    bucket: store.bucket,
    uploads: createUploadSources({ sql, streams }),
  };
}

/** Bulk jobs as the API has them: taken in, looked at, ended. */
export function composeBulkJobs({
  config,
  log,
  stores,
  tracer,
  requestWork,
}: Omit<Deps, "metrics"> & { requestWork: RequestWork }): BulkJobs {
  const { sql } = stores;
  const view = viewSettingsOf(config);
  const emitter = createEmitter({ sql, streams: createJobStreams(stores.redis.commands), clock });
  return createBulkJobs({
    sql,
    clock,
    view,
    endings: createJobEndings({ clock, view, onEnded: createJobSpanRecorder(tracer) }),
    submit: createSubmitBulk({
      sql,
      storage: stores.objects === null ? null : storageOf(sql, stores.objects),
      analyseInline: requestWork.analyseInline,
      clock,
      log,
      view,
      webhooks: config.webhooks,
      // The relay does it too; this saves the wait.
      onQueued: coalesceEmissions(() => emitter.emitTasks(), log),
    }),
    results:
      stores.objects === null
        ? null
        : createResults({
            clock,
            sql,
            objects: createJobObjects(stores.objects),
            streams: createObjectStreams(stores.objects, clock),
            granted: createGrantCheck({ sql, clock, ownBucket: stores.objects.bucket }),
            scratch: createScratch(config.scratchDir, LIMITS.results.scratchBytes),
          }),
    followers: createJobFollowers({
      jobsOf: (ids) => jobsOf(sql, ids),
      render: (row) => renderJob(row, view, clock.now()),
      clock,
      log,
    }),
  });
}

/** The relay's periodic tasks for bulk jobs. */
export function composeBulkPeriodicTasks({
  config,
  log,
  metrics,
  stores,
}: Omit<Deps, "tracer">): PeriodicTask[] {
  const { sql, objects } = stores;
  const streams = createJobStreams(stores.redis.commands);
  const deps: BulkPeriodicTaskDeps = {
    emitter: createEmitter({ sql, streams, clock }),
    removal: createBulkRemoval({
      sql,
      // Without object storage there is nothing to delete.
      deleteBelow: async (prefix, spared) => objects?.deleteBelow(prefix, spared) ?? true,
      log,
      retentionDays: config.retentionDays,
    }),
    streams,
  };
  return [...bulkPeriodicTasks(deps), ...composePipelineCounts({ metrics, sql, streams })];
}

/** Reads the promoted overrides again and again: no change feed is followed in this role. */
function createPeriodicReload(promoted: PromotedDisposables): LifecyclePart & { start(): Promise<void> } {
  let timer: Timer | undefined;
  const schedule = () => {
    timer = clock.after(LIMITS.bulk.promotedEveryMs, () => {
      promoted.reload();
      schedule();
    });
  };
  return {
    name: "promoted overrides",
    async start() {
      await promoted.start();
      schedule();
    },
    stop() {
      timer?.cancel();
      promoted.stop();
    },
  };
}

/**
 * Runs one emission at a time. All requests during it and the pause after it share one more emission: chunks end faster
 * than looking for more pays, and a window lasts longer than the pause.
 */
function coalesceEmissions(
  emit: () => Promise<unknown>,
  log: Logger,
  restMs: () => number = () => LIMITS.bulk.emitRestMs,
): () => void {
  let emitting = false;
  let again = false;
  return function ask(): void {
    if (emitting) {
      again = true;
      return;
    }
    emitting = true;
    again = false;
    emit()
      .catch((error: unknown) => log.debug({ err: error }, "tasks were not emitted"))
      .finally(() => {
        clock.after(restMs(), () => {
          emitting = false;
          if (again) ask();
        });
      });
  };
}

/** Emissions that a worker requests. The relay emits too. */
interface Emissions {
  tasks(): void;
  retries(): void;
  both(): void;
}

function composeEmissions(emitter: Emitter, log: Logger): Emissions {
  const tasks = coalesceEmissions(() => emitter.emitTasks(), log);
  const retries = coalesceEmissions(
    () => emitter.emitRetries(),
    log,
    () => emitter.retryRestMs(),
  );
  function both(): void {
    tasks();
    retries();
  }
  return { tasks, retries, both };
}

/**
 * The queues of a worker: chunks; analyses and assemblies; retries of its egress, and retries without one. No queue waits
 * for another.
 */
function composeWorkQueues(
  { config, log, metrics, stores }: Deps,
  emit: Emissions,
  tasks: BulkTaskRunner,
): WorkQueue[] {
  const streams = createJobStreams(stores.redis.commands);
  const shared = { tasks, consumer: randomUUID(), clock, log };
  const readerOf = (name: string) =>
    createBlockingRedis({ url: config.redis.url, name, blockMs: LIMITS.bulk.readBlockMs, log });
  const { tasksAtOnce, wholeAtOnce, retriesAtOnce } = LIMITS.bulk;
  const laneOf = (
    lane: WorkQueueLoad["lane"],
    name: string,
    places: number,
    from: WorkQueueDeps["streams"],
  ) => {
    const onHandedBack = countReturnedTasks(metrics, lane);
    // A retry leaves the windows of chunks as they are. The end of a job's rows is notified separately.
    const onDone = lane === "retry" ? emit.retries : emit.both;
    const of = createWorkQueue({
      ...shared,
      streams: from,
      reader: readerOf(name),
      slots: places,
      onDone,
      onHandedBack,
    });
    return { lane, places, of };
  };
  const lanes = [
    laneOf("tasks", "rcpt-bulk", tasksAtOnce, [streams.tasks]),
    laneOf("whole", "rcpt-whole", wholeAtOnce, [streams.whole]),
    laneOf("retry", "rcpt-retries", retriesAtOnce, [
      streams.retries(config.smtp.egressId),
      streams.retries(""),
    ]),
  ];
  watchWorkQueues(metrics, lanes);
  return lanes.map(({ of }) => of);
}

/**
 * The role `bulk`: takes tasks of jobs and verifies their rows, with a check pool of its own.
 * @throws ConfigError without object storage
 */
export function composeBulk(deps: Deps & { begun?: StartedThreads }): {
  parts: LifecyclePart[];
  selfCheck: SelfCheckService;
} {
  const { config, log, metrics, stores } = deps;
  const { sql, redis } = stores;
  if (stores.objects === null || config.objects === null)
    throw new ConfigError("S3_BUCKET: is required by the role bulk");
  const objects = createJobObjects(stores.objects);
  const objectStreams = createObjectStreams(stores.objects, clock);
  const parked = createParkedRows({ sql, egress: config.smtp.egressId, clock, log });
  const checks = composeChecks({ ...deps, redis, releaseParkedRows: parked.release });
  const promoted = createPromotedDisposables({ read: () => readPromoted(sql), clock, log });
  const deadlineMs = LIMITS.bulk.rowDeadlineMs;
  const { examiner, batches } = composeExaminers({ ...deps, checks, promoted, deadlineMs });
  const testKeys = createTestKeys({ clock, slowMs: LIMITS.testKeys.slowMs, isPromoted: promoted.covers });
  const streams = createJobStreams(redis.commands);
  const endings = createJobEndings({
    clock,
    view: viewSettingsOf(config),
    onEnded: createJobSpanRecorder(deps.tracer),
  });
  const granted = createGrantCheck({ sql, clock, ownBucket: stores.objects.bucket });
  const emissions = composeEmissions(createEmitter({ sql, streams, clock }), log);
  const tasks = createBulkTaskRunner({
    sql,
    objects,
    streams: objectStreams,
    bucket: stores.objects.bucket,
    granted,
    scratch: createScratch(config.scratchDir),
    deadLetters: streams,
    tracer: deps.tracer,
    clock,
    log,
    rows: createRowVerifier({
      clock,
      examiner,
      batches,
      filler: createRowFiller({ clock, examiner, limits: LIMITS.bulk.templates }),
      testKeys,
      sites: checks.sites,
      roomAt: checks.roomAt,
    }),
    deferral: config.deferral,
    egress: config.smtp.egressId,
    parking: { waitMs: (site) => checks.breakers.waitMs(site), tryRelease: parked.tryRelease },
    random: Math.random,
    onAssembly: emissions.tasks,
    ...composeTaskMetrics(metrics),
    onVerified: ({ verdict, reason, cached }, count) =>
      metrics.verifications.inc({ verdict, reason, cached: `${cached}` }, count),
    endings,
  });
  const lanes = composeWorkQueues(deps, emissions, tasks);
  const worker = createWorker({ sql, queues: lanes, clock, log, graceMs: config.shutdownGraceMs });
  const parts = [
    ...checkParts(checks),
    withOutageWait(createPeriodicReload(promoted), { clock, log }),
    worker,
  ];
  return { parts, selfCheck: checks.selfCheck };
}
