import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Billing } from "../../features/billing/billing.ts";
import type { Route } from "../routing/route.ts";
import { signedRoute, teamRoute } from "../routing/route.ts";
import { tierField } from "../schemas/enums.ts";
import { named } from "../schemas/fields.ts";

const SubscribeSchema = v.strictObject({
  tier: v.pipe(v.picklist(["starter", "pro", "pro_plus"]), v.description("What to subscribe to.")),
  interval: v.optional(
    v.pipe(v.picklist(["month", "year"]), v.description("How often it is paid.")),
    "month",
  ),
});

const CheckoutSchema = named(
  "Checkout",
  v.object({
    checkout_url: v.pipe(
      v.string(),
      v.description("Where the customer goes on: a page of Stripe's, to be opened in a browser."),
    ),
  }),
);

const PortalSchema = named(
  "BillingPortal",
  v.object({
    portal_url: v.pipe(
      v.string(),
      v.description("A page of Stripe's, to be opened in a browser at once: it is good for some minutes."),
    ),
  }),
);

const OverviewSchema = named(
  "Billing",
  v.object({
    tier: tierField("What the team has now, by subscription or by the operator."),
    status: v.pipe(
      v.nullable(v.string()),
      v.description("The subscription's, in Stripe's words (`active`, `past_due` …); null without one."),
    ),
    interval: v.pipe(
      v.nullable(v.picklist(["month", "year"])),
      v.description(
        "How often it is paid; null without a subscription, or with a price that was never sold here.",
      ),
    ),
    current_period_end: v.pipe(
      v.nullable(v.string()),
      v.description("Until when it is paid (ISO 8601, UTC)."),
    ),
    cancel_at_period_end: v.pipe(v.boolean(), v.description("It ends then, and is not renewed.")),
  }),
);

/** No control character: the database takes no NUL. */
const name = (chars: number) =>
  v.pipe(v.string(), v.regex(new RegExp(`^[\\x21-\\x7e]{1,${chars}}$`), `must be 1 to ${chars} characters`));

/** The fields that every event of Stripe has. The others depend on its type, and the service reads them. */
const StripeEventSchema = v.looseObject({
  id: v.pipe(name(255), v.description("`evt_…`: an event is taken once.")),
  type: v.pipe(name(255), v.description("E.g. `customer.subscription.updated`.")),
  created: v.pipe(
    v.number(),
    v.integer(),
    v.minValue(0),
    v.maxValue(253_402_300_799),
    v.description("When it happened, in seconds since the epoch."),
  ),
  data: v.pipe(
    v.looseObject({
      object: v.pipe(
        v.record(v.string(), v.unknown()),
        v.description("What it happened to, by its type, e.g. a subscription."),
      ),
    }),
    v.description("What the event tells."),
  ),
});

const ReceivedSchema = named(
  "StripeEventReceived",
  v.object({
    received: v.pipe(v.literal(true), v.description("Do not send it again.")),
  }),
);
const RECEIVED = { received: true } as const;

export function createBillingRoutes(billing: Billing): Route[] {
  return [
    teamRoute({
      method: "GET",
      path: "/v1/billing",
      operationId: "getBilling",
      summary: "The team's subscription",
      tag: "billing",
      role: "member",
      rate: "read",
      errors: [],
      success: {
        status: 200,
        description: "The subscription",
        schema: OverviewSchema,
        example: {
          tier: "pro",
          status: "active",
          interval: "month",
          current_period_end: "2026-02-01T00:00:00.000Z",
          cancel_at_period_end: false,
        },
      },
      handler: (_input, actor) => billing.overview(actor),
    }),
    teamRoute({
      method: "POST",
      path: "/v1/billing/subscribe",
      operationId: "subscribe",
      summary: "Subscribe the team",
      description:
        "Answers the address of a Checkout page of Stripe's; asked again, that of the same page while it is open. A team " +
        "that has a subscription gets the address of its billing portal instead, where it changes or ends it; " +
        "`POST /v1/billing/portal` leads nowhere else. An enterprise team has nothing to buy.",
      tag: "billing",
      role: "admin",
      rate: "write",
      liveOnly: true,
      idempotent: true,
      errors: ["already_enterprise", "billing_provider_error", "billing_unconfigured"],
      body: SubscribeSchema,
      bodyExample: { tier: "pro", interval: "month" },
      success: {
        status: 200,
        description: "Where to go on",
        schema: CheckoutSchema,
        example: { checkout_url: "https://checkout.stripe.com/c/pay/cs_test_a1b2c3" },
      },
      handler: ({ body }, actor) => billing.subscribe(actor, body),
    }),
    createPortalRoute(billing),
    createStripeRoute(billing),
  ];
}

function createPortalRoute(billing: Billing): Route {
  return teamRoute({
    method: "POST",
    path: "/v1/billing/portal",
    operationId: "openBillingPortal",
    summary: "Manage the team's subscription",
    description:
      "Answers the address of Stripe's billing portal, and never that of a page that sells: there the team changes or " +
      "ends its subscription, whether or not anything is for sale, and sees invoices, also of one that has ended. " +
      "A team that was never at a checkout has nothing there (404). Each call makes a new address.",
    tag: "billing",
    role: "admin",
    rate: "write",
    liveOnly: true,
    errors: ["not_found", "billing_provider_error", "billing_unconfigured"],
    success: {
      status: 200,
      description: "Where to go on",
      schema: PortalSchema,
      example: { portal_url: "https://billing.stripe.com/p/session/test_a1b2c3" },
    },
    handler: (_, actor) => billing.portal(actor),
  });
}

function createStripeRoute(billing: Billing): Route {
  return signedRoute({
    method: "POST",
    path: "/webhooks/stripe",
    operationId: "receiveStripeEvent",
    summary: "Notifications of Stripe",
    description:
      "For Stripe alone, which signs the body in the header `Stripe-Signature`. Every event is taken once, in whatever " +
      "order events come; kinds that say nothing of subscriptions are acknowledged.",
    tag: "billing",
    rate: "none",
    errors: ["billing_unconfigured"],
    query: "ignored",
    bodyBytes: LIMITS.billing.notificationBytes,
    bodyBounds: { members: LIMITS.billing.notificationMembers, values: LIMITS.billing.notificationValues },
    signedBody: StripeEventSchema,
    bodyExample: {
      id: "evt_1PxYzAbC",
      type: "customer.subscription.updated",
      created: 1_767_225_600,
      data: { object: { id: "sub_1PxYzAbC", object: "subscription", status: "active" } },
    },
    success: {
      status: 200,
      description: "Taken, or known already",
      schema: ReceivedSchema,
      example: RECEIVED,
    },
    verify: (bytes, headers) => billing.verify(bytes, headers["stripe-signature"] ?? ""),
    async handler(event) {
      await billing.receive(event);
      return RECEIVED;
    },
  });
}
