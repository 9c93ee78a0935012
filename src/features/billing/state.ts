import type { BillingConfig, BillingPlan } from "../../config/config.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { TIERS, type Tier } from "../../config/tiers.ts";
import type { SubscriptionRow, TeamBilling } from "./subscription-sql.ts";

/** The consequences of Stripe's reports on subscriptions. Pure functions: the tests try every order of events. */

/** A subscription as an event or an answer of the API shows it. */
export interface SeenSubscription {
  id: string;
  customerId: string;
  /** The team that its metadata names; null: none. */
  teamId: string | null;
  status: string;
  priceId: string | null;
  /** The plan it was sold as, by its metadata; null: unknown. */
  sold: BillingPlan | null;
  createdS: number;
  periodEndS: number | null;
  cancelAtPeriodEnd: boolean;
}

/** Plans for sale, by price. */
export type Plans = BillingConfig["prices"];

/**
 * Statuses from a subscription's first to its last, as far as they have an order: of two events of one second the later
 * status wins.
 */
const STATUSES = [
  "incomplete",
  "trialing",
  "active",
  "past_due",
  "paused",
  "unpaid",
  "incomplete_expired",
  "canceled",
];

/** `good`: the team has its paid plan. `suspended`: payment failed and may resume. `pending`: not yet paid, or unknown. */
export type SubscriptionStanding = "pending" | "good" | "suspended" | "ended";

export function subscriptionStandingOf(status: string): SubscriptionStanding {
  switch (status) {
    case "trialing":
    case "active":
    case "past_due":
      return "good";
    case "paused":
    case "unpaid":
      return "suspended";
    case "incomplete_expired":
    case "canceled":
      return "ended";
    default:
      return "pending";
  }
}

export interface Buyer {
  teamId: string;
  /** Subscriptions already known as the team's. */
  known: readonly string[];
}

/**
 * True when a subscription is the team's for this service: it is already known as that, whatever its price or metadata is
 * now; or it names the team; or it names no team and its price is for sale. A customer may have other subscriptions too.
 */
export function isOurs(
  seen: Pick<SeenSubscription, "id" | "priceId" | "teamId">,
  { teamId, known }: Buyer,
  plans: Plans,
): boolean {
  if (known.includes(seen.id)) return true;
  if (seen.teamId !== null) return seen.teamId === teamId;
  return seen.priceId !== null && plans.has(seen.priceId);
}

export interface MergedSubscription {
  /** The new state; null: unchanged. */
  row: SubscriptionRow | null;
  /** The order of events left it open: Stripe must be asked. */
  reread: boolean;
}

/** Time of an event by Stripe's clock, and of its arrival by ours; seconds. */
export interface EventTime {
  atS: number;
  nowS: number;
}

/** Whether a second is further ahead than clocks differ. Such an event proves nothing: ask Stripe instead. */
export function isInFuture({ atS, nowS }: EventTime): boolean {
  return atS > nowS + LIMITS.billing.eventLeadS;
}

/**
 * Applies an event. The newest wins, by Stripe's second; within one second the later status wins, and Stripe is asked. An
 * event from the future changes nothing: it would override everything that happens until then.
 */
export function mergeEvent(
  known: SubscriptionRow | null,
  seen: SeenSubscription,
  { atS, nowS }: EventTime,
  plans: Plans,
): MergedSubscription {
  if (isInFuture({ atS, nowS })) return { row: null, reread: true };
  const row = rowOf(known, seen, plans, { stateAtS: atS, readAt: known?.readAt ?? null });
  // Only its price shows whose it is: earlier events with another price may have been ignored.
  if (known === null) return { row, reread: seen.teamId === null };
  // The known state has an impossible date; the read corrects it.
  if (isInFuture({ atS: known.stateAtS, nowS })) return { row: null, reread: true };
  if (atS < known.stateAtS) return { row: withEarlierPlan(known, seen, atS, plans), reread: false };
  if (atS > known.stateAtS) {
    const revived =
      subscriptionStandingOf(known.status) === "ended" && subscriptionStandingOf(seen.status) !== "ended";
    return { row, reread: revived || mayPrecedeRead(known, atS) };
  }
  if (isSameState(known, row)) return { row: null, reread: false };
  const later = STATUSES.indexOf(seen.status) >= STATUSES.indexOf(known.status);
  return { row: later ? row : null, reread: true };
}

/** Applies a read that started at `readAt`. The caller has made sure that no event came in between. */
export function mergeRead(
  known: SubscriptionRow | null,
  seen: SeenSubscription,
  readAt: Date,
  plans: Plans,
): SubscriptionRow {
  const latestS = Math.floor(readAt.getTime() / 1000) + LIMITS.billing.eventLeadS;
  const stateAtS = Math.min(known?.stateAtS ?? seen.createdS, latestS);
  return rowOf(known, seen, plans, { stateAtS, readAt });
}

function rowOf(
  known: SubscriptionRow | null,
  seen: SeenSubscription,
  plans: Plans,
  when: Pick<SubscriptionRow, "stateAtS" | "readAt">,
): SubscriptionRow {
  const { id, status, priceId, createdS, periodEndS, cancelAtPeriodEnd } = seen;
  const isSold = isForSale({ priceId }, plans);
  const plan = planOf({ priceId, plan: known?.plan ?? seen.sold }, plans);
  const planAtS = isSold ? when.stateAtS : (known?.planAtS ?? null);
  return { id, status, priceId, plan, planAtS, createdS, periodEndS, cancelAtPeriodEnd, ...when };
}

