import type { BillingConfig, BillingInterval } from "../../config/config.ts";
import { TIER_LIMITS, TIERS, type Tier } from "../../config/tiers.ts";

/** A tier as shown to customers who choose one. */
export interface Plan {
  tier: Tier;
  daily_quota: number;
  rate_per_s: number;
  rate_burst: number;
  /** 0: no bulk. */
  bulk_bytes: number;
  history_days: number;
  refresh: boolean;
  webhooks: boolean;
  probing: boolean;
  /** How it can be paid here; empty: it cannot be bought. */
  intervals: BillingInterval[];
}

/** Every tier of the tier table, smallest first. @param billing null: nothing is sold */
export function listPlans(billing: Pick<BillingConfig, "prices"> | null): Plan[] {
  const sold = [...(billing?.prices.values() ?? [])];
  return TIERS.map((tier) => {
    const limits = TIER_LIMITS[tier];
    return {
      tier,
      daily_quota: limits.dailyQuota,
      rate_per_s: limits.ratePerS,
      rate_burst: limits.rateBurst,
      bulk_bytes: limits.bulkBytes,
      history_days: limits.historyDays,
      refresh: limits.refresh,
      webhooks: limits.webhooks,
      probing: limits.probing,
      intervals: sold.filter((plan) => plan.tier === tier).map(({ interval }) => interval),
    };
  });
}
