import { LIMITS } from "../../config/limits/limits.ts";
import type { Database, Queryable } from "../../stores/postgres/postgres.ts";

/** Answered live verifications. `single` + `bulk` is the sum of the verdicts; `cached` is part of `single`. */
export interface UsageCounts {
  single: number;
  bulk: number;
  cached: number;
  valid: number;
  invalid: number;
  risky: number;
  unknown: number;
}

/** Counts to add for a team and day. */
export interface UsageRow extends UsageCounts {
  teamId: string;
  /** UTC, `YYYY-MM-DD`. */
  day: string;
}

/** A day of a team as history shows it. */
export interface UsageDay extends UsageCounts {
  day: string;
  /** Units settled or reported: for a past day all charged units, except those that running jobs hold. */
  settled: number;
}

/** @param writer a UUID of the process; `revision` grows with each of its flushes */
export interface UsageFlush {
  writer: string;
  revision: number;
  /** Rows, at most LIMITS.usage.rowsPerFlush; a team and day may occur more than once. */
  rows: readonly UsageRow[];
}

export interface UsageStore {
  /**
   * Adds the counts, once however often they are sent. Returns the teams whose rows were skipped because they are being
   * deleted: should the deletion fail, send the rows in another flush.
   */
  record(flush: UsageFlush): Promise<string[]>;
  /** The counters of a team and day; zeros when nothing was counted. */
  ofDay(teamId: string, day: string): Promise<UsageCounts>;
  /** The last `days` UTC days of a team, the current one first, used or not. */
  history(teamId: string, days: number): Promise<UsageDay[]>;
  /** Deletes rows older than LIMITS.usage.keptDays, at most LIMITS.usage.prunedPerRound a table; returns their number. */
  prune(): Promise<number>;
}

/**
 * Adds to the counters. Skips deleted teams, and teams that are being deleted, which would delay the counts of all others.
 * Returns the ids of the latter; empty if the caller holds a share of their locks. Locks rows in the order of team and day,
 * after a share of each team's lock, like a team's deletion. Call it before any other row of these teams is locked.
 */
export async function addUsage(tx: Queryable, rows: readonly UsageRow[]): Promise<string[]> {
  const passedOver = await tx<{ id: string }[]>`
    with given as (
      select "teamId" as team_id, day, sum(single) as single, sum(bulk) as bulk, sum(cached) as cached,
             sum(valid) as valid, sum(invalid) as invalid, sum(risky) as risky, sum(unknown) as unknown
      from jsonb_to_recordset(${tx.json(rows as never)}) as r
        ("teamId" text, day date, single bigint, bulk bigint, cached bigint,
         valid bigint, invalid bigint, risky bigint, unknown bigint)
      group by "teamId", day
    ),
    living as materialized (
      select id from teams where id in (select team_id from given) order by id for key share skip locked
    ),
    added as (
      insert into usage_days as u (team_id, day, single, bulk, cached, valid, invalid, risky, unknown)
      select team_id, day, single, bulk, cached, valid, invalid, risky, unknown
      from given join living on living.id = team_id
      order by team_id, day
      on conflict (team_id, day) do update set
        single = u.single + excluded.single, bulk = u.bulk + excluded.bulk, cached = u.cached + excluded.cached,
        valid = u.valid + excluded.valid, invalid = u.invalid + excluded.invalid,
        risky = u.risky + excluded.risky, unknown = u.unknown + excluded.unknown
    )
    select id from teams where id in (select team_id from given) and id not in (select id from living)`;
  return passedOver.map(({ id }) => id);
}

const NOTHING: UsageCounts = { single: 0, bulk: 0, cached: 0, valid: 0, invalid: 0, risky: 0, unknown: 0 };

/** Deletes rows past their retention, a number of each table. @returns number of deleted rows */
async function prune(sql: Database): Promise<number> {
  const { keptDays, writersKeptDays, prunedPerRound } = LIMITS.usage;
  // Ordered and skipping locked rows, so that two relays never wait for each other.
  const gone = await Promise.all([
    sql`with taken as materialized (
          select ctid from usage_days where day < (now() at time zone 'utc')::date - ${keptDays}::integer
          order by day limit ${prunedPerRound} for update skip locked
        )
        delete from usage_days where ctid = any (array(select ctid from taken))`,
    sql`with taken as materialized (
          select ctid from quota_days d
          where changed_at < now() - ${`${keptDays} days`}::interval
            and day < (now() at time zone 'utc')::date - ${keptDays}::integer
            and not exists (select from quota_leases l where l.team_id = d.team_id and l.day = d.day)
            and not exists (select from quota_holds h where h.team_id = d.team_id and h.day = d.day)
          order by changed_at limit ${prunedPerRound} for update skip locked
        )
        delete from quota_days where ctid = any (array(select ctid from taken))`,
    sql`with taken as materialized (
          select ctid from quota_thresholds
          where day < (now() at time zone 'utc')::date - ${keptDays}::integer
          order by day limit ${prunedPerRound} for update skip locked
        )
        delete from quota_thresholds where ctid = any (array(select ctid from taken))`,
    sql`with taken as materialized (
          select ctid from usage_writers where seen_at < now() - ${`${writersKeptDays} days`}::interval
          limit ${prunedPerRound} for update skip locked
        )
        delete from usage_writers where ctid = any (array(select ctid from taken))`,
  ]);
  return gone.reduce((sum, rows) => sum + rows.count, 0);
}

/** SQL of `usage_days`, and of past `quota_days`. */
export function createUsageStore(sql: Database): UsageStore {
  return {
    async record({ writer, revision, rows }) {
      return sql.begin(async (tx) => {
        const isNew = await tx`
          insert into usage_writers as w (id, revision, seen_at) values (${writer}, ${revision}, now())
          on conflict (id) do update set revision = excluded.revision, seen_at = excluded.seen_at
            where w.revision < excluded.revision
          returning id`;
        return isNew.length > 0 ? addUsage(tx, rows) : [];
      });
    },

    async ofDay(teamId, day) {
      const [row] = await sql<UsageCounts[]>`
        select single, bulk, cached, valid, invalid, risky, unknown
        from usage_days where team_id = ${teamId} and day = ${day}`;
      return row ?? NOTHING;
    },

    async history(teamId, days) {
      return sql<UsageDay[]>`
        with days as (
          select (clock_timestamp() at time zone 'utc')::date - ago as day
          from generate_series(0, ${days}::integer - 1) as ago
        )
        select d.day::text, (coalesce(q.used, 0) + coalesce(l.spent, 0))::bigint as settled,
               coalesce(u.single, 0)::bigint as single, coalesce(u.bulk, 0)::bigint as bulk,
               coalesce(u.cached, 0)::bigint as cached, coalesce(u.valid, 0)::bigint as valid,
               coalesce(u.invalid, 0)::bigint as invalid, coalesce(u.risky, 0)::bigint as risky,
               coalesce(u.unknown, 0)::bigint as unknown
        from days d
        left join quota_days q on q.team_id = ${teamId} and q.day = d.day
        left join (
          select day, sum(spent) as spent from quota_leases where team_id = ${teamId} group by day
        ) l on l.day = d.day
        left join usage_days u on u.team_id = ${teamId} and u.day = d.day
        order by d.day desc`;
    },

    prune: () => prune(sql),
  };
}
