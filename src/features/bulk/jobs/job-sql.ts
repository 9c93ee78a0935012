import type { JobErrorCode } from "../../../platform/job-errors.ts";
import { intervalOf } from "../../../stores/postgres/interval.ts";
import type { Queryable, Transaction } from "../../../stores/postgres/postgres.ts";
import { clearTasks } from "./job-clearing.ts";

/** SQL of bulk jobs. Queries for a team's view name the team; those of workers use the id alone. */

export type JobStatus =
  | "submitting"
  | "queued"
  | "analyzing"
  | "processing"
  | "deferred"
  | "finalizing"
  | "completed"
  | "failed"
  | "cancelled";

/** The origin of the list, as its team sees it. */
export type JobSource =
  | { type: "inline" }
  | { type: "upload"; upload_id: string; filename: string }
  | { type: "s3"; bucket: string; key: string };

/** A column that may hold the addresses: features/bulk/analysis/layout explains its members. */
export type JobCandidate = { index: number; name: string | null; addresses: number; distinct: number };

/** How the list was read, as its team sees it: features/bulk/analysis/layout explains it. */
export type SourceFindings = {
  columns: {
    email: { index: number; name: string | null; chosen_by: "option" | "header" | "content" | "only" };
    others: JobCandidate[];
    delimiter: string;
    has_header: boolean;
    encoding: string;
    escape: '"' | "\\";
    skipped_lines: { line: number; text: string; reason: "comment" | "title" | "rule" | "footer" }[];
    sheet: { index: number; name: string; others: string[] } | null;
  };
  warnings: { code: string; detail: string }[];
};

/** The requested options, as stored with a job; absent ones are detected. */
export interface JobOptions {
  /** A name in the header, or an index from 0. */
  email_column?: string | number;
  has_header?: boolean;
  delimiter?: string;
  /** For a workbook: a sheet's name, or its index from 0. */
  sheet?: string | number;
  escape?: '"' | "\\";
  encoding?: string;
  /** Guards formulas in CSV results; absent: no. */
  escape_formulas?: boolean;
  /** Verify each of several addresses in a cell; absent: no. */
  split_cells?: boolean;
}

/** How to read the records of a source: features/bulk/analysis/layout explains it. */
export interface JobLayout {
  delimiter: string;
  escapedBy?: "\\";
  quotes?: "text" | "after_space";
  encoding?: string;
  emailColumn: number;
  columns: number;
  header: string[] | null;
  bom: boolean;
  split?: { emailColumn: number };
}

/** An object, or one version of it. */
export interface ObjectPlace {
  /** null: the deployment's own bucket. */
  bucket: string | null;
  key: string;
  /** null: the current version. */
  etag: string | null;
}

/** Rows by verdict, repeats included, and the units they cost. */
export interface JobCounts {
  valid: number;
  invalid: number;
  risky: number;
  unknown: number;
  charged: number;
}

export interface JobRow extends JobCounts {
  id: string;
  team_id: string;
  livemode: boolean;
  status: JobStatus;
  /** Findings are absent until the source is read. */
  source: JobSource & Partial<SourceFindings>;
  metadata: Record<string, string>;
  webhook_url: string | null;
  rows_total: number;
  duplicates: number;
  malformed: number;
  empty: number;
  /** Deferred rows, and when the last of them is tried again. */
  deferred: number;
  deferred_until: Date | null;
  day: string | null;
  results_key: string | null;
  error_code: JobErrorCode | null;
  error_detail: string | null;
  /** Candidates for the error `email_column_ambiguous`. */
  error_candidates: JobCandidate[] | null;
  created_at: Date;
  started_at: Date | null;
  completed_at: Date | null;
}

