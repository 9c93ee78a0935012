import { LIMITS } from "../../config/limits/limits.ts";
import type { Database, Queryable, Transaction } from "../../stores/postgres/postgres.ts";
import type { Verdict } from "../../verification/verdict/table.ts";
import type { GivenAnswer, MessageOutcome } from "./event.ts";

/** An event as it is kept. */
export interface FeedbackRow extends GivenAnswer {
  /** UTC, `YYYY-MM-DD`. */
  day: string;
  outcome: MessageOutcome;
  addressHash: string;
  bounceReason: string | null;
  bounceRule: string | null;
  hard: boolean;
}

/** Counts of a team's reports on the present UTC day. */
export interface DayCounts {
  events: number;
  withdrawals: number;
}

/** New events of one kind. */
export interface AddedEvents {
  verdict: Verdict | null;
  outcome: MessageOutcome;
  hard: boolean;
  events: number;
  /** Places of hard bounces of what was answered `valid`. */
  contradicting: number[];
}

/**
 * Adds rows of one team, which must differ in day, outcome or address. An existing row is completed by a missing answer,
 * and a hard bounce replaces a soft one. The caller holds the team's lock.
 * @param rows JSON of `FeedbackRow`s, each with its `place`: at most LIMITS.feedback.rowsPerStatement
 * @returns the new rows by kind; [] when all are known
 */
export async function insertFeedback(tx: Transaction, teamId: string, rows: string): Promise<AddedEvents[]> {
  return tx<AddedEvents[]>`
    with given as (
      select * from jsonb_to_recordset(${rows}::text::jsonb) as r
        (place integer, day date, outcome text, "addressHash" text, verdict text, reason text, provider text,
         rule text, "bounceReason" text, "bounceRule" text, hard boolean)
    ),
    added as (
      insert into feedback as f (team_id, day, outcome, address_hash, verdict, reason, provider, rule,
                                 bounce_reason, bounce_rule, hard)
      select ${teamId}::text, day, outcome, "addressHash", verdict, reason, provider, rule,
             "bounceReason", "bounceRule", hard
      from given
      order by day, outcome, "addressHash"
      on conflict (team_id, day, outcome, address_hash) do update set
        verdict = coalesce(f.verdict, excluded.verdict),
        reason = case when f.verdict is null and excluded.verdict is not null then excluded.reason else f.reason end,
        rule = case when f.verdict is null and excluded.verdict is not null then excluded.rule else f.rule end,
        provider = case when f.verdict is null and excluded.verdict is not null
          then coalesce(excluded.provider, f.provider) else f.provider end,
        bounce_reason = case when excluded.hard and not f.hard then excluded.bounce_reason else f.bounce_reason end,
        bounce_rule = case when excluded.hard and not f.hard then excluded.bounce_rule else f.bounce_rule end,
        hard = f.hard or excluded.hard
        where (f.verdict is null and excluded.verdict is not null) or (excluded.hard and not f.hard)
      returning day, outcome, address_hash, xmax = 0 as is_new
    )
    select g.verdict, g.outcome, g.hard, count(*) as events,
           coalesce(jsonb_agg(place order by place) filter (where g.verdict = 'valid' and g.hard), '[]') as contradicting
    from given g
    join added a on a.day = g.day and a.outcome = g.outcome and a.address_hash = g."addressHash"
    where a.is_new
    group by g.verdict, g.outcome, g.hard`;
}

/** Number of rows that `insertFeedback` would add. */
export async function countNew(tx: Transaction, teamId: string, rows: string): Promise<number> {
  const [{ count }] = await tx<[{ count: number }]>`
    select count(*) as count
    from jsonb_to_recordset(${rows}::text::jsonb) as g (day date, outcome text, "addressHash" text)
    where not exists (
      select from feedback f
      where f.team_id = ${teamId} and f.day = g.day and f.outcome = g.outcome and f.address_hash = g."addressHash"
    )`;
  return count;
}

/** Events that the team has reported on the present UTC day. */
export async function eventsToday(sql: Queryable, teamId: string): Promise<number> {
  const [row] = await sql<{ events: number }[]>`
    select events from feedback_days where team_id = ${teamId} and day = (now() at time zone 'utc')::date`;
  return row?.events ?? 0;
}

