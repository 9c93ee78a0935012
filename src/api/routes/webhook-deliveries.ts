import * as v from "valibot";
import { EVENT_TYPES } from "../../config/events.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { SHOWN_ERRORS } from "../../features/webhooks/deliver/outcome.ts";
import type { WebhookDeliveries, WebhookDelivery } from "../../features/webhooks/deliveries.ts";
import type { MessageBody } from "../../features/webhooks/signature.ts";
import { PageQueryEntries, pageSuccess, readPageRequest } from "../request/paging.ts";
import { type Route, teamRoute } from "../routing/route.ts";
import { named } from "../schemas/fields.ts";

const TAG = "webhooks";
const STATUSES = ["pending", "succeeded", "failed"] as const;
const IdParams = v.strictObject({ id: v.pipe(v.string(), v.description("The webhook's.")) });
const DeliveryParams = v.strictObject({
  ...IdParams.entries,
  delivery_id: v.pipe(v.string(), v.description("The delivery's, as the log shows it.")),
});
const nullable = <S extends v.GenericSchema>(schema: S, description: string) =>
  v.pipe(v.nullable(schema), v.description(description));
const instant = v.pipe(v.string(), v.isoTimestamp());

const deliveryEntries = {
  id: v.string(),
  event_id: v.pipe(v.string(), v.description("The `webhook-id` of every attempt.")),
  event_type: v.pipe(v.string(), v.description("What happened, e.g. `bulk.completed`.")),
  status: v.pipe(v.picklist(STATUSES), v.description("`failed`: given up.")),
  attempts: v.pipe(v.number(), v.integer(), v.minValue(0), v.description("How often it was tried.")),
  response_status: nullable(v.pipe(v.number(), v.integer()), "Of the last attempt; null: no answer came."),
  error: nullable(
    v.picklist(SHOWN_ERRORS),
    "Why the last attempt failed, or why there was none. `connection_failed`: no connection, for whatever cause; " +
      "`address_not_allowed`: the host has an address that is not public.",
  ),
  duration_ms: nullable(v.pipe(v.number(), v.integer()), "Of the last attempt, in milliseconds."),
  next_attempt_at: nullable(instant, "The latest time of the next attempt; null when there is none to come."),
  created_at: instant,
  last_attempt_at: nullable(instant, "Null: none yet."),
};
const DeliverySchema = named("WebhookDelivery", v.object(deliveryEntries));

const DeliveryExchangeSchema = named(
  "WebhookDeliveryExchange",
  v.object({
    ...deliveryEntries,
    request_body: v.pipe(v.string(), v.description("The body that is sent, the same bytes at each attempt.")),
    response_body: nullable(
      v.string(),
      `Of the last attempt: the first ${LIMITS.webhooks.responseBodyKeptBytes} bytes, as text, without control ` +
        "characters and what is not UTF-8. Null: no answer came. A release before this field records none.",
    ),
  }),
);

const example: WebhookDelivery = {
  id: "dlv_01h455vb4pex5vsknk084sn02q",
  event_id: "evt_01h455vb4pex5vsknk084sn02q",
  event_type: "bulk.completed",
  status: "pending",
  attempts: 1,
  response_status: 503,
  error: "refused",
  duration_ms: 84,
  next_attempt_at: "2026-01-01T00:00:05.000Z",
  created_at: "2026-01-01T00:00:00.000Z",
  last_attempt_at: "2026-01-01T00:00:00.000Z",
};

const DAYS_KEPT = LIMITS.webhooks.keptMs / 86_400_000;

const EventSchema = v.object({
  id: v.pipe(v.string(), v.description("The `webhook-id` of its deliveries, `evt_…`.")),
  type: v.pipe(v.string(), v.description("What has happened, e.g. `bulk.completed`.")),
  timestamp: v.pipe(instant, v.description("When it happened.")),
  livemode: v.pipe(v.boolean(), v.description("False for what test keys have done.")),
  data: v.pipe(
    v.record(v.string(), v.unknown()),
    v.description("By type: see the webhooks of this document."),
  ),
});

const eventExample: MessageBody = {
  id: example.event_id,
  type: "ping",
  timestamp: example.created_at,
  livemode: true,
  data: { webhook_id: "wh_01h455vb4pex5vsknk084sn02q" },
};

const MANUAL =
  `A webhook takes ${LIMITS.webhooks.manualPerHour} pings and redeliveries an hour, ` +
  `a team ${LIMITS.webhooks.manualPerTeamHour}; those of test webhooks are counted apart.`;
const MANUAL_ERRORS = [
  "not_found",
  "unavailable_in_tier",
  "webhook_disabled",
  "limit_reached",
  "rate_limited",
  "feature_unconfigured",
] as const;

