import type { Logger } from "../../core/log.ts";
import { setTierAndSubscription, subscriptionsOf, type TeamBilling } from "../../store/billing.ts";
import type { Transaction } from "../../store/postgres.ts";
import { type Plans, paidTwice, settle } from "./state.ts";

/** What settling goes by, and where it tells what the operator has to look at. */
export interface SettleDeps {
  plans: Plans;
  log: Logger;
  /** A team was found to pay for more than one subscription. */
  onPaidTwice(): void;
}

/**
 * Brings the team's tier in line with its subscriptions. The caller holds the team's lock. Where several give a tier the
 * best counts. None is ever cancelled for that: what a customer pays for is for the customer and the operator to end.
 */
export async function settleTeam(
  tx: Transaction,
  team: TeamBilling,
  { plans, log, onPaidTwice }: SettleDeps,
): Promise<void> {
  const all = await subscriptionsOf(tx, team.id);
  const { tier, subscriptionId, unknownPrice } = settle(team, all, plans);
  if (unknownPrice !== null)
    log.warn({ team: team.id, price: unknownPrice }, "a team's price is not configured: its tier stays");
  const [counts, ...others] = paidTwice(all, plans);
  if (counts !== undefined) {
    const beside = others.map(({ id }) => id);
    log.warn(
      { team: team.id, subscription: counts.id, beside },
      "a team pays for more than one subscription: the best counts, end the others at Stripe",
    );
    onPaidTwice();
  }
  if (tier !== team.tier || subscriptionId !== team.subscriptionId)
    await setTierAndSubscription(tx, { id: team.id, tier, subscriptionId });
}
