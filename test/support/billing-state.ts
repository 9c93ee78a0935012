import type { Tier } from "../../src/config/tiers.ts";
import {
  mergeEvent,
  mergeRead,
  type Plans,
  type SeenSubscription,
  settleTier,
} from "../../src/features/billing/state.ts";
import type { SubscriptionRow } from "../../src/features/billing/subscription-sql.ts";

/** A team's subscriptions as billing stores them, without database and Stripe. */

/** Our clock, while all of this happens. */
export const NOW_S = 10_000;
export const at = (atS: number) => ({ atS, nowS: NOW_S });

export const plans: Plans = new Map([
  ["price_s", { tier: "starter", interval: "year" }],
  ["price_p", { tier: "pro", interval: "month" }],
  ["price_pp", { tier: "pro_plus", interval: "month" }],
]);

export function seen(
  id: string,
  status: string,
  priceId: string | null = "price_p",
  createdS = 10,
): SeenSubscription {
  return {
    id,
    customerId: "cus_1",
    teamId: "team_1",
    status,
    priceId,
    sold: null,
    createdS,
    periodEndS: null,
    cancelAtPeriodEnd: false,
  };
}

export function row(id: string, status: string, rest: Partial<SubscriptionRow> = {}): SubscriptionRow {
  return { ...mergeRead(null, seen(id, status), new Date(0), plans), readAt: null, ...rest };
}

/** A team's tier and subscription as the service stores them, without the database. */
export function createTeam(tier: Tier = "free") {
  const rows = new Map<string, SubscriptionRow>();
  const team = { tier, subscriptionId: null as string | null };
  const settleNow = () => {
    const { tier, subscriptionId } = settleTier(team, [...rows.values()], plans);
    Object.assign(team, { tier, subscriptionId });
  };
  let reread = false;
  return {
    team,
    get reread() {
      return reread;
    },
    take(state: SeenSubscription, atS: number) {
      const merged = mergeEvent(rows.get(state.id) ?? null, state, at(atS), plans);
      if (merged.row !== null) rows.set(state.id, merged.row);
      reread ||= merged.reread;
      settleNow();
    },
    read(states: SeenSubscription[]) {
      for (const state of states)
        rows.set(state.id, mergeRead(rows.get(state.id) ?? null, state, new Date(NOW_S * 1000), plans));
      settleNow();
    },
  };
}
