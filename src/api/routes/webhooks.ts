import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import { testSigningSecret } from "../../features/webhooks/signature.ts";
import type { Webhooks } from "../../features/webhooks/webhooks.ts";
import { PageQuerySchema, pageSuccess, readPageRequest } from "../request/paging.ts";
import { type Route, teamRoute } from "../routing/route.ts";
import {
  CreatedWebhookSchema,
  CreateWebhookSchema,
  OLD_SECRET_HOURS,
  SecretSchema,
  secretExample,
  TeamSecretSchema,
  UpdateWebhookSchema,
  WebhookSchema,
  webhookExample,
} from "../schemas/webhook.ts";

const TAG = "webhooks";
const IdParams = v.strictObject({ id: v.string() });
const SIGNED =
  "Each delivery is signed as Standard Webhooks says, in the headers `webhook-id`, `webhook-timestamp` and " +
  "`webhook-signature`. A 2xx answer within " +
  `${LIMITS.webhooks.attemptMs / 1_000} seconds is a success; redirects are not followed; 410 disables the webhook; ` +
  "anything else is tried again after 5 seconds, 1, 5 and 30 minutes, 2, 6 and 12 hours, later where `Retry-After` " +
  `asks for it (at most ${LIMITS.webhooks.retryAfterMaxMs / 3_600_000} hours). An event may come more than once and out ` +
  "of order: `webhook-id` tells repeats.";

export function createWebhookRoutes(webhooks: Webhooks): Route[] {
  return [
    listRoute(webhooks),
    createRoute(webhooks),
    updateRoute(webhooks),
    deleteRoute(webhooks),
    rotateRoute(webhooks),
    teamSecretRoute(webhooks),
  ];
}

function listRoute(webhooks: Webhooks): Route {
  return teamRoute({
    method: "GET",
    path: "/v1/webhooks",
    operationId: "listWebhooks",
    summary: "List the team's webhooks",
    description:
      "Newest first, without their secrets. A live key or a portal session sees and changes both live and test webhooks; a " +
      "test key test ones only, and to it all others are not found.",
    tag: TAG,
    role: "member",
    rate: "read",
    errors: [],
    query: PageQuerySchema,
    success: pageSuccess("A page of the webhooks", WebhookSchema, [webhookExample]),
    handler: ({ query }, actor) => webhooks.list(actor, readPageRequest(query)),
  });
}

function createRoute(webhooks: Webhooks): Route {
  return teamRoute({
    method: "POST",
    path: "/v1/webhooks",
    operationId: "createWebhook",
    summary: "Create a webhook",
    description: `${SIGNED} The webhook of a live key or a portal session is told of live events, that of a test key of what test keys do. The secret is in this answer and in no other. A team may have ${LIMITS.webhooks.perTeam} webhooks, as many test ones, and make ${LIMITS.webhooks.createdPerHour} an hour, and as many test ones.`,
    tag: TAG,
    role: "admin",
    rate: "write",
    idempotent: true,
    secretField: "secret",
    feature: "webhooks",
    errors: ["limit_reached", "rate_limited", "feature_unconfigured"],
    body: CreateWebhookSchema,
    bodyExample: { url: webhookExample.url, events: webhookExample.events },
    success: {
      status: 201,
      description: "The webhook, with its secret",
      schema: CreatedWebhookSchema,
      example: { ...webhookExample, secret: secretExample },
    },
    handler: ({ body }, actor) => webhooks.create(actor, body),
  });
}

function updateRoute(webhooks: Webhooks): Route {
  return teamRoute({
    method: "PATCH",
    path: "/v1/webhooks/{id}",
    operationId: "updateWebhook",
    summary: "Change, disable or enable a webhook",
    description: "Deliveries that wait go to the new URL. What is left out stays as it is.",
    tag: TAG,
    role: "admin",
    rate: "write",
    errors: ["not_found", "unavailable_in_tier"],
    params: IdParams,
    body: UpdateWebhookSchema,
    bodyExample: { status: "enabled" },
    success: {
      status: 200,
      description: "The webhook as it is now",
      schema: WebhookSchema,
      example: webhookExample,
    },
    handler: ({ params, body }, actor) => webhooks.update(actor, params.id, body),
  });
}

function deleteRoute(webhooks: Webhooks): Route {
  return teamRoute({
    method: "DELETE",
    path: "/v1/webhooks/{id}",
    operationId: "deleteWebhook",
    summary: "Delete a webhook",
    description: "Its log goes with it, and what waits is not sent.",
    tag: TAG,
    role: "admin",
    rate: "write",
    errors: ["not_found"],
    params: IdParams,
    success: { status: 204, description: "Deleted", schema: null },
    async handler({ params }, actor) {
      await webhooks.remove(actor, params.id);
      return null;
    },
  });
}

function rotateRoute(webhooks: Webhooks): Route {
  return teamRoute({
    method: "POST",
    path: "/v1/webhooks/{id}/rotate-secret",
    operationId: "rotateWebhookSecret",
    summary: "Give a webhook a new secret",
    description:
      `For ${OLD_SECRET_HOURS} hours deliveries carry a signature by the old secret too: replace it at the receiver in ` +
      "that time. Rotating again ends the time of the one before.",
    tag: TAG,
    role: "admin",
    rate: "write",
    errors: ["not_found", "feature_unconfigured"],
    params: IdParams,
    success: {
      status: 200,
      description: "The new secret",
      schema: SecretSchema,
      example: { secret: secretExample },
    },
    handler: ({ params }, actor) => webhooks.rotateSecret(actor, params.id),
  });
}

function teamSecretRoute(webhooks: Webhooks): Route {
  return teamRoute({
    method: "POST",
    path: "/v1/team/webhook-secret",
    operationId: "rotateTeamWebhookSecret",
    summary: "Make or replace the team's own signing secret",
    description:
      "What the `webhook_url` of a job is signed with: `secret` for live jobs, `test_secret` for those of test keys, so that a test " +
      "key that leaks sends nothing that looks live. Replacing both takes effect at once: what waits is signed with the new ones.",
    tag: TAG,
    role: "admin",
    rate: "write",
    liveOnly: true,
    feature: "webhooks",
    errors: ["feature_unconfigured"],
    success: {
      status: 201,
      description: "The secrets",
      schema: TeamSecretSchema,
      example: { secret: secretExample, test_secret: testSigningSecret(secretExample) },
    },
    handler: (_, actor) => webhooks.rotateTeamSecret(actor),
  });
}
