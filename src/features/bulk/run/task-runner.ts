import { LIMITS } from "../../../config/limits/limits.ts";
import { pause } from "../../../platform/time/clock.ts";
import { countDeliveries, type TaskPointer } from "../schedule/job-tasks.ts";
import type { Control } from "./control.ts";
import { createSharedExclusiveLock } from "./shared-exclusive-lock.ts";
import { type AttemptHistory, type BulkTaskDeps, type Outcome, TaskAttempts } from "./task-attempts.ts";

/**
 * Runs each task until it is done. It waits for an unreachable dependency without a limit, at no cost to the task (for
 * another owner's bucket there is a limit: foreign-sources.ts). After LIMITS.bulk.interruptions in a row the task is left
 * to another worker, since the cause may be this one's disk or network.
 *
 * A task that fails by itself, or ends its process, is tried LIMITS.bulk.deliveries times, after longer and longer waits.
 * Then a chunk or a retry is given up: its rows are answered `unknown`, `internal_error`, and the job goes on. If that
 * fails too, or the task is the analysis or the assembly, the job fails. It fails sooner when the list or an object is
 * lost.
 *
 * When a process ends, each of its tasks counts one delivery, though only one task was the cause. So from
 * LIMITS.bulk.aloneFrom on a task runs alone in its process: then only the deliveries of the cause increase.
 */
export interface BulkTaskRunner {
  /**
   * True: the task needs no more work, so its stream entries can be deleted. False: it was cancelled, or interrupted so
   * often in a row that another worker may have more success. Never rejects.
   */
  run(pointer: TaskPointer, control: Control): Promise<boolean>;
  /**
   * null: tasks can start. Otherwise a task runs alone, or waits to, and new tasks would wait behind it: resolves when they
   * can start.
   */
  whenOpen(): Promise<void> | null;
}

/** @param failures consecutive failures of the task itself; 0 when it waits for a dependency */
function delayMs(failures: number): number {
  const { retryMs, retryMaxMs } = LIMITS.bulk;
  return Math.min(retryMaxMs, retryMs * 2 ** Math.max(0, failures - 1));
}

export function createBulkTaskRunner(deps: BulkTaskDeps): BulkTaskRunner {
  const { sql, clock } = deps;
  const attempts = new TaskAttempts(deps);
  const lock = createSharedExclusiveLock();

  async function withLock(
    pointer: TaskPointer,
    given: { control: Control; alone: boolean; below: number | null },
    history: AttemptHistory,
  ): Promise<Outcome | null> {
    const release = await lock.acquire(given.alone);
    try {
      return given.control.cancelled() ? "interrupted" : await attempts.make(pointer, given, history);
    } finally {
      release();
    }
  }

  async function attempt(pointer: TaskPointer, control: Control, history: AttemptHistory): Promise<Outcome> {
    // Nearly all are started for the first time. The number of deliveries is read only for the others, before they get the
    // lock.
    const below = LIMITS.bulk.aloneFrom - 1;
    const outcome = await withLock(pointer, { control, alone: false, below }, history);
    if (outcome !== null) return outcome;
    // If it cannot be read now, the task cannot be started either.
    const deliveries = await countDeliveries(sql, pointer).catch(() => 0);
    const alone = deliveries + 1 >= LIMITS.bulk.aloneFrom;
    return (await withLock(pointer, { control, alone, below: null }, history)) ?? "done";
  }

  return {
    async run(pointer, control) {
      const history: AttemptHistory = { failures: 0, interruptions: 0, missingObjects: 0 };
      while (!control.cancelled()) {
        const outcome = await attempt(pointer, control, history);
        if (outcome === "done") return true;
        history.failures = outcome === "failed" ? history.failures + 1 : 0;
        history.interruptions = outcome === "interrupted" ? history.interruptions + 1 : 0;
        if (history.interruptions >= LIMITS.bulk.interruptions) return false;
        await pause(clock, delayMs(history.failures), control.signal);
      }
      return false;
    },
    whenOpen: lock.whenOpen,
  };
}
