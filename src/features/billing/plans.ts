import type { BillingConfig, BillingInterval } from "../../config/config.ts";
import { TIER_LIMITS, TIERS, type Tier } from "../../config/tiers.ts";
import { type TeamLimits, teamLimits } from "../identity/team-limits.ts";

/** A tier as shown to customers who choose one. */
export interface Plan extends TeamLimits {
  tier: Tier;
  /** How it can be paid here; empty: it cannot be bought. */
  intervals: BillingInterval[];
}

/** Every tier of the tier table, smallest first. @param billing null: nothing is sold */
export function listPlans(billing: Pick<BillingConfig, "prices"> | null): Plan[] {
  const sold = [...(billing?.prices.values() ?? [])];
  return TIERS.map((tier) => ({
    tier,
    ...teamLimits(TIER_LIMITS[tier]),
    intervals: sold.filter((plan) => plan.tier === tier).map(({ interval }) => interval),
  }));
}
