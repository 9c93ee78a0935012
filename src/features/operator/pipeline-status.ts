import { LIMITS } from "../../config/limits/limits.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { readJobLoad } from "../bulk/schedule/job-load.ts";
import { deferredRows } from "../bulk/schedule/job-retries.ts";
import type { JobStreams } from "../bulk/schedule/job-stream.ts";
import { countOutstandingTasks } from "../bulk/schedule/job-tasks.ts";

/** Outstanding work of bulk jobs in the whole deployment. */
export interface PipelineStatus {
  /** Processes that take tasks. */
  workers: number;
  /** Jobs that have not ended, by state. */
  jobs: Record<string, number>;
  tasks_outstanding: number;
  /** 0: there is none. */
  oldest_task_seconds: number;
  /** Rows that wait to be asked about again, by reason. */
  rows_deferred: Record<string, number>;
  /** Tasks that were given up. */
  dead_letters: number;
}

/** Counts it with the queries of the relay's metrics. Rejects when Postgres or Redis does not answer. */
export async function countPipeline(
  sql: Database,
  streams: Pick<JobStreams, "tasks" | "buried">,
): Promise<PipelineStatus> {
  const [load, outstanding, deferred, workers, buried] = await Promise.all([
    readJobLoad(sql),
    countOutstandingTasks(sql),
    deferredRows(sql),
    streams.tasks.countConsumers(LIMITS.bulk.leaseMs),
    streams.buried(),
  ]);
  return {
    workers,
    jobs: Object.fromEntries(load.jobs),
    tasks_outstanding: outstanding,
    oldest_task_seconds: Math.round(load.oldestChunkS),
    rows_deferred: Object.fromEntries(deferred),
    dead_letters: buried,
  };
}
