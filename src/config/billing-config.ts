import { localUrl } from "./local-url.ts";
import type { Settings } from "./setting-conflicts.ts";

export type BillingTier = "starter" | "pro" | "pro_plus";
export type BillingInterval = "month" | "year";

export interface BillingPlan {
  tier: BillingTier;
  interval: BillingInterval;
}

export interface BillingConfig {
  secretKey: string;
  webhookSecret: string;
  /** scheme://host[:port] */
  apiBase: string;
  /** URL of the page that Stripe's pages send the customer back to. */
  returnUrl: string;
  /** Plans for sale, by price id. */
  prices: ReadonlyMap<string, BillingPlan>;
}

/** null: billing is not configured. */
export function readBilling(s: Settings): BillingConfig | null {
  if (s.STRIPE_SECRET_KEY === undefined || s.STRIPE_WEBHOOK_SECRET === undefined) return null;
  const prices: [string | undefined, BillingTier, BillingInterval][] = [
    [s.STRIPE_PRICE_STARTER_MONTH, "starter", "month"],
    [s.STRIPE_PRICE_STARTER_YEAR, "starter", "year"],
    [s.STRIPE_PRICE_PRO_MONTH, "pro", "month"],
    [s.STRIPE_PRICE_PRO_YEAR, "pro", "year"],
    [s.STRIPE_PRICE_PRO_PLUS_MONTH, "pro_plus", "month"],
    [s.STRIPE_PRICE_PRO_PLUS_YEAR, "pro_plus", "year"],
  ];
  const given = prices.flatMap(([id, tier, interval]) =>
    id === undefined ? [] : [[id, { tier, interval }] as const],
  );
  return {
    secretKey: s.STRIPE_SECRET_KEY,
    webhookSecret: s.STRIPE_WEBHOOK_SECRET,
    apiBase: s.STRIPE_API_BASE,
    returnUrl:
      s.STRIPE_RETURN_URL ?? `${(s.PUBLIC_URL ?? localUrl(s.HOST, s.PORT)).replace(/\/$/, "")}/billing`,
    prices: new Map(given),
  };
}
