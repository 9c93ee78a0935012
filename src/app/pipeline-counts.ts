import { readJobLoad } from "../features/bulk/schedule/job-load.ts";
import { deferredRows, egressesWithEmitted } from "../features/bulk/schedule/job-retries.ts";
import type { JobStreams } from "../features/bulk/schedule/job-stream.ts";
import { countOutstandingTasks } from "../features/bulk/schedule/job-tasks.ts";
import { type PipelineCount, pipelineCountTasks } from "../features/bulk/schedule/pipeline-count-tasks.ts";
import type { PeriodicTask } from "../platform/periodic/periodic-tasks.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import { systemClock } from "../platform/time/clock.ts";
import type { Database } from "../stores/postgres/postgres.ts";

interface Deps {
  metrics: Metrics;
  sql: Database;
  streams: JobStreams;
}

/**
 * The relay's counts of the pipeline. A count that fails removes its series until it succeeds again, so that no stale value
 * is shown.
 */
export function composePipelineCounts(deps: Deps): PeriodicTask[] {
  const { countedAt } = deps.metrics;
  const counts = [countTasks(deps), countDeferred(deps), countJobs(deps), countStreams(deps)];
  return pipelineCountTasks(counts, systemClock, (sinceMs) => countedAt.set(sinceMs / 1_000));
}

function countTasks({ metrics: { chunksOutstanding }, sql }: Deps): PipelineCount {
  return {
    name: "bulk tasks",
    count: async () => chunksOutstanding.set(await countOutstandingTasks(sql)),
    forget: () => chunksOutstanding.clear(),
  };
}

function countDeferred({ metrics: { rowsDeferred }, sql }: Deps): PipelineCount {
  return {
    name: "deferred rows",
    async count() {
      const rows = await deferredRows(sql);
      rowsDeferred.reset();
      for (const [reason, count] of rows) rowsDeferred.set({ reason }, count);
    },
    forget: () => rowsDeferred.clear(),
  };
}

/** The cheapest question to Postgres, and so the one that says whether it answers. */
function countJobs({ metrics, sql }: Deps): PipelineCount {
  const { jobs, oldestChunkAge, dependencyUp } = metrics;
  return {
    name: "bulk jobs",
    async count() {
      const load = await readJobLoad(sql);
      dependencyUp.set({ dependency: "postgres" }, 1);
      for (const [state, count] of load.jobs) jobs.set({ state }, count);
      oldestChunkAge.set(load.oldestChunkS);
    },
    forget() {
      dependencyUp.set({ dependency: "postgres" }, 0);
      jobs.clear();
      oldestChunkAge.clear();
    },
  };
}

function countStreams({ metrics, sql, streams }: Deps): PipelineCount {
  const { streamLag, streamPending, deadLetters, dependencyUp } = metrics;

  /** @param egresses whose retries are in streams */
  async function ask(egresses: readonly string[]) {
    const [tasks, whole, buried, ...retries] = await Promise.all([
      streams.tasks.load(),
      streams.whole.load(),
      streams.buried(),
      ...["", ...egresses].map((egress) => streams.retries(egress).load()),
    ]);
    const retry = { lag: 0, pending: 0 };
    for (const { lag, pending } of retries) {
      retry.lag += lag;
      retry.pending += pending;
    }
    return { buried, loads: { tasks, whole, retry } };
  }

  return {
    name: "bulk streams",
    async count() {
      const egresses = await egressesWithEmitted(sql);
      const { buried, loads } = await ask(egresses).catch((error: unknown) => {
        dependencyUp.set({ dependency: "redis" }, 0);
        throw error;
      });
      dependencyUp.set({ dependency: "redis" }, 1);
      deadLetters.set(buried);
      for (const [stream, { lag, pending }] of Object.entries(loads)) {
        streamLag.set({ stream }, lag);
        streamPending.set({ stream }, pending);
      }
    },
    forget() {
      for (const gauge of [streamLag, streamPending, deadLetters]) gauge.clear();
    },
  };
}
