import type { Queryable } from "../../../stores/postgres/postgres.ts";
import type { JobLayout, JobStatus, ObjectPlace } from "../jobs/job-sql.ts";

/** The inputs of a job's results. */
export interface JobMaterial {
  jobId: string;
  teamId: string;
  status: JobStatus;
  /** Object with the bytes of the chunks. */
  place: ObjectPlace;
  layout: JobLayout;
  escapeFormulas: boolean;
  withEvidence: boolean;
  /** The source has columns of its own: it is not an inline list. */
  hasColumns: boolean;
  rows: number;
}

/** null: the job is gone, or its source is not analysed yet. */
export async function materialOf(sql: Queryable, jobId: string): Promise<JobMaterial | null> {
  const [material] = await sql<JobMaterial[]>`
    select id as "jobId", team_id as "teamId", status, layout, rows_total as rows, source->>'type' <> 'inline' as "hasColumns",
      jsonb_build_object('bucket', rows_bucket, 'key', rows_key, 'etag', rows_etag) as place,
      coalesce((options->>'escape_formulas')::boolean, false) as "escapeFormulas",
      with_evidence as "withEvidence"
    from jobs where id = ${jobId} and removed_at is null and layout is not null and rows_key is not null`;
  return material ?? null;
}
