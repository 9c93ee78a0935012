import { LIMITS } from "../../../config/limits/limits.ts";
import { pause } from "../../../platform/time/clock.ts";
import { countDeliveries, type TaskPointer } from "../schedule/job-tasks.ts";
import type { Control } from "./control.ts";
import { createSharedExclusiveLock } from "./shared-exclusive-lock.ts";
import { type AttemptHistory, type BulkTaskDeps, type Outcome, TaskAttempts } from "./task-attempts.ts";

/**
 * Works on tasks, each until nothing of it is left to do.
 *
 * A dependency that is away is waited for, however long it takes, and costs the task nothing (another owner's bucket is
 * waited for only so long: foreign-sources.ts). After LIMITS.bulk.interruptions in a row the task is left to another
 * worker, since the cause may be this one's disk or network. A task that fails by itself, or takes its process with it, is
 * tried LIMITS.bulk.deliveries times, after longer and longer waits. Then a chunk or a retry is given up: its rows are
 * answered `unknown`, `internal_error`, and the job goes on. Where that cannot be done either, or it is the analysis or the
 * assembly, the job fails; so it does, sooner, when the list or an object is lost.
 *
 * When a process ends, what it had in hand counts one delivery each, and only one of them was to blame. So from
 * LIMITS.bulk.aloneFrom on a task is worked on alone in its process: then only the culprit's deliveries climb.
 */
export interface BulkTaskRunner {
  /**
   * True: there is nothing left to do, its entries may go. False: it was cancelled, or interrupted so often in a row that
   * another worker may fare better. Never rejects.
   */
  run(pointer: TaskPointer, control: Control): Promise<boolean>;
  /** null: tasks may come. Else one is alone, or waits to be, and what came now would wait behind it: until this resolves. */
  whenOpen(): Promise<void> | null;
}

/** @param failures of the task itself, in a row: none when it waits for a dependency */
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
    // Nearly all are begun for the first time: only of others is asked how often, before they have their turn.
    const below = LIMITS.bulk.aloneFrom - 1;
    const outcome = await withLock(pointer, { control, alone: false, below }, history);
    if (outcome !== null) return outcome;
    // What cannot be asked now cannot be begun either.
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
