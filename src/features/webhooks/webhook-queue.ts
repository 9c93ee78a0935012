import { LIMITS } from "../../config/limits/limits.ts";
import type { Tier } from "../../config/tiers.ts";
import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Database, Queryable, Transaction } from "../../stores/postgres/postgres.ts";
import type { DeliveryStatus } from "./webhook-deliveries.ts";

/**
 * The deliveries of webhooks as a queue: events fan out to them, dispatchers claim them. No statement here waits for a lock
 * while it holds one that a team's deletion may need: locked rows are skipped, and a team's row is share-locked first, as
 * the deletion takes it first.
 */

export interface WaitingEvent {
  id: string;
  team_id: string;
  type: string;
  livemode: boolean;
  only_webhook_id: string | null;
  extra_url: string | null;
  created_at: Date;
  tier: Tier;
  /** As stored: not checked against the names and types of `TierLimits`. */
  limits: unknown;
}

/** Takes the oldest events that are not fanned out yet, exclusively until the transaction ends. */
export function takeWaitingEvents(tx: Transaction, limit: number): Promise<WaitingEvent[]> {
  return tx<WaitingEvent[]>`
    select e.id, e.team_id, e.type, e.livemode, e.only_webhook_id, e.extra_url, e.created_at, t.tier, t.limits
    from events e join teams t on t.id = e.team_id
    where e.fanned_out_at is null
    order by e.id limit ${limit}
    for key share of t skip locked for update of e skip locked`;
}

export interface WebhookSubscription {
  id: string;
  team_id: string;
  livemode: boolean;
  /** null: all. */
  events: string[] | null;
  created_at: Date;
}

/** The enabled webhooks of some teams; prevents their deletion until the transaction ends. */
export function lockWebhookSubscriptions(
  tx: Transaction,
  teamIds: readonly string[],
): Promise<WebhookSubscription[]> {
  return tx<WebhookSubscription[]>`
    select id, team_id, livemode, events, created_at from webhooks
    where team_id in ${tx(teamIds)} and status = 'enabled'
    order by id
    for key share`;
}

export async function markFannedOut(tx: Transaction, eventIds: readonly string[]): Promise<void> {
  await tx`update events set fanned_out_at = now() where id in ${tx(eventIds)}`;
}

/** Why a lane gets few attempts at once: its last one failed; or it is of the URLs of test jobs, whose outcomes are not noted. */
export type LaneRestriction = "failing" | "test";

/** A webhook, or all job URLs of a team's mode, with pending deliveries. */
export interface DeliveryQueue {
  lane: string;
  /** See `shareKey`. */
  share: string;
  /** Some delivery is due now. */
  due: boolean;
  restriction: LaneRestriction | null;
  /** True when it was disabled after these deliveries were created: they are given up. */
  disabled: boolean;
}

/**
 * The next lanes in turn, due or not, from the first after `after`. It skips over the index from lane to lane, so the
 * backlog costs nothing. (The keys are not in the collation of lanes: unless that is stated, the planner reads all webhooks
 * each time.)
 */
export async function listDeliveryQueues(
  sql: Queryable,
  after: string,
  limit: number,
): Promise<DeliveryQueue[]> {
  return sql<DeliveryQueue[]>`
    with recursive lanes (lane, n) as (
      select min(lane), 1 from webhook_deliveries where status = 'pending' and lane > ${after}
      union all
      select (select min(d.lane) from webhook_deliveries d where d.status = 'pending' and d.lane > l.lane), n + 1
      from lanes l where l.lane is not null and n < ${limit}
    )
    select l.lane, coalesce(case when w.livemode then w.team_id else w.team_id || ':test' end, l.lane) as share,
      case when l.lane like '%:test' then 'test'
        when coalesce(w.failing_since, s.failing_since) is not null then 'failing' end as restriction,
      coalesce(w.status = 'disabled', false) as disabled,
      exists (
        select from webhook_deliveries d
        where d.lane = l.lane and d.status = 'pending' and d.next_attempt_at <= now()
      ) as due
    from lanes l
    left join webhooks w on w.id = l.lane collate "default"
    left join team_webhook_secrets s on s.team_id = l.lane collate "default"
    where l.lane is not null
    order by l.lane`;
}

/** A delivery to attempt now, with all data that the attempt needs. */
export interface ClaimedDelivery {
  id: string;
  lane: string;
  team_id: string;
  webhook_id: string | null;
  /** null: the webhook was deleted meanwhile. */
  url: string | null;
  /** The webhook is disabled: send nothing. */
  disabled: boolean;
  tier: Tier;
  /** As stored: not checked against the names and types of `TierLimits`. */
  limits: unknown;
  /** Attempts before this one, and claims since the last of them, this one included. */
  attempts: number;
  claims: number;
  event_id: string;
  event_type: string;
  livemode: boolean;
  data: Record<string, unknown>;
  event_at: Date;
  /** Sealed; null: the team has none. */
  secret: Buffer | null;
  /** Sealed; null: no old secret is valid. */
  old_secret: Buffer | null;
}

