import type { JobErrorCode } from "../../../platform/job-errors.ts";
import { DAY_MS } from "../../../platform/time/clock.ts";
import type { JobCandidate, JobRow, JobSource, JobStatus, SourceFindings } from "./job-sql.ts";

/** A bulk job as its team sees it. */
export interface BulkJob {
  id: string;
  status: Exclude<JobStatus, "submitting">;
  /** `columns` null: it has not been read. */
  source: JobSource & { columns: SourceFindings["columns"] | null; warnings: SourceFindings["warnings"] };
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  rows: {
    total: number;
    processed: number;
    deferred: number;
    duplicates: number;
    malformed: number;
    empty: number;
  };
  /** Share of the rows that are answered, 0 to 1. */
  progress: number;
  /**
   * Whole seconds until all rows are answered: at the pace so far, and not before the last of the rows that wait for their
   * mail server is tried again; null when it is not known (in a job's first seconds, too), or there is nothing to come.
   */
  eta_seconds: number | null;
  /** null before the first row. */
  rows_per_second: number | null;
  /** Units of the daily quota that the answered rows cost. */
  units: number;
  verdicts: { valid: number; invalid: number; risky: number; unknown: number };
  results: { csv_url: string; jsonl_url: string; expires_at: string } | null;
  error: { code: JobErrorCode; detail: string; candidates?: JobCandidate[] | undefined } | null;
  metadata: Record<string, string>;
  livemode: boolean;
}

export interface ViewSettings {
  /** The base address of the API; null: URLs are paths. */
  publicUrl: string | null;
  retentionDays: number;
}

/** Until then the pace is not meaningful: rows that need no mail server are answered first. */
const ETA_FROM_S = 5;
const PROGRESS_STEPS = 10_000;

/** Down, so that no job is whole before it is. */
function progressOf(processed: number, total: number): number {
  if (total === 0) return 0;
  return Math.floor((processed * PROGRESS_STEPS) / total) / PROGRESS_STEPS;
}

function resultsOf(row: JobRow, processed: number, { publicUrl, retentionDays }: ViewSettings) {
  const readable = row.status === "completed" || (row.status === "cancelled" && processed > 0);
  if (!readable || row.completed_at === null) return null;
  const url = `${(publicUrl ?? "").replace(/\/+$/, "")}/v1/bulk-jobs/${row.id}/results`;
  return {
    csv_url: `${url}?format=csv`,
    jsonl_url: `${url}?format=jsonl`,
    expires_at: new Date(row.completed_at.getTime() + retentionDays * DAY_MS).toISOString(),
  };
}

/** @param pace rows a second; null: not known well enough to go by */
function etaOf(row: JobRow, processed: number, pace: number | null, nowMs: number): number | null {
  const left = row.rows_total - processed;
  // Once all rows are answered, the results are put together: how long that takes is not known.
  if (row.completed_at !== null || left <= 0) return null;
  const waitingS = row.deferred_until === null ? 0 : (row.deferred_until.getTime() - nowMs) / 1000;
  const undeferred = Math.max(0, left - row.deferred);
  if (undeferred > 0 && pace === null) return null;
  const workingS = pace === null ? 0 : undeferred / pace;
  return Math.ceil(Math.max(1, workingS, waitingS));
}

function errorOf({ error_code: code, error_detail: detail, error_candidates: candidates }: JobRow) {
  if (code === null) return null;
  return { code, detail: detail ?? "", ...(candidates === null ? {} : { candidates }) };
}

/** @param nowMs epoch milliseconds, for the pace of a running job */
export function renderJob(row: JobRow, settings: ViewSettings, nowMs: number): BulkJob {
  const { valid, invalid, risky, unknown } = row;
  const processed = valid + invalid + risky + unknown;
  const endMs = row.completed_at?.getTime() ?? nowMs;
  const elapsedS = row.started_at === null ? 0 : (endMs - row.started_at.getTime()) / 1000;
  const pace = processed > 0 && elapsedS > 0 ? processed / elapsedS : null;
  return {
    id: row.id,
    // A job that is being submitted is never shown.
    status: row.status === "submitting" ? "queued" : row.status,
    source: { ...row.source, columns: row.source.columns ?? null, warnings: row.source.warnings ?? [] },
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    completed_at: row.completed_at?.toISOString() ?? null,
    rows: {
      total: row.rows_total,
      processed,
      deferred: row.deferred,
      duplicates: row.duplicates,
      malformed: row.malformed,
      empty: row.empty,
    },
    progress: progressOf(processed, row.rows_total),
    eta_seconds: etaOf(row, processed, elapsedS < ETA_FROM_S ? null : pace, nowMs),
    rows_per_second: pace === null ? null : Number(pace.toFixed(2)),
    // Test keys have no day: nothing is reserved.
    units: row.day === null ? 0 : row.charged,
    verdicts: { valid, invalid, risky, unknown },
    results: resultsOf(row, processed, settings),
    error: errorOf(row),
    metadata: row.metadata,
    livemode: row.livemode,
  };
}
