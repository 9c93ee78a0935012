import type { Queryable, Transaction } from "../../../stores/postgres/postgres.ts";
import type { ProviderCounts } from "../jobs/job-providers.ts";
import type { JobCounts, JobLayout, ObjectPlace } from "../jobs/job-sql.ts";

/**
 * SQL of the tasks of bulk jobs: creating, starting, finishing. See migration 12 for their states, job-emission.ts for
 * emission.
 */

/** Identifies a task: all that Redis ever carries. */
export interface TaskPointer {
  jobId: string;
  number: number;
}

/** Rows of a source, counted from 0: the bytes of the rows' object that hold them, and those of their repeats. */
export interface ChunkRange {
  firstRow: number;
  rows: number;
  firstByte: number;
  bytes: number;
  /** In the job's index of repeats. */
  repeatsByte: number;
  /** 0: no row of the chunk is repeated or repeats another. */
  repeatsBytes: number;
}

interface JobTaskBase extends TaskPointer {
  teamId: string;
  livemode: boolean;
  probing: boolean;
  withEvidence: boolean;
  /** This one included. */
  deliveries: number;
  /** Verification of the job's rows has started. */
  started: boolean;
}

export interface AnalysisTask extends JobTaskBase {
  kind: "analysis";
}

/** The analysis's results. */
interface AnalysedJobTask extends JobTaskBase {
  /** Object with the bytes of the chunks. */
  place: ObjectPlace;
  layout: JobLayout;
  /** For the results as CSV. */
  escapeFormulas: boolean;
}

/** All rows of a chunk. */
export interface ChunkTask extends AnalysedJobTask, ChunkRange {
  kind: "chunk";
}

/** Deferred rows of a chunk. Its ChunkRange is that of the whole chunk. */
export interface RetryTask extends AnalysedJobTask, ChunkRange {
  kind: "retry";
  chunk: number;
  /** One bit for each row of the chunk, from the lowest bit of the first byte. */
  rowSet: Buffer;
  /** '': rows of several sites. */
  site: string;
  egress: string;
  reason: string;
  /** Time since its rows were first deferred. */
  deferredMs: number;
  attempts: number;
}

export interface AssemblyTask extends AnalysedJobTask {
  kind: "assembly";
}

/** A task as a worker gets it, with the data it needs of its job. */
export type Task = AnalysisTask | ChunkTask | RetryTask | AssemblyTask;

/** Small enough for one statement to end far below its timeout. */
const CHUNKS_PER_STATEMENT = 5_000;

/** The first task of a job whose source is not analysed yet. */
export async function insertAnalysis(tx: Transaction, jobId: string): Promise<void> {
  await tx`insert into job_tasks (job_id, number, kind) values (${jobId}, -1, 'analysis')`;
}

/** Inserts the chunks of a job, in the order of its rows. */
export async function insertChunks(
  tx: Transaction,
  jobId: string,
  chunks: readonly ChunkRange[],
): Promise<void> {
  for (let from = 0; from < chunks.length; from += CHUNKS_PER_STATEMENT) {
    const rows = chunks
      .slice(from, from + CHUNKS_PER_STATEMENT)
      .map((chunk, i) => ({ number: from + i, ...chunk }));
    await tx`
      insert into job_tasks (job_id, number, kind, first_row, row_count, first_byte, byte_count, repeats_byte, repeats_bytes)
      select ${jobId}, number, 'chunk', "firstRow", rows, "firstByte", bytes, "repeatsByte", "repeatsBytes"
      from jsonb_to_recordset(${tx.json(rows)}) as r (number integer, "firstRow" integer, rows integer,
        "firstByte" bigint, bytes bigint, "repeatsByte" bigint, "repeatsBytes" integer)`;
  }
}

/**
 * A worker starts the task: one more delivery.
 * @param deliveriesBelow start only a task with fewer earlier starts than this, and count no other; null: any
 * @returns null: nothing to do, or the task was started too often
 */