export function createWebhookDeliveryRoutes(deliveries: WebhookDeliveries): Route[] {
  return [eventsRoute, listRoute, findRoute, pingRoute, redeliverRoute].map((route) => route(deliveries));
}

function eventsRoute(deliveries: WebhookDeliveries): Route {
  return teamRoute({
    method: "GET",
    path: "/v1/events",
    operationId: "listEvents",
    summary: "List what has happened",
    description:
      `Newest first, for ${DAYS_KEPT} days: what the team's webhooks are told of, each entry as the body of its deliveries. ` +
      "A test key sees those of test keys only. An entry may appear behind a newer one for some seconds: a program that asks " +
      "again and again should look back a minute, and knows repeats by their `id`.",
    tag: TAG,
    role: "member",
    rate: "read",
    feature: "webhooks",
    errors: [],
    query: v.strictObject({
      ...PageQueryEntries,
      type: v.optional(
        v.pipe(
          v.picklist(EVENT_TYPES, `must be one of ${EVENT_TYPES.join(", ")}`),
          v.description("Only events of this type."),
        ),
      ),
    }),
    success: pageSuccess("A page of the events", EventSchema, [eventExample]),
    handler: ({ query }, actor) =>
      deliveries.events(actor, { ...readPageRequest(query), type: query.type ?? null }),
  });
}

function listRoute(deliveries: WebhookDeliveries): Route {
  return teamRoute({
    method: "GET",
    path: "/v1/webhooks/{id}/deliveries",
    operationId: "listWebhookDeliveries",
    summary: "List what a webhook was sent",
    description: `Newest first, for ${DAYS_KEPT} days.`,
    tag: TAG,
    role: "member",
    rate: "read",
    errors: ["not_found"],
    params: IdParams,
    query: v.strictObject({
      ...PageQueryEntries,
      status: v.optional(
        v.pipe(
          v.picklist(STATUSES, `must be one of ${STATUSES.join(", ")}`),
          v.description("Only deliveries of this status."),
        ),
      ),
    }),
    success: pageSuccess("A page of the deliveries", DeliverySchema, [example]),
    handler: ({ params, query }, actor) =>
      deliveries.list(actor, params.id, { ...readPageRequest(query), status: query.status ?? null }),
  });
}

function findRoute(deliveries: WebhookDeliveries): Route {
  return teamRoute({
    method: "GET",
    path: "/v1/webhooks/{id}/deliveries/{delivery_id}",
    operationId: "getWebhookDelivery",
    summary: "Get a delivery with what was sent and answered",
    description: `What the receiver answered is kept as long as the delivery: ${DAYS_KEPT} days.`,
    tag: TAG,
    role: "member",
    rate: "read",
    errors: ["not_found"],
    params: DeliveryParams,
    success: {
      status: 200,
      description: "The delivery, with the bodies of request and answer",
      schema: DeliveryExchangeSchema,
      example: {
        ...example,
        request_body: JSON.stringify(eventExample),
        response_body: '{"error":"maintenance until 06:00"}\n',
      },
    },
    handler: ({ params }, actor) => deliveries.find(actor, params.id, params.delivery_id),
  });
}

function pingRoute(deliveries: WebhookDeliveries): Route {
  return teamRoute({
    method: "POST",
    path: "/v1/webhooks/{id}/ping",
    operationId: "pingWebhook",
    summary: "Send a webhook an event `ping`",
    description: `Whatever it is subscribed to; no other webhook hears of it. ${MANUAL}`,
    tag: TAG,
    role: "admin",
    rate: "write",
    errors: MANUAL_ERRORS,
    params: IdParams,
    success: {
      status: 202,
      description: "The event is on its way",
      schema: named(
        "WebhookPing",
        v.object({ event_id: v.pipe(v.string(), v.description("The `webhook-id` of what comes.")) }),
      ),
      example: { event_id: example.event_id },
    },
    handler: ({ params }, actor) => deliveries.ping(actor, params.id),
  });
}

function redeliverRoute(deliveries: WebhookDeliveries): Route {
  return teamRoute({
    method: "POST",
    path: "/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver",
    operationId: "redeliverWebhookDelivery",
    summary: "Send an event again",
    description: `A further delivery of the same event, however the first one ended: same \`webhook-id\`. Not once the event is older than the log goes back. ${MANUAL}`,
    tag: TAG,
    role: "admin",
    rate: "write",
    errors: [...MANUAL_ERRORS, "event_expired"],
    params: DeliveryParams,
    success: {
      status: 202,
      description: "The new delivery",
      schema: DeliverySchema,
      example: {
        ...example,
        attempts: 0,
        response_status: null,
        error: null,
        duration_ms: null,
        last_attempt_at: null,
      },
    },
    handler: ({ params }, actor) => deliveries.redeliver(actor, params.id, params.delivery_id),
  });
}
