import { LIMITS } from "../../../config/limits/limits.ts";
import type { Database } from "../../../stores/postgres/postgres.ts";
import type { JobEndings } from "../jobs/job-endings.ts";
import { type Control, interruptOnOutage } from "../run/control.ts";
import type { TaskReport } from "../run/task-report.ts";
import { type AssemblyTask, chunksOf } from "../schedule/job-tasks.ts";
import { newResultsKey } from "./job-objects.ts";
import { type JobMaterial, materialOf } from "./job-results.ts";
import type { JoinThread } from "./join-thread.ts";
import { type WriteResultsDeps, writeResults } from "./write-results.ts";

export interface AssemblyDeps extends Omit<WriteResultsDeps, "chunksOf"> {
  sql: Database;
  endings: JobEndings;
  /** Puts together what is long; null: all is put together here. */
  joinThread: JoinThread | null;
}

/** @throws as `writeResults`; Error when the thread died */
async function write(deps: AssemblyDeps, material: JobMaterial, key: string, control: Control) {
  const { sql, granted, joinThread } = deps;
  const chunks = (jobId: string, after: number, limit: number) => chunksOf(sql, jobId, after, limit);
  if (joinThread === null || material.rows <= LIMITS.results.rowsHere)
    return writeResults({ ...deps, chunksOf: chunks }, material, key, control.signal);
  const { readRange } = deps.streams;
  return joinThread.write(material, key, { chunksOf: chunks, granted, readRange }, control.signal);
}

/**
 * Puts the results together in input order, in each format, and completes the job. Each attempt writes under a key of its
 * own: objects whose key completes no job are removed LIMITS.bulk.spentRestMs after the job's end.
 * @throws Interruption; SourceLost, MissingObject when an object is gone; Error when one is not what was written
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
  await report.phase("write results", () => write(deps, material, resultsKey, control));
  const ending = { status: "completed", resultsKey } as const;
  await report.phase("mark done", () =>
    interruptOnOutage(() => deps.endings.endAlone(sql, teamId, jobId, ending)),
  );
}
