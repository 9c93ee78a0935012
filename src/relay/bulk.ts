import { LIMITS } from "../core/limits.ts";
import type { Emitter } from "../services/bulk/emit.ts";
import type { BulkRemoval } from "../services/bulk/removal.ts";
import type { Chore } from "./relay.ts";

export interface BulkChoresDeps {
  emitter: Emitter;
  removal: BulkRemoval;
  stream: { removeIdleConsumers(idleMs: number): Promise<void> };
  /** Tasks that are not done, for the autoscaler. */
  outstanding: { count(): Promise<number>; set(tasks: number): void };
}

/** What bulk jobs need of somebody who is always there: their tasks emitted, what was lost found, what is over removed. */
export function bulkChores({ emitter, removal, stream, outstanding }: BulkChoresDeps): Chore[] {
  const { emitEveryMs, reconcileEveryMs, removeEveryMs, idleConsumerMs, forgetEveryMs } = LIMITS.bulk;
  return [
    { name: "emit bulk tasks", everyMs: emitEveryMs, run: () => emitter.emit() },
    {
      name: "reconcile bulk tasks",
      everyMs: reconcileEveryMs,
      async run(isStopping) {
        outstanding.set(await outstanding.count());
        await emitter.reconcile(isStopping);
      },
    },
    {
      name: "remove bulk jobs",
      everyMs: removeEveryMs,
      run: (isStopping) => removal.sweep(isStopping),
    },
    {
      name: "forget bulk workers",
      everyMs: forgetEveryMs,
      run: () => stream.removeIdleConsumers(idleConsumerMs),
    },
  ];
}
