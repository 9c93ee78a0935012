/** The tier table of the product: the only place that defines the rights and limits of a tier. */
export const TIERS = ["free", "starter", "pro", "pro_plus", "enterprise"] as const;
export type Tier = (typeof TIERS)[number];

export interface TierLimits {
  /** Verifications a UTC day, single and bulk together. */
  dailyQuota: number;
  /** Single verifications a second, sustained. */
  ratePerS: number;
  /** Burst of single verifications. */
  rateBurst: number;
  /** Read requests a second, sustained; and their burst. */
  readsPerS: number;
  readsBurst: number;
  /** Write requests, likewise. */
  writesPerS: number;
  writesBurst: number;
  /** Maximum bytes of a bulk source; 0: no bulk. */
  bulkBytes: number;
  historyDays: number;
  /** Allows a fresh check with `refresh=true`. */
  refresh: boolean;
  /** Allows outbound webhooks. */
  webhooks: boolean;
  /** Mailboxes are probed by SMTP: required for the verdict `valid`. */
  probing: boolean;
}

const MB = 1_000_000;
const GB = 1_000 * MB;

export const TIER_LIMITS: Record<Tier, TierLimits> = {
  free: {
    dailyQuota: 100,
    ratePerS: 2,
    rateBurst: 10,
    readsPerS: 20,
    readsBurst: 100,
    writesPerS: 5,
    writesBurst: 50,
    bulkBytes: 0,
    historyDays: 7,
    refresh: false,
    webhooks: false,
    probing: false,
  },
  starter: {
    dailyQuota: 10_000,
    ratePerS: 10,
    rateBurst: 50,
    readsPerS: 30,
    readsBurst: 150,
    writesPerS: 10,
    writesBurst: 100,
    bulkBytes: 5 * MB,
    historyDays: 30,
    refresh: false,
    webhooks: true,
    probing: false,
  },
  pro: {
    dailyQuota: 250_000,
    ratePerS: 50,
    rateBurst: 200,
    readsPerS: 50,
    readsBurst: 250,
    writesPerS: 20,
    writesBurst: 200,
    bulkBytes: 100 * MB,
    historyDays: 90,
    refresh: true,
    webhooks: true,
    probing: false,
  },
  pro_plus: {
    dailyQuota: 2_000_000,
    ratePerS: 250,
    rateBurst: 1_000,
    readsPerS: 100,
    readsBurst: 500,
    writesPerS: 50,
    writesBurst: 500,
    bulkBytes: GB,
    historyDays: 365,
    refresh: true,
    webhooks: true,
    probing: true,
  },
  enterprise: {
    dailyQuota: 50_000_000,
    ratePerS: 5_000,
    rateBurst: 10_000,
    readsPerS: 500,
    readsBurst: 2_500,
    writesPerS: 200,
    writesBurst: 2_000,
    bulkBytes: 20 * GB,
    historyDays: 365,
    refresh: true,
    webhooks: true,
    probing: true,
  },
};

/** The limits of a team: its tier's, with the operator's overrides on top. */
export function effectiveLimits(tier: Tier, overrides: Partial<TierLimits>): TierLimits {
  return { ...TIER_LIMITS[tier], ...overrides };
}
