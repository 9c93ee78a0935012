import { LIMITS } from "../../../config/limits/limits.ts";
import type { LifecyclePart } from "../../../platform/lifecycle.ts";
import type { Logger } from "../../../platform/log.ts";
import type { Clock, Timer } from "../../../platform/time/clock.ts";
import type { Database } from "../../../stores/postgres/postgres.ts";
import { activeJobsOf } from "../jobs/job-sql.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface WorkerDeps {
  sql: Database;
  queues: readonly WorkQueue[];
  clock: Clock;
  log: Logger;
  graceMs: number;
}

/**
 * A worker: takes tasks from its queues, renews the leases of those in hand, and drops those whose job is not active any
 * more.
 */
export function createWorker({ sql, queues: lanes, clock, log, graceMs }: WorkerDeps): LifecyclePart {
  let stopping = false;
  let renewTimer: Timer | undefined;

  const held = () => lanes.flatMap((lane) => lane.held());

  /** Renews leases, and cancels tasks of jobs that have ended. */
  async function renewOnce(): Promise<void> {
    const renewed = await Promise.allSettled(lanes.map((lane) => lane.renew()));
    for (const outcome of renewed)
      if (outcome.status === "rejected") log.debug({ err: outcome.reason }, "leases were not renewed");
    const tasks = held();
    if (tasks.length === 0) return;
    const active = await activeJobsOf(sql, [...new Set(tasks.map(({ jobId }) => jobId))]);
    for (const { jobId, control } of tasks) if (!active.has(jobId)) control.cancel();
  }

  function schedule(): void {
    renewTimer = clock.after(LIMITS.bulk.renewEveryMs, () => {
      renewOnce()
        .catch((error: unknown) => log.debug({ err: error }, "jobs in hand were not looked at"))
        .finally(() => {
          if (!stopping || held().length > 0) schedule();
        });
    });
  }

  return {
    name: "bulk worker",
    async start() {
      await Promise.all(lanes.map((lane) => lane.start()));
      schedule();
    },
    async drain() {
      stopping = true;
      const patience = clock.after(graceMs * LIMITS.bulk.drainShare, () => {
        for (const { control } of held()) control.cancel();
      });
      await Promise.all(lanes.map((lane) => lane.drain()));
      patience.cancel();
    },
    stop() {
      renewTimer?.cancel();
      for (const lane of lanes) lane.stop();
    },
  };
}
