import type { Verdict } from "../check/verdict/table.ts";
import type { JobCounts } from "./jobs.ts";
import type { Queryable, Transaction } from "./postgres.ts";

/** SQL of the tasks of bulk jobs; see migration 12 for their states. */

/** Where a task is found: all that Redis ever carries. */
export interface TaskPointer {
  jobId: string;
  number: number;
}

/** Rows of a source: which, counted from 0, and the bytes of the source object that hold them. */
export interface ChunkRange {
  firstRow: number;
  rows: number;
  firstByte: number;
  bytes: number;
}

/** A task as a worker gets it, with what it needs of its job. */
export interface Task extends TaskPointer, ChunkRange {
  kind: "chunk" | "assembly";
  teamId: string;
  livemode: boolean;
  probing: boolean;
  withEvidence: boolean;
  /** Of the whole job. */
  jobRows: number;
  /** This one included. */
  deliveries: number;
}

/** A finished chunk. */
export interface FinishedChunk {
  number: number;
  shardKey: string;
}

export async function insertChunks(
  tx: Transaction,
  jobId: string,
  chunks: readonly ChunkRange[],
): Promise<void> {
  const rows = chunks.map((chunk, number) => ({ number, ...chunk }));
  await tx`
    insert into job_tasks (job_id, number, kind, first_row, row_count, first_byte, byte_count)
    select ${jobId}, number, 'chunk', "firstRow", rows, "firstByte", bytes
    from jsonb_to_recordset(${tx.json(rows)}) as r
      (number integer, "firstRow" integer, rows integer, "firstByte" bigint, bytes bigint)`;
}

/** How many tasks may be emitted and not done. */
export interface EmissionBounds {
  /** Of a job. */
  window: number;
  /** Of a team. */
  teamWindow: number;
  /** Jobs whose windows are filled at once. */
  jobs: number;
}

/**
 * Takes tasks that are ready for emission, in the order in which they are to be emitted: those of teams that have few
 * emitted first, and of a team's jobs in turn. Jobs and teams whose windows are full are passed over, so that they keep
 * nobody from his turn. They are emitted once the transaction has committed.
 *
 * The windows are those of the jobs at the beginning: emitters at the same moment may go a little beyond a team's.
 */
export async function takeReadyTasks(tx: Transaction, bounds: EmissionBounds): Promise<TaskPointer[]> {
  const { window, teamWindow, jobs } = bounds;
  return tx<TaskPointer[]>`
    with load as (
      select t.job_id, j.team_id, count(*)::int as emitted
      from job_tasks t join jobs j on j.id = t.job_id
      where t.state = 'emitted' and j.completed_at is null and j.removed_at is null
      group by t.job_id, j.team_id
    ),
    team_load as (select team_id, sum(emitted)::int as emitted from load group by team_id),
    roomy as (
      select j.id, j.team_id, coalesce(l.emitted, 0) as emitted, coalesce(m.emitted, 0) as team_emitted,
        row_number() over (partition by j.team_id order by coalesce(l.emitted, 0), j.id) as place
      from jobs j left join load l on l.job_id = j.id left join team_load m on m.team_id = j.team_id
      where j.completed_at is null and j.removed_at is null and j.status <> 'submitting'
        and coalesce(l.emitted, 0) < ${window}::integer and coalesce(m.emitted, 0) < ${teamWindow}::integer
        and exists (select from job_tasks t where t.job_id = j.id and t.state = 'ready')
    ),
    waiting as (
      -- One emitter a job at a time, so that the window holds; passing over the locked ones, so that none waits.
      select r.* from roomy r join jobs j on j.id = r.id
      order by r.team_emitted + r.place, r.id limit ${jobs} for no key update of j skip locked
    ),
    ranked as (
      select t.job_id, t.number, w.team_id, w.team_emitted,
        w.emitted + row_number() over (partition by t.job_id order by t.number) as turn
      from waiting w cross join lateral (
        select job_id, number from job_tasks r
        where r.job_id = w.id and r.state = 'ready' order by number
        limit ${window}::integer - w.emitted for update skip locked
      ) t
    ),
    due as (
      select job_id, number,
        team_emitted + row_number() over (partition by team_id order by turn, job_id, number) as place
      from ranked
    ),
    taken as (
      update job_tasks t set state = 'emitted', emitted_at = clock_timestamp()
      from due where due.place <= ${teamWindow}::integer
        and t.job_id = due.job_id and t.number = due.number and t.state = 'ready'
      returning t.job_id, t.number, due.place
    )
    select job_id as "jobId", number from taken order by place, job_id, number`;
}

/** An emitted task and the moment of its emission, as text to compare with. */
export interface EmittedTask extends TaskPointer {
  emittedAt: string;
}

/** Emitted tasks of jobs under way, after `after` in the order of job and number. */
export async function emittedTasks(
  sql: Queryable,
  after: TaskPointer | null,
  limit: number,
): Promise<EmittedTask[]> {
  return sql<EmittedTask[]>`
    select t.job_id as "jobId", t.number, t.emitted_at::text as "emittedAt"
    from job_tasks t join jobs j on j.id = t.job_id
    where t.state = 'emitted' and j.completed_at is null and j.removed_at is null
      and (t.job_id, t.number) > (${after?.jobId ?? ""}, ${after?.number ?? -1}::integer)
    order by t.job_id, t.number limit ${limit}`;
}

/** Makes emitted tasks ready again, unless anything has become of them since they were looked at. */
export async function makeReadyAgain(sql: Queryable, lost: readonly EmittedTask[]): Promise<void> {
  await sql`
    update job_tasks t set state = 'ready', emitted_at = null
    from jsonb_to_recordset(${sql.json(lost.map((task) => ({ ...task })))}) as l
      ("jobId" text, number integer, "emittedAt" timestamptz)
    where t.job_id = l."jobId" and t.number = l.number and t.state = 'emitted' and t.emitted_at = l."emittedAt"`;
}

