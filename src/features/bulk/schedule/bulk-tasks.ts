import { LIMITS } from "../../../config/limits/limits.ts";
import type { PeriodicTask } from "../../../platform/periodic/periodic-tasks.ts";
import type { BulkRemoval } from "../jobs/removal.ts";
import type { Emitter } from "./emit.ts";

/** Streams whose idle consumers are removed. */
export interface BulkStreams {
  tasks: { removeIdleConsumers(idleMs: number): Promise<void> };
  whole: { removeIdleConsumers(idleMs: number): Promise<void> };
  retries(egress: string): { removeIdleConsumers(idleMs: number): Promise<void> };
}

export interface BulkPeriodicTaskDeps {
  emitter: Emitter;
  removal: BulkRemoval;
  streams: BulkStreams;
}

/** Periodic tasks of bulk jobs: emit tasks, find lost ones, remove old jobs. */
export function bulkPeriodicTasks({ emitter, removal, streams }: BulkPeriodicTaskDeps): PeriodicTask[] {
  const { emitEveryMs, reconcileEveryMs, removeEveryMs, idleConsumerMs, forgetEveryMs } = LIMITS.bulk;
  return [
    { name: "emit bulk tasks", everyMs: emitEveryMs, run: () => emitter.emitTasks() },
    { name: "emit bulk retries", everyMs: emitEveryMs, run: () => emitter.emitRetries() },
    {
      name: "reconcile bulk tasks",
      everyMs: reconcileEveryMs,
      run: (isStopping) => emitter.reconcile(isStopping),
    },
    {
      name: "remove bulk jobs",
      everyMs: removeEveryMs,
      run: (isStopping) => removal.sweep(isStopping),
    },
    {
      name: "forget bulk workers",
      everyMs: forgetEveryMs,
      async run() {
        await streams.tasks.removeIdleConsumers(idleConsumerMs);
        await streams.whole.removeIdleConsumers(idleConsumerMs);
        await streams.retries("").removeIdleConsumers(idleConsumerMs);
      },
    },
  ];
}
