import type { Queryable } from "./postgres.ts";

/**
 * What attempts tell about a webhook: whether it succeeds, since when it fails, when it is disabled for that. A webhook
 * may be moved while an attempt is under way, and the old receiver's answer is not held against the new one: each
 * statement is about the webhook at the URL that was tried, or about nothing.
 */
export interface Tried {
  team_id: string;
  /** null: the URL of a job. Those of a team fail and succeed together. */
  webhook_id: string | null;
  url: string;
}

export async function noteSuccess(sql: Queryable, { team_id, webhook_id, url }: Tried): Promise<void> {
  if (webhook_id === null)
    await sql`update team_webhook_secrets set failing_since = null
      where team_id = ${team_id} and failing_since is not null`;
  else
    await sql`update webhooks set last_success_at = now(), failing_since = null
      where id = ${webhook_id} and url = ${url}`;
}

export async function noteFailure(sql: Queryable, { team_id, webhook_id, url }: Tried): Promise<void> {
  if (webhook_id === null)
    await sql`update team_webhook_secrets set failing_since = now()
      where team_id = ${team_id} and failing_since is null`;
  else
    await sql`update webhooks set failing_since = now()
      where id = ${webhook_id} and url = ${url} and failing_since is null`;
}

/** Disables a webhook whose receiver says that it is no more. True: it did. */
export async function disableGone(sql: Queryable, { webhook_id, url }: Tried): Promise<boolean> {
  const disabled = await sql`
    update webhooks set status = 'disabled', disabled_reason = 'gone', disabled_at = now()
    where id = ${webhook_id} and url = ${url} and status = 'enabled'`;
  return disabled.count === 1;
}

/**
 * Disables a webhook that has not succeeded for `failingMs`. True: it did.
 * @param perhapsOurs the failure may lie on our side: only if another webhook has succeeded meanwhile
 */
export async function disableIfFailing(
  sql: Queryable,
  { webhook_id, url }: Tried,
  { failingMs, perhapsOurs }: { failingMs: number; perhapsOurs: boolean },
): Promise<boolean> {
  const disabled = await sql`
    update webhooks w set status = 'disabled', disabled_reason = 'failing', disabled_at = now()
    where w.id = ${webhook_id} and w.url = ${url} and w.status = 'enabled'
      and w.failing_since <= now() - ${`${failingMs} milliseconds`}::interval
      and (not ${perhapsOurs}::boolean
        or exists (select from webhooks other where other.last_success_at > w.failing_since))`;
  return disabled.count === 1;
}
