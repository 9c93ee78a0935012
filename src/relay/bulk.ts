import { LIMITS } from "../core/limits.ts";
import type { Emitter } from "../services/bulk/emit.ts";
import type { BulkRemoval } from "../services/bulk/removal.ts";
import type { Chore } from "./relay.ts";

/** Streams whose consumers are to be forgotten when they are gone. */
export interface BulkStreams {
  tasks: { removeIdleConsumers(idleMs: number): Promise<void> };
  whole: { removeIdleConsumers(idleMs: number): Promise<void> };
  retries(egress: string): { removeIdleConsumers(idleMs: number): Promise<void> };
}

export interface BulkChoresDeps {
  emitter: Emitter;
  removal: BulkRemoval;
  streams: BulkStreams;
}

/** What bulk jobs need of somebody who is always there: their tasks emitted, what was lost found, what is over removed. */
export function bulkChores({ emitter, removal, streams }: BulkChoresDeps): Chore[] {
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
