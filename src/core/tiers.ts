/** The tier table of the product: the one place that says what a tier may do and how much. */
export const TIERS = ["free", "starter", "pro", "pro_plus", "enterprise"] as const;
export type Tier = (typeof TIERS)[number];

export interface TierLimits {
  /** Verifications a UTC day, single and bulk together. */
  dailyQuota: number;
  /** Single verifications a second, sustained. */
  ratePerS: number;
  /** Single verifications at once. */
  rateBurst: number;
  /** Requests that only read, a second, sustained; and at once. */
  readsPerS: number;
  readsBurst: number;
  /** Requests that change something, the same. */
  writesPerS: number;
  writesBurst: number;
  /** Largest bulk source in bytes; 0: no bulk at all. */
  bulkBytes: number;
  historyDays: number;
  /** May ask for a fresh check with `refresh=true`. */
  refresh: boolean;
  /** May register outbound webhooks. */
  webhooks: boolean;
  /** Mailboxes are probed by SMTP: hence the verdict `valid`. */
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