/** Keeps the known plan if the price is no longer for sale: a late event may still report such a price. */
function withEarlierPlan(
  known: SubscriptionRow,
  seen: SeenSubscription,
  atS: number,
  plans: Plans,
): SubscriptionRow | null {
  const tells = isForSale(seen, plans) && !isForSale(known, plans) && (known.planAtS ?? -1) < atS;
  return tells
    ? { ...known, plan: planOf({ priceId: seen.priceId, plan: null }, plans), planAtS: atS }
    : null;
}

function isForSale({ priceId }: { priceId: string | null }, plans: Plans): boolean {
  return priceId !== null && plans.has(priceId);
}

/** A subscription's plan: by its price, or by the last known plan where the price is not for sale (any more). */
export function planOf(
  { priceId, plan }: Pick<SubscriptionRow, "priceId" | "plan">,
  plans: Plans,
): BillingPlan | null {
  return (priceId === null ? undefined : plans.get(priceId)) ?? plan;
}

/** An event from before a read may arrive after it. The margin is for our clock, which differs from Stripe's. */
function mayPrecedeRead({ readAt }: SubscriptionRow, atS: number): boolean {
  return readAt !== null && atS * 1000 <= readAt.getTime() + LIMITS.billing.clockSkewMs;
}

function isSameState(a: SubscriptionRow, b: SubscriptionRow): boolean {
  return (
    a.status === b.status &&
    a.priceId === b.priceId &&
    a.periodEndS === b.periodEndS &&
    a.cancelAtPeriodEnd === b.cancelAtPeriodEnd
  );
}

type Ranked = Pick<SubscriptionRow, "id" | "status" | "createdS" | "priceId" | "plan" | "planAtS">;

/**
 * Whether the first counts before the second: by a price that is or was for sale, then the better tier, then the earlier. A
 * plan known from metadata alone may be of a foreign subscription.
 */
function inRank(plans: Plans): (a: Ranked, b: Ranked) => number {
  const rankOf = (one: Ranked) => {
    const plan = planOf(one, plans);
    if (plan === null) return -1;
    const isSold = one.planAtS !== null || isForSale(one, plans);
    return TIERS.indexOf(plan.tier) + (isSold ? TIERS.length : 0);
  };
  return (a, b) => rankOf(b) - rankOf(a) || a.createdS - b.createdS || (a.id < b.id ? -1 : 1);
}

/**
 * The subscription that counts. One that grants a tier comes before one that does not, whatever their states: a foreign
 * price must neither end nor replace a paid tier. Then good standing comes before suspended. null: no subscription counts.
 */
function effectiveSubscriptionOf<S extends Ranked>(all: readonly S[], plans: Plans): S | null {
  const ranked = [...all].sort(inRank(plans));
  for (const gives of [true, false])
    for (const standing of ["good", "suspended"])
      for (const one of ranked)
        if ((planOf(one, plans) !== null) === gives && subscriptionStandingOf(one.status) === standing)
          return one;
  return null;
}

/**
 * All subscriptions that grant a tier when several do, the counting one first: the team pays more than once. Otherwise
 * empty.
 */
export function paidTwice<S extends Ranked>(all: readonly S[], plans: Plans): S[] {
  const paid = all.filter(
    (one) => subscriptionStandingOf(one.status) === "good" && planOf(one, plans) !== null,
  );
  return paid.length < 2 ? [] : paid.sort(inRank(plans));
}

export interface SettledTier {
  tier: Tier;
  subscriptionId: string | null;
  /** The price of the counting subscription when its plan is unknown: the tier does not change. */
  unknownPrice: string | null;
}

/**
 * The tier that follows from the team's subscriptions, and the subscription it follows. Without a subscription that counts,
 * the tier remains until the followed one has ended: the operator may have set it. `enterprise` is never sold, so no event
 * at Stripe removes it.
 */
export function settleTier(
  team: Pick<TeamBilling, "tier" | "subscriptionId">,
  all: readonly SubscriptionRow[],
  plans: Plans,
): SettledTier {
  const kept = effectiveSubscriptionOf(all, plans);
  const plan = kept === null ? null : planOf(kept, plans);
  const to = (
    tier: Tier,
    subscriptionId: string | null,
    unknownPrice: string | null = null,
  ): SettledTier => ({
    tier: team.tier === "enterprise" ? "enterprise" : tier,
    subscriptionId,
    unknownPrice,
  });
  if (kept !== null && plan !== null)
    return to(subscriptionStandingOf(kept.status) === "good" ? plan.tier : "free", kept.id);
  const followed = all.find((one) => one.id === team.subscriptionId) ?? null;
  const hasEnded = followed !== null && subscriptionStandingOf(followed.status) === "ended";
  if (kept === null) return hasEnded ? to("free", null) : to(team.tier, team.subscriptionId);
  // A subscription without a tier replaces one with a tier only after that has ended.
  if (followed !== null && !hasEnded && planOf(followed, plans) !== null) return to(team.tier, followed.id);
  const tier = hasEnded || subscriptionStandingOf(kept.status) === "suspended" ? "free" : team.tier;
  return to(tier, kept.id, subscriptionStandingOf(kept.status) === "good" ? (kept.priceId ?? "") : null);
}
