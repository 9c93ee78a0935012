import type { Queryable, Transaction } from "../../../stores/postgres/postgres.ts";
import type { MarkedTask } from "./job-emission.ts";

/** SQL that moves retries into the streams of their egresses. See migration 12. */

/** Maximum numbers of retries of one egress that are emitted and not done. */
export interface RetryBounds {
  /** Per site: enough to keep its connections busy, few enough that no team waits long. */
  window: number;
  /** Maximum of retries with rows at several sites. */
  mixedWindow: number;
  /** Maximum for the whole egress. */
  total: number;
  /** Queues examined at once. */
  queues: number;
}

/** Retries of one job for one site. */
export interface RetryQueue {
  site: string;
  jobId: string;
}

/**
 * Egresses with waiting retries, in order, after `after`. By an index scan that skips from egress to egress, however many
 * retries each has.
 */
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

/** The next retries of an egress to emit; `last`: the queue at which the scan stopped, null when it saw all. */
export interface TakenRetries {
  tasks: MarkedTask[];
  last: RetryQueue | null;
}

/** Queues of an egress, after `after`: by an index scan that skips from queue to queue, however many retries each has. */
async function findRetryQueues(
  tx: Transaction,
  egress: string,
  after: RetryQueue | null,
  limit: number,
): Promise<RetryQueue[]> {
  return tx<RetryQueue[]>`
    with recursive queues as (
      (
        select site, job_id, 1 as n from job_tasks
        where state = 'ready' and kind = 'retry' and egress = ${egress}
          and (${after === null} or (site, job_id) > (${after?.site ?? ""}, ${after?.jobId ?? ""}))
        order by site, job_id limit 1
      )
      union all
      select next.site, next.job_id, l.n + 1 from queues l cross join lateral (
        select site, job_id from job_tasks
        where state = 'ready' and kind = 'retry' and egress = ${egress} and (site, job_id) > (l.site, l.job_id)
        order by site, job_id limit 1
      ) next
      where l.n < ${limit}::integer
    )
    select site, job_id as "jobId" from queues order by n`;
}

/**
 * Takes due retries of an egress, up to the window of each site. Sites with few emitted retries come first. At a site,
 * shares (of a team in live or in test mode) with few emitted retries come first, and a share's jobs take turns. The retries go into their stream once the
 * transaction has committed. Only one emitter an egress at a time: a concurrent one gets no retries.
 */
export async function takeReadyRetries(
  tx: Transaction,
  egress: string,
  bounds: RetryBounds,
  after: RetryQueue | null,
): Promise<TakenRetries> {
  const { window, mixedWindow, total, queues } = bounds;
  const [alone] = await tx<[{ locked: boolean }]>`
    select pg_try_advisory_xact_lock(hashtextextended(${`bulk retries ${egress}`}, 0)) as locked`;
  if (!alone.locked) return { tasks: [], last: after };
  const found = await findRetryQueues(tx, egress, after, queues);
  const tasks = await tx<MarkedTask[]>`
    with queues as (
      select l.site, l."jobId" as job_id, j.team_id, j.livemode,
        case l.site when '' then ${mixedWindow}::integer else ${window}::integer end as room
      from jsonb_to_recordset(${tx.json(found.map((queue) => ({ ...queue })))}) as l (site text, "jobId" text)
        join jobs j on j.id = l."jobId"
      where j.completed_at is null and j.removed_at is null
    ),
    load as (
      select t.site, j.team_id, j.livemode, count(*)::int as emitted
      from job_tasks t join jobs j on j.id = t.job_id
      where t.state = 'emitted' and t.kind = 'retry' and t.egress = ${egress}
        and j.completed_at is null and j.removed_at is null
      group by t.site, j.team_id, j.livemode
    ),
    site_load as (select site, sum(emitted)::int as emitted from load group by site),
    due as materialized (
      select t.job_id, t.number, t.due_at, l.site, l.team_id, l.livemode, l.room,
        row_number() over (partition by l.site, t.job_id order by t.due_at, t.number) as turn
      from queues l cross join lateral (
        select job_id, number, due_at from job_tasks r
        where r.state = 'ready' and r.kind = 'retry' and r.egress = ${egress} and r.site = l.site
          -- Not the clock's time, which changes under way: an index cannot be asked for that, and all that wait are read.
          and r.job_id = l.job_id and r.due_at <= statement_timestamp()
        order by r.due_at limit l.room for update skip locked
      ) t
    ),
    by_share as (
      select d.*, coalesce(l.emitted, 0)
        + row_number() over (
          partition by d.site, d.team_id, d.livemode order by d.turn, d.due_at, d.job_id, d.number
        ) as share_place
      from due d left join load l on l.site = d.site and l.team_id = d.team_id and l.livemode = d.livemode
    ),
    by_site as (
      select b.*, coalesce(s.emitted, 0)
        + row_number() over (partition by b.site order by b.share_place, b.due_at, b.job_id, b.number) as place
      from by_share b left join site_load s on s.site = b.site
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
      returning t.job_id, t.number, t.emitted_at, c.place, c.due_at
    )
    select job_id as "jobId", number, emitted_at::text as "emittedAt" from taken order by place, due_at, job_id, number`;
  return { tasks, last: found.length < queues ? null : (found.at(-1) ?? null) };
}

