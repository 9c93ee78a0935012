import type { operations } from "../api/schema.d.ts";

type Answer<Name extends keyof operations> = operations[Name]["responses"] extends {
  200: { content: { "application/json": infer Body } };
}
  ? Body
  : never;
export type Webhook = Answer<"listWebhooks">["data"][number];
export type Delivery = Answer<"listWebhookDeliveries">["data"][number];
export type EventType = Webhook["events"][number];

/** Description of every event. `ping` is sent on demand only, and cannot be deselected. */
export const EVENTS: Readonly<Record<EventType, string>> = {
  "bulk.completed": "A list is done, and its results are there.",
  "bulk.failed": "A list could not be verified, and why.",
  "bulk.cancelled": "A list was cancelled.",
  "quota.threshold_reached": "80% or all of the day's quota is used.",
  "team.member_joined": "A member has joined the team.",
  "disposable.merged": "Domains that were marked as disposable are in effect from now on.",
  ping: "A trial, sent when you ask for it.",
};

/** Events to choose from, in their order. */
export const CHOICES = (Object.keys(EVENTS) as EventType[]).filter((event) => event !== "ping");

/** Why a webhook receives nothing, and what to do before it is enabled again. */
export const DISABLED: Readonly<Record<NonNullable<Webhook["disabled_reason"]>, string>> = {
  gone: "It answered 410 Gone, which asks for no more. Enable it once something listens there again.",
  failing:
    "Nothing reached it for days. Mend the receiver, then enable it: what was given up is not sent by itself.",
  by_user: "A member of the team disabled it.",
};

export const STATUSES: Readonly<Record<Delivery["status"], string>> = {
  pending: "waiting",
  succeeded: "delivered",
  failed: "given up",
};

/** Reasons why an attempt failed, and what to check. */
export const DELIVERY_ERRORS_IN_WORDS: Readonly<Record<NonNullable<Delivery["error"]>, string>> = {
  invalid_url: "The URL cannot be used.",
  host_not_found: "The DNS does not know the host.",
  dns_failure: "The DNS did not answer for the host.",
  address_not_allowed: "The host has an address that is not public.",
  connection_failed: "No connection: is anything listening, and does the firewall let us in?",
  tls_failure: "TLS failed: look at the certificate.",
  timeout: "No answer in time: answer first, work later.",
  connection_closed: "The connection was closed before the answer.",
  invalid_response: "The answer was not HTTP.",
  refused: "The answer was no success.",
  redirected: "It answered a redirect, which is not followed: give the final URL.",
  gone: "It answered 410 Gone, so the webhook was disabled.",
  webhook_disabled: "The webhook was disabled.",
  unavailable_in_tier: "The team's plan has no webhooks any more.",
  backlog_full: "Too many were waiting already.",
  secret_unreadable: "The signing secret cannot be read: give the webhook a new one.",
  internal_error: "A fault of ours.",
};