export interface NewJob {
  id: string;
  teamId: string;
  livemode: boolean;
  source: JobSource;
  /** null: no upload. */
  uploadId: string | null;
  place: ObjectPlace;
  /** Size of the source object; null: it is not written yet. */
  sourceBytes: number | null;
  options: JobOptions;
  /** Units a day, and so the maximum of rows. */
  dailyQuota: number;
  /** Maximum bytes, decoded. */
  bulkBytes: number;
  probing: boolean;
  withEvidence: boolean;
  metadata: Record<string, string>;
  webhookUrl: string | null;
}

/** The findings of a source's analysis. */
export interface Analysis {
  /** Object with the bytes of the chunks. */
  place: ObjectPlace;
  layout: JobLayout;
  findings: SourceFindings;
  rows: number;
  duplicates: number;
  malformed: number;
  empty: number;
}

/** How a job ends. */
export type JobEnding =
  | { status: "completed"; resultsKey: string }
  /** `charges`: answered rows cost as for a cancelled job; otherwise they cost nothing. */
  | { status: "failed"; code: JobErrorCode; detail: string; candidates?: JobCandidate[]; charges?: boolean }
  | { status: "cancelled" };

/** Only retries have a due time. So the last one is one index look-up, with any number of retries. */
const columns = (sql: Queryable) => sql`
  j.id, j.team_id, j.livemode, j.status, j.source, j.metadata, j.webhook_url, j.rows_total, j.duplicates, j.malformed, j.empty,
  j.valid, j.invalid, j.risky, j.unknown, j.charged, j.deferred,
  case when j.deferred > 0 then (
    select max(due_at) from job_tasks t where t.job_id = j.id and t.state <> 'done'
  ) end as deferred_until,
  j.day::text, j.results_key, j.error_code, j.error_detail, j.error_candidates, j.created_at, j.started_at, j.completed_at`;

const visible = (sql: Queryable) => sql`j.removed_at is null and j.status <> 'submitting'`;

export async function listJobs(
  sql: Queryable,
  teamId: string,
  page: { limit: number; after: string | null; testOnly: boolean },
): Promise<JobRow[]> {
  // In this collation only an index of the test jobs has them in order: see migration 31.
  const id = page.testOnly ? sql`j.id collate "C"` : sql`j.id`;
  return sql<JobRow[]>`
    select ${columns(sql)} from jobs j
    where j.team_id = ${teamId} and ${visible(sql)} ${page.testOnly ? sql`and not j.livemode` : sql``}
      ${page.after === null ? sql`` : sql`and ${id} < ${page.after}`}
    order by ${id} desc limit ${page.limit}`;
}

/** null: the team has no such job. */
export async function findJob(sql: Queryable, teamId: string, id: string): Promise<JobRow | null> {
  const [row] = await sql<JobRow[]>`
    select ${columns(sql)} from jobs j
    where j.team_id = ${teamId} and j.id = ${id} and ${visible(sql)}`;
  return row ?? null;
}

/** The visible jobs among `ids`; the caller has checked the team before. */
export async function jobsOf(sql: Queryable, ids: readonly string[]): Promise<JobRow[]> {
  return sql<JobRow[]>`
    select ${columns(sql)} from jobs j
    where j.id in (select jsonb_array_elements_text(${sql.json(ids)})) and ${visible(sql)}`;
}

/** Inserts a job. A `submitting` job stays invisible until its source is stored; a `queued` one waits for a worker. */
export async function insertJob(
  tx: Transaction,
  job: NewJob,
  status: "submitting" | "queued",
): Promise<void> {
  const { bucket, key, etag } = job.place;
  await tx`
    insert into jobs (id, team_id, livemode, status, source, upload_id, source_bucket, source_key, source_etag, source_bytes,
      options, daily_quota, bulk_bytes, probing, with_evidence, metadata, webhook_url)
    values (${job.id}, ${job.teamId}, ${job.livemode}, ${status}, ${tx.json({ ...job.source })}, ${job.uploadId},
      ${bucket}, ${key}, ${etag}, ${job.sourceBytes}, ${tx.json({ ...job.options })}, ${job.dailyQuota}, ${job.bulkBytes},
      ${job.probing}, ${job.withEvidence}, ${tx.json(job.metadata)}, ${job.webhookUrl})`;
}

