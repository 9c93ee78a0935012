import type { TaskPointer } from "./job-tasks.ts";
import type { Queryable, Transaction } from "./postgres.ts";

/** SQL of the way of tasks into streams: which are emitted next, and which were lost there. See migration 12. */

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
      where t.state = 'emitted' and t.kind <> 'retry' and j.completed_at is null and j.removed_at is null
      group by t.job_id, j.team_id
    ),
    team_load as (select team_id, sum(emitted)::int as emitted from load group by team_id),
    roomy as (
      select j.id, j.team_id, coalesce(l.emitted, 0) as emitted, coalesce(m.emitted, 0) as team_emitted,
        row_number() over (partition by j.team_id order by coalesce(l.emitted, 0), j.id) as place
      from jobs j left join load l on l.job_id = j.id left join team_load m on m.team_id = j.team_id
      where j.completed_at is null and j.removed_at is null and j.status <> 'submitting'
        and coalesce(l.emitted, 0) < ${window}::integer and coalesce(m.emitted, 0) < ${teamWindow}::integer
        and exists (select from job_tasks t where t.job_id = j.id and t.state = 'ready' and t.kind <> 'retry')
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
        where r.job_id = w.id and r.state = 'ready' and r.kind <> 'retry' order by number
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

/** How many retries of one egress may be emitted and not done. */
export interface RetryBounds {
  /** Of a site: enough to keep its connections busy, few enough that nobody waits long for his turn. */
  window: number;
  /** Of rows at several sites. */
  mixedWindow: number;
  /** Of all. */
  total: number;
  /** Lines that are looked at. */
  lines: number;
}

/** Retries of one job for one site. */
export interface RetryLine {
  site: string;
  jobId: string;
}

/** Egresses whose retries wait, in order, after `after`. By an index scan that leaps, whatever there is of each. */
export async function egressesWithRetries(
  sql: Queryable,
  after: string | null,
  limit: number,
): Promise<string[]> {
  const rows = await sql<{ egress: string }[]>`
    with recursive found as (
      (
        select egress, 1 as n from job_tasks
        where state = 'ready' and kind = 'retry' and (${after}::text is null or egress > ${after})
        order by egress limit 1
      )
      union all
      select next.egress, f.n + 1 from found f cross join lateral (
        select egress from job_tasks
        where state = 'ready' and kind = 'retry' and egress > f.egress order by egress limit 1
      ) next
      where f.n < ${limit}::integer
    )
    select egress from found order by egress`;
  return rows.map(({ egress }) => egress);
}

/** The next retries of an egress to be emitted; `last`: the line at which the look ended, null when it saw all. */
export interface TakenRetries {
  tasks: TaskPointer[];
  last: RetryLine | null;
}

/**
 * Takes retries of an egress that are due, up to the window of each site: those of teams that have few emitted at the site
 * first, and of a team's jobs in turn. Of all sites those first that have few emitted. They are emitted once the
 * transaction has committed. One emitter an egress at a time: who comes meanwhile gets none.
 */
export async function takeReadyRetries(
  tx: Transaction,
  egress: string,
  bounds: RetryBounds,
  after: RetryLine | null,
): Promise<TakenRetries> {
  const { window, mixedWindow, total, lines } = bounds;
  const [alone] = await tx<[{ locked: boolean }]>`
    select pg_try_advisory_xact_lock(hashtextextended(${`bulk retries ${egress}`}, 0)) as locked`;
  if (!alone.locked) return { tasks: [], last: after };
  const found = await tx<RetryLine[]>`
    with recursive lines as (
      (
        select site, job_id, 1 as n from job_tasks
        where state = 'ready' and kind = 'retry' and egress = ${egress}
          and (${after === null} or (site, job_id) > (${after?.site ?? ""}, ${after?.jobId ?? ""}))
        order by site, job_id limit 1
      )
      union all
      select next.site, next.job_id, l.n + 1 from lines l cross join lateral (
        select site, job_id from job_tasks
        where state = 'ready' and kind = 'retry' and egress = ${egress} and (site, job_id) > (l.site, l.job_id)
        order by site, job_id limit 1
      ) next
      where l.n < ${lines}::integer
    )
    select site, job_id as "jobId" from lines order by n`;
  const tasks = await tx<TaskPointer[]>`
    with lines as (
      select l.site, l."jobId" as job_id, j.team_id,
        case l.site when '' then ${mixedWindow}::integer else ${window}::integer end as room
      from jsonb_to_recordset(${tx.json(found.map((line) => ({ ...line })))}) as l (site text, "jobId" text)
        join jobs j on j.id = l."jobId"
      where j.completed_at is null and j.removed_at is null
    ),
    load as (
      select t.site, j.team_id, count(*)::int as emitted
      from job_tasks t join jobs j on j.id = t.job_id
      where t.state = 'emitted' and t.kind = 'retry' and t.egress = ${egress}
        and j.completed_at is null and j.removed_at is null
      group by t.site, j.team_id
    ),
    site_load as (select site, sum(emitted)::int as emitted from load group by site),
    due as (
      select t.job_id, t.number, t.due_at, l.site, l.team_id, l.room,
        row_number() over (partition by l.site, t.job_id order by t.due_at, t.number) as turn
      from lines l cross join lateral (
        select job_id, number, due_at from job_tasks r
        where r.state = 'ready' and r.kind = 'retry' and r.egress = ${egress} and r.site = l.site
          and r.job_id = l.job_id and r.due_at <= clock_timestamp()
        order by r.due_at limit l.room for update skip locked
      ) t
    ),
    by_team as (
      select d.*, coalesce(l.emitted, 0)
        + row_number() over (partition by d.site, d.team_id order by d.turn, d.due_at, d.job_id, d.number) as team_place
      from due d left join load l on l.site = d.site and l.team_id = d.team_id
    ),
    by_site as (
      select b.*, coalesce(s.emitted, 0)
        + row_number() over (partition by b.site order by b.team_place, b.due_at, b.job_id, b.number) as place
      from by_team b left join site_load s on s.site = b.site
    ),
    chosen as (
      select job_id, number, place, due_at from by_site where place <= room
      order by place, due_at, job_id, number
      limit greatest(0, ${total}::integer - coalesce((select sum(emitted)::int from site_load), 0))
    ),
    taken as (
      update job_tasks t set state = 'emitted', emitted_at = clock_timestamp()
      from chosen c
      where t.job_id = c.job_id and t.number = c.number and t.state = 'ready'
      returning t.job_id, t.number, c.place, c.due_at
    )
    select job_id as "jobId", number from taken order by place, due_at, job_id, number`;
  return { tasks, last: found.length < lines ? null : (found.at(-1) ?? null) };
}

/**
 * Gives retries of an egress that is gone to any that there is, those in its stream too. How many.
 * @param limit at most so many of the ready ones, and as many of the emitted
 */
export async function releaseEgress(sql: Queryable, egress: string, limit: number): Promise<number> {
  const released = await sql`
    update job_tasks t set state = 'ready', emitted_at = null, egress = ''
    from (
      (
        select job_id, number from job_tasks
        where state = 'ready' and kind = 'retry' and egress = ${egress} limit ${limit} for update skip locked
      )
      union all
      (
        select job_id, number from job_tasks
        where state = 'emitted' and kind = 'retry' and egress = ${egress} limit ${limit} for update skip locked
      )
    ) r
    where t.job_id = r.job_id and t.number = r.number and t.state <> 'done'`;
  return released.count;
}

/** Egresses in whose streams retries are. */
export async function egressesWithEmitted(sql: Queryable): Promise<string[]> {
  const rows = await sql<{ egress: string }[]>`
    select distinct egress from job_tasks where state = 'emitted' and kind = 'retry' and egress <> ''`;
  return rows.map(({ egress }) => egress);
}

/** An emitted task and the moment of its emission, as text to compare with. */
export interface EmittedTask extends TaskPointer {
  emittedAt: string;
  /** In the stream of retries of this egress; null: in that of the other tasks. */
  egress: string | null;
}

/** Emitted tasks of jobs under way, after `after` in the order of job and number. */
export async function emittedTasks(
  sql: Queryable,
  after: TaskPointer | null,
  limit: number,
): Promise<EmittedTask[]> {
  return sql<EmittedTask[]>`
    select t.job_id as "jobId", t.number, t.emitted_at::text as "emittedAt",
      case t.kind when 'retry' then t.egress end as egress
    from job_tasks t join jobs j on j.id = t.job_id
    where t.state = 'emitted' and j.completed_at is null and j.removed_at is null
      and (t.job_id, t.number) > (${after?.jobId ?? ""}, ${after?.number ?? -2}::integer)
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