/** A worker begins the task: one more delivery. null: there is nothing to do, any more. */
export async function beginTask(sql: Queryable, { jobId, number }: TaskPointer): Promise<Task | null> {
  const [task] = await sql<Task[]>`
    update job_tasks t set deliveries = deliveries + 1
    from jobs j
    where t.job_id = ${jobId} and t.number = ${number} and t.state <> 'done'
      and j.id = t.job_id and j.completed_at is null and j.removed_at is null
    returning t.job_id as "jobId", t.number, t.kind, j.team_id as "teamId", j.livemode, j.probing,
      j.with_evidence as "withEvidence", j.rows_total as "jobRows", t.deliveries, t.first_row as "firstRow", t.row_count as rows,
      t.first_byte as "firstByte", t.byte_count as bytes`;
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

/** A row that rows of other chunks repeat, and what it came to; or `copies` rows of this chunk that repeat one of another. */
export type Repeat = { row: number } & ({ verdict: Verdict; copies: 0 } | { verdict: null; copies: number });

/** What a chunk came to. */
export interface ChunkOutcome {
  shardKey: string;
  /** Of the rows that are answered within the chunk. */
  counts: JobCounts;
  /** What other chunks have to do with it. */
  repeats: readonly Repeat[];
}

/**
 * Adds to the counts of a finished chunk the repeats, in it or in chunks finished before, that are answered by now: so a
 * job always counts the rows that its results have.
 */
async function countRepeats(
  tx: Transaction,
  { jobId, number }: TaskPointer,
  repeats: readonly Repeat[],
): Promise<void> {
  const notes = tx.json(repeats.map((repeat) => ({ ...repeat })));
  await tx`
    insert into job_repeats (job_id, row_number, chunk, verdict, copies)
    select ${jobId}, n.row, ${number}, n.verdict, n.copies
    from jsonb_to_recordset(${notes}) as n (row integer, verdict text, copies integer)`;
  await tx`
    with answered as (
      select coalesce(n.verdict, o.verdict) as verdict, sum(n.copies + o.copies)::int as rows
      from jsonb_to_recordset(${notes}) as n (row integer, verdict text, copies integer)
        join job_repeats o on o.job_id = ${jobId} and o.row_number = n.row and o.chunk <> ${number}
      where (n.verdict is null) <> (o.verdict is null)
      group by 1
    )
    update job_tasks set
      valid = valid + coalesce((select rows from answered where verdict = 'valid'), 0),
      invalid = invalid + coalesce((select rows from answered where verdict = 'invalid'), 0),
      risky = risky + coalesce((select rows from answered where verdict = 'risky'), 0),
      unknown = unknown + coalesce((select rows from answered where verdict = 'unknown'), 0)
    where job_id = ${jobId} and number = ${number}`;
}

/**
 * The chunk is done and its shard durable. The job's row is locked, so that a job that ends counts either all of a chunk
 * or nothing, and of two chunks that finish at once the second sees the first. False: another worker was first, or the
 * job is no longer under way.
 */
export async function finishChunk(
  tx: Transaction,
  pointer: TaskPointer,
  { shardKey, counts, repeats }: ChunkOutcome,
): Promise<boolean> {
  const { jobId, number } = pointer;
  const { valid, invalid, risky, unknown, charged } = counts;
  const job = await tx`
    select from jobs where id = ${jobId} and completed_at is null and removed_at is null for no key update`;
  if (job.length === 0) return false;
  const finished = await tx`
    update job_tasks set state = 'done', emitted_at = null, shard_key = ${shardKey},
      valid = ${valid}, invalid = ${invalid}, risky = ${risky}, unknown = ${unknown}, charged = ${charged}
    where job_id = ${jobId} and number = ${number} and state <> 'done'`;
  if (finished.count === 0) return false;
  if (repeats.length > 0) await countRepeats(tx, pointer, repeats);
  return true;
}

/** When all chunks are done: the job is finalizing, and its assembly is a task. True for the one who made it so. */
export async function beginAssembly(sql: Queryable, jobId: string): Promise<boolean> {
  const begun = await sql`
    with due as (
      update jobs set status = 'finalizing'
      where id = ${jobId} and status in ('queued', 'processing') and removed_at is null
        and not exists (select from job_tasks where job_id = ${jobId} and state <> 'done')
      returning id
    )
    insert into job_tasks (job_id, number, kind)
    select id, (select count(*)::int from job_tasks where job_id = ${jobId}), 'assembly' from due`;
  return begun.count === 1;
}

/** Jobs under way whose chunks are all done: whoever finished the last one did not come to say so. */
export async function jobsToAssemble(sql: Queryable, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from jobs j
    where completed_at is null and removed_at is null and status in ('queued', 'processing')
      and not exists (select from job_tasks t where t.job_id = j.id and t.state <> 'done')
    order by id limit ${limit}`;
  return rows.map(({ id }) => id);
}

/** Finished chunks in the order of the source, after number `after`. */
export async function finishedChunks(
  sql: Queryable,
  jobId: string,
  after: number,
  limit: number,
): Promise<FinishedChunk[]> {
  return sql<FinishedChunk[]>`
    select number, shard_key as "shardKey" from job_tasks
    where job_id = ${jobId} and kind = 'chunk' and state = 'done' and number > ${after}
    order by number limit ${limit}`;
}

/** Tasks of jobs under way that are not done: for the autoscaler. */
export async function countOutstandingTasks(sql: Queryable): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from job_tasks t join jobs j on j.id = t.job_id
    where j.completed_at is null and j.removed_at is null and t.state <> 'done'`;
  return row.count;
}
