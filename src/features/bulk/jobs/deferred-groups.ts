import type { Queryable } from "../../../stores/postgres/postgres.ts";
import { DEFERRAL_REASONS, type DeferralReason } from "../run/deferrable.ts";

/** `busy`: all connections that the site allows are in use. */
export const WAIT_REASONS = ["busy", ...DEFERRAL_REASONS] as const;

/** Rows of a job that wait for one reason at one site. */
export interface DeferredGroup {
  reason: "busy" | DeferralReason;
  /** null: several sites with few rows each; of `busy` also sites that are not known yet. */
  site: string | null;
  rows: number;
  /** When the first of them are due. It may have passed: due rows are asked again as connections become free. */
  next_attempt_at: string;
}

export interface DeferredRows {
  /** Most rows first, LIMITS.bulk.deferredGroups at most. */
  data: DeferredGroup[];
  /** All rows that wait, also those in further groups. */
  rows: number;
}

/**
 * Reads the index `job_tasks_outstanding`: only retries have a due time, so of a job's unfinished tasks only they are read.
 */
export async function findDeferredGroups(
  sql: Queryable,
  jobId: string,
  limit: number,
): Promise<DeferredRows> {
  const found = await sql<
    { reason: DeferredGroup["reason"]; site: string; rows: number; due: Date; all: number }[]
  >`
    select reason, site, sum(row_count)::int as rows, min(due_at) as due, (sum(sum(row_count)) over ())::int as all
    from job_tasks
    where job_id = ${jobId} and state <> 'done' and due_at >= '-infinity'
    group by reason, site order by 3 desc, due, reason, site limit ${limit}`;
  return {
    data: found.map(({ reason, site, rows, due }) => ({
      reason,
      site: site === "" ? null : site,
      rows,
      next_attempt_at: due.toISOString(),
    })),
    rows: found[0]?.all ?? 0,
  };
}
