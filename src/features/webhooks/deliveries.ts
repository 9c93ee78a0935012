import type { EventType } from "../../config/events.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { isId, newId } from "../../platform/ids.ts";
import { type Page, type PageRequest, pageOf } from "../../platform/page.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import { DAY_MS } from "../../platform/time/clock.ts";
import type { Database, Transaction } from "../../stores/postgres/postgres.ts";
import type { Actor } from "../identity/actor.ts";
import { requireFeature } from "../identity/tier-features.ts";
import { type ShownError, shownError } from "./deliver/outcome.ts";
import { listEvents } from "./event-log.ts";
import { recordEvent } from "./outbox.ts";
import { type MessageBody, messageBody } from "./signature.ts";
import {
  countPendingDeliveries,
  type DeliveryRow,
  type DeliveryStatus,
  findDelivery,
  findDeliveryExchange,
  insertDeliveries,
  listDeliveries,
  shareLockEvent,
} from "./webhook-deliveries.ts";
import { countManualDelivery, findWebhook } from "./webhook-sql.ts";
import { countWebhookUse } from "./webhook-uses.ts";
import { requireBox, requireWebhook, webhookNotFound } from "./webhooks.ts";

export interface WebhookDelivery {
  id: string;
  event_id: string;
  event_type: string;
  status: DeliveryStatus;
  attempts: number;
  response_status: number | null;
  error: ShownError | null;
  duration_ms: number | null;
  next_attempt_at: string | null;
  created_at: string;
  last_attempt_at: string | null;
}

export interface WebhookDeliveryExchange extends WebhookDelivery {
  /** The same bytes at each attempt. */
  request_body: string;
  response_body: string | null;
}

/** The deliveries of a webhook, and sending them again. Webhooks out of the caller's reach are not found. */
export interface WebhookDeliveries {
  /**
   * The team's events, newest first, for LIMITS.webhooks.keptMs. A test key sees those of test keys.
   * @throws AppError `unavailable_in_tier`
   */
  events(actor: Actor, ask: PageRequest & { type: EventType | null }): Promise<Page<MessageBody>>;
  /** The newest first. @throws AppError `not_found` */
  list(
    actor: Actor,
    webhookId: string,
    ask: PageRequest & { status: DeliveryStatus | null },
  ): Promise<Page<WebhookDelivery>>;
  /** One, with what was sent and answered. @throws AppError `not_found` */
  find(actor: Actor, webhookId: string, deliveryId: string): Promise<WebhookDeliveryExchange>;
  /**
   * Sends an event `ping` to this webhook alone. Returns its id.
   * @throws AppError `not_found`, `webhook_disabled`, `limit_reached` (too many wait), `rate_limited`,
   *   `unavailable_in_tier`, `feature_unconfigured`
   */
  ping(actor: Actor, webhookId: string): Promise<{ event_id: string }>;
  /**
   * Delivers an event again that the webhook got before, however that ended.
   * @throws AppError as `ping`; `event_expired`
   */
  redeliver(actor: Actor, webhookId: string, deliveryId: string): Promise<WebhookDelivery>;
}

function render(row: DeliveryRow): WebhookDelivery {
  return {
    id: row.id,
    event_id: row.event_id,
    event_type: row.event_type,
    status: row.status,
    attempts: row.attempts,
    response_status: row.response_status,
    error: shownError(row.error),
    duration_ms: row.duration_ms,
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    last_attempt_at: row.last_attempt_at?.toISOString() ?? null,
  };
}

/** @throws AppError `rate_limited` */
function requireBelow(most: number, counted: { count: number; leftS: number }, who: string): void {
  if (counted.count > most)
    throw new AppError("rate_limited", `${who} allows at most ${most} pings and redeliveries an hour.`, {
      retryAfterS: counted.leftS,
    });
}

/** Counts a requested delivery. @throws AppError as `ping` */
async function admit(tx: Transaction, teamId: string, webhookId: string): Promise<void> {
  const { manualPerHour, manualPerTeamHour, pendingPerWebhook } = LIMITS.webhooks;
  const counted = await countManualDelivery(tx, teamId, webhookId);
  const webhook = counted === null ? null : await findWebhook(tx, teamId, webhookId);
  if (counted === null || webhook === null) throw webhookNotFound();
  if (webhook.status === "disabled")
    throw new AppError("webhook_disabled", "The webhook is disabled: enable it first.");
  requireBelow(manualPerHour, counted, "A webhook");
  const { livemode } = webhook;
  requireBelow(manualPerTeamHour, await countWebhookUse(tx, { teamId, livemode }, "manual"), "A team");
  const pending = await countPendingDeliveries(tx, [webhookId]);
  if ((pending.get(webhookId) ?? 0) >= pendingPerWebhook)
    throw new AppError("limit_reached", `The webhook already has ${pendingPerWebhook} pending deliveries.`);
}

export function createWebhookDeliveries(deps: { sql: Database; box: SecretBox | null }): WebhookDeliveries {
  const { sql, box } = deps;
  const noSuchDelivery = () => new AppError("not_found", "The webhook has no such delivery.");

  return {
    async events(actor, ask) {
      requireFeature(actor, "webhooks");
      return listEvents(sql, actor, ask);
    },

    async list(actor, webhookId, ask) {
      const of = { teamId: actor.teamId, webhookId };
      await requireWebhook(sql, actor, webhookId);
      const { after, limit, status } = ask;
      const rows = await listDeliveries(sql, of, { after, limit: limit + 1, status });
      return pageOf(rows, ask, (row) => row.id, render);
    },

    async find(actor, webhookId, deliveryId) {
      await requireWebhook(sql, actor, webhookId);
      const of = { teamId: actor.teamId, webhookId };
      const row = isId("dlv", deliveryId) ? await findDeliveryExchange(sql, of, deliveryId) : null;
      if (row === null) throw noSuchDelivery();
      return { ...render(row), request_body: messageBody(row), response_body: row.response_body };
    },

    async ping(actor, webhookId) {
      const { livemode } = await requireWebhook(sql, actor, webhookId);
      requireFeature(actor, "webhooks");
      requireBox(box);
      const { teamId } = actor;
      const eventId = await sql.begin(async (tx) => {
        await admit(tx, teamId, webhookId);
        const data = { webhook_id: webhookId };
        return recordEvent(tx, { teamId, type: "ping", livemode, data, onlyWebhookId: webhookId });
      }, teamId);
      return { event_id: eventId };
    },

    async redeliver(actor, webhookId, deliveryId) {
      await requireWebhook(sql, actor, webhookId);
      requireFeature(actor, "webhooks");
      requireBox(box);
      const { teamId } = actor;
      const of = { teamId, webhookId };
      const id = newId("dlv");
      const made = await sql.begin(async (tx) => {
        await admit(tx, teamId, webhookId);
        const known = isId("dlv", deliveryId) ? await findDelivery(tx, of, deliveryId) : null;
        const event = known === null ? null : await shareLockEvent(tx, known.event_id);
        if (known === null || event === null) throw noSuchDelivery();
        if (event.ageMs >= LIMITS.webhooks.keptMs)
          throw new AppError("event_expired", `Events are kept for ${LIMITS.webhooks.keptMs / DAY_MS} days.`);
        const delivery = { id, teamId, eventId: known.event_id, to: { webhookId }, lane: webhookId };
        await insertDeliveries(tx, [{ ...delivery, refused: null }]);
        return findDelivery(tx, of, id);
      }, teamId);
      if (made === null) throw noSuchDelivery();
      return render(made);
    },
  };
}
