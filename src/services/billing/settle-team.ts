import type { Logger } from "../../core/log.ts";
import { setTierAndSubscription, subscriptionsOf, type TeamBilling } from "../../store/billing.ts";
import type { Transaction } from "../../store/postgres.ts";
import { type Plans, settle, surplusOf } from "./state.ts";

/** Brings the team's tier in line with its subscriptions. The caller holds the team's lock. */
export async function settleTeam(
  tx: Transaction,
  team: TeamBilling,
  { plans, log }: { plans: Plans; log: Logger },
): Promise<{ surplus: boolean }> {
  const all = await subscriptionsOf(tx, team.id);
  const { tier, subscriptionId, unknownPrice } = settle(team, all, plans);
  if (unknownPrice !== null)
    log.warn({ team: team.id, price: unknownPrice }, "a team's price is not configured: its tier stays");
  if (tier !== team.tier || subscriptionId !== team.subscriptionId)
    await setTierAndSubscription(tx, { id: team.id, tier, subscriptionId });
  return { surplus: surplusOf(all).length > 0 };
}
