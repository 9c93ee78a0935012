import type { Queryable, Transaction } from "../../stores/postgres/postgres.ts";
import type { MessageSource } from "./signature.ts";

/** SQL of the delivery log of webhooks; src/features/webhooks/webhook-queue.ts has deliveries as a queue. */

export type DeliveryStatus = "pending" | "succeeded" | "failed";

export interface DeliveryRow {
  id: string;
  event_id: string;
  event_type: string;
  status: DeliveryStatus;
  attempts: number;
  response_status: number | null;
  /** One of DELIVERY_ERRORS of src/features/webhooks/deliver/outcome.ts. */
  error: string | null;
  duration_ms: number | null;
  next_attempt_at: Date | null;
  created_at: Date;
  last_attempt_at: Date | null;
}

/** What an event's deliveries send, and what the last attempt of one was answered. */
export interface DeliveryExchangeRow extends DeliveryRow, MessageSource {
  /** The beginning; null: no answer came, or it was recorded before bodies were kept. */
  response_body: string | null;
}

export interface NewDelivery {
  id: string;
  teamId: string;
  eventId: string;
  /** The target: a webhook, or the URL that a job named. */
  to: { webhookId: string } | { url: string };
  /** Key of its share of the dispatcher: the webhook's id, or the team's for URLs of jobs. */
  lane: string;
  /** The reason to record it as failed at once; null: it is due now. */
  refused: string | null;
}

export async function insertDeliveries(sql: Queryable, deliveries: readonly NewDelivery[]): Promise<void> {
  const rows = deliveries.map(({ id, teamId, eventId, to, lane, refused }) => ({
    id,
    team_id: teamId,
    event_id: eventId,
    webhook_id: "webhookId" in to ? to.webhookId : null,
    url: "url" in to ? to.url : null,
    lane,
    refused,
  }));
  await sql`
    insert into webhook_deliveries (id, team_id, event_id, webhook_id, url, lane, status, next_attempt_at, error)
    select id, team_id, event_id, webhook_id, url, lane,
      case when refused is null then 'pending' else 'failed' end, case when refused is null then now() end, refused
    from jsonb_to_recordset(${sql.json(rows)}) as r
      (id text, team_id text, event_id text, webhook_id text, url text, lane text, refused text)`;
}

const columns = (sql: Queryable) => sql`
  d.id, d.event_id, e.type as event_type, d.status, d.attempts, d.response_status, d.error, d.duration_ms,
  d.next_attempt_at, d.created_at, d.last_attempt_at`;

/** The log of a webhook, newest first. For the collation of the ids see `listEvents`. */
export function listDeliveries(
  sql: Queryable,
  of: { teamId: string; webhookId: string },
  page: { limit: number; after: string | null; status: DeliveryStatus | null },
): Promise<DeliveryRow[]> {
  const id = page.status === null ? sql`d.id` : sql`d.id collate "C"`;
  return sql<DeliveryRow[]>`
    select ${columns(sql)} from webhook_deliveries d join events e on e.id = d.event_id
    where d.team_id = ${of.teamId} and d.webhook_id = ${of.webhookId}
      ${page.status === null ? sql`` : sql`and d.status = ${page.status}`}
      ${page.after === null ? sql`` : sql`and ${id} < ${page.after}`}
    order by ${id} desc limit ${page.limit}`;
}

/** null: the team's webhook has no such delivery. */
export async function findDelivery(
  sql: Queryable,
  of: { teamId: string; webhookId: string },
  id: string,
): Promise<DeliveryRow | null> {
  const [row] = await sql<DeliveryRow[]>`
    select ${columns(sql)} from webhook_deliveries d join events e on e.id = d.event_id
    where d.team_id = ${of.teamId} and d.webhook_id = ${of.webhookId} and d.id = ${id}`;
  return row ?? null;
}

/** The same, with what was sent and answered. */
export async function findDeliveryExchange(
  sql: Queryable,
  of: { teamId: string; webhookId: string },
  id: string,
): Promise<DeliveryExchangeRow | null> {
  const [row] = await sql<DeliveryExchangeRow[]>`
    select ${columns(sql)}, d.response_body, e.created_at as event_at, e.livemode, e.data
    from webhook_deliveries d join events e on e.id = d.event_id
    where d.team_id = ${of.teamId} and d.webhook_id = ${of.webhookId} and d.id = ${id}`;
  return row ?? null;
}

/** Prevents an event's deletion until the transaction ends. Returns its age; null: it is deleted. */
export async function shareLockEvent(tx: Transaction, id: string): Promise<{ ageMs: number } | null> {
  const [row] = await tx<{ age_ms: number }[]>`
    select extract(epoch from now() - created_at)::float8 * 1000 as age_ms from events where id = ${id}
    for key share`;
  return row === undefined ? null : { ageMs: row.age_ms };
}

/** Number of pending deliveries of each lane; lanes without any are left out. */
export async function countPendingDeliveries(
  sql: Queryable,
  lanes: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ lane: string; count: number }[]>`
    select l.lane, (select count(*) from webhook_deliveries d where d.lane = l.lane and d.status = 'pending')::int as count
    from jsonb_array_elements_text(${sql.json([...lanes])}) as l (lane)`;
  return new Map(rows.map(({ lane, count }) => [lane, count]));
}

/** Gives up a lane's pending deliveries. Locked ones are left until the dispatcher meets them. */
export async function stopDeliveries(sql: Queryable, lane: string, error: string): Promise<void> {
  await sql`
    with taken as materialized (
      select ctid from webhook_deliveries where lane = ${lane} and status = 'pending' for update skip locked
    )
    update webhook_deliveries set status = 'failed', error = ${error}, next_attempt_at = null
    where ctid = any (array(select ctid from taken))`;
}