/** Stores the findings about the job's source. */
export async function recordAnalysis(tx: Transaction, id: string, found: Analysis): Promise<void> {
  const { bucket, key, etag } = found.place;
  await tx`
    update jobs set rows_bucket = ${bucket}, rows_key = ${key}, rows_etag = ${etag},
      layout = ${tx.json({ ...found.layout })}, source = source || ${tx.json({ ...found.findings })}, rows_total = ${found.rows}, duplicates = ${found.duplicates},
      malformed = ${found.malformed}, empty = ${found.empty}
    where id = ${id}`;
}

/** A job whose source must be analysed. */
export interface AnalysisJob {
  place: ObjectPlace;
  options: JobOptions;
  dailyQuota: number;
  bulkBytes: number;
}

/** A worker starts the analysis. null: the job is past it, or no longer active. */
export async function startAnalysis(sql: Queryable, id: string): Promise<AnalysisJob | null> {
  const [row] = await sql<(Omit<AnalysisJob, "place"> & ObjectPlace)[]>`
    update jobs set status = 'analyzing', started_at = coalesce(started_at, now())
    where id = ${id} and status in ('queued', 'analyzing') and removed_at is null
    returning source_bucket as bucket, source_key as key, source_etag as etag, options, daily_quota as "dailyQuota",
      bulk_bytes as "bulkBytes"`;
  if (row === undefined) return null;
  const { bucket, key, etag, ...job } = row;
  return { ...job, place: { bucket, key, etag } };
}

/**
 * The analysis is done and its chunks are tasks: the job is processing. Locks the job's row until the transaction ends.
 * False: the job is past its analysis, or no longer active.
 */
export async function endAnalysis(tx: Transaction, id: string): Promise<boolean> {
  const ended = await tx`
    update jobs set status = 'processing' where id = ${id} and status = 'analyzing' and removed_at is null`;
  return ended.count === 1;
}

/** Stores the day of the job's reservation. */
export async function setJobDay(tx: Transaction, id: string, day: string): Promise<void> {
  await tx`update jobs set day = ${day} where id = ${id}`;
}

/** Queues the job once its source is stored. False: the submission was given up before. */
export async function queueJob(tx: Transaction, id: string): Promise<boolean> {
  const queued = await tx`
    update jobs set status = 'queued' where id = ${id} and status = 'submitting' and removed_at is null`;
  return queued.count === 1;
}

/** Gives up a job whose source could not be written. False: it is no longer being submitted. */
export async function abandonSubmission(tx: Transaction, id: string): Promise<boolean> {
  const abandoned = await tx`
    update jobs set removed_at = now() where id = ${id} and status = 'submitting' and removed_at is null`;
  return abandoned.count === 1;
}

/** Jobs whose submission started longer ago than any submission takes. */
export async function staleSubmissions(
  sql: Queryable,
  ageMs: number,
  limit: number,
): Promise<{ id: string; teamId: string }[]> {
  return sql<{ id: string; teamId: string }[]>`
    select id, team_id as "teamId" from jobs
    where completed_at is null and removed_at is null and status = 'submitting'
      and created_at < now() - ${intervalOf(ageMs)}::interval
    order by id limit ${limit}`;
}

/** A worker started: the first time, the job becomes `processing`. */
export async function startJob(sql: Queryable, id: string): Promise<void> {
  await sql`update jobs set status = 'processing', started_at = now() where id = ${id} and status = 'queued'`;
}

