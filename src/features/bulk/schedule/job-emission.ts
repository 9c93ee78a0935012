import type { Queryable, Transaction } from "../../../stores/postgres/postgres.ts";
import type { TaskPointer } from "./job-tasks.ts";

/** SQL that moves tasks into streams: which are emitted next, and which were lost there. See migration 12. */

/** Maximum numbers of tasks that are emitted and not done. */
export interface EmissionBounds {
  /** Per job. */
  window: number;
  /** Per share: a team's live jobs, or those of its test keys. */
  shareWindow: number;
  /** Analyses and assemblies per share. */
  shareWhole: number;
  /** Jobs whose windows are filled at once. */
  jobs: number;
}

/** A task marked as emitted, and when, as text for comparison. */
export interface MarkedTask extends TaskPointer {
  emittedAt: string;
}

/** A task to be added to a stream. */
export interface ReadyTask extends MarkedTask {
  /** An analysis or an assembly: these have a stream of their own. */
  whole: boolean;
}

/**
 * Takes ready tasks in emission order: first those of shares that have few emitted, then a share's jobs in turn. A share is
 * a team's live jobs, or those of its test keys, which cost nothing: so they hold up no live one. Jobs and shares with full
 * windows are skipped, so that they block no other. The tasks go into their streams once the transaction has committed: its
 * locks wait for nothing else.
 *
 * One emitter at a time, until its transaction ends. Another emitter waits, because the first has not seen tasks that
 * became ready since; so no window is ever exceeded.
 */
export async function takeReadyTasks(tx: Transaction, bounds: EmissionBounds): Promise<ReadyTask[]> {
  const { window, shareWindow, shareWhole, jobs } = bounds;
  // A statement of its own: the next one then reads the state after the lock is granted.
  await tx`select pg_advisory_xact_lock(hashtextextended('bulk tasks', 0))`;
  return tx<ReadyTask[]>`
    with load as (
      select t.job_id, j.team_id, j.livemode, count(*)::int as emitted,
        count(*) filter (where t.kind in ('analysis', 'assembly'))::int as whole
      from job_tasks t join jobs j on j.id = t.job_id
      where t.state = 'emitted' and t.kind <> 'retry' and j.completed_at is null and j.removed_at is null
      group by t.job_id, j.team_id, j.livemode
    ),
    share_load as (
      select team_id, livemode, sum(emitted)::int as emitted, sum(whole)::int as whole from load
      group by team_id, livemode
    ),
    candidates as (
      select j.id, j.team_id, j.livemode, coalesce(l.emitted, 0) as emitted, coalesce(m.emitted, 0) as share_emitted, r.whole,
        coalesce(m.whole, 0) + row_number() over (partition by j.team_id, j.livemode, r.whole order by j.id) as whole_place
      from jobs j left join load l on l.job_id = j.id
        left join share_load m on m.team_id = j.team_id and m.livemode = j.livemode
        -- Only task of its job, if it is one.
        cross join lateral (
          select t.kind in ('analysis', 'assembly') as whole from job_tasks t
          where t.job_id = j.id and t.state = 'ready' and t.kind <> 'retry' order by t.number limit 1
        ) r
      where j.completed_at is null and j.removed_at is null and j.status <> 'submitting'
        and coalesce(l.emitted, 0) < ${window}::integer and coalesce(m.emitted, 0) < ${shareWindow}::integer
    ),
    roomy as (
      select *, row_number() over (partition by team_id, livemode order by emitted, id) as place
      from candidates where not whole or whole_place <= ${shareWhole}::integer
    ),
    waiting as (select * from roomy order by share_emitted + place, id limit ${jobs}),
    ranked as materialized (
      select t.job_id, t.number, w.team_id, w.livemode, w.share_emitted, w.whole,
        w.emitted + row_number() over (partition by t.job_id order by t.number) as turn
      from waiting w cross join lateral (
        select job_id, number from job_tasks r
        where r.job_id = w.id and r.state = 'ready' and r.kind <> 'retry' order by number
        limit ${window}::integer - w.emitted for update skip locked
      ) t
    ),
    due as (
      select job_id, number, whole,
        share_emitted + row_number() over (partition by team_id, livemode order by turn, job_id, number) as place
      from ranked
    ),
    taken as (
      update job_tasks t set state = 'emitted', emitted_at = clock_timestamp()
      from due where due.place <= ${shareWindow}::integer
        and t.job_id = due.job_id and t.number = due.number and t.state = 'ready'
      returning t.job_id, t.number, t.emitted_at, due.place, due.whole
    )
    select job_id as "jobId", number, emitted_at::text as "emittedAt", whole from taken order by place, job_id, number`;
}

/** An emitted task and its stream. */
export interface EmittedTask extends MarkedTask {
  /** The egress whose retry stream holds it; null: another stream. */
  egress: string | null;
  /** True for the stream of analyses and assemblies. */
  whole: boolean;
}

/** Emitted tasks of active jobs, after `after` in the order of job and number. */
export async function emittedTasks(
  sql: Queryable,
  after: TaskPointer | null,
  limit: number,
): Promise<EmittedTask[]> {
  return sql<EmittedTask[]>`
    select t.job_id as "jobId", t.number, t.emitted_at::text as "emittedAt",
      case t.kind when 'retry' then t.egress end as egress, t.kind in ('analysis', 'assembly') as whole
    from job_tasks t join jobs j on j.id = t.job_id
    where t.state = 'emitted' and j.completed_at is null and j.removed_at is null
      and (t.job_id, t.number) > (${after?.jobId ?? ""}, ${after?.number ?? -2}::integer)
    order by t.job_id, t.number limit ${limit}`;
}

/** Makes emitted tasks ready again, unless their state changed since they were read, or is changing now. */
export async function makeReadyAgain(sql: Queryable, lost: readonly MarkedTask[]): Promise<void> {
  await sql`
    with lost as materialized (
      -- Waiting for one while it holds others could deadlock with another transaction that locks in another order.
      select t.job_id, t.number
      from job_tasks t join jsonb_to_recordset(${sql.json(lost.map((task) => ({ ...task })))}) as l
        ("jobId" text, number integer, "emittedAt" timestamptz) on t.job_id = l."jobId" and t.number = l.number
      where t.state = 'emitted' and t.emitted_at = l."emittedAt"
      order by t.job_id, t.number for update of t skip locked
    )
    update job_tasks t set state = 'ready', emitted_at = null
    from lost l where t.job_id = l.job_id and t.number = l.number and t.state = 'emitted'`;
}
