import type { BillingConfig, BillingPlan } from "../../core/config.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Tier } from "../../core/tiers.ts";
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

/**
 * What an event adds to what is known. The newest wins, by Stripe's second; within one second the later status does, and
 * the truth is asked for.
 */
export function mergeEvent(
  known: SubscriptionRow | null,
  seen: SeenSubscription,
  atS: number,
  plans: Plans,
): Merged {
  const row = rowOf(known, seen, plans, { stateAtS: atS, readAt: known?.readAt ?? null });
  if (known === null) return { row, reread: false };
  if (atS < known.stateAtS) return { row: null, reread: false };
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
  return rowOf(known, seen, plans, { stateAtS: known?.stateAtS ?? seen.createdS, readAt });
}

function rowOf(
  known: SubscriptionRow | null,
  seen: SeenSubscription,
  plans: Plans,
  when: Pick<SubscriptionRow, "stateAtS" | "readAt">,
): SubscriptionRow {
  const { id, status, priceId, createdS, periodEndS, cancelAtPeriodEnd } = seen;
  const plan = planOf({ priceId, plan: known?.plan ?? seen.sold }, plans);
  return { id, status, priceId, plan, createdS, periodEndS, cancelAtPeriodEnd, ...when };
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

/** The one that counts: in good standing before suspended, then the earliest. null: none does. */
function keptOf<S extends Pick<SubscriptionRow, "id" | "status" | "createdS">>(all: readonly S[]): S | null {
  const inOrder = [...all].sort((a, b) => a.createdS - b.createdS || (a.id < b.id ? -1 : 1));
  const first = (standing: Standing) => inOrder.find((one) => standingOf(one.status) === standing);
  return first("good") ?? first("suspended") ?? null;
}

/** Beside a subscription in good standing, those that must not go on: a team pays once. */
export function surplusOf<S extends Pick<SubscriptionRow, "id" | "status" | "createdS">>(
  all: readonly S[],
): S[] {
  const kept = keptOf(all);
  if (kept === null || standingOf(kept.status) !== "good") return [];
  return all.filter((one) => one.id !== kept.id && standingOf(one.status) !== "ended");
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
  const kept = keptOf(all);
  const tierOr = (tier: Tier): Tier => (team.tier === "enterprise" ? "enterprise" : tier);
  if (kept !== null) {
    if (standingOf(kept.status) === "suspended")
      return { tier: tierOr("free"), subscriptionId: kept.id, unknownPrice: null };
    const plan = planOf(kept, plans);
    const tier = plan === null ? team.tier : tierOr(plan.tier);
    return { tier, subscriptionId: kept.id, unknownPrice: plan === null ? (kept.priceId ?? "") : null };
  }
  const followed = all.find((one) => one.id === team.subscriptionId);
  if (followed !== undefined && standingOf(followed.status) === "ended")
    return { tier: tierOr("free"), subscriptionId: null, unknownPrice: null };
  return { tier: team.tier, subscriptionId: team.subscriptionId, unknownPrice: null };
}
