import type { BulkTaskDeps } from "../features/bulk/run/task-attempts.ts";
import type { WorkQueue } from "../features/bulk/run/work-queue.ts";
import type { Task, TaskPointer } from "../features/bulk/schedule/job-tasks.ts";
import { type Metrics, observeWorkQueues, type WorkQueueLoad } from "../platform/telemetry/metrics.ts";

type TaskKind = Task["kind"];

const KINDS: readonly TaskKind[] = ["analysis", "chunk", "retry", "assembly"];
const OUTCOMES = ["done", "handed_back", "failed", "dead"] as const;

/** Counts what becomes of tasks in this process: by task, never by row. */
export function composeTaskMetrics({
  bulkTasks,
  bulkTaskSeconds,
  bulkRows,
  bulkRowsPutOff,
}: Metrics): Pick<BulkTaskDeps, "onEnd" | "onRows"> {
  // A series that begins with its first event hides it from rates.
  for (const kind of KINDS) for (const outcome of OUTCOMES) bulkTasks.inc({ kind, outcome }, 0);
  for (const kind of ["chunk", "retry"]) bulkRows.inc({ kind }, 0);
  return {
    onEnd(kind, outcome, seconds) {
      bulkTasks.inc({ kind, outcome });
      if (outcome === "done") bulkTaskSeconds.seriesOf(kind).observe(seconds);
    },
    onRows(kind, { counts: { valid, invalid, risky, unknown }, deferrals }) {
      bulkRows.inc({ kind }, valid + invalid + risky + unknown);
      for (const { reason, rowCount } of deferrals) bulkRowsPutOff.inc({ reason }, rowCount);
    },
  };
}

/**
 * Counts the tasks that a lane hands back. Only the lane and the pointer are known of them, so the kind is derived from
 * these.
 */
export function countReturnedTasks({ bulkTasks }: Metrics, lane: WorkQueueLoad["lane"]) {
  return ({ number }: TaskPointer) => bulkTasks.inc({ kind: kindOf(lane, number), outcome: "handed_back" });
}

function kindOf(lane: WorkQueueLoad["lane"], number: number): TaskKind {
  if (lane === "tasks") return "chunk";
  if (lane === "retry") return "retry";
  return number < 0 ? "analysis" : "assembly";
}

/** Adds the gauges of a worker's lanes. */
export function watchWorkQueues(
  metrics: Metrics,
  lanes: readonly (Omit<WorkQueueLoad, "held"> & { of: WorkQueue })[],
): void {
  observeWorkQueues(
    metrics,
    lanes.map(({ lane, places, of }) => ({
      lane,
      places,
      held: () => of.held().length,
    })),
  );
}
