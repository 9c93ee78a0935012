import type { Transaction } from "../../stores/postgres/postgres.ts";

/** Actions that a team may do a limited number of times an hour: create a webhook; ping one, or redeliver an event. */
export type WebhookUse = "creation" | "manual";

/**
 * Counts one, of test webhooks apart from live ones; undone with the transaction, but not by deleting the webhook. Returns
 * the count of the current hour, this one included, and the seconds left of it.
 */
export async function countWebhookUse(
  tx: Transaction,
  { teamId, livemode }: { teamId: string; livemode: boolean },
  use: WebhookUse,
): Promise<{ count: number; leftS: number }> {
  const [row] = await tx<[{ count: number; left_s: number }]>`
    insert into ${tx(livemode ? "webhook_uses" : "webhook_test_uses")} as u (team_id, use) values (${teamId}, ${use})
    on conflict (team_id, use) do update set
      count = case when u.since > now() - interval '1 hour' then u.count + 1 else 1 end,
      since = case when u.since > now() - interval '1 hour' then u.since else now() end
    returning count, ceil(extract(epoch from since + interval '1 hour' - now()))::int as left_s`;
  return { count: row.count, leftS: Math.max(1, row.left_s) };
}
