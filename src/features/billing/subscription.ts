import * as v from "valibot";
import type { BillingPlan } from "../../config/config.ts";
import type { SeenSubscription } from "./state.ts";

/** The parts of Stripe's objects that are read; events and answers of the API have the same objects. */

/** Never a control character: Postgres would reject a NUL. */
const id = v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,255}$/, "must be an id"));
/** Until the year 9999. */
const seconds = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(253_402_300_799));
/** An id, or the object with that id. */
const reference = v.pipe(
  v.union([id, v.object({ id })]),
  v.transform((one) => (typeof one === "string" ? one : one.id)),
);
const metadata = v.optional(v.nullable(v.record(v.string(), v.string())));

/** The metadata of objects that we created. */
const SoldSchema = v.object({
  team_id: v.string(),
  tier: v.picklist(["starter", "pro", "pro_plus"]),
  interval: v.picklist(["month", "year"]),
});

/** The sold plan; null: the metadata is not ours. */
function readSold(given: unknown): BillingPlan | null {
  const sold = v.safeParse(SoldSchema, given);
  return sold.success ? { tier: sold.output.tier, interval: sold.output.interval } : null;
}

const ItemSchema = v.object({
  price: v.optional(v.nullable(v.object({ id }))),
  current_period_end: v.optional(v.nullable(seconds)),
});

const SubscriptionSchema = v.object({
  id,
  customer: reference,
  status: v.pipe(v.string(), v.regex(/^[a-z_]{1,50}$/, "must be a status")),
  created: seconds,
  cancel_at_period_end: v.optional(v.boolean(), false),
  // Stripe's versions before 2025-03-31 have it on the subscription, later ones on its items.
  current_period_end: v.optional(v.nullable(seconds)),
  items: v.object({ data: v.array(ItemSchema) }),
  metadata,
});

/**
 * Reads a subscription.
 * @param isForSale chooses the known price among several
 * @throws ValiError when it is not a subscription
 */
export function readSubscription(object: unknown, isForSale: (priceId: string) => boolean): SeenSubscription {
  const seen = v.parse(SubscriptionSchema, object);
  const priced = seen.items.data.filter((one) => one.price);
  const item = priced.find((one) => isForSale(one.price?.id ?? "")) ?? priced[0];
  return {
    id: seen.id,
    customerId: seen.customer,
    teamId: seen.metadata?.team_id ?? null,
    status: seen.status,
    priceId: item?.price?.id ?? null,
    sold: readSold(seen.metadata),
    createdS: seen.created,
    periodEndS: item?.current_period_end ?? seen.current_period_end ?? null,
    cancelAtPeriodEnd: seen.cancel_at_period_end,
  };
}

const CheckoutSchema = v.object({
  id,
  url: v.optional(v.nullable(v.string())),
  customer: v.nullable(reference),
  subscription: v.optional(v.nullable(reference)),
  client_reference_id: v.optional(v.nullable(v.string())),
  payment_status: v.optional(v.string()),
  created: seconds,
  metadata,
});

export interface SeenCheckout {
  id: string;
  /** null once it is no longer open. */
  url: string | null;
  customerId: string | null;
  subscriptionId: string | null;
  teamId: string | null;
  /** Price id recorded when we created it; null: we did not create it. */
  priceId: string | null;
  sold: BillingPlan | null;
  paid: boolean;
  createdS: number;
}

/** Reads a Checkout session. @throws ValiError when it is not one */
export function readCheckout(object: unknown): SeenCheckout {
  const seen = v.parse(CheckoutSchema, object);
  return {
    id: seen.id,
    url: seen.url ?? null,
    customerId: seen.customer,
    subscriptionId: seen.subscription ?? null,
    teamId: seen.client_reference_id ?? null,
    priceId: seen.metadata?.price_id ?? null,
    sold: readSold(seen.metadata),
    paid: seen.payment_status === "paid" || seen.payment_status === "no_payment_required",
    createdS: seen.created,
  };
}

/** The customer of an object of any other kind; null: it names none. */
export function readCustomer(object: unknown): string | null {
  const seen = v.safeParse(v.object({ customer: reference }), object);
  return seen.success ? seen.output.customer : null;
}
