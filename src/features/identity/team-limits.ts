import type { TierLimits } from "../../config/tiers.ts";

/** Limits of a tier or a team, as clients read them. */
export interface TeamLimits {
  daily_quota: number;
  rate_per_s: number;
  rate_burst: number;
  /** 0: no bulk. */
  bulk_bytes: number;
  history_days: number;
  refresh: boolean;
  webhooks: boolean;
  probing: boolean;
}

export const teamLimits = (limits: TierLimits): TeamLimits => ({
  daily_quota: limits.dailyQuota,
  rate_per_s: limits.ratePerS,
  rate_burst: limits.rateBurst,
  bulk_bytes: limits.bulkBytes,
  history_days: limits.historyDays,
  refresh: limits.refresh,
  webhooks: limits.webhooks,
  probing: limits.probing,
});
