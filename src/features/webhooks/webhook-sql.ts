import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Queryable, Transaction } from "../../stores/postgres/postgres.ts";

/** SQL of webhooks and their signing secrets. Every statement on a team's behalf names the team. */

export type DisabledReason = "gone" | "failing" | "by_user";

export interface WebhookRow {
  id: string;
  /** Gets live events; else those of test keys. */
  livemode: boolean;
  url: string;
  /** null: all, future ones included. */
  events: string[] | null;
  description: string;
  status: "enabled" | "disabled";
  disabled_reason: DisabledReason | null;
  disabled_at: Date | null;
  created_at: Date;
  last_success_at: Date | null;
  /** Since when every attempt has failed. */
  failing_since: Date | null;
}

export interface NewWebhook {
  id: string;
  teamId: string;
  livemode: boolean;
  url: string;
  events: string[] | null;
  description: string;
  /** Sealed. */
  secret: Buffer;
}

/** Changed fields; absent ones stay. */
export interface WebhookChange {
  url?: string;
  events?: string[] | null;
  description?: string;
}

const columns = (sql: Queryable) => sql`
  id, livemode, url, events, description, status, disabled_reason, disabled_at, created_at, last_success_at, failing_since`;

export function listWebhooks(
  sql: Queryable,
  teamId: string,
  page: { limit: number; after: string | null; testOnly: boolean },
): Promise<WebhookRow[]> {
  return sql<WebhookRow[]>`
    select ${columns(sql)} from webhooks
    where team_id = ${teamId} and (${page.after}::text is null or id < ${page.after})
      and not (${page.testOnly} and livemode)
    order by id desc limit ${page.limit}`;
}

/** Number of the team's webhooks in that mode: exact while the caller holds the team's lock. */
export async function countWebhooks(
  tx: Transaction,
  { teamId, livemode }: Pick<NewWebhook, "teamId" | "livemode">,
): Promise<number> {
  const [row] = await tx<[{ count: number }]>`
    select count(*)::int as count from webhooks where team_id = ${teamId} and livemode = ${livemode}`;
  return row.count;
}

export async function insertWebhook(tx: Transaction, webhook: NewWebhook): Promise<WebhookRow> {
  const [row] = await tx<[WebhookRow]>`
    insert into webhooks (id, team_id, livemode, url, events, description, secret)
    values (${webhook.id}, ${webhook.teamId}, ${webhook.livemode}, ${webhook.url},
      ${webhook.events === null ? null : tx.json(webhook.events)}, ${webhook.description}, ${webhook.secret})
    returning ${columns(tx)}`;
  return row;
}

/** null: the team has no such webhook. */
export async function findWebhook(sql: Queryable, teamId: string, id: string): Promise<WebhookRow | null> {
  const [row] = await sql<WebhookRow[]>`
    select ${columns(sql)} from webhooks where team_id = ${teamId} and id = ${id}`;
  return row ?? null;
}

/** The webhook as changed; null: the team has no such webhook. A new URL resets its failures. */
export async function updateWebhook(
  sql: Queryable,
  teamId: string,
  id: string,
  change: WebhookChange,
): Promise<WebhookRow | null> {
  const { url = null, description = null, events } = change;
  const [row] = await sql<WebhookRow[]>`
    update webhooks set
      url = coalesce(${url}::text, url),
      failing_since = case when url = coalesce(${url}::text, url) then failing_since end,
      description = coalesce(${description}::text, description),
      events = ${events === undefined ? sql`events` : events === null ? null : sql.json(events)}
    where team_id = ${teamId} and id = ${id}
    returning ${columns(sql)}`;
  return row ?? null;
}

/** Resets why it was disabled and since when it failed. Does nothing when it is enabled. */
export async function enableWebhook(sql: Queryable, teamId: string, id: string): Promise<void> {
  await sql`
    update webhooks set status = 'enabled', disabled_reason = null, disabled_at = null, failing_since = null
    where team_id = ${teamId} and id = ${id} and status = 'disabled'`;
}

/** Does nothing when it is disabled already: the first reason is kept. */
export async function disableWebhook(
  sql: Queryable,
  teamId: string,
  id: string,
  reason: DisabledReason,
): Promise<void> {
  await sql`
    update webhooks set status = 'disabled', disabled_reason = ${reason}, disabled_at = now()
    where team_id = ${teamId} and id = ${id} and status = 'enabled'`;
}

/** False: the team has no such webhook. Its deliveries are deleted with it. */
export async function deleteWebhook(sql: Queryable, teamId: string, id: string): Promise<boolean> {
  const deleted = await sql`delete from webhooks where team_id = ${teamId} and id = ${id}`;
  return deleted.count === 1;
}

/** Activates a sealed secret; the previous one stays valid for `oldMs`. False: the team has no such webhook. */
export async function rotateWebhookSecret(
  sql: Queryable,
  teamId: string,
  id: string,
  next: { secret: Buffer; oldMs: number },
): Promise<boolean> {
  const rotated = await sql`
    update webhooks set secret = ${next.secret}, old_secret = secret,
      old_secret_until = now() + ${intervalOf(next.oldMs)}::interval
    where team_id = ${teamId} and id = ${id}`;
  return rotated.count === 1;
}

/** Creates or replaces the signing secret of a team's own URLs. */
export async function putTeamWebhookSecret(sql: Queryable, teamId: string, secret: Buffer): Promise<void> {
  await sql`
    insert into team_webhook_secrets (team_id, secret) values (${teamId}, ${secret})
    on conflict (team_id) do update set secret = excluded.secret, created_at = now()`;
}

/** True when a job of the team may name a notification URL of its own. */
export async function hasTeamWebhookSecret(sql: Queryable, teamId: string): Promise<boolean> {
  const rows = await sql`select from team_webhook_secrets where team_id = ${teamId}`;
  return rows.length === 1;
}

/**
 * Counts a ping or redelivery of a webhook. Returns the count of the current hour, this one included, and the seconds left
 * of it; null: the team has no such webhook.
 */
export async function countManualDelivery(
  tx: Transaction,
  teamId: string,
  id: string,
): Promise<{ count: number; leftS: number } | null> {
  // First, as the deletion does: rows written after this refer to it.
  await tx`select from teams where id = ${teamId} for key share`;
  const [row] = await tx<{ count: number; left_s: number }[]>`
    update webhooks set
      manual_count = case when manual_since > now() - interval '1 hour' then manual_count + 1 else 1 end,
      manual_since = case when manual_since > now() - interval '1 hour' then manual_since else now() end
    where team_id = ${teamId} and id = ${id}
    returning manual_count as count,
      ceil(extract(epoch from manual_since + interval '1 hour' - now()))::int as left_s`;
  return row === undefined ? null : { count: row.count, leftS: Math.max(1, row.left_s) };
}
