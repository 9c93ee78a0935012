import type { JobCounts, JobLayout, ObjectPlace } from "./jobs.ts";
import type { Queryable, Transaction } from "./postgres.ts";

/** SQL of the tasks of bulk jobs: made, begun, finished. See migration 12 for their states, job-emission.ts for their way. */

/** Where a task is found: all that Redis ever carries. */
export interface TaskPointer {
  jobId: string;
  number: number;
}

/** Rows of a source: which, counted from 0, the bytes of the rows' object that hold them, and those of their repeats. */
export interface ChunkRange {
  firstRow: number;
  rows: number;
  firstByte: number;
  bytes: number;
  /** In the job's index of repeats. */
  repeatsByte: number;
  /** 0: none of the chunk's rows is repeated, or repeats another. */
  repeatsBytes: number;
}

interface OfJob extends TaskPointer {
  teamId: string;
  livemode: boolean;
  probing: boolean;
  withEvidence: boolean;
  /** This one included. */
  deliveries: number;
  /** Somebody has begun the job's rows. */
  started: boolean;
}

export interface AnalysisTask extends OfJob {
  kind: "analysis";
}

/** What the analysis found out. */
interface Analysed extends OfJob {
  /** Where the bytes of the chunks lie. */
  place: ObjectPlace;
  layout: JobLayout;
  /** Of the results as CSV. */
  escapeFormulas: boolean;
  /** Of the whole job. */
  jobRows: number;
}

/** All rows of a chunk. */
export interface ChunkTask extends Analysed, ChunkRange {
  kind: "chunk";
}

/** Rows of a chunk that had to wait. All of its ChunkRange is the chunk's. */
export interface RetryTask extends Analysed, ChunkRange {
  kind: "retry";
  chunk: number;
  /** A bit for each row of the chunk, from the lowest of the first byte on. */
  rowSet: Buffer;
  /** '': rows of several sites. */
  site: string;
  egress: string;
  reason: string;
  /** Since its rows were deferred for the first time. */
  deferredMs: number;
  attempts: number;
}

export interface AssemblyTask extends Analysed {
  kind: "assembly";
}

/** A task as a worker gets it, with what it needs of its job. */
export type Task = AnalysisTask | ChunkTask | RetryTask | AssemblyTask;

/** Enough for one statement to end far below its timeout. */
const CHUNKS_PER_STATEMENT = 5_000;

/** The first task of a job whose source is not analysed yet. */
export async function insertAnalysis(tx: Transaction, jobId: string): Promise<void> {
  await tx`insert into job_tasks (job_id, number, kind) values (${jobId}, -1, 'analysis')`;
}

/** The chunks of a job, in the order of its rows. */
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
 * A worker begins the task: one more delivery.
 * @param below how often it may have been begun before, at most: of one that was begun more often, nothing is begun nor counted
 * @returns null: there is nothing to do, any more; or it was begun more often
 */