export async function startTask(
  sql: Queryable,
  { jobId, number }: TaskPointer,
  deliveriesBelow: number | null = null,
): Promise<Task | null> {
  const [task] = await sql<Task[]>`
    update job_tasks t set deliveries = deliveries + 1
    from jobs j
    where t.job_id = ${jobId} and t.number = ${number} and t.state <> 'done'
      and (${deliveriesBelow}::integer is null or t.deliveries < ${deliveriesBelow}::integer)
      and j.id = t.job_id and j.completed_at is null and j.removed_at is null
    returning t.job_id as "jobId", t.number, t.kind, t.deliveries, j.status <> 'queued' as started,
      j.team_id as "teamId", j.livemode, j.probing,
      j.with_evidence as "withEvidence", j.layout,
      jsonb_build_object('bucket', j.rows_bucket, 'key', j.rows_key, 'etag', j.rows_etag) as place,
      coalesce((j.options->>'escape_formulas')::boolean, false) as "escapeFormulas", t.first_row as "firstRow",
      case t.kind when 'retry' then (
        select c.row_count from job_tasks c where c.job_id = t.job_id and c.number = t.chunk
      ) else t.row_count end as rows,
      t.first_byte as "firstByte", t.byte_count as bytes, t.repeats_byte as "repeatsByte",
      t.repeats_bytes as "repeatsBytes", t.chunk, t.row_set as "rowSet", t.site, t.egress, t.reason,
      (extract(epoch from clock_timestamp() - t.deferred_at) * 1000)::double precision as "deferredMs", t.attempts`;
  return task ?? null;
}

/** Starts of the task, without those that were forgiven. 0: there is no such task. */
export async function countDeliveries(sql: Queryable, { jobId, number }: TaskPointer): Promise<number> {
  const [row] = await sql<{ deliveries: number }[]>`
    select deliveries from job_tasks where job_id = ${jobId} and number = ${number}`;
  return row?.deliveries ?? 0;
}

/** The worker stopped through no fault of the task: the delivery does not count. */
export async function forgiveDelivery(sql: Queryable, { jobId, number }: TaskPointer): Promise<void> {
  await sql`
    update job_tasks set deliveries = greatest(0, deliveries - 1)
    where job_id = ${jobId} and number = ${number}`;
}

/**
 * Locks the job's row, so that a job that ends counts either all of a task or nothing, and marks the task done. False:
 * another worker was first, or the job is no longer active.
 */
export async function finishTask(tx: Transaction, { jobId, number }: TaskPointer): Promise<boolean> {
  const job = await tx`
    select from jobs where id = ${jobId} and completed_at is null and removed_at is null for no key update`;
  if (job.length === 0) return false;
  const finished = await tx`
    update job_tasks set state = 'done', emitted_at = null
    where job_id = ${jobId} and number = ${number} and state <> 'done'`;
  return finished.count === 1;
}

/** Deferred rows of a chunk. */
export interface Deferral {
  rowSet: Buffer;
  /** Number of bits set in `rowSet`. */
  rowCount: number;
  /** '': of several sites. */
  site: string;
  egress: string;
  reason: string;
  /** From now. */
  dueInMs: number;
  /** Time since their first deferral; 0: this is the first. */
  deferredMs: number;
  /** How often they were deferred, this time included. */
  attempts: number;
}

/** The result of a chunk or a retry. */
export interface RowsOutcome {
  /** null: no row of it is answered. */
  shardKey: string | null;
  /** Counts of the answered rows and of all rows that copy them. */
  counts: JobCounts;
  /** The same rows, each provider once. */
  providers: readonly ProviderCounts[];
  deferrals: readonly Deferral[];
}

/** The outcome of finishing a task. */
export interface FinishedRows {
  /** As `finishTask` returns it. */
  counted: boolean;
  /**
   * True when another task of the job surely ends after this one: the chunk of rows that are neither answered nor deferred, or
   * a retry of deferred rows. Otherwise the caller must call `startAssembly`.
   */
  isFollowed: boolean;
}

/**
 * Copies of deferred rows are neither answered nor deferred, and no chunk will end them: where rows are deferred, more rows
 * than this must be left.
 */
