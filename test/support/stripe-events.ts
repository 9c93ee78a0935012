import { Stripe } from "stripe";

export const WEBHOOK_SECRET = "whsec_mock_0123456789";

export const PRICES = {
  STRIPE_PRICE_STARTER_MONTH: "price_starter_month",
  STRIPE_PRICE_STARTER_YEAR: "price_starter_year",
  STRIPE_PRICE_PRO_MONTH: "price_pro_month",
  STRIPE_PRICE_PRO_PLUS_MONTH: "price_pro_plus_month",
};

export interface MockSubscription {
  id: string;
  object: "subscription";
  customer: string;
  status: string;
  created: number;
  cancel_at_period_end: boolean;
  items: { object: "list"; data: { id: string; price: { id: string }; current_period_end: number }[] };
  metadata: Record<string, string>;
}

export interface NewSubscription {
  id: string;
  customer: string;
  status?: string;
  price?: string;
  created?: number;
  teamId?: string;
}

export const MONTH_S = 30 * 86_400;

export function subscriptionObject(given: NewSubscription): MockSubscription {
  const { id, customer, status = "active", price = "price_pro_month", created = 1_000, teamId } = given;
  return {
    id,
    object: "subscription",
    customer,
    status,
    created,
    cancel_at_period_end: false,
    items: {
      object: "list",
      data: [{ id: `si_${id}`, price: { id: price }, current_period_end: created + MONTH_S }],
    },
    metadata: teamId === undefined ? {} : { team_id: teamId },
  };
}

export interface MockEvent {
  id: string;
  object: "event";
  type: string;
  created: number;
  livemode: boolean;
  data: { object: Record<string, unknown> };
}

let events = 0;

/** @param object its present state. @param created seconds of Stripe's clock */
export function eventObject(type: string, object: object, created: number): MockEvent {
  events += 1;
  return {
    id: `evt_${events}`,
    object: "event",
    type,
    created,
    livemode: false,
    data: { object: { ...object } },
  };
}

/** The headers of a body signed as Stripe does. */
export function signedHeaders(
  payload: string,
  { secret = WEBHOOK_SECRET, atMs = Date.now() }: { secret?: string; atMs?: number } = {},
): Record<string, string> {
  const timestamp = Math.floor(atMs / 1000);
  return { "Stripe-Signature": Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp }) };
}