export async function beginTask(
  sql: Queryable,
  { jobId, number }: TaskPointer,
  below: number | null = null,
): Promise<Task | null> {
  const [task] = await sql<Task[]>`
    update job_tasks t set deliveries = deliveries + 1
    from jobs j
    where t.job_id = ${jobId} and t.number = ${number} and t.state <> 'done'
      and (${below}::integer is null or t.deliveries < ${below}::integer)
      and j.id = t.job_id and j.completed_at is null and j.removed_at is null
    returning t.job_id as "jobId", t.number, t.kind, t.deliveries, j.status <> 'queued' as started,
      j.team_id as "teamId", j.livemode, j.probing,
      j.with_evidence as "withEvidence", j.rows_total as "jobRows", j.layout,
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

/** How often the task was begun, by workers that did not say why they stopped. 0 for one that is not there. */
export async function deliveriesOf(sql: Queryable, { jobId, number }: TaskPointer): Promise<number> {
  const [row] = await sql<{ deliveries: number }[]>`
    select deliveries from job_tasks where job_id = ${jobId} and number = ${number}`;
  return row?.deliveries ?? 0;
}

/** The worker stopped, and the task is not to blame: the delivery does not count. */
export async function forgiveDelivery(sql: Queryable, { jobId, number }: TaskPointer): Promise<void> {
  await sql`
    update job_tasks set deliveries = greatest(0, deliveries - 1)
    where job_id = ${jobId} and number = ${number}`;
}

/**
 * Locks the job's row, so that a job that ends counts either all of a task or nothing, and marks the task done. False:
 * another worker was first, or the job is no longer under way.
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

/** Rows of a chunk that have to wait. */
export interface Deferral {
  rowSet: Buffer;
  /** Bits that are set there. */
  rowCount: number;
  /** '': of several sites. */
  site: string;
  egress: string;
  reason: string;
  /** From now. */
  dueInMs: number;
  /** Since their first deferral; 0: this is it. */
  deferredMs: number;
  /** How often they have waited, this time included. */
  attempts: number;
}

/** What a chunk or a retry came to. */
export interface RowsOutcome {
  /** null: no row of it is answered. */
  shardKey: string | null;
  /** Of the rows that are answered, and of all that copy them. */
  counts: JobCounts;
  deferrals: readonly Deferral[];
}

/** How it went with the end of a task. */
export interface FinishedRows {
  /** As `finishTask`. */
  counted: boolean;
  /**
   * Somebody ends a task of the job later than this one, and looks what is left: the chunk of rows that are neither answered nor
   * wait, or a retry of rows that wait. False where that is not sure.
   */
  more: boolean;
}

/** Copies of rows that wait are neither answered nor waiting, and no chunk's to end: where rows wait, what is left must be more. */
const CHUNKS_FOR_SURE = 64;

/**
 * The task is done, its shard durable, and what it could not answer becomes retries. Rows that are answered count at once
 * with all that copy them, wherever those stand: the results of a job have the same.
 *
 * `more` asks for two things. The chunks that nobody has begun are seen as of when the statement began, which may have waited
 * for the job's row while all of them ended: alone they had jobs left without an assembly. The rows that are left are counted
 * in that row, as it is once it is locked: whoever ends them comes after this. For a retry there is a shorter way: where the job
 * is `deferred` already, nothing is left to be said of it but that the last row is answered, and rows that wait, as counted in
 * that row, are some other retry's to end.
 *
 * One statement, since a transaction of five costs its worker a round trip for each. Locks as `finishTask` does: first
 * the job's row.
 * @param sql a transaction, where there are deferrals
 */
export async function finishRows(
  sql: Queryable,
  task: ChunkTask | RetryTask,
  { shardKey, counts, deferrals }: RowsOutcome,
): Promise<FinishedRows> {
  const { jobId, number } = task;
  const { valid, invalid, risky, unknown, charged } = counts;
  const deferred = deferrals.reduce((rows, { rowCount }) => rows + rowCount, 0);
  const [finished] = await sql<{ more: boolean }[]>`
    with job as materialized (
      select from jobs where id = ${jobId} and completed_at is null and removed_at is null for no key update
    ),
    task as (
      update job_tasks set state = 'done', emitted_at = null, shard_key = ${shardKey}, valid = ${valid},
        invalid = ${invalid}, risky = ${risky}, unknown = ${unknown}, charged = ${charged}
      where job_id = ${jobId} and number = ${number} and state <> 'done' and exists (select from job)
      returning case kind when 'retry' then row_count else 0 end as waited
    )
    update jobs j set valid = j.valid + ${valid}::integer, invalid = j.invalid + ${invalid}::integer,
      risky = j.risky + ${risky}::integer, unknown = j.unknown + ${unknown}::integer,
      charged = j.charged + ${charged}::integer, deferred = j.deferred + ${deferred}::integer - task.waited
    from task where j.id = ${jobId}
    returning ${task.kind === "retry"}::boolean and j.status = 'deferred' and j.deferred > 0
      or j.rows_total - j.valid - j.invalid - j.risky - j.unknown - j.deferred
        > case j.deferred when 0 then 0 else ${CHUNKS_FOR_SURE * task.rows}::integer end
      and exists (
        select from job_tasks r where r.job_id = ${jobId} and r.state = 'ready' and r.kind <> 'retry' and r.deliveries = 0
      ) as more`;
  if (finished === undefined) return { counted: false, more: false };
  if (deferrals.length > 0) await insertRetries(sql, task, deferrals);
  return { counted: true, more: finished.more };
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
 * Where the job stands once a task is done: when all are, it is finalizing and its assembly is a task; when only retries
 * are left, it is deferred. True for the one who made it finalizing.
 */
export async function beginAssembly(sql: Queryable, jobId: string): Promise<boolean> {
  const begun = await sql`
    with due as (
      update jobs set status = 'finalizing'
      where id = ${jobId} and status in ('queued', 'processing', 'deferred') and removed_at is null
        and not exists (select from job_tasks where job_id = ${jobId} and state <> 'done')
      returning id
    )
    insert into job_tasks (job_id, number, kind)
    select id, (select max(number) + 1 from job_tasks where job_id = ${jobId}), 'assembly' from due`;
  if (begun.count === 1) return true;
  // Chunks come before retries in these indexes: the first row of each tells.
  await sql`
    update jobs set status = 'deferred'
    where id = ${jobId} and status = 'processing' and removed_at is null
      and not exists (select from job_tasks where job_id = ${jobId} and state = 'ready' and kind <> 'retry')
      and coalesce(
        (select kind from job_tasks where job_id = ${jobId} and state = 'emitted' order by number limit 1), 'retry'
      ) = 'retry'`;
  return false;
}

/** Jobs under way whose chunks and retries are all done: whoever finished the last one did not come to say so. */
export async function jobsToAssemble(sql: Queryable, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from jobs j
    where completed_at is null and removed_at is null and status in ('queued', 'processing', 'deferred')
      and not exists (select from job_tasks t where t.job_id = j.id and t.state <> 'done')
    order by id limit ${limit}`;
  return rows.map(({ id }) => id);
}