/** Adds to the team's counts of today. @returns the sums */
export async function countReports(tx: Transaction, teamId: string, add: DayCounts): Promise<DayCounts> {
  const [row] = await tx<DayCounts[]>`
    insert into feedback_days as d (team_id, day, events, withdrawals)
    values (${teamId}, (now() at time zone 'utc')::date, ${add.events}, ${add.withdrawals})
    on conflict (team_id, day) do update set
      events = d.events + excluded.events, withdrawals = d.withdrawals + excluded.withdrawals
    returning events, withdrawals`;
  return row ?? add;
}

/** Number of addresses by rcpt's answer. An address that was reported on several days counts on each. */
export interface FeedbackGroup {
  verdict: Verdict | null;
  reason: string | null;
  provider: string | null;
  delivered: number;
  bounced: number;
  hardBounced: number;
  complained: number;
}

/** Answers that turned out wrong: `valid` whose message bounced for good, `invalid` whose message was delivered. */
export interface WrongGroup {
  verdict: Verdict;
  reason: string | null;
  provider: string | null;
  rule: string | null;
  outcome: MessageOutcome;
  bounceReason: string | null;
  bounceRule: string | null;
  events: number;
}

/** The largest groups of the last `days` UTC days, the present one included. */
export async function readGroups(sql: Queryable, teamId: string, days: number): Promise<FeedbackGroup[]> {
  return sql<FeedbackGroup[]>`
    with counted as (
      select verdict, reason, provider,
             count(*) as events,
             count(*) filter (where outcome = 'delivered') as delivered,
             count(*) filter (where outcome = 'bounced') as bounced,
             count(*) filter (where outcome = 'bounced' and hard) as hard_bounced,
             count(*) filter (where outcome = 'complained') as complained,
             row_number() over (order by count(*) desc, verdict, reason, provider) <= ${LIMITS.feedback.groups} as is_large
      from feedback
      where team_id = ${teamId} and day > (now() at time zone 'utc')::date - ${days}::integer
      group by verdict, reason, provider
    )
    select verdict, case when is_large then reason end as reason, case when is_large then provider end as provider,
           sum(delivered)::bigint as delivered,
           sum(bounced)::bigint as bounced,
           sum(hard_bounced)::bigint as "hardBounced",
           sum(complained)::bigint as complained
    from counted
    group by 1, 2, 3
    order by sum(events) desc, 1, 2, 3`;
}

/** The most frequent groups among the newest LIMITS.feedback.wrongCounted wrong answers of those days. */
export async function readWrong(sql: Queryable, teamId: string, days: number): Promise<WrongGroup[]> {
  return sql<WrongGroup[]>`
    select verdict, reason, provider, rule, outcome, bounce_reason as "bounceReason", bounce_rule as "bounceRule",
           count(*) as events
    from (
      select verdict, reason, provider, rule, outcome, bounce_reason, bounce_rule
      from feedback
      where team_id = ${teamId} and day > (now() at time zone 'utc')::date - ${days}::integer
        and ((verdict = 'valid' and outcome = 'bounced' and hard) or (verdict = 'invalid' and outcome = 'delivered'))
      order by day desc limit ${LIMITS.feedback.wrongCounted}
    ) newest
    group by verdict, reason, provider, rule, outcome, bounce_reason, bounce_rule
    order by count(*) desc, verdict, reason, provider, rule, bounce_reason, bounce_rule
    limit ${LIMITS.feedback.wrong}`;
}

/** Deletes rows past their retention, a number of each table. @returns the largest number of rows deleted from one table */
export async function pruneFeedback(sql: Database): Promise<number> {
  const { keptDays, prunedPerRound } = LIMITS.feedback;
  const gone = await Promise.all([
    sql`with taken as materialized (
          select ctid from feedback where day < (now() at time zone 'utc')::date - ${keptDays}::integer
          order by day limit ${prunedPerRound} for update skip locked
        )
        delete from feedback where ctid = any (array(select ctid from taken))`,
    sql`with taken as materialized (
          select ctid from feedback_days where day < (now() at time zone 'utc')::date - ${keptDays}::integer
          order by day limit ${prunedPerRound} for update skip locked
        )
        delete from feedback_days where ctid = any (array(select ctid from taken))`,
  ]);
  return Math.max(...gone.map(({ count }) => count));
}