const SAFE_CHUNKS = 64;

/**
 * Marks the task done once its shard is durable, and creates retries for its unanswered rows. Answered rows count at once
 * with all their copies, wherever those are: the job's results hold the same.
 *
 * `isFollowed` needs two checks. Chunks that have not started are read as of the statement's start; all of them may have ended
 * while it waited for the job's lock, and then the job got no assembly. So the rows left are counted in the locked job row, too:
 * the task that ends those comes later. For a retry of a `deferred` job it suffices that other rows are deferred.
 *
 * One statement, since a transaction of five costs its worker a round trip for each. Locks like `finishTask`: first the
 * job's row.
 * @param sql a transaction, where there are deferrals
 */
export async function finishRows(
  sql: Queryable,
  task: ChunkTask | RetryTask,
  { shardKey, counts, providers, deferrals }: RowsOutcome,
): Promise<FinishedRows> {
  const { jobId, number } = task;
  const { valid, invalid, risky, unknown, charged } = counts;
  const deferred = deferrals.reduce((rows, { rowCount }) => rows + rowCount, 0);
  const [finished] = await sql<{ isFollowed: boolean }[]>`
    with job as materialized (
      select from jobs where id = ${jobId} and completed_at is null and removed_at is null for no key update
    ),
    task as (
      update job_tasks set state = 'done', emitted_at = null, shard_key = ${shardKey}, valid = ${valid},
        invalid = ${invalid}, risky = ${risky}, unknown = ${unknown}, charged = ${charged}
      where job_id = ${jobId} and number = ${number} and state <> 'done' and exists (select from job)
      returning case kind when 'retry' then row_count else 0 end as deferred_before
    ),
    by_provider as (
      insert into job_providers as known (job_id, provider, valid, invalid, risky, unknown)
      select ${jobId}, p.provider, p.valid, p.invalid, p.risky, p.unknown
      from task, jsonb_to_recordset(${sql.json(providers)}) as p (provider text, valid integer, invalid integer,
        risky integer, unknown integer)
      on conflict (job_id, provider) do update set valid = known.valid + excluded.valid,
        invalid = known.invalid + excluded.invalid, risky = known.risky + excluded.risky,
        unknown = known.unknown + excluded.unknown
    )
    update jobs j set valid = j.valid + ${valid}::integer, invalid = j.invalid + ${invalid}::integer,
      risky = j.risky + ${risky}::integer, unknown = j.unknown + ${unknown}::integer,
      charged = j.charged + ${charged}::integer, deferred = j.deferred + ${deferred}::integer - task.deferred_before
    from task where j.id = ${jobId}
    returning ${task.kind === "retry"}::boolean and j.status = 'deferred' and j.deferred > 0
      or j.rows_total - j.valid - j.invalid - j.risky - j.unknown - j.deferred
        > case j.deferred when 0 then 0 else ${SAFE_CHUNKS * task.rows}::integer end
      and exists (
        select from job_tasks r where r.job_id = ${jobId} and r.state = 'ready' and r.kind <> 'retry' and r.deliveries = 0
      ) as "isFollowed"`;
  if (finished === undefined) return { counted: false, isFollowed: false };
  if (deferrals.length > 0) await insertRetries(sql, task, deferrals);
  return { counted: true, isFollowed: finished.isFollowed };
}

