import { LIMITS } from "../../config/limits/limits.ts";
import { newId } from "../../platform/ids.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { limitsOf } from "../auth/lookup.ts";
import { shareKey } from "../identity/actor.ts";
import type { DeliveryError } from "./deliver/outcome.ts";
import { countPendingDeliveries, insertDeliveries, type NewDelivery } from "./webhook-deliveries.ts";
import {
  lockWebhookSubscriptions,
  markFannedOut,
  takeWaitingEvents,
  type WaitingEvent,
  type WebhookSubscription,
} from "./webhook-queue.ts";

/**
 * Turns events into deliveries, each exactly once however many relays run it.
 * @returns the number of events, at most LIMITS.webhooks.eventsPerFanOut
 */
export type FanOut = () => Promise<number>;

/**
 * True when a webhook gets an event: one addressed to it always. Another one if it has the webhook's mode, is subscribed,
 * and did not happen before the webhook's creation; an event may wait for long.
 */
function isSubscribed(webhook: WebhookSubscription, event: WaitingEvent): boolean {
  if (webhook.team_id !== event.team_id) return false;
  if (event.only_webhook_id !== null) return event.only_webhook_id === webhook.id;
  if (webhook.livemode !== event.livemode || webhook.created_at > event.created_at) return false;
  return webhook.events === null || webhook.events.includes(event.type);
}

/** The deliveries of an event. A team whose tier has no webhooks gets none. */
export function deliveriesForEvent(
  event: WaitingEvent,
  subscriptions: readonly WebhookSubscription[],
): Omit<NewDelivery, "refused">[] {
  if (!limitsOf(event).webhooks) return [];
  const made = (to: NewDelivery["to"], lane: string) => ({
    id: newId("dlv"),
    teamId: event.team_id,
    eventId: event.id,
    to,
    lane,
  });
  const deliveries = subscriptions
    .filter((webhook) => isSubscribed(webhook, event))
    .map(({ id }) => made({ webhookId: id }, id));
  const ofMode = shareKey({ teamId: event.team_id, livemode: event.livemode });
  if (event.extra_url !== null) deliveries.push(made({ url: event.extra_url }, ofMode));
  return deliveries;
}

/** Refuses deliveries for a full lane. @param pending number of waiting ones by lane */
function boundBacklog(
  deliveries: readonly Omit<NewDelivery, "refused">[],
  pending: ReadonlyMap<string, number>,
): NewDelivery[] {
  const full: DeliveryError = "backlog_full";
  const counts = new Map(pending);
  return deliveries.map((delivery) => {
    const count = counts.get(delivery.lane) ?? 0;
    counts.set(delivery.lane, count + 1);
    return { ...delivery, refused: count < LIMITS.webhooks.pendingPerWebhook ? null : full };
  });
}

export function createFanOut(sql: Database): FanOut {
  return () =>
    sql.begin(async (tx) => {
      const events = await takeWaitingEvents(tx, LIMITS.webhooks.eventsPerFanOut);
      if (events.length === 0) return 0;
      const subscriptions = await lockWebhookSubscriptions(tx, [
        ...new Set(events.map((event) => event.team_id)),
      ]);
      const deliveries = events.flatMap((event) => deliveriesForEvent(event, subscriptions));
      if (deliveries.length > 0) {
        const pending = await countPendingDeliveries(tx, [...new Set(deliveries.map(({ lane }) => lane))]);
        await insertDeliveries(tx, boundBacklog(deliveries, pending));
      }
      await markFannedOut(
        tx,
        events.map(({ id }) => id),
      );
      return events.length;
    });
}
