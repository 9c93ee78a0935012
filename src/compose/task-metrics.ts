import type { Lane } from "../bulk/lane.ts";
import type { TaskDeps } from "../bulk/task.ts";
import { type LaneLoad, type Metrics, observeLanes } from "../core/metrics.ts";
import type { Task, TaskPointer } from "../store/job-tasks.ts";

type TaskKind = Task["kind"];

const KINDS: readonly TaskKind[] = ["analysis", "chunk", "retry", "assembly"];
const OUTCOMES = ["done", "handed_back", "failed", "dead"] as const;

/** Counts what becomes of tasks in this process: by task, never by row. */
export function composeTaskMetrics({
  bulkTasks,
  bulkTaskSeconds,
  bulkRows,
  bulkRowsPutOff,
}: Metrics): Pick<TaskDeps, "onEnd" | "onRows"> {
  // A series that begins with its first event hides it from rates.
  for (const kind of KINDS) for (const outcome of OUTCOMES) bulkTasks.inc({ kind, outcome }, 0);
  for (const kind of ["chunk", "retry"]) bulkRows.inc({ kind }, 0);
  return {
    onEnd(kind, outcome, seconds) {
      bulkTasks.inc({ kind, outcome });
      if (outcome === "done") bulkTaskSeconds.of(kind).observe(seconds);
    },
    onRows(kind, { counts: { valid, invalid, risky, unknown }, deferrals }) {
      bulkRows.inc({ kind }, valid + invalid + risky + unknown);
      for (const { reason, rowCount } of deferrals) bulkRowsPutOff.inc({ reason }, rowCount);
    },
  };
}

/** What a lane tells of tasks that it hands back, of which it knows no more than where they came from. */
export function countHandBacks({ bulkTasks }: Metrics, lane: LaneLoad["lane"]) {
  return ({ number }: TaskPointer) => bulkTasks.inc({ kind: kindOf(lane, number), outcome: "handed_back" });
}

function kindOf(lane: LaneLoad["lane"], number: number): TaskKind {
  if (lane === "tasks") return "chunk";
  if (lane === "retry") return "retry";
  return number < 0 ? "analysis" : "assembly";
}

/** Adds the gauges of a worker's lanes. */
export function watchLanes(
  metrics: Metrics,
  lanes: readonly (Omit<LaneLoad, "held"> & { of: Lane })[],
): void {
  observeLanes(
    metrics,
    lanes.map(({ lane, places, of }) => ({
      lane,
      places,
      held: () => of.held().filter(({ control }) => control.hasPlace()).length,
    })),
  );
}