/** The active jobs among `ids`. */
export async function activeJobsOf(sql: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    select id from jobs
    where id in (select jsonb_array_elements_text(${sql.json(ids)})) and completed_at is null and removed_at is null`;
  return new Set(rows.map(({ id }) => id));
}

/** Prevents the team's deletion until the transaction ends. False: the team is gone. */
export async function shareLockTeam(tx: Transaction, teamId: string): Promise<boolean> {
  const team = await tx`select from teams where id = ${teamId} for key share`;
  return team.length === 1;
}

/** The job's status, its row locked until the transaction ends; null: the team has no such job. */
export async function lockJob(tx: Transaction, teamId: string, id: string): Promise<JobStatus | null> {
  const [row] = await tx<{ status: JobStatus }[]>`
    select status from jobs j where j.team_id = ${teamId} and j.id = ${id} and ${visible(tx)} for update`;
  return row?.status ?? null;
}

/** Ends a job that the transaction has locked. For a large job `clearTasks` does the rest later. */
export async function endJob(tx: Transaction, id: string, ending: JobEnding): Promise<JobRow> {
  const failure = ending.status === "failed" ? ending : null;
  const isClear = await clearTasks(tx, id);
  await tx`
    update jobs set status = ${ending.status}, completed_at = now(), tasks_left = ${!isClear},
      results_key = ${ending.status === "completed" ? ending.resultsKey : null},
      error_code = ${failure?.code ?? null}, error_detail = ${failure?.detail ?? null},
      error_candidates = ${failure?.candidates === undefined ? null : tx.json([...failure.candidates])}, deferred = 0,
      charged = ${failure === null || failure.charges === true ? tx`charged` : 0}
    where id = ${id}`;
  const [row] = await tx<[JobRow]>`select ${columns(tx)} from jobs j where j.id = ${id}`;
  return row;
}

/** Hides a job; a later round of the relay removes its data. */
export async function hideJob(tx: Transaction, id: string): Promise<void> {
  await tx`update jobs set removed_at = now() where id = ${id}`;
}

/** Hides jobs that ended longer ago than `keptMs`, at most `limit`. */
export async function hideExpiredJobs(sql: Queryable, keptMs: number, limit: number): Promise<void> {
  await sql`
    with taken as materialized (
      select ctid from jobs
      where completed_at < now() - ${intervalOf(keptMs)}::interval and removed_at is null
      order by completed_at limit ${limit} for update skip locked
    )
    update jobs set removed_at = now() where ctid = any (array(select ctid from taken))`;
}

/** An ended job that no worker can be working on any more. */
export interface SpentJob {
  id: string;
  teamId: string;
  /** True for a cancelled job: its answered rows are joined with its source on request, until the job is removed. */
  keepsSource: boolean;
  /** Key prefix of its results; null: it has none. */
  resultsKey: string | null;
}

/** Spent jobs whose leftover objects have not been removed yet. */
export async function spentJobs(sql: Queryable, restMs: number, limit: number): Promise<SpentJob[]> {
  return sql<SpentJob[]>`
    select id, team_id as "teamId", status = 'cancelled' as "keepsSource", results_key as "resultsKey" from jobs
    where completed_at < now() - ${intervalOf(restMs)}::interval and not source_removed
    order by completed_at limit ${limit}`;
}

/** Records that only readable objects of the job are left. */
export async function noteSpentRemoved(sql: Queryable, id: string): Promise<void> {
  await sql`update jobs set source_removed = true where id = ${id}`;
}

/** Hidden jobs that no worker can be working on any more. */
export async function removableJobs(
  sql: Queryable,
  restMs: number,
  limit: number,
): Promise<{ id: string; teamId: string }[]> {
  return sql<{ id: string; teamId: string }[]>`
    select id, team_id as "teamId" from jobs
    where removed_at < now() - ${intervalOf(restMs)}::interval
    order by removed_at limit ${limit}`;
}

/** Hides the active jobs of a team that is being deleted, and releases their quota. */
export async function hideActiveJobs(tx: Transaction, teamId: string): Promise<void> {
  await tx`
    with hidden as (
      update jobs set removed_at = now()
      where team_id = ${teamId} and completed_at is null and removed_at is null returning id
    )
    select quota_settle_hold(id, 0) from hidden`;
}
