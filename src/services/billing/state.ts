import type { BillingConfig, BillingPlan } from "../../core/config.ts";
import { LIMITS } from "../../core/limits.ts";
import { TIERS, type Tier } from "../../core/tiers.ts";
import type { SubscriptionRow, TeamBilling } from "../../store/billing.ts";

/** What follows from what Stripe says of subscriptions. Pure: the tests put every order of events to it. */

/** A subscription as an event or an answer of the API shows it. */
export interface SeenSubscription {
  id: string;
  customerId: string;
  /** The team that its metadata names; null: none. */
  teamId: string | null;
  status: string;
  priceId: string | null;
  /** What its metadata says that it was sold as; null: nothing. */
  sold: BillingPlan | null;
  createdS: number;
  periodEndS: number | null;
  cancelAtPeriodEnd: boolean;
}

/** What is for sale, by price. */
export type Plans = BillingConfig["prices"];

/**
 * From the first status of a subscription to its last, as far as there is an order: of two events of one second the
 * later status wins.
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

/** `good`: the team has what it pays for. `suspended`: it pays no more and may again. `pending`: not yet, or unheard of. */
export type Standing = "pending" | "good" | "suspended" | "ended";

export function standingOf(status: string): Standing {
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
  /** Subscriptions that were found to be the team's before. */
  known: readonly string[];
}

/**
 * The team's with this service: known as that, whatever became of its price or metadata since; or it names the team; or
 * it names none and is for sale. A customer may buy other things too.
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

export interface Merged {
  /** What is known now; null: as before. */
  row: SubscriptionRow | null;
  /** The order of events left it open: Stripe must be asked. */
  reread: boolean;
}

/** When an event happened, and when it came; seconds of Stripe's clock and of ours. */
export interface EventTime {
  atS: number;
  nowS: number;
}

/** Whether a second is further ahead than clocks differ. Such an event proves nothing: Stripe is asked instead. */
export function isAhead({ atS, nowS }: EventTime): boolean {
  return atS > nowS + LIMITS.billing.eventLeadS;
}

/**
 * What an event adds to what is known. The newest wins, by Stripe's second; within one second the later status does, and
 * the truth is asked for. One from the future changes nothing: it would outlast all that really happens until then.
 */
export function mergeEvent(
  known: SubscriptionRow | null,
  seen: SeenSubscription,
  { atS, nowS }: EventTime,
  plans: Plans,
): Merged {
  if (isAhead({ atS, nowS })) return { row: null, reread: true };
  const row = rowOf(known, seen, plans, { stateAtS: atS, readAt: known?.readAt ?? null });
  // Nothing but its price shows whose it is: events of it that had another price may have been passed over.
  if (known === null) return { row, reread: seen.teamId === null };
  // What is known cannot be dated so; the read sets it right.
  if (isAhead({ atS: known.stateAtS, nowS })) return { row: null, reread: true };
  if (atS < known.stateAtS) return { row: withEarlierPlan(known, seen, atS, plans), reread: false };
  if (atS > known.stateAtS) {
    const revived = standingOf(known.status) === "ended" && standingOf(seen.status) !== "ended";
    return { row, reread: revived || mayPrecedeRead(known, atS) };
  }
  if (isSameState(known, row)) return { row: null, reread: false };
  const later = STATUSES.indexOf(seen.status) >= STATUSES.indexOf(known.status);
  return { row: later ? row : null, reread: true };
}

/** What a read, begun at `readAt`, makes of what is known. Whoever calls has made sure that no event came in between. */
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

/** An event that comes late may still tell what the price meant before it became one that is not for sale. */
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

/** What a subscription gives: by its price, by what was known before where that is not for sale (any more). */
export function planOf(
  { priceId, plan }: Pick<SubscriptionRow, "priceId" | "plan">,
  plans: Plans,
): BillingPlan | null {
  return (priceId === null ? undefined : plans.get(priceId)) ?? plan;
}

/** An event from before a read may arrive after it. The margin is for our clock, which is not Stripe's. */
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

type Ranked = Pick<SubscriptionRow, "id" | "status" | "createdS" | "priceId" | "plan">;

/** Whether the first counts rather than the second: by a price for sale, then the better tier, then the earlier. */
function inRank(plans: Plans): (a: Ranked, b: Ranked) => number {
  const rankOf = (one: Ranked) => {
    const plan = planOf(one, plans);
    if (plan === null) return -1;
    return TIERS.indexOf(plan.tier) + (isForSale(one, plans) ? TIERS.length : 0);
  };
  return (a, b) => rankOf(b) - rankOf(a) || a.createdS - b.createdS || (a.id < b.id ? -1 : 1);
}

/**
 * The one that counts. What gives a tier goes before what gives none, whatever their states: a stranger's price is no
 * reason to end or to keep what is paid here. Then good standing goes before suspended. null: none counts.
 */
function keptOf<S extends Ranked>(all: readonly S[], plans: Plans): S | null {
  const ranked = [...all].sort(inRank(plans));
  for (const gives of [true, false])
    for (const standing of ["good", "suspended"])
      for (const one of ranked)
        if ((planOf(one, plans) !== null) === gives && standingOf(one.status) === standing) return one;
  return null;
}

/** All that give a tier when several do, the one that counts first: the team pays more than once. Else none. */
export function paidTwice<S extends Ranked>(all: readonly S[], plans: Plans): S[] {
  const paid = all.filter((one) => standingOf(one.status) === "good" && planOf(one, plans) !== null);
  return paid.length < 2 ? [] : paid.sort(inRank(plans));
}

export interface Settled {
  tier: Tier;
  subscriptionId: string | null;
  /** Of the subscription that counts, when nothing tells what it gives: the tier stays. */
  unknownPrice: string | null;
}

/**
 * The tier that the team's subscriptions make, and which of them it follows. Without one that counts, and where none has
 * ended that it followed, nothing changes: a tier that the operator set stays. `enterprise` is never sold, so nothing
 * that happens at Stripe takes it away.
 */
export function settle(
  team: Pick<TeamBilling, "tier" | "subscriptionId">,
  all: readonly SubscriptionRow[],
  plans: Plans,
): Settled {
  const kept = keptOf(all, plans);
  const plan = kept === null ? null : planOf(kept, plans);
  const to = (tier: Tier, subscriptionId: string | null, unknownPrice: string | null = null): Settled => ({
    tier: team.tier === "enterprise" ? "enterprise" : tier,
    subscriptionId,
    unknownPrice,
  });
  if (kept !== null && plan !== null)
    return to(standingOf(kept.status) === "good" ? plan.tier : "free", kept.id);
  const followed = all.find((one) => one.id === team.subscriptionId) ?? null;
  const hasEnded = followed !== null && standingOf(followed.status) === "ended";
  if (kept === null) return hasEnded ? to("free", null) : to(team.tier, team.subscriptionId);
  // What gives no tier takes the place of what does only when that has ended.
  if (followed !== null && !hasEnded && planOf(followed, plans) !== null) return to(team.tier, followed.id);
  const tier = hasEnded || standingOf(kept.status) === "suspended" ? "free" : team.tier;
  return to(tier, kept.id, standingOf(kept.status) === "good" ? (kept.priceId ?? "") : null);
}
