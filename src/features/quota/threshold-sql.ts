import { LIMITS } from "../../config/limits/limits.ts";
import type { Tier } from "../../config/tiers.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";

/** One scan of changes of the current UTC day. Times are text to the microsecond. */
export interface ThresholdScan {
  day: string;
  until: string;
  /** Start of the next scan. It overlaps this one, since a change is committed a moment after its time was noted. */
  nextSince: string;
}

/** A position in the order of changes. */
export interface ChangeCursor {
  changedAt: string;
  teamId: string;
}

/** A team whose settled use of the day, or whose limit, changed. */
export interface ChangedDay extends ChangeCursor {
  /** Units settled. */
  used: number;
  tier: Tier;
  /** As stored, see `limitsOf`. */
  limits: unknown;
  /** The highest announced share of the day; null: none. */
  toldPercent: number | null;
}

export async function startThresholdScan(sql: Database): Promise<ThresholdScan> {
  const [look] = await sql<[ThresholdScan]>`
    select (at at time zone 'utc')::date::text as day, at::text as until,
           (at - ${intervalOf(LIMITS.usage.changeLagMs)}::interval)::text as "nextSince"
    from (select clock_timestamp() as at) clock`;
  return look;
}

/**
 * Changes after a position, in order, at most LIMITS.usage.teamDaysPerLook. Times travel as text: the client would turn
 * them into dates, which have no microseconds.
 */
export async function changedDays(
  sql: Database,
  look: ThresholdScan,
  after: ChangeCursor,
): Promise<ChangedDay[]> {
  return sql<ChangedDay[]>`
    select d.team_id as "teamId", d.used, d.changed_at::text as "changedAt", t.tier, t.limits,
           (select max(percent) from quota_thresholds q where q.team_id = d.team_id and q.day = d.day) as "toldPercent"
    from quota_days d join teams t on t.id = d.team_id
    where (d.changed_at, d.team_id) > (${after.changedAt}::text::timestamptz, ${after.teamId})
      and d.changed_at <= ${look.until}::text::timestamptz and d.day = ${look.day}::date and d.used > 0
    order by d.changed_at, d.team_id limit ${LIMITS.usage.teamDaysPerLook}`;
}

/** Records that a threshold is announced to a team; false when it was announced before, or the team is gone. */
export async function noteThreshold(
  tx: Transaction,
  reached: { teamId: string; day: string; percent: number },
): Promise<boolean> {
  const noted = await tx`
    insert into quota_thresholds (team_id, day, percent)
    select id, ${reached.day}::date, ${reached.percent}::integer from teams where id = ${reached.teamId} for key share
    on conflict do nothing
    returning percent`;
  return noted.length > 0;
}