/**
 * Makes the retries of a removed egress available to any egress, emitted ones included. Returns their number.
 * @param limit at most this many ready retries, and as many emitted ones
 */
export async function releaseEgress(sql: Queryable, egress: string, limit: number): Promise<number> {
  const released = await sql`
    with waiting as materialized (
      select ctid from job_tasks
      where state = 'ready' and kind = 'retry' and egress = ${egress} limit ${limit} for update skip locked
    ),
    emitted as materialized (
      select ctid from job_tasks
      where state = 'emitted' and kind = 'retry' and egress = ${egress} limit ${limit} for update skip locked
    )
    update job_tasks set state = 'ready', emitted_at = null, egress = ''
    where ctid = any (array(select ctid from waiting union all select ctid from emitted))`;
  return released.count;
}

/** A position in the order in which the retries of a site are released. */
export interface RetryCursor {
  jobId: string;
  /** In Postgres's own format: a `Date` has no microseconds. */
  dueAt: string;
}

/**
 * Makes retries due that wait for a site which blocked the egress. It works in parts, so that the statement ends in time.
 * @param where `after`: the `last` of the previous part, so that no part reads again what earlier ones released
 * @returns released retries and rows; fewer retries than `limit`: there are no more
 */
export async function releaseBlockedRetries(
  sql: Queryable,
  { egress, site, after }: { egress: string; site: string; after: RetryCursor | null },
  limit: number,
): Promise<{ retries: number; rows: number; last: RetryCursor | null }> {
  const [released] = await sql<[{ retries: number; rows: number; last: RetryCursor | null }]>`
    with waiting as materialized (
      select ctid, job_id, due_at from job_tasks
      where state = 'ready' and kind = 'retry' and egress = ${egress} and site = ${site} and reason = 'sender_blocked'
        and due_at > statement_timestamp()
        and (job_id, due_at) >= (${after?.jobId ?? ""}, ${after?.dueAt ?? "-infinity"}::text::timestamptz)
      order by job_id, due_at limit ${limit} for update skip locked
    ),
    released as (
      update job_tasks set due_at = statement_timestamp() where ctid = any (array(select ctid from waiting))
      returning row_count
    )
    select (select count(*)::int from waiting) as retries, coalesce(sum(row_count), 0)::int as rows, (
      select jsonb_build_object('jobId', job_id, 'dueAt', due_at::text) from waiting
      order by job_id desc, due_at desc limit 1
    ) as last
    from released`;
  return released;
}

/** Egresses whose streams hold retries. By an index scan that skips, as above. */
export async function egressesWithEmitted(sql: Queryable): Promise<string[]> {
  const rows = await sql<{ egress: string }[]>`
    with recursive found as (
      (select egress from job_tasks where state = 'emitted' and kind = 'retry' and egress > '' order by egress limit 1)
      union all
      select next.egress from found f cross join lateral (
        select egress from job_tasks
        where state = 'emitted' and kind = 'retry' and egress > f.egress order by egress limit 1
      ) next
    )
    select egress from found order by egress`;
  return rows.map(({ egress }) => egress);
}

/** Deferred rows of active jobs, by reason. */
export async function deferredRows(sql: Queryable): Promise<Map<string, number>> {
  const rows = await sql<{ reason: string; rows: number }[]>`
    select t.reason, sum(t.row_count)::int as rows from job_tasks t join jobs j on j.id = t.job_id
    where t.kind = 'retry' and t.state <> 'done' and j.deferred > 0 and j.completed_at is null and j.removed_at is null
    group by t.reason order by t.reason`;
  return new Map(rows.map(({ reason, rows: count }) => [reason, count]));
}