async function insertRetries(
  tx: Queryable,
  task: ChunkTask | RetryTask,
  deferrals: readonly Deferral[],
): Promise<void> {
  const rows = deferrals.map((deferral, i) => ({
    ...deferral,
    offset: i + 1,
    rowSet: deferral.rowSet.toString("base64"),
  }));
  await tx`
    insert into job_tasks (job_id, number, kind, first_row, first_byte, byte_count, repeats_byte, repeats_bytes, chunk,
      row_count, row_set, site, egress, reason, deferred_at, attempts, due_at)
    select ${task.jobId}, (select max(number) from job_tasks where job_id = ${task.jobId}) + r."offset", 'retry',
      ${task.firstRow}::integer, ${task.firstByte}, ${task.bytes}, ${task.repeatsByte}, ${task.repeatsBytes}::integer,
      ${task.kind === "chunk" ? task.number : task.chunk}::integer, r."rowCount", decode(r."rowSet", 'base64'), r.site, r.egress,
      r.reason, clock_timestamp() - r."deferredMs" * interval '1 ms', r.attempts,
      clock_timestamp() + r."dueInMs" * interval '1 ms'
    from jsonb_to_recordset(${tx.json(rows)}) as r ("offset" integer, "rowCount" integer, "rowSet" text, site text,
      egress text, reason text, "deferredMs" double precision, attempts integer, "dueInMs" double precision)`;
}

/**
 * Updates the job's state after a task: when all tasks are done it is finalizing and its assembly becomes a task; when only
 * retries are left, it is deferred. True for the caller that made it finalizing.
 */
export async function startAssembly(sql: Queryable, jobId: string): Promise<boolean> {
  const inserted = await sql`
    with due as (
      update jobs set status = 'finalizing'
      where id = ${jobId} and status in ('queued', 'processing', 'deferred') and removed_at is null
        and not exists (select from job_tasks where job_id = ${jobId} and state <> 'done')
      returning id
    )
    insert into job_tasks (job_id, number, kind)
    select id, (select max(number) + 1 from job_tasks where job_id = ${jobId}), 'assembly' from due`;
  if (inserted.count === 1) return true;
  // Chunks come before retries in these indexes: the first row of each decides.
  await sql`
    update jobs set status = 'deferred'
    where id = ${jobId} and status = 'processing' and removed_at is null
      and not exists (select from job_tasks where job_id = ${jobId} and state = 'ready' and kind <> 'retry')
      and coalesce(
        (select kind from job_tasks where job_id = ${jobId} and state = 'emitted' order by number limit 1), 'retry'
      ) = 'retry'`;
  return false;
}

/** Active jobs whose chunks and retries are all done: the worker that finished the last one did not start the assembly. */
export async function jobsToAssemble(sql: Queryable, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from jobs j
    where completed_at is null and removed_at is null and status in ('queued', 'processing', 'deferred')
      and not exists (select from job_tasks t where t.job_id = j.id and t.state <> 'done')
    order by id limit ${limit}`;
  return rows.map(({ id }) => id);
}

/** A chunk as the results read it. */
export interface ChunkOfResults extends ChunkRange {
  number: number;
  /** null: not done yet, or no row of it was answered then. */
  shardKey: string | null;
  /** Shards of rows that were answered later, in order. */
  patches: string[];
}

/**
 * All chunks of a job, done or not, in source order, after number `after` (-1: from the first). Chunk numbers have no gaps:
 * the tasks behind them, which may be many more, are not read.
 */
export async function chunksOf(
  sql: Queryable,
  jobId: string,
  after: number,
  limit: number,
): Promise<ChunkOfResults[]> {
  return sql<ChunkOfResults[]>`
    select c.number, c.first_row as "firstRow", c.row_count as rows, c.first_byte as "firstByte", c.byte_count as bytes,
      c.repeats_byte as "repeatsByte", c.repeats_bytes as "repeatsBytes",
      case c.state when 'done' then c.shard_key end as "shardKey",
      (
        select coalesce(jsonb_agg(r.shard_key order by r.number), '[]') from job_tasks r
        where r.job_id = c.job_id and r.chunk = c.number and r.kind = 'retry' and r.state = 'done'
          and r.shard_key is not null
      ) as patches
    from job_tasks c
    where c.job_id = ${jobId} and c.kind = 'chunk' and c.number > ${after} and c.number <= ${after + limit}
    order by c.number`;
}

/** Unfinished tasks of active jobs: for the autoscaler. */
export async function countOutstandingTasks(sql: Queryable): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from job_tasks t join jobs j on j.id = t.job_id
    where j.completed_at is null and j.removed_at is null and t.state <> 'done'`;
  return row.count;
}