/** A chunk as the results have it. */
export interface ChunkOfResults extends ChunkRange {
  number: number;
  /** null: not done yet, or none of its rows was answered then. */
  shardKey: string | null;
  /** Shards of the rows that were answered later, in order. */
  patches: string[];
}

/**
 * All chunks of a job, done or not, in the order of the source, after number `after` (-1: from the first). Their numbers have
 * no gaps: what stands behind them, which may be much more, is not looked at.
 */
export async function chunksOf(
  sql: Queryable,
  jobId: string,
  after: number,
  limit: number,
): Promise<ChunkOfResults[]> {
  return sql<ChunkOfResults[]>`
    select ${chunkOfResults(sql)}
    from job_tasks c
    where c.job_id = ${jobId} and c.kind = 'chunk' and c.number > ${after} and c.number <= ${after + limit}
    order by c.number`;
}

/** Columns of a ChunkOfResults, of `job_tasks c`. */
function chunkOfResults(sql: Queryable) {
  return sql`c.number, c.first_row as "firstRow", c.row_count as rows, c.first_byte as "firstByte", c.byte_count as bytes,
      c.repeats_byte as "repeatsByte", c.repeats_bytes as "repeatsBytes",
      case c.state when 'done' then c.shard_key end as "shardKey",
      (
        select coalesce(jsonb_agg(r.shard_key order by r.number), '[]') from job_tasks r
        where r.job_id = c.job_id and r.chunk = c.number and r.kind = 'retry' and r.state = 'done'
          and r.shard_key is not null
      ) as patches`;
}

/**
 * The chunks of a job under way behind number `after`, up to the first that is not final: one is when it is done, and no retry
 * of its rows is left. Retries are made in the transaction that ends what they are left of, so that to whoever sees none there
 * will be none, and no patch beyond those told.
 * @returns at most `limit`; null: the job is not under way (one that ends has its chunks done, whatever they came to)
 */
export async function finalChunksOf(
  sql: Queryable,
  jobId: string,
  after: number,
  limit: number,
): Promise<ChunkOfResults[] | null> {
  // One statement, which sees the job and its tasks as of one moment.
  const chunks = await sql<(ChunkOfResults & { final: boolean })[]>`
    select ${chunkOfResults(sql)},
      c.state = 'done' and not exists (
        select from job_tasks r
        where r.job_id = c.job_id and r.chunk = c.number and r.kind = 'retry' and r.state <> 'done'
      ) as final
    from jobs j join job_tasks c on c.job_id = j.id
    where j.id = ${jobId} and j.completed_at is null and j.removed_at is null
      and c.kind = 'chunk' and c.number > ${after} and c.number <= ${after + limit}
    order by c.number`;
  if (chunks.length === 0) return null;
  const open = chunks.findIndex(({ final }) => !final);
  return (open < 0 ? chunks : chunks.slice(0, open)).map(({ final: _, ...chunk }) => chunk);
}

/** Tasks of jobs under way that are not done: for the autoscaler. */
export async function countOutstandingTasks(sql: Queryable): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from job_tasks t join jobs j on j.id = t.job_id
    where j.completed_at is null and j.removed_at is null and t.state <> 'done'`;
  return row.count;
}
