import { LIMITS } from "../core/limits.ts";
import type { Tier } from "../core/tiers.ts";
import type { Database, Transaction } from "./postgres.ts";

/** One look at what changed of the present UTC day. Times are text to the microsecond. */
export interface Look {
  day: string;
  until: string;
  /** Where the next look begins: some way back, since a change is committed a moment after its time was noted. */
  nextSince: string;
}

/** A place in the order of changes. */
export interface ChangePlace {
  changedAt: string;
  teamId: string;
}

/** A team whose settled use of the day, or whose limit, changed. */
export interface ChangedDay extends ChangePlace {
  /** Units settled. */
  used: number;
  tier: Tier;
  /** As stored, see `limitsOf`. */
  limits: unknown;
  /** The highest share of the day that the team was told of; null: none. */
  toldPercent: number | null;
}

export async function beginLook(sql: Database): Promise<Look> {
  const [look] = await sql<[Look]>`
    select (at at time zone 'utc')::date::text as day, at::text as until,
           (at - ${`${LIMITS.usage.changeLagMs} milliseconds`}::interval)::text as "nextSince"
    from (select clock_timestamp() as at) clock`;
  return look;
}

/**
 * What changed after a place, in the order of change, LIMITS.usage.teamDaysPerLook at most. Times go as text: the client
 * would make dates of them, which know no microseconds.
 */
export async function changedDays(sql: Database, look: Look, after: ChangePlace): Promise<ChangedDay[]> {
  return sql<ChangedDay[]>`
    select d.team_id as "teamId", d.used, d.changed_at::text as "changedAt", t.tier, t.limits,
           (select max(percent) from quota_thresholds q where q.team_id = d.team_id and q.day = d.day) as "toldPercent"
    from quota_days d join teams t on t.id = d.team_id
    where (d.changed_at, d.team_id) > (${after.changedAt}::text::timestamptz, ${after.teamId})
      and d.changed_at <= ${look.until}::text::timestamptz and d.day = ${look.day}::date and d.used > 0
    order by d.changed_at, d.team_id limit ${LIMITS.usage.teamDaysPerLook}`;
}

/** Notes that a team is told of a threshold; false when it was told already, or is gone. */
export async function noteThreshold(
  tx: Transaction,
  told: { teamId: string; day: string; percent: number },
): Promise<boolean> {
  const noted = await tx`
    insert into quota_thresholds (team_id, day, percent)
    select id, ${told.day}::date, ${told.percent}::integer from teams where id = ${told.teamId} for key share
    on conflict do nothing
    returning percent`;
  return noted.length > 0;
}
