import type { Logger } from "../../platform/log.ts";
import type { Transaction } from "../../stores/postgres/postgres.ts";
import { type Plans, paidTwice, settleTier } from "./state.ts";
import { listTeamSubscriptions, setTierAndSubscription, type TeamBilling } from "./subscription-sql.ts";

/** The inputs of settling, and the callbacks for the operator. */
export interface SettleDeps {
  plans: Plans;
  log: Logger;
  /** A team pays for more than one subscription. */
  onPaidTwice(): void;
}

/**
 * Sets the team's tier according to its subscriptions. The caller holds the team's lock. If several grant a tier, the best
 * counts. No subscription is cancelled for that: the customer or the operator must end a paid one.
 */
export async function settleTeam(
  tx: Transaction,
  team: TeamBilling,
  { plans, log, onPaidTwice }: SettleDeps,
): Promise<void> {
  const all = await listTeamSubscriptions(tx, team.id);
  const { tier, subscriptionId, unknownPrice } = settleTier(team, all, plans);
  if (unknownPrice !== null)
    log.warn({ team: team.id, price: unknownPrice }, "a team's price is not configured: keeping its tier");
  const [counts, ...others] = paidTwice(all, plans);
  if (counts !== undefined) {
    const beside = others.map(({ id }) => id);
    log.warn(
      { team: team.id, subscription: counts.id, beside },
      "a team pays for more than one subscription: the best one counts; cancel the others at Stripe",
    );
    onPaidTwice();
  }
  if (tier !== team.tier || subscriptionId !== team.subscriptionId)
    await setTierAndSubscription(tx, { id: team.id, tier, subscriptionId });
}
