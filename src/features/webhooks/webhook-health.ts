import { intervalOf } from "../../stores/postgres/interval.ts";
import type { Queryable } from "../../stores/postgres/postgres.ts";

/**
 * Health of a webhook from its attempts: whether it succeeds, since when it fails, when it is disabled for that. A
 * webhook's URL may change during an attempt, and the old receiver's answer must not count against the new one: each
 * statement applies to the webhook at the attempted URL, or to nothing.
 */
export interface AttemptedWebhook {
  team_id: string;
  /** null: the URL of a job. Those of a team's live jobs fail and succeed together; those of test jobs are not noted. */
  webhook_id: string | null;
  livemode: boolean;
  url: string;
}

export async function noteSuccess(
  sql: Queryable,
  { team_id, webhook_id, livemode, url }: AttemptedWebhook,
): Promise<void> {
  if (webhook_id === null && !livemode) return;
  if (webhook_id === null)
    await sql`update team_webhook_secrets set failing_since = null
      where team_id = ${team_id} and failing_since is not null`;
  else
    await sql`update webhooks set last_success_at = now(), failing_since = null
      where id = ${webhook_id} and url = ${url}`;
}

export async function noteFailure(
  sql: Queryable,
  { team_id, webhook_id, livemode, url }: AttemptedWebhook,
): Promise<void> {
  if (webhook_id === null && !livemode) return;
  if (webhook_id === null)
    await sql`update team_webhook_secrets set failing_since = now()
      where team_id = ${team_id} and failing_since is null`;
  else
    await sql`update webhooks set failing_since = now()
      where id = ${webhook_id} and url = ${url} and failing_since is null`;
}

/** Disables a webhook whose receiver answered 410. True: it did. */
export async function disableGoneWebhook(
  sql: Queryable,
  { webhook_id, url }: AttemptedWebhook,
): Promise<boolean> {
  const disabled = await sql`
    update webhooks set status = 'disabled', disabled_reason = 'gone', disabled_at = now()
    where id = ${webhook_id} and url = ${url} and status = 'enabled'`;
  return disabled.count === 1;
}

/**
 * Disables a webhook that has not succeeded for `failingMs`. True: it did.
 * @param perhapsOurs the failure may be our fault: disable only if another webhook has succeeded meanwhile
 */
export async function disableFailingWebhook(
  sql: Queryable,
  { webhook_id, url }: AttemptedWebhook,
  { failingMs, perhapsOurs }: { failingMs: number; perhapsOurs: boolean },
): Promise<boolean> {
  const disabled = await sql`
    update webhooks w set status = 'disabled', disabled_reason = 'failing', disabled_at = now()
    where w.id = ${webhook_id} and w.url = ${url} and w.status = 'enabled'
      and w.failing_since <= now() - ${intervalOf(failingMs)}::interval
      and (not ${perhapsOurs}::boolean
        or exists (select from webhooks other where other.last_success_at > w.failing_since))`;
  return disabled.count === 1;
}
