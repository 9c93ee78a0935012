import type { EventType } from "../../../../src/config/events.ts";
import type { DeliveryAttempt } from "../../../../src/features/webhooks/deliver/outcome.ts";
import type { WebhookClient } from "../../../../src/features/webhooks/deliver/webhook-client.ts";
import { createDeliver, type Deliver } from "../../../../src/features/webhooks/deliver/webhook-delivery.ts";
import { createWebhookDispatcher } from "../../../../src/features/webhooks/deliver/webhook-dispatcher.ts";
import { createFanOut } from "../../../../src/features/webhooks/fan-out.ts";
import { recordEvent } from "../../../../src/features/webhooks/outbox.ts";
import { secretSealContext } from "../../../../src/features/webhooks/secrets.ts";
import { newSigningSecret } from "../../../../src/features/webhooks/signature.ts";
import type { DeliveryRow } from "../../../../src/features/webhooks/webhook-deliveries.ts";
import { insertWebhook } from "../../../../src/features/webhooks/webhook-sql.ts";
import { newId } from "../../../../src/platform/ids.ts";
import { createSecretBox } from "../../../../src/platform/secret-box.ts";
import { createMetrics } from "../../../../src/platform/telemetry/metrics.ts";
import { systemClock } from "../../../../src/platform/time/clock.ts";
import type { Database } from "../../../../src/stores/postgres/postgres.ts";
import { newTeam, silentLog } from "../../../support/store.ts";

export const box = createSecretBox(Buffer.alloc(32, 1));

/** A team that may have webhooks, with `count` of them; their ids. */
export async function teamWithWebhooks(
  sql: Database,
  count: number,
): Promise<{ teamId: string; ids: string[] }> {
  const { teamId } = await newTeam(sql, "starter");
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const id = newId("wh");
    const secret = box.seal(newSigningSecret(), secretSealContext({ webhookId: id }));
    const url = `https://${id}.example/`;
    const row = { id, teamId, livemode: true, url, events: null, description: "", secret };
    await sql.begin((tx) => insertWebhook(tx, row));
    ids.push(id);
  }
  return { teamId, ids };
}

/** Writes events of a team; their ids. */
export function record(
  sql: Database,
  teamId: string,
  count = 1,
  rest: { type?: EventType; livemode?: boolean; onlyWebhookId?: string; extraUrl?: string } = {},
): Promise<string[]> {
  return sql.begin(async (tx) => {
    const ids: string[] = [];
    for (let i = 0; i < count; i++)
      ids.push(
        await recordEvent(tx, { teamId, type: "bulk.completed", livemode: true, data: { i }, ...rest }),
      );
    return ids;
  });
}

/** Turns all waiting events into deliveries. */
export async function fanOutAll(sql: Database): Promise<void> {
  const fanOut = createFanOut(sql);
  while ((await fanOut()) > 0);
}

/** Metrics of all deliveries in the file. */
export const metrics = createMetrics();

export const answered = (status: number, body = ""): DeliveryAttempt => ({
  answered: true,
  status,
  retryAfter: null,
  body,
  durationMs: 1,
});

/** Delivers as a relay does. `post` replaces the network. */
export function deliverBy(sql: Database, post: WebhookClient["post"]): Deliver {
  return createDeliver({
    sql,
    box,
    client: { post },
    clock: systemClock,
    // The middle of the jitter: no jitter.
    random: () => 0.5,
    log: silentLog,
    metrics,
  });
}

/** A dispatcher at work; drained when the test ends, or before. */
export function dispatch(t: { after(close: () => Promise<void>): void }, sql: Database, deliver: Deliver) {
  const part = createWebhookDispatcher({ sql, deliver, clock: systemClock, log: silentLog });
  let drained: Promise<void> | null = null;
  const drain = () => {
    drained ??= Promise.resolve(part.drain?.());
    return drained;
  };
  void part.start?.();
  t.after(drain);
  return { drain };
}

export function deliveriesOf(sql: Database, lane: string): Promise<(DeliveryRow & { claims: number })[]> {
  return sql<
    (DeliveryRow & { claims: number })[]
  >`select * from webhook_deliveries where lane = ${lane} order by id`;
}

/** As if the time to the next attempt had passed. */
export async function hasten(sql: Database, lane: string): Promise<void> {
  await sql`
    update webhook_deliveries set next_attempt_at = now() - interval '1 second'
    where lane = ${lane} and status = 'pending'`;
}
