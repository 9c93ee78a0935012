import type { Database } from "../../../stores/postgres/postgres.ts";
import type { JobEndings } from "../jobs/job-endings.ts";
import { type Control, interruptOnOutage } from "../run/control.ts";
import type { TaskReport } from "../run/task-report.ts";
import { type AssemblyTask, chunksOf } from "../schedule/job-tasks.ts";
import { newResultsKey } from "./job-objects.ts";
import { materialOf } from "./job-results.ts";
import { type WriteResultsDeps, writeResults } from "./write-results.ts";

export interface AssemblyDeps extends Omit<WriteResultsDeps, "chunksOf"> {
  sql: Database;
  endings: JobEndings;
}

/**
 * Assembles the results in input order, in each format, and completes the job. Each attempt writes under a key of its own:
 * objects whose key completes no job are removed LIMITS.bulk.spentRestMs after the job's end.
 * @throws Interruption; SourceLost, MissingObject when an object is gone; Error when one differs from the one written
 */
export async function runAssembly(
  deps: AssemblyDeps,
  task: AssemblyTask,
  { control, report }: { control: Control; report: TaskReport },
): Promise<void> {
  const { sql } = deps;
  const { teamId, jobId } = task;
  const material = await interruptOnOutage(() => materialOf(sql, jobId));
  // Removed, or completed by another worker, since it was begun.
  if (material === null || material.status !== "finalizing") return;
  const resultsKey = newResultsKey(teamId, jobId);
  report.add({ rows: material.rows });
  const chunks: WriteResultsDeps["chunksOf"] = (id, after, limit) => chunksOf(sql, id, after, limit);
  await report.phase("write results", () =>
    writeResults({ ...deps, chunksOf: chunks }, material, resultsKey, control.signal),
  );
  const ending = { status: "completed", resultsKey } as const;
  await report.phase("mark done", () =>
    interruptOnOutage(() => deps.endings.endAlone(sql, teamId, jobId, ending)),
  );
}
