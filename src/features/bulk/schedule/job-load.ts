import type { Queryable } from "../../../stores/postgres/postgres.ts";
import type { JobStatus } from "../jobs/job-sql.ts";

/** States of a job that has not ended. */
export const UNFINISHED = [
  "submitting",
  "queued",
  "analyzing",
  "processing",
  "deferred",
  "finalizing",
] as const satisfies readonly JobStatus[];

/** Active jobs by state, for the operator. */
export interface JobLoad {
  /** Jobs by state, each of `UNFINISHED`. */
  jobs: Map<(typeof UNFINISHED)[number], number>;
  /** Age in seconds of the oldest of their chunks in the stream or with a worker; 0: none. */
  oldestChunkS: number;
}

/** One statement, by the indexes of active jobs and of emitted tasks, which windows bound. */
export async function readJobLoad(sql: Queryable): Promise<JobLoad> {
  const [row] = await sql<[{ jobs: Record<string, number> | null; oldestChunkS: number | null }]>`
    select (
      select jsonb_object_agg(status, jobs) from (
        select status, count(*)::int as jobs from jobs
        where completed_at is null and removed_at is null group by status
      ) states
    ) as jobs, (
      select extract(epoch from clock_timestamp() - min(t.emitted_at))::float8
      from job_tasks t join jobs j on j.id = t.job_id
      where t.state = 'emitted' and t.kind = 'chunk' and j.completed_at is null and j.removed_at is null
    ) as "oldestChunkS"`;
  const jobs = new Map(UNFINISHED.map((state) => [state, row.jobs?.[state] ?? 0] as const));
  return { jobs, oldestChunkS: Math.max(0, row.oldestChunkS ?? 0) };
}