/**
 * Claims up to `take` due deliveries of each lane, the longest due first, for the lease of LIMITS.webhooks. The lease grows
 * while claims have no outcome, so that a delivery that kills relays comes back ever less often. (`now()`, not
 * `clock_timestamp()`, finds due rows: an index is searched only for a stable function's value. The array, because the
 * planner expects far more rows than there are and would read the whole table for a join. The limit of one event each,
 * because otherwise a plan made while there were no events reads all of them for each delivery.)
 */
export function claimDeliveries(
  sql: Queryable,
  lanes: readonly { lane: string; take: number }[],
): Promise<ClaimedDelivery[]> {
  const { leaseMs, leaseDoublings } = LIMITS.webhooks;
  return sql<ClaimedDelivery[]>`
    with due as materialized (
      select p.ctid from jsonb_to_recordset(${sql.json([...lanes])}) as l (lane text, take integer)
      cross join lateral (
        select d.ctid from webhook_deliveries d
        where d.lane = l.lane and d.status = 'pending' and d.next_attempt_at <= now()
        order by d.next_attempt_at limit l.take
        for update skip locked
      ) p
    ), claimed as (
      update webhook_deliveries d set claims = d.claims + 1, next_attempt_at = clock_timestamp()
        + ${intervalOf(leaseMs)}::interval * power(2, least(d.claims, ${leaseDoublings}::integer))
      where d.ctid = any (array(select ctid from due))
      returning d.*
    )
    select c.id, c.lane, c.team_id, c.webhook_id, coalesce(c.url, w.url) as url,
      coalesce(w.status = 'disabled', false) as disabled, t.tier, t.limits, c.attempts, c.claims,
      e.id as event_id, e.type as event_type, e.livemode, e.data, e.created_at as event_at,
      case when c.webhook_id is null then s.secret else w.secret end as secret,
      case when w.old_secret_until > now() then w.old_secret end as old_secret
    from claimed c cross join lateral (select * from events where id = c.event_id limit 1) e
    join teams t on t.id = c.team_id
    left join webhooks w on w.id = c.webhook_id
    left join team_webhook_secrets s on s.team_id = c.team_id`;
}

/** How an attempt ended, as the log shows it. */
export interface AttemptRecord {
  status: DeliveryStatus;
  /** Delay until the next attempt; null: there is no next one. */
  retryInMs: number | null;
  responseStatus: number | null;
  /** The beginning of the answer, as text; null: no answer came. */
  responseBody: string | null;
  error: string | null;
  durationMs: number;
}

/**
 * Counts an attempt and records its outcome. A success always counts. A failure counts only while this claim is still
 * valid, so that a late one cannot undo another's result after the lease had ended. False: not recorded.
 */
export async function recordAttempt(
  sql: Queryable,
  claim: Pick<ClaimedDelivery, "id" | "attempts" | "claims">,
  record: AttemptRecord,
): Promise<boolean> {
  const { status, retryInMs, responseStatus, responseBody, error, durationMs } = record;
  const interval = retryInMs === null ? null : intervalOf(Math.round(retryInMs));
  const recorded = await sql`
    update webhook_deliveries set status = ${status}, error = ${error}, response_status = ${responseStatus},
      response_body = ${responseBody}, duration_ms = ${durationMs}, next_attempt_at = clock_timestamp() + ${interval}::interval,
      last_attempt_at = clock_timestamp() - ${intervalOf(durationMs)}::interval,
      attempts = attempts + 1, claims = 0
    where id = ${claim.id} and (${status === "succeeded"}
      or (status = 'pending' and attempts = ${claim.attempts} and claims = ${claim.claims}))`;
  return recorded.count === 1;
}

/** Deletes old events with their deliveries, except those still pending. Returns their number, at most `limit`. */
export async function pruneEvents(sql: Database, keptMs: number, limit: number): Promise<number> {
  const pruned = await sql`
    with taken as materialized (
      select e.ctid from events e join teams t on t.id = e.team_id
      where e.created_at < now() - ${intervalOf(keptMs)}::interval
        and not exists (select from webhook_deliveries d where d.event_id = e.id and d.status = 'pending')
      order by e.created_at limit ${limit}
      for key share of t skip locked for update of e skip locked
    )
    delete from events where ctid = any (array(select ctid from taken))`;
  return pruned.count;
}

/** Pending deliveries of all teams. */
export async function countBacklog(sql: Queryable): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from webhook_deliveries where status = 'pending'`;
  return row.count;
}
